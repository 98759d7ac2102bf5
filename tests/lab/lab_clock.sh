#!/bin/bash
# lab_clock.sh - a host whose clock stands in 1970, then in 2100, while it enrols, builds and measures: its stamps are recorded and
# never believed, the controller's own decide. Both verifiers pass the trees, and the pages are made.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin program

small_root 1
cells() { jq -r '.cells[] | "\(.cell) \(.status)"' "$WORK/results/$1/tree.json"; }
same_cells() { [ -n "$(cells now)" ] && diff <(cells now) <(cells "$1"); }
stamped() {   # NAME YEAR: that is the year in the evidence; the tree's own stamps are of today
    local tree=$WORK/results/$1
    jq -c .clock "$tree"/bundles/x86_1/hash-31/evidence.json
    jq -e --arg y "$2" '.clock | (.started_at | startswith($y)) and (.finished_at | startswith($y))' "$tree"/bundles/x86_1/hash-31/evidence.json >/dev/null &&
        jq -e --arg y "$(date -u +%Y)" '[.sealed_at, (.jobs[] | .issued_at, .received_at)] | all(startswith($y))' "$tree/tree.json" >/dev/null
}
both_verify() { gives 0 fleetmark verify --root "$WORK/root" "$WORK/results/$1" && "$FLEETMARK_ROOT/deploy/verify-tree.sh" "$WORK/results/$1" "$FLEETMARK_HOME/controller.pub"; }
set_clock() {   # STAMP | now: of every dynamic program there, also of those that measure
    local offset=0
    [ "$1" = now ] || offset=$(($(date -ud "$1" +%s) - $(date +%s)))
    echo "$offset" | lab in 1 sh -c 'cat > /etc/clock-offset'
}
preload() {
    gcc -shared -fPIC -O2 -o "$WORK/clock.so" "$FLEETMARK_ROOT/tests/data/clock.c" &&
        lab in 1 sh -c 'cat > /usr/lib/clock.so && echo /usr/lib/clock.so > /etc/ld.so.preload' < "$WORK/clock.so"
}
year() { ssh_to h1 date -u +%Y | grep -qx "$1"; }

check "x86_1 is up" lab up 1
lab inventory x86_1=1 > "$INV"
check "its clock can be set" preload
check "its clock is set to 1970" set_clock 1970-01-01T00:00:10Z
check "the host believes it" year 1970
check "it enrols" enrol x86_1
check "a campaign ends with exit 0" gives 0 campaign old
check "its bundle says 1970, the tree's own stamps do not" stamped old 1970
check "both verifiers pass the tree" both_verify old
check "its clock is set to 2100" set_clock 2100-01-01T00:00:10Z
check "the host believes it" year 2100
check "a campaign ends with exit 0" gives 0 campaign new
check "its bundle says 2100, the tree's own stamps do not" stamped new 2100
check "both verifiers pass the tree" both_verify new
check "its clock is right again" set_clock now
check "a campaign ends with exit 0" gives 0 campaign now
check "the cells are the same in all three" eval 'same_cells old && same_cells new'
