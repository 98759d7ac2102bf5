# cases_content.bash - attacks on what a host says it measured. Form: see cases_seals.bash.
# shellcheck shell=bash disable=SC2154,SC2034,SC2016,SC2329
cases_content='
A43 | HC | kat       | kat/Tiny-1-001__reference.log: no | kat/.*: no line .manifest          | manifest lines of the KAT log changed, status kept
A44 | HC | samples   | samples/Tiny.*__hash_32           | samples/.*ns.txt: another number   | one line dropped from one sample file
A45 | HC | samples   | evidence.json: .*planned          | evidence.json: .*planned           | a planned cell missing from the evidence
A51 | HC | samples   | Tiny.*: 1 accepted processes      | processes accepted, replaced, inv  | a process taken out of all lists
A52 | HC | kat       | timed another library             | timed another library              | other library digest in one timed cell
A53 | HC | identity  | evidence.json: test_world         | evidence.json: made for something  | test world that the plan does not name
A54 | HC | samples   | extra.ns.txt: belongs to no cell  | extra.ns.txt: belongs to no cell   | sample file of no cell
B70 | HC | identity  | evidence.json: campaign           | evidence.json: made for something  | another campaign
B71 | HC | replay    | evidence.json: nonce              | evidence.json: made for something  | another campaign nonce
B72 | HC | replay    | evidence.json: job_nonce          | evidence.json: made for something  | another job nonce
B73 | HC | replay    | evidence.json: attempt            | evidence.json: made for something  | another attempt
B74 | HC | identity  | evidence.json: system             | evidence.json: made for something  | another system
B75 | HC | identity  | evidence.json: candidate          | evidence.json: made for something  | another candidate
B76 | HC | identity  | evidence.json: measure.profile    | evidence.json: made for something  | another profile
B77 | HC | identity  | evidence.json: host.arch          | evidence.json: made for something  | another architecture
B78 | HC | source    | evidence.json: agent.source       | evidence.json: made for something  | another agent
B79 | HC | source    | SOURCES.sha256: differs           | SOURCES.sha256: differs            | other sources built
B80 | HC | source    | evidence.json: source_sha256      | evidence.json: made for something  | other digest of the sources
B81 | HC | samples   | measure.cells.2. is not its entry | measure.cells.2. is not its entry  | two measured cells change places
B82 | HC | form      | builds.0. is not the one          | builds.0. is not the one           | two builds change places
B83 | HC | kat       | kat.2. is of no good build      | an entry of                        | known answers of no build
B84 | HC | samples   | bytes is 64                       | bytes is 64                        | other message length
B85 | HC | samples   | not the prescribed message        | not the prescribed message         | other message
B86 | HC | kat       | NOKAT although                    | NOKAT although                     | NOKAT although there are references
B87 | HC | kat       | known answers say MISMATCH        | known answers say MISMATCH         | timed although the answers were wrong
B88 | HC | kat       | last line is not the RESULT       | last line is not the RESULT        | the log ends with another result
B89 | HC | kat       | kat.1. is not the one             | kat.1. is not the one              | the log of another version
B90 | HC | samples   | must be one decimal integer       | must be one decimal integer        | a sample with a sign
B91 | HC | samples   | must be one decimal integer       | must be one decimal integer        | a sample of 2^64
B92 | HC | samples   | must be one decimal integer       | must be one decimal integer        | a sample with a leading zero
B93 | HC | samples   | must be one decimal integer       | does not end                       | last LF of a sample file missing
B94 | HC | samples   | not the header                    | not the header                     | another header of the process list
B95 | HC | samples   | 36 tab-separated                  | 36 tab-separated                   | a column more in the process list
B96 | HC | samples   | process numbers must rise         | process numbers must rise          | a process twice in its list
B97 | HC | samples   | counter.s label is                | counter.s label is                 | a column of another counter
B98 | HC | samples   | calls in accepted processes       | calls in accepted processes        | other number of calls
B99 | HC | samples   | accepted without calls, time      | accepted without calls, time       | windows without calls
C01 | HC | samples   | commands.txt.*missing             | commands.txt: missing              | no list of commands
C02 | HC | samples   | is not in the bundle              | missing                            | samples of a measured cell missing
C03 | HC | samples   | is not in the bundle              | missing                            | half the samples of a cell that was not measured
C04 | HC | samples   | windows                           | windows together                   | windows of two processes mixed
C05 | HC | form      | has one word each                 | has one word each                  | a failed cell without a reason
C06 | HC | form      | a good build has a library        | a good build has a library         | good build without a library
C07 | HC | samples   | evidence.json: .*cell.*planned    | cells, planned were                | a cell more than planned
C08 | C  | digest    | derived files                     | PASS                               | a derived record changed (only fleetmark verify computes it)
C10 | HC | digest    | derived files                     | PASS                               | an unknown value with its reason; data/ not made anew
C11 | C  | PASS      | PASS attack                       | PASS                               | a record in the form of another version of the program, which the tree names
C12 | C  | digest    | derived files                     | PASS                               | a record changed, the program named is no version
C09 | HC | kat       | missing, empty, too large         | missing or too large               | no log of the known answers
'

log() { swap "$X/kat/Tiny-1-001__reference.log" "$1"; hc; }
A43() { log 's/^manifest [0-9a-f]{8}/manifest 00000000/'; }
A44() { swap "$X/samples/$STEM.ns.txt" '2d'; hc; }
A45() { evidence 'del(.cells[1])'; }
A51() {
    local c
    awk '$1 == 2 { print NR }' "$X/samples/$STEM.process.txt" | sed 's/$/d/' > gone
    for c in process calls ns core_cycles events; do swap "$X/samples/$STEM.$c.txt" "$(cat gone)"; done
    swap "$X/env/$STEM.process.tsv" '/^2\t/d'; hc
}
A52() { evidence '.measure.cells[0].library_sha256 = .nonce'; }
A53() { evidence '.test_world = .nonce'; }
A54() { cp "$X/samples/$STEM.ns.txt" "$X/samples/extra.ns.txt"; hc; }
B70() { evidence '.campaign = "other"'; }
B71() { evidence '.nonce = .job_nonce'; }
B72() { evidence '.job_nonce = .nonce'; }
B73() { evidence '.attempt = 1'; }
B74() { evidence '.system = "arm_1"'; }
B75() { evidence '.candidate = "tiny-2"'; }
B76() { evidence '.measure.profile = "guide"'; }
B77() { evidence '.host.arch = "aarch64"'; }
B78() { evidence '.agent.source_sha256 = .nonce'; }
B79() { swap "$X/build/SOURCES.sha256" '1d'; evidence ".source_sha256 = \"$(sha "$X/build/SOURCES.sha256")\""; }
B80() { evidence '.source_sha256 = .nonce'; }
B81() { evidence '.measure.cells |= .[0:2] + [.[3], .[2]]'; }
B82() { evidence '.builds |= [.[1], .[0]]'; }
B83() { evidence '.kat += [.kat[0]]'; }
B84() { evidence '.measure.cells[1].bytes = 64'; }
B85() { evidence '.measure.cells[1].message_sha256 = .nonce'; }
B86() { swap "$X/kat/Tiny-1-001__reference.log" 's/ PASS $/ NOKAT /'; evidence '.kat[1].status = "NOKAT"'; }
B87() { evidence '.kat[1].status = "MISMATCH"'; }
B88() { log 's/ PASS $/ MISMATCH /'; }
B89() { evidence '.kat[1].log = .kat[0].log'; }
column() { swap "$X/samples/$STEM.$1.txt" "$2"; hc; }
B90() { column ns '1s/^/-/'; }
B91() { column ns '1s/.*/18446744073709551616/'; }
B92() { column ns '1s/^/0/'; }
B93() { head -c -1 "$X/samples/$STEM.ns.txt" > s; mv s "$X/samples/$STEM.ns.txt"; hc; }
table() { swap "$X/env/$STEM.process.tsv" "$1"; hc; }
B94() { table '1s/process/Process/'; }
B95() { table '2s/$/\t0/'; }
B96() { table '3s/^1/0/'; }
B97() { cp "$X/samples/$STEM.core_cycles.txt" "$X/samples/$STEM.ref_ticks.txt"; hc; }
B98() { evidence '.measure.cells[3].calls += 1'; }
B99() { column calls '1,2s/.*/0/'; }
C01() { rm "$X/build/commands.txt"; hc; }
C02() { rm "$X/samples/$STEM.calls.txt"; hc; }
C03() { cp "$X/samples/$STEM.calls.txt" tree/bundles/x86_1/tiny-2/samples/Tiny-2-001__reference__hash_32.calls.txt; seal_bundle x86_1 tiny-2; }
C04() { column process '2{h;d};3{G}'; }
of_missing() { edit tree/bundles/x86_1/tiny-2/evidence.json "$1"; seal_bundle x86_1 tiny-2; }
C05() { of_missing '(.cells[] | select(.status == "missing") | .reason) = ""'; }
C06() { evidence '.builds[0].library_sha256 = ""'; }
C07() { evidence '.cells += [.cells[-1] | .operation = "hash_64"]'; }
C08() { swap tree/data/x86_1/records/tiny-1/Tiny-1-001__hash_32.json '0,/[1-9]/s/[1-9]/0/'; seal_tree; }
other_program() { swap tree/data/report.json "s/\"program\": \"[^\"]*\"/\"program\": \"$1\"/"; C08; }
C11() { other_program "fleetmark 9.9.9"; }
C12() { other_program "fleet mark"; }
C09() { rm "$X/kat/Tiny-1-001__reference.log"; hc; }
C10() { evidence 'del(.clock.elapsed_ns) | .clock.elapsed_ns_why = "the clock was set"'; }
