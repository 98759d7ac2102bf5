# cases_lists.bash - attacks on manifests, the fixed JSON form, plan and tree.json. Form: see cases_seals.bash.
# shellcheck shell=bash disable=SC2154,SC2034,SC2016,SC2329
cases_lists='
A24 | HC | replay    | evidence.json: plan_sha256        | evidence.json: made for something  | other plan digest in the evidence
A25 | C  | replay    | evidence.json: plan_sha256        | evidence.json: made for something  | plan changed and sealed again after the bundles
A26 | HC | replay    | tree.json: the job nonce of       | tree.json: .*nonce was used        | one job nonce accepted for two jobs
A27 | C  | identity  | tree.json: publish                | tree.json: publish                 | plan says publish 0, tree 1
A28 | HC | form      | bundles/x86_1/tiny-1: manifest li | MANIFEST.sha256: .*line            | ../../ in a name, digest right
A29 | HC | form      | bundles/x86_1/tiny-1: manifest li | MANIFEST.sha256: .*line            | CR before every LF
A30 | HC | form      | bundles/x86_1/tiny-1: manifest li | MANIFEST.sha256: .*line            | a line in BSD form
A31 | HC | form      | bundles/x86_1/tiny-1: manifest: e | does not end with LF               | last LF missing
A32 | HC | form      | differ only in case               | differ only in case                | two names that differ only in case
A33 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | key system twice, other value first
A34 | HC | form      | evidence.json                     | evidence.json: not the fixed form | integer 9007199254740993
A35 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | integer with a leading zero
A36 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | fraction
A37 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | \u0000 in a string
A38 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | non-ASCII look-alike letter
A39 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | a second document
A40 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | upper-case twin of a key
A41 | HC | form      | evidence.json                     | evidence.json: not the fixed form  | -0
A42 | HC | form      | evidence.json                     | evidence.json: empty               | empty file
A46 | C  | samples   | tree.json: .*its bundle says .mis | tree.json: .*its bundle says missi | a missing cell called accepted
A47 | C  | form      | tree.json, line 4: cells: status  | tree.json: .*status: not of its f  | unknown status word
A48 | C  | form      | tree.json: cell                   | tree.json: its cells are not       | a job and its cells dropped, bundle removed
A49 | C  | form      | bundles/x86_1/tiny-1              | bundles/x86_1/tiny-1: accepted     | accepted job without its bundle
A50 | C  | form      | bundles/x86_1/tiny-1/.*no accept  | bundles/x86_1/tiny-1: .*no accept  | bundle of no accepted job
B20 | HC | form      | manifest line .*path              | name outside the rule              | name of 201 bytes
B21 | HC | size      | bundles/x86_1/tiny-1              | MANIFEST.sha256: larger            | manifest of 1000000 lines
B22 | HC | form      | is not sorted                     | not sorted, or a name twice        | manifest not sorted
B23 | HC | form      | is not sorted                     | not sorted, or a name twice        | a line twice
B24 | HC | form      | host.txt: is not listed in the b  | host.txt: .*not listed there       | bundle manifest leaves out a file
B25 | HC | digest    | host.txt: differs from its line i | host.txt: differs                  | bundle manifest with another digest
B26 | HC | form      | names MANIFEST.sha256             | names a manifest                   | bundle manifest names itself
B42 | -  | size      | ns.txt: has 2147483648 bytes      | ns.txt: larger than 64 MiB         | a file of 2 GiB, all of it holes
B45 | -  | size      | cells.csv: has 536870913 bytes     | cells.csv: larger than 512 MiB     | an export one byte larger than allowed, all of it holes
B43 | -  | form      | host.txt: is neither a plain      | host.txt: neither a plain file     | a socket in place of a file
B44 | HC | form      | tiny-1: manifest: .*one line      | MANIFEST.sha256: empty             | an empty bundle
B30 | HC | form      | evidence.json: .*: unknown field  | evidence.json: .*unknown field     | unknown field, deep
B31 | HC | form      | evidence.json: .*in place of the  | evidence.json: .*in place of the   | a reason beside its field
B32 | HC | form      | evidence.json: .*attempt          | evidence.json: .*attempt: not of i | a text where a number belongs
B33 | HC | form      | evidence.json: .*kernel: missing  | evidence.json: .*kernel: missing   | a field missing
B34 | HC | form      | evidence.json: .*label            | evidence.json: .*label: not of its | unknown word of a counter
B35 | C  | form      | tree.json: .*: unknown field      | tree.json: .*unknown field         | unknown field in tree.json
B36 | C  | form      | plan.json: .*: unknown key        | plan.json: .*unknown field         | unknown field in plan.json
B37 | C  | form      | trust.json: .*: unknown key       | trust.json: .*unknown field        | unknown field in trust.json
B38 | C  | form      | plan.json, line .*out of order    | plan.json: cell .*out of order     | cells of the plan not sorted
B39 | C  | source    | list of tiny-1 is not             | list of tiny-1 is not              | SOURCES.sha256 of the plan changed
B40 | C  | kat       | vectors/tiny-1.txt: not the lines | vectors/tiny-1.txt: not the lines  | vectors of the plan changed
B41 | C  | form      | plan.json: .*publish must be 0    | publish must be 0 for smoke        | smoke called publishable
B50 | C  | form      | tree.json: cell 0                 | tree.json: its cells are not       | two cells change places
B51 | C  | form      | tree.json: cell 16 is .*none       | tree.json: its cells are not       | last cell twice
B52 | C  | form      | tree.json: jobs of 3 pairs        | no entry in jobs                   | a pair without job entry
B53 | C  | replay    | tree.json: .*accepted twice       | tree.json: .*accepted twice        | two accepted dispatches of a pair
B54 | C  | form      | tree.json: job . is out of order  | tree.json: .*out of order          | jobs not sorted
B55 | C  | digest    | its manifest is not the one tree  | MANIFEST.sha256: not the one tree  | job names another manifest
B56 | C  | identity  | tree.json: .*times out of order   | tree.json: .*times out of order    | issued before the plan
B57 | C  | identity  | tree.json: .*times out of order   | tree.json: .*times out of order    | received after the sealing
B58 | C  | expired   | tree.json: .*the plan expired     | tree.json: .*after the plan expire | received after the plan expired
B59 | C  | form      | tree.json: .*not belong together  | tree.json: .*not belong together   | accepted dispatch with a reason
B60 | C  | form      | tree.json: sequence               | tree.json: .*sequence              | later tree without a previous one
B61 | C  | identity  | tree.json: trust_version          | tree.json: trust_version           | another trust version
B62 | C  | samples   | tree.json: .*its bundle says meas | tree.json: .*its bundle says miss  | another reason than the bundle gives
B63 | C  | form      | tree.json: .*accepted without a b | accepted without a bundle          | cell accepted without a bundle
B64 | C  | identity  | tree.json: campaign               | tree.json: another campaign        | another campaign
'

A24() { evidence '.plan_sha256 = "'"$(printf x | sha)"'"'; }
A25() { edit tree/plan/plan.json '.systems[0].about = "changed"'; seal_plan; }
A26() {
    local n; n=$(jq -r '.jobs[] | select(.system == "arm_1" and .candidate == "tiny-1") | .job_nonce' tree/tree.json)
    edit tree/tree.json '(.jobs[] | select(.system == "x86_1" and .candidate == "tiny-1" and .status == "accepted") | .job_nonce) = "'"$n"'"'
    evidence '.job_nonce = "'"$n"'"'
}
A27() { tree_json '.publish = 1'; }
# lines of the bundle's manifest changed, signed by the host as they are then
lines() { swap "$X/MANIFEST.sha256" "$1"; sign_bundle x86_1 tiny-1; }
A28() { lines "s,^[0-9a-f]*  env/host.txt\$,$(sha tree/plan/plan.json)  ../../../plan/plan.json,"; }
A29() { lines 's/$/\r/'; }
A30() { lines 's,^([0-9a-f]*)  (env/host.txt)$,SHA256 (\2) = \1,'; }
A31() { head -c -1 "$X/MANIFEST.sha256" > m; mv m "$X/MANIFEST.sha256"; sign_bundle x86_1 tiny-1; }
A32() { cp "$X/env/host.txt" "$X/env/Host.txt"; hc; }
A33() { evidence_text '0,/^  "system"/s/^  "system": .*/  "system": "arm_1",\n&/'; }
A34() { evidence_text '0,/"elapsed_ns"/s/"elapsed_ns": [0-9]+/"elapsed_ns": 9007199254740993/'; }
A35() { evidence_text '0,/"elapsed_ns"/s/"elapsed_ns": /&0/'; }
A36() { evidence_text '0,/"elapsed_ns"/s/"elapsed_ns": [0-9]+/"elapsed_ns": 16318464.5/'; }
A37() { evidence_text 's/"os": "/&\\u0000/'; }
A38() { evidence_text 's/"os": "D/"os": "Ð/'; }
A39() { echo '{}' >> "$X/evidence.json"; hc; }
A40() { evidence_text 's/^  "system": .*/  "System": "arm_1",\n&/'; }
A41() { evidence_text '0,/"virtual"/s/"virtual": 0/"virtual": -0/'; }
A42() { : > "$X/evidence.json"; hc; }
A46() { tree_json '(.cells[] | select(.status == "missing")) |= (.status = "accepted" | .class = "" | .reason = "" | .text = "")'; }
A47() { tree_json '.cells[0].status = "good"'; }
A48() {
    rm -r tree/bundles/arm_1/tiny-2
    tree_json '.jobs |= map(select(.system != "arm_1" or .candidate != "tiny-2")) | .cells |= map(select(.cell | startswith("arm_1/tiny-2/") | not))'
}
A49() { rm -r "$X"; seal_tree; }
A50() {
    tree_json '(.jobs[] | select(.system == "x86_1" and .candidate == "tiny-1" and .status == "accepted")) |= (.status = "rejected" | .class = "verify" | .reason = "form")
        | (.cells[] | select(.cell | startswith("x86_1/tiny-1/"))) |= (.status = "rejected" | .class = "verify" | .reason = "form")'
}
long() { printf 'n%.0s' {1..201}; }
B20() { lines "s,^([0-9a-f]*)  samples/${STEM}.ns.txt\$,\\1  samples/$(long),"; }
B21() { awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "%064d  samples/%07d\n", i, i }' > "$X/MANIFEST.sha256"; sign_bundle x86_1 tiny-1; }
B22() { lines '1{h;d};2{G}'; }
B23() { lines '1p'; }
B24() { lines '/ env\/host.txt$/d'; }
B25() { lines "s,^[0-9a-f]*(  env/host.txt)\$,$(printf x | sha)\\1,"; }
B42() { truncate -s 2G "$X/samples/$STEM.ns.txt"; }
B45() { truncate -s 536870913 tree/data/cells.csv; }
B43() { rm "$X/env/host.txt"; perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un($ARGV[0])) or die "$!"' "$X/env/host.txt"; }
B44() { find "$X" -mindepth 1 -delete; : > "$X/MANIFEST.sha256"; sign_bundle x86_1 tiny-1; }
B26() { lines "1i $(printf x | sha)  MANIFEST.sha256"; }
B30() { evidence '.measure.cells[1].extra = 1'; }
B31() { evidence '.host.microcode_why = "none"'; }
B32() { evidence '.attempt = "2"'; }
B33() { evidence 'del(.host.kernel)'; }
B34() { evidence '.measure.counter.label = "cycles"'; }
B35() { tree_json '.jobs[0].extra = 1'; }
B36() { edit tree/plan/plan.json '.candidates[0].instances[0].extra = 1'; seal_plan; }
B37() { edit tree/trust/trust.json '.extra = 1'; seal_trust; }
B38() { edit tree/plan/plan.json '.cells |= [.[1], .[0]] + .[2:]'; seal_plan; }
B39() { swap tree/plan/SOURCES.sha256 "1s/^[0-9a-f]*/$(printf x | sha)/"; seal_plan; }
B40() { swap tree/plan/vectors/tiny-1.txt 's/empty/Empty/'; seal_plan; }
B41() { edit tree/plan/plan.json '.publish = 1'; edit tree/tree.json '.publish = 1'; seal_plan; }
B50() { tree_json '.cells |= [.[1], .[0]] + .[2:]'; }
B51() { tree_json '.cells += [.cells[-1]]'; }
B52() { tree_json '.jobs |= map(select(.system != "arm_1" or .candidate != "tiny-2"))'; }
B53() { tree_json '.jobs |= map(., if .system == "arm_1" and .candidate == "tiny-2" then .attempt = 2 | .job_nonce = (.job_nonce | explode | reverse | implode) else empty end)'; }
B54() { tree_json '.jobs |= [.[1], .[0]] + .[2:]'; }
B55() { edit tree/tree.json '.jobs[0].manifest_sha256 = .plan_sha256'; seal_tree; }
B56() { tree_json '.jobs[0].issued_at = "2001-01-01T00:00:00Z"'; }
B57() { tree_json '.jobs[0].received_at = "2031-01-01T00:00:00Z"'; }
B58() { tree_json '.jobs[0].received_at = "2098-01-01T00:00:00Z" | .sealed_at = "2099-01-01T00:00:00Z"'; }
B59() { tree_json '.jobs[0].text = "in spite of all"'; }
B60() { tree_json '.sequence = 2'; }
B61() { tree_json '.trust_version += 1'; }
B62() { tree_json '(.cells[] | select(.status == "missing") | .class) = "transport"'; }
B63() {
    rm -r tree/bundles/arm_1/tiny-2
    tree_json '(.jobs[] | select(.system == "arm_1" and .candidate == "tiny-2")) |= (.status = "failed" | .class = "measure" | .reason = "failed")'
}
B64() { tree_json '.campaign = "other"'; }
