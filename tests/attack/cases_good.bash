# cases_good.bash - what both verifiers must accept. Form: see cases_seals.bash, without reasons.
# shellcheck shell=bash disable=SC2154,SC2034,SC2329
cases_good='
P01 | -  | PASS | PASS attack | PASS attack .*not for publication | an untouched tree
P02 | -  | PASS | PASS attack | PASS attack | a FIFO, a link and junk below incoming/ and rejected/
P03 | C  | PASS | PASS attack | PASS attack | a newer trust folder that revokes nobody
P04 | -  | PASS | PASS attack | PASS attack | empty folders
P05 | HC | PASS | PASS attack | PASS attack | a system whose key was changed after the campaign
P06 | C  | PASS | PASS attack | PASS attack | a revoked key of no planned system
P07 | C  | PASS | PASS attack | PASS attack | a controller whose key followed another one
P08 | HC | PASS | PASS attack | PASS attack | a host whose clock stands in 1970
P09 | HC | PASS | PASS attack | PASS attack | a host whose clock stands in 2100
P10 | C  | PASS | PASS attack | PASS attack | a rejected bundle; its page claims nothing of what nobody knows
'
P01() { :; }
P02() { mkdir -p tree/rejected/x; mkfifo tree/rejected/x/fifo; ln -s /etc/passwd tree/incoming/link; echo x > "tree/incoming/a name"; }
P03() { newer_trust 9 home/key; }
P04() { mkdir -p tree/bundles/x86_1/tiny-9/env tree/empty; }
P05() {
    local f=tree/trust/enrol/x86_1.txt old
    old=$(key_line hosts/x86_1/key); "$B/resign" --new other
    swap tree/trust/allowed_signers "/^x86_1/{s/\",valid/&/;s/(valid-after=\"[0-9]*Z\")/\\1,valid-before=\"20971231235959Z\"/p;s/valid-after=.*/valid-after=\"20980101000000Z\" ${old//\//\\/}/;s,ssh-ed25519 .*,$(key_line other),}"
    swap "$f" "s,^key .*,key $(key_line other),;s,^previous .*,previous $old,"
    "$B/resign" other enrol.v1@fleetmark < "$f" > "$f.sig"; "$B/resign" hosts/x86_1/key enrol.v1@fleetmark < "$f" > "$f.prev.sig"; seal_trust
}
# the pages show what the host said of its time, so they are made anew
at_year() { evidence ".clock.started_at = \"$1-01-01T00:00:01Z\" | .clock.finished_at = \"$1-01-01T00:00:09Z\""; rm tree/MANIFEST.sha256.sig; "$B/fleetmark" report tree; seal_tree; }
P08() { at_year 1970; }
P09() { at_year 2100; }
P10() {
    local why='.status = "rejected" | .class = "verify" | .reason = "form" | .text = "manifest: no line"' page=tree/tiny-1/perf_x86_1.md
    edit tree/tree.json "(.jobs[] | select(.system == \"x86_1\" and .candidate == \"tiny-1\" and .status == \"accepted\")) |= ($why)
        | (.cells[] | select(.cell | startswith(\"x86_1/tiny-1/\"))) |= ($why)"
    rm -r "$X" tree/MANIFEST.sha256.sig; "$B/fleetmark" report tree; seal_tree
    grep -q 'none was measured' $page && grep -q 'rejected: verify' $page
    ! grep -E 'versions measured|library was checked|gave no core cycles|trial' $page
}
P07() { handed_over; newest; }
P06() { "$B/resign" --new other; key_line other > tree/trust/revoked_keys; seal_trust; }
