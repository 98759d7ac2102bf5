#!/bin/bash
# verify-tree.sh TREE CONTROLLER.pub [NEWER-TRUST] - checks a Fleetmark tree with stock tools and none of Fleetmark's code.
#
# CONTROLLER.pub: the controller's public line, obtained some other way than with the tree. NEWER-TRUST: a later trust folder of
# the same controller, for keys revoked since. Tools: bash, GNU coreutils and findutils, awk, jq, ssh-keygen; openssl for the
# second, independent check of every signature. No network; nothing is written into the tree. Exit 0: all of it holds (a line per
# bundle, then "PASS <campaign> <tree number>"); 1: "FAIL: <where>: <what>"; 2: usage or a missing tool.
# What each check is for: protocol/FORMATS.md and "What a signature proves" in README.md.
set -euo pipefail
export LC_ALL=C TZ=UTC

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
fail() { printf 'FAIL: %s: %s\n' "$1" "$2"; exit 1; }

[ $# -ge 2 ] && [ $# -le 3 ] || usage
for tool in awk jq ssh-keygen sha256sum find sort diff cmp stat date; do
    command -v "$tool" >/dev/null || { echo "verify-tree: needs $tool" >&2; exit 2; }
done
[ -d "$1" ] && [ -f "$2" ] || { echo "verify-tree: no folder $1 or no file $2" >&2; exit 2; }
HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
T=$(cd "$1" && pwd -P)
NEWER=${3:+$(cd "$3" && pwd -P)}
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
cp "$2" "$W/controller.pub"

# ---------------------------------------------------------------- files, manifests, signatures

# V2: only plain files and folders, before anything is opened (a FIFO would block a reader for ever)
check_types() {
    local odd
    odd=$(find "$1" \( -path "$1/incoming" -o -path "$1/rejected" \) -prune -o ! -type f ! -type d -print | head -1)
    [ -z "$odd" ] || fail "${odd#"$1"/}" "neither a plain file nor a folder"
    odd=$(find "$1" -name MANIFEST.sha256.sig -size +4096c -print | head -1)
    [ -z "$odd" ] || fail "${odd#"$1"/}" "larger than 4096 bytes"
}

# V3: the grammar of a manifest, in full, before sha256sum sees it
check_grammar() { # FILE KIND WHERE
    local max out
    case $2 in trust) max=1024;; plan) max=4096;; bundle) max=16384;; tree) max=4000000;; *) max=200000;; esac
    [ -s "$1" ] || fail "$3" "empty or missing"
    [ "$(tail -c 1 "$1" | od -An -tx1 | tr -d ' ')" = 0a ] || fail "$3" "does not end with LF"
    [ "$(tr -d '\000' < "$1" | wc -c)" = "$(wc -c < "$1")" ] || fail "$3" "holds a NUL byte"
    out=$(awk -v max="$max" -v kind="$2" '
        function bad(what) { print "line " NR ": " what; found = 1; exit }
        {
            hex = substr($0, 1, 64); name = substr($0, 67)
            if (length(hex) != 64 || hex ~ /[^0-9a-f]/ || substr($0, 65, 2) != "  ") bad("not 64 lower-case digits and two spaces")
            if (name == "" || length(name) > 400) bad("name empty or longer than 400 bytes")
            n = split(name, part, "/")
            if (n > 12) bad("more than 12 parts")
            for (i = 1; i <= n; i++)
                if (part[i] !~ /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/ || length(part[i]) > 200) bad("name outside the rule")
            if (NR > 1 && !((last "") < (name ""))) bad("not sorted, or a name twice")
            if (tolower(name) in seen) bad("two names that differ only in case")
            seen[tolower(name)] = 1; last = name
            if (part[n] ~ /^MANIFEST\.sha256(\.sig|\.tsr)?$/ &&
                !(kind == "tree" && (name ~ /^(trust|plan|trust\/handover|bundles\/[^\/]+\/[^\/]+)\/MANIFEST/)) &&
                !(kind == "trust" && name ~ /^handover\/MANIFEST/)) bad("names a manifest")
            if (NR > max) bad("more than " max " files")
        }' "$1")
    [ -z "$out" ] || fail "$3" "$out"
}

# V1, V9, V16: stock ssh-keygen against one pinned key, then the same without OpenSSH's code
check_signature() { # FOLDER NAMESPACE PRINCIPAL "PUBLIC LINE" WHERE
    printf '%s namespaces="%s" %s\n' "$3" "$2" "$4" > "$W/signer"
    [ -f "$1/MANIFEST.sha256.sig" ] || fail "$5/MANIFEST.sha256.sig" "missing"
    ssh-keygen -Y verify -f "$W/signer" -I "$3" -n "$2" -s "$1/MANIFEST.sha256.sig" < "$1/MANIFEST.sha256" >/dev/null 2>&1 ||
        fail "$5/MANIFEST.sha256.sig" "no signature of $3 in $2"
    if command -v openssl >/dev/null; then
        "$HERE/ossl-verify.sh" "$1/MANIFEST.sha256" "$2" "$4" > "$W/ossl" 2>&1 ||
            fail "$5/MANIFEST.sha256.sig" "$(head -1 "$W/ossl" | sed 's/.*\.sig: //')"
    fi
}

# V4 for a sealed folder by itself: its names and digests are those of the tree's manifest, which sha256sum has checked
check_inner() { # FOLDER
    awk -v p="$1/" 'index(substr($0, 67), p) == 1 {
        name = substr($0, 67 + length(p))
        if (name != "MANIFEST.sha256" && name != "MANIFEST.sha256.sig" && name != "MANIFEST.sha256.tsr") print substr($0, 1, 66) name
    }' "$T/MANIFEST.sha256" > "$W/inner"
    if ! diff "$W/inner" "$T/$1/MANIFEST.sha256" > "$W/diff"; then
        fail "$1/$(sed -n 's/^[<>] [0-9a-f]*  //p' "$W/diff" | head -1)" "differs from $1/MANIFEST.sha256, or is missing or not listed there"
    fi
}

check_sizes() { # FOLDER BYTES-OF-ONE-FILE WHERE
    local big
    big=$(find "$1" -type f -size "+$2c" ! -path "$1/incoming/*" ! -path "$1/rejected/*" -print | head -1)
    [ -z "$big" ] || fail "${big#"$T"/}" "larger than $2 bytes"
}

# V6: three tests, all needed; see FORMATS.md section 4
check_json() { # FILE SCHEMA MAX
    local w=${1#"$T"/}
    [ -f "$1" ] || fail "$w" "missing"
    [ "$(stat -c %s "$1")" -le "$3" ] || fail "$w" "larger than $3 bytes"
    [ "$(tail -c 1 "$1" | od -An -tx1 | tr -d ' ')" = 0a ] || fail "$w" "does not end with LF"
    if grep -qEv '^ *("[a-z][a-z0-9_]*": )?("([] !#-[^-~]|\\["\\])*"|0|-?[1-9][0-9]{0,15}|\[\]|\{\}|[][{}]),?$' "$1"; then
        fail "$w" "not the fixed form: $(grep -nEv '^ *("[a-z][a-z0-9_]*": )?("([] !#-[^-~]|\\["\\])*"|0|-?[1-9][0-9]{0,15}|\[\]|\{\}|[][{}]),?$' "$1" | head -1 | tr -dc ' -~' | cut -c1-120)"
    fi
    { jq -S . "$1" 2>/dev/null | cmp -s - "$1"; } || fail "$w" "not the fixed form: differs from jq -S"
    jq -s -e 'length == 1 and (.[0] | type == "object") and
        ([.. | numbers] | all((if . < 0 then -. else . end) <= 9007199254740991))' "$1" >/dev/null 2>&1 ||
        fail "$w" "not one object with integers within 2^53"
    [ "$(jq -r '.schema // ""' "$1")" = "$2" ] || fail "$w" "schema is not $2"
}

keys_are() { # FILE JQ-PATH KEY...: exactly these keys (a key may be replaced by KEY_why)
    local file=$1 path=$2 got want
    shift 2
    got=$(jq -r "$path | keys[] | sub(\"_why\$\"; \"\")" "$file" 2>/dev/null | sort -u | tr '\n' ' ') || fail "${file#"$T"/}" "no object at $path"
    want=$(printf '%s\n' "$@" | sort -u | tr '\n' ' ')
    [ "$got" = "$want" ] || fail "${file#"$T"/}" "fields at $path are: $got"
}

# ---------------------------------------------------------------- who may sign

check_anchor() { # V1
    [ "$(grep -c . "$W/controller.pub")" = 1 ] || fail "controller.pub" "more or less than one line"
    ANCHOR=$(cut -d' ' -f1,2 "$W/controller.pub")
    [[ $ANCHOR =~ ^ssh-ed25519\ [A-Za-z0-9+/]{68}$ ]] || fail "controller.pub" "no line 'ssh-ed25519 ...'"
}

check_signers() { # V5: FOLDER; writes $W/keys: system after before public
    local out
    for f in allowed_signers revoked_keys trust.json; do [ -f "$1/$f" ] || fail "trust/$f" "missing"; done
    out=$(awk -v anchor="$ANCHOR" -v keys="$W/keys" '
        function bad(what) { print "line " NR ": " what; exit }
        BEGIN { printf "" > keys }
        {
            rest = $0; name = $1
            if (NR == 1) {
                if (rest !~ /^controller namespaces="plan\.v1@fleetmark,tree\.v1@fleetmark,trust\.v1@fleetmark",valid-after="[0-9]*Z" ssh-ed25519 [A-Za-z0-9+\/]*$/) bad("not the form of the controller line")
                if ($(NF - 1) " " $NF != anchor) bad("another key than the anchor")
                seen[$NF] = 1
                next
            }
            if (name !~ /^[A-Za-z0-9][A-Za-z0-9._-]*$/ || length(name) > 64 || name == "controller") bad("not a system name: " name)
            if (rest !~ /^[^ ]+ namespaces="bundle\.v1@fleetmark,enrol\.v1@fleetmark",valid-after="[0-9]*Z"(,valid-before="[0-9]*Z")? ssh-ed25519 [A-Za-z0-9+\/]*$/) bad("not the form of a system line")
            if (length($NF) != 68) bad("not a key")
            if ($NF in seen) bad("a key twice")
            seen[$NF] = 1
            after = $2; sub(/.*valid-after="/, "", after); sub(/".*/, "", after)
            before = "-"; if ($2 ~ /valid-before/) { before = $2; sub(/.*valid-before="/, "", before); sub(/".*/, "", before) }
            if (length(after) != 15 || (before != "-" && length(before) != 15)) bad("not a stamp")
            # a later line of one system begins after the one before has ended
            if ((name in end) && (end[name] == "-" || !((end[name] "") < (after "")))) bad("two windows of " name " overlap")
            if (before != "-" && !((after "") <= (before ""))) bad("a window that ends before it begins")
            end[name] = before
            print name, after, before, $(NF - 1), $NF > keys
        }
        END { if (NR == 0) print "empty" }' "$1/allowed_signers")
    [ -z "$out" ] || fail "trust/allowed_signers" "$out"
    out=$(awk '!/^ssh-ed25519 [A-Za-z0-9+\/]*$/ || length($0) != 80 { print "line " NR ": not a public line"; exit }' "$1/revoked_keys")
    [ -z "$out" ] || fail "trust/revoked_keys" "$out"
}

check_enrolment() { # V5: SYSTEM "PUBLIC LINE"
    local f=$T/trust/enrol/$1.txt p='ssh-ed25519 [A-Za-z0-9+/]{68}' form
    [ -f "$f" ] && [ -f "$f.sig" ] || fail "trust/enrol/$1.txt" "no enrolment statement"
    printf '%s\n' "$(cat "$f")" | cmp -s - "$f" || fail "trust/enrol/$1.txt" "not the form of a statement"
    form="^fleetmark-enrol 1;system $1;challenge [0-9a-f]{64};controller ($p);key ($p);previous (none|$p);end\$"
    [[ $(tr '\n' ';' < "$f" | sed 's/;$//') =~ $form ]] || fail "trust/enrol/$1.txt" "not the form of a statement of $1"
    [ "${BASH_REMATCH[1]}" = "$ANCHOR" ] || fail "trust/enrol/$1.txt" "made for another controller"
    [ "${BASH_REMATCH[2]}" = "$2" ] || fail "trust/enrol/$1.txt" "made for another key"
    printf '%s namespaces="enrol.v1@fleetmark" %s\n' "$1" "$2" > "$W/signer"
    ssh-keygen -Y verify -f "$W/signer" -I "$1" -n enrol.v1@fleetmark -s "$f.sig" < "$f" >/dev/null 2>&1 ||
        fail "trust/enrol/$1.txt.sig" "not signed by the key inside"
    if command -v openssl >/dev/null; then
        "$HERE/ossl-verify.sh" "$f" enrol.v1@fleetmark "$2" >/dev/null 2>&1 || fail "trust/enrol/$1.txt.sig" "not the one spelling of that signature"
    fi
}

# V9: the planned key, enrolled when the plan was made, not revoked
check_planned_key() { # SYSTEM "PUBLIC LINE"
    local when
    when=$(tr -d ':T-' <<< "$ISSUED")
    awk -v s="$1" -v key="$2" -v when="$when" '$1 == s && $4 " " $5 == key && ($2 "") <= (when "") && ($3 == "-" || (when "") <= ($3 "")) { ok = 1 }
        END { exit !ok }' "$W/keys" || fail "trust/allowed_signers" "the planned key of $1 was not enrolled at $ISSUED"
    if grep -qxF "$2" "$T/trust/revoked_keys" || { [ -n "$NEWER" ] && grep -qxF "$2" "$NEWER/revoked_keys"; }; then
        fail "bundles/$1" "the key of $1 is revoked"
    fi
}

# ---------------------------------------------------------------- plan and tree.json

check_plan() {
    check_json "$T/plan/plan.json" plan/1 67108864
    PLAN_SHA=$(sha256sum < "$T/plan/MANIFEST.sha256" | cut -c1-64)
    IFS=$'\t' read -r CAMPAIGN NONCE ISSUED EXPIRES PROFILE PUBLISH AGENT WORLD < <(jq -r \
        '[.campaign, .nonce, .issued_at, .expires_at, .profile, (.publish | tostring), .agent_source_sha256, .test_world // "-"] | @tsv' "$T/plan/plan.json")
    jq -r '.cells[]' "$T/plan/plan.json" > "$W/cells"
    sort -u "$W/cells" | cmp -s - "$W/cells" || fail "plan/plan.json" "cells not sorted, or one twice"
    jq -r '.systems[] | [.system, .arch, .key] | @tsv' "$T/plan/plan.json" > "$W/systems"
    jq -r '.candidates[] | [.candidate, .source_sha256] | @tsv' "$T/plan/plan.json" > "$W/candidates"
    while IFS=$'\t' read -r system _ key; do
        check_enrolment "$system" "$key"
        check_planned_key "$system" "$key"
    done < "$W/systems"
}

check_tree() { # V7, V8, V10
    local F=$T/tree.json out
    check_json "$F" tree/1 67108864
    keys_are "$F" . campaign cells jobs plan_sha256 previous_tree_sha256 publish schema sealed_at sequence trust_version
    [ "$(jq -r .campaign "$F")" = "$CAMPAIGN" ] || fail tree.json "another campaign than the plan's"
    [ "$(jq -r .plan_sha256 "$F")" = "$PLAN_SHA" ] || fail tree.json "plan_sha256 is not the digest of plan/MANIFEST.sha256"
    [ "$(jq -r .publish "$F")" = "$PUBLISH" ] || fail tree.json "publish differs from the plan's"
    [ "$(jq -r .trust_version "$F")" = "$(jq -r .version "$T/trust/trust.json")" ] || fail tree.json "trust_version differs from trust.json"
    SEALED=$(jq -r .sealed_at "$F")
    jq -r '.cells[] | [.cell, .status] | @tsv' "$F" > "$W/tree_cells"
    cut -f1 "$W/tree_cells" | cmp -s - "$W/cells" || fail tree.json "its cells are not the planned ones in their order"
    out=$(awk -F'\t' '$2 !~ /^(accepted|failed|missing|rejected)$/ { print "unknown status of " $1; exit }' "$W/tree_cells")
    [ -z "$out" ] || fail tree.json "$out"
    jq -r '.jobs[] | [.system, .candidate, (.attempt | tostring), (.job_nonce | if . == "" then "-" else . end),
        (.issued_at | if . == "" then "-" else . end), (.received_at | if . == "" then "-" else . end),
        (.manifest_sha256 | if . == "" then "-" else . end), .status] | @tsv' "$F" > "$W/jobs"
    out=$(awk -F'\t' -v issued="$ISSUED" -v sealed="$SEALED" -v expires="$EXPIRES" '
        function bad(what) { print $1 ", " $2 ": " what; exit }
        FILENAME == ARGV[1] { sys[$1] = 1; ns++; next }
        FILENAME == ARGV[2] { cand[$1] = 1; nc++; next }
        {
            pair = $1 SUBSEP $2
            if (!($1 in sys) || !($2 in cand)) bad("not planned")
            if ($8 !~ /^(accepted|failed|missing|rejected)$/) bad("unknown status")
            if (!(pair in seen)) pairs++
            else if ($3 + 0 <= seen[pair] + 0) bad("attempts out of order")
            seen[pair] = $3
            if ($4 != "-") { if ($4 in nonce) bad("job nonce used before"); nonce[$4] = 1 }
            if ($8 == "accepted") {
                if (pair in acc) bad("accepted twice")
                acc[pair] = 1
                if ((issued "") > ($5 "") || ($5 "") > ($6 "") || ($6 "") > (sealed "")) bad("times out of order")
                if (($6 "") > (expires "")) bad("received after the plan expired")
            }
        }
        END { if (pairs != ns * nc) print "a planned system and candidate has no entry in jobs" }' "$W/systems" "$W/candidates" "$W/jobs")
    [ -z "$out" ] || fail tree.json "$out"
    # folders in bundles/ are those of the accepted jobs; an accepted cell has one
    awk -F'\t' '$8 == "accepted" { print $1 "/" $2 }' "$W/jobs" | sort > "$W/accepted"
    cut -c67- "$T/MANIFEST.sha256" | awk -F/ '$1 == "bundles" { print $2 "/" $3 }' | sort -u > "$W/folders"
    out=$(diff "$W/accepted" "$W/folders" | sed -n 's/^[<>] //p' | head -1)
    [ -z "$out" ] || fail "bundles/$out" "accepted in tree.json without a folder, or a folder of no accepted job"
    awk -F'\t' '$2 == "accepted" { print $1 }' "$W/tree_cells" | cut -d/ -f1,2 | sort -u > "$W/need"
    out=$(join -v 1 "$W/need" "$W/accepted" | head -1)
    [ -z "$out" ] || fail tree.json "cells of $out are accepted without a bundle"
}

# ---------------------------------------------------------------- one bundle

check_identity() { # V11: evidence against plan and job
    local got want F=$B/evidence.json
    got=$(jq -r '[.campaign, .system, .candidate, .nonce, .plan_sha256, .job_nonce, (.attempt | tostring), .measure.profile, .host.arch, .agent.source_sha256, .test_world // "-"] | .[]' "$F")
    want=$(printf '%s\n' "$CAMPAIGN" "$SYSTEM" "$CANDIDATE" "$NONCE" "$PLAN_SHA" "$JOB" "$ATTEMPT" "$PROFILE" "$ARCH" "$AGENT" "$WORLD")
    if [ "$got" != "$want" ]; then fail "$W_B/evidence.json" "made for something else: $(diff <(echo "$got") <(echo "$want") | sed -n 's/^< //p' | head -1)"; fi
}

check_sources() { # V12
    awk -v p="$CANDIDATE/" 'index(substr($0, 67), p) == 1 { print substr($0, 1, 66) substr($0, 67 + length(p)) }' "$T/plan/SOURCES.sha256" > "$W/sources"
    cmp -s "$W/sources" "$B/build/SOURCES.sha256" || fail "$W_B/build/SOURCES.sha256" "differs from the plan's list"
    local sum planned
    sum=$(sha256sum < "$B/build/SOURCES.sha256" | cut -c1-64)
    planned=$(awk -F'\t' -v c="$CANDIDATE" '$1 == c { print $2 }' "$W/candidates")
    [ "$sum" = "$(jq -r .source_sha256 "$B/evidence.json")" ] && [ "$sum" = "$planned" ] || fail "$W_B/evidence.json" "source_sha256 is not the planned one"
}

check_cells() { # V13
    local out
    jq -r '.cells[] | [.instance, .version, .operation, .status] | @tsv' "$B/evidence.json" > "$W/ev_cells"
    awk -F'\t' -v p="$SYSTEM/$CANDIDATE/" '{ print p $1 "/" $2 "/" $3 }' "$W/ev_cells" > "$W/ev_names"
    grep -F "$SYSTEM/$CANDIDATE/" "$W/cells" | awk -v p="$SYSTEM/$CANDIDATE/" 'index($0, p) == 1' | cmp -s - "$W/ev_names" ||
        fail "$W_B/evidence.json" "its cells are not the planned ones"
    out=$(awk -F'\t' -v p="$SYSTEM/$CANDIDATE/" '
        FILENAME == ARGV[1] { tree[$1] = $2; next }
        { want = $4 == "measured" ? "accepted" : $4; n = p $1 "/" $2 "/" $3
          if (tree[n] != want) { print n " is " tree[n] " in tree.json and " $4 " in its bundle"; exit } }' "$W/tree_cells" "$W/ev_cells")
    [ -z "$out" ] || fail tree.json "$out"
}

check_samples() { # V14: every sample file, every process list, in one pass
    local out
    jq -r '.measure.counter.label as $l | .measure.cells[] | [.instance + "__" + .version + "__" + .operation, $l, .accepted, .replaced, .invalid, .calls, .bytes, .operation] |
        map(tostring) | @tsv' "$B/evidence.json" > "$W/measured"
    awk -F'\t' '$4 == "measured" { print $1 "__" $2 "__" $3 }' "$W/ev_cells" | sort > "$W/a"
    cut -f1 "$W/measured" | sort | cmp -s - "$W/a" || fail "$W_B/evidence.json" "measure.cells are not the measured cells"
    awk -F'\t' '{ print $1 "__" $2 "__" $3 }' "$W/ev_cells" | sort > "$W/stems"
    # names first: nothing that belongs to no cell, nothing missing
    out=$(cut -c67- "$B/MANIFEST.sha256" | awk -v stems="$W/stems" '
        BEGIN { while ((getline s < stems) > 0) ok[s] = 1 }
        /^samples\// { n = substr($0, 9); if (n !~ /\.(process|calls|ns|core_cycles|ref_ticks|events)\.txt$/) { print $0; exit }
                       sub(/\.[a-z_]+\.txt$/, "", n); if (!(n in ok)) { print $0; exit } next }
        /^env\/.*\.process\.tsv$/ { n = substr($0, 5); sub(/\.process\.tsv$/, "", n); if (!(n in ok)) { print $0; exit } next }
        /^(evidence\.json|build\/SOURCES\.sha256|build\/commands\.txt|env\/host\.txt)$/ { next }
        /^build\/[^\/]+\.log$/ { next }
        /^kat\/[^\/]+\.log$/ { next }
        { print $0; exit }')
    [ -z "$out" ] || fail "$W_B/$out" "belongs to no cell of this bundle"
    while IFS=$'\t' read -r stem label _; do
        for column in process calls ns events "$label"; do
            [ -f "$B/samples/$stem.$column.txt" ] || fail "$W_B/samples/$stem.$column.txt" "missing"
        done
        for column in core_cycles ref_ticks; do
            [ "$column" = "$label" ] || [ ! -e "$B/samples/$stem.$column.txt" ] || fail "$W_B/samples/$stem.$column.txt" "the counter's label is $label"
        done
        [ -f "$B/env/$stem.process.tsv" ] || fail "$W_B/env/$stem.process.tsv" "missing"
    done < "$W/measured"
    cut -c67- "$B/MANIFEST.sha256" | grep -E '^samples/|^env/.*\.process\.tsv$' > "$W/files" || true
    [ -s "$W/files" ] || return 0
    # shellcheck disable=SC2016
    out=$(cd "$B" && awk -v list="$W/measured" -v files="$W/files" '
        function bad(f, what) { print f "\t" what; found = 1; exit }
        function stem_of(f) { sub(/^[a-z]*\//, "", f); sub(/\.process\.tsv$/, "", f); sub(/\.[a-z_]+\.txt$/, "", f); return f }
        BEGIN { while ((getline f < files) > 0) ARGV[ARGC++] = f
                while ((getline line < list) > 0) { split(line, a, "\t"); n++; stem[n] = a[1]; label[n] = a[2]; acc[n] = a[3]; rep[n] = a[4]; inv[n] = a[5]; calls[n] = a[6]
                    if (a[8] != "hash_" a[7]) bad("evidence.json", a[1] ": bytes is " a[7]) } }
        FNR == 1 { s = stem_of(FILENAME); tsv = FILENAME ~ /\.tsv$/; kind = FILENAME; sub(/\.txt$/, "", kind); sub(/.*\./, "", kind) }
        tsv {
            if (FNR == 1) { if ($0 !~ /^process\tattempt\tround\tstate\treplaced_by\treason\t/) bad(FILENAME, "another header"); next }
            m = split($0, c, "\t")
            if (m != 33) bad(FILENAME, "line " FNR ": " m " columns")
            for (i = 1; i <= m; i++) if (c[i] !~ /^-?[0-9]+$/) bad(FILENAME, "line " FNR ": not an integer")
            if (c[4] !~ /^[0-3]$/) bad(FILENAME, "line " FNR ": unknown state")
            if ((s, c[1]) in state) bad(FILENAME, "line " FNR ": process " c[1] " twice")
            state[s, c[1]] = c[4]; windows[s, c[1]] = c[10]; of[s, ++np[s]] = c[1]; count[s, c[4]]++
            next
        }
        {
            if ($0 !~ /^[0-9]+$/ || length($0) > 20) bad(FILENAME, "line " FNR ": not one integer")
            lines[s, kind] = FNR
            if (kind == "process") { proc[s, FNR] = $0; seen[s, $0]++ }
            if (kind == "calls") called[s, FNR] = $0
        }
        END {
            if (found) exit
            for (i = 1; i <= n; i++) {
                t = stem[i]; rows = lines[t, "process"] + 0; f = "samples/" t ".process.txt"
                if (lines[t, "calls"] + 0 != rows) { print "samples/" t ".calls.txt\tanother number of lines than " f; exit }
                if (lines[t, "ns"] + 0 != rows) { print "samples/" t ".ns.txt\tanother number of lines than " f; exit }
                if (lines[t, "events"] + 0 != rows) { print "samples/" t ".events.txt\tanother number of lines than " f; exit }
                if (lines[t, label[i]] + 0 != rows) { print "samples/" t "." label[i] ".txt\tanother number of lines than " f; exit }
                sum = 0
                for (r = 1; r <= rows; r++) {
                    if (!((t, proc[t, r]) in state)) { print f "\tprocess " proc[t, r] " is not in its list"; exit }
                    if (state[t, proc[t, r]] == 0) sum += called[t, r]
                }
                for (k = 1; k <= np[t]; k++) {
                    p = of[t, k]
                    if (seen[t, p] + 0 != windows[t, p]) { print f "\tprocess " p " has " seen[t, p] + 0 " windows, its list says " windows[t, p]; exit }
                }
                if (count[t, 0] + 0 != acc[i] || count[t, 1] + 0 != rep[i] || count[t, 2] + 0 != inv[i]) { print "env/" t ".process.tsv\tnot the numbers of processes that evidence.json states"; exit }
                if (sum != calls[i]) { print "samples/" t ".calls.txt\t" sum " calls in accepted processes, evidence.json states " calls[i]; exit }
            }
        }')
    [ -z "$out" ] || fail "$W_B/${out%%$'\t'*}" "${out#*$'\t'}"
}

check_known_answers() { # V15
    local out
    jq -r '.kat[] | [.instance, .version, .log, .status] | @tsv' "$B/evidence.json" > "$W/kat"
    jq -r '.builds[] | [.instance, .version, .status, (.library_sha256 | if . == "" then "-" else . end)] | @tsv' "$B/evidence.json" > "$W/builds"
    jq -r '.measure.cells[] | [.instance, .version, .operation, .library_sha256] | @tsv' "$B/evidence.json" > "$W/timed"
    out=$(awk -F'\t' '
        FILENAME == ARGV[1] { kat[$1, $2] = $4; next }
        FILENAME == ARGV[2] { if ($3 == "ok") lib[$1, $2] = $4; next }
        kat[$1, $2] != "PASS" && kat[$1, $2] != "NOKAT" { print $1 "/" $2 "/" $3 ": timed although the known answers say " kat[$1, $2]; exit }
        lib[$1, $2] != $4 { print $1 "/" $2 "/" $3 ": timed another library than the one that was checked"; exit }' "$W/kat" "$W/builds" "$W/timed")
    [ -z "$out" ] || fail "$W_B/evidence.json" "$out"
    while IFS=$'\t' read -r instance version log status; do
        [ "$log" = "kat/${instance}__$version.log" ] && [ -f "$B/$log" ] || fail "$W_B/$log" "not the log of $instance"
        awk -v p="$CANDIDATE/$instance/" 'index($3, p) == 1 { print "manifest " $1 " " $2 " " substr($3, 1 + length(p)) }' "$T/plan/kat.sha256" > "$W/want"
        case $status in
        PASS) [ -s "$W/want" ] || fail "$W_B/$log" "PASS without a planned reference"
              out=$(grep -vxFf "$B/$log" "$W/want" | head -1) || true
              [ -z "$out" ] || fail "$W_B/$log" "no line '$out'";;
        NOKAT) [ ! -s "$W/want" ] || fail "$W_B/$log" "NOKAT although the plan has references";;
        esac
    done < "$W/kat"
}

check_bundle() {
    local key measured
    B=$T/bundles/$SYSTEM/$CANDIDATE W_B=bundles/$SYSTEM/$CANDIDATE
    IFS=$'\t' read -r _ ARCH key < <(awk -F'\t' -v s="$SYSTEM" '$1 == s' "$W/systems")
    check_grammar "$B/MANIFEST.sha256" bundle "$W_B/MANIFEST.sha256"
    check_signature "$B" bundle.v1@fleetmark "$SYSTEM" "$key" "$W_B"
    [ "$(sha256sum < "$B/MANIFEST.sha256" | cut -c1-64)" = "$MANIFEST" ] || fail "$W_B/MANIFEST.sha256" "not the one tree.json names"
    check_inner "$W_B"
    check_json "$B/evidence.json" evidence/1 4194304
    keys_are "$B/evidence.json" '. | del(.test_world)' agent attempt builds campaign candidate cells clock host isolation job_nonce kat libraries measure nonce plan_sha256 schema source_sha256 system toolchain
    check_identity
    check_sources
    check_cells
    check_samples
    check_known_answers
    measured=$(wc -l < "$W/measured")
    echo "ok $W_B: $measured cells measured, signed by the planned key of $SYSTEM"
}

# ---------------------------------------------------------------- the tree

check_anchor
check_types "$T"
for d in trust plan .; do
    kind=$d; [ "$d" != . ] || kind=tree
    check_grammar "$T/$d/MANIFEST.sha256" "$kind" "$d/MANIFEST.sha256"
    check_signature "$T/$d" "$kind.v1@fleetmark" controller "$ANCHOR" "$d"
done
check_sizes "$T" 67108864
if ! (cd "$T" && sha256sum -c --strict --quiet MANIFEST.sha256) > "$W/sums" 2>/dev/null; then
    fail "$(head -1 "$W/sums" | sed 's/: FAILED.*//')" "differs from its line in MANIFEST.sha256, or is missing"
fi
cut -c67- "$T/MANIFEST.sha256" > "$W/listed"
(cd "$T" && find . \( -path ./incoming -o -path ./rejected \) -prune -o -type f ! -path ./MANIFEST.sha256 ! -path ./MANIFEST.sha256.sig \
    ! -path ./MANIFEST.sha256.tsr -printf '%P\n') | sort > "$W/there"
extra=$(comm -13 "$W/listed" "$W/there" | head -1)
[ -z "$extra" ] || fail "$extra" "is not listed in MANIFEST.sha256"
check_inner trust
check_inner plan
check_json "$T/trust/trust.json" trust/1 65536
keys_are "$T/trust/trust.json" . issued_at schema version
check_signers "$T/trust"
if [ -n "$NEWER" ]; then
    check_types "$NEWER"
    check_grammar "$NEWER/MANIFEST.sha256" trust "newer trust folder"
    check_signature "$NEWER" trust.v1@fleetmark controller "$ANCHOR" "newer trust folder"
    (cd "$NEWER" && sha256sum -c --strict --quiet MANIFEST.sha256) >/dev/null 2>&1 || fail "newer trust folder" "a digest differs"
    cp "$W/keys" "$W/keys.tree"; check_signers "$NEWER"; cp "$W/keys.tree" "$W/keys"
fi
check_plan
check_tree
while IFS=$'\t' read -r SYSTEM CANDIDATE ATTEMPT JOB _ _ MANIFEST status; do
    [ "$status" != accepted ] || check_bundle
done < "$W/jobs"
command -v openssl >/dev/null || echo "note: no openssl here, the second check of the signatures was left out"
note=; [ "$PUBLISH" = 1 ] || note=" (not for publication)"
echo "PASS $CAMPAIGN $(sha256sum < "$T/MANIFEST.sha256" | cut -c1-64)$note"
