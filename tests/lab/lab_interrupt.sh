#!/bin/bash
# Ctrl-C in the middle of a campaign: exit 130, within 5 s nothing of ours runs on any host, and the same command ends with the
# cells of a campaign that nobody disturbed.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin program

small_root 1
check "x86_1 is up" lab up 1
check "arm_1 is up" lab arm accel 2
lab inventory x86_1=1 arm_1=2 > "$INV"
check "both enrol" enrol x86_1 arm_1
check "an undisturbed campaign" gives 0 campaign calm

cells() { jq -r '.cells[] | "\(.cell) \(.status)"' "$WORK/results/$1/tree.json"; }
same_cells() { diff <(cells calm) <(cells "$1"); }

# Job control gives the program a process group of its own and the default SIGINT, as a terminal does.
set -m
interrupt_at() {   # NAME SYSTEM STAGE: Ctrl-C as soon as that system is in that stage; leaves exit status and time it took
    local name=$1 p rc=0 t
    lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$FLEETMARK_BUILD/fleetmark" -i "$INV" run "$name" --json --profile smoke \
        --root "$WORK/root" --results "$WORK/results" </dev/null >"$WORK/$name.json" 2>"$WORK/$name.err" &
    p=$!
    within 120 reached "$WORK/$name.json" "$2" "$3" || { kill -KILL -- -$p; echo "never reached $3 on $2"; tail -n 5 "$WORK/$name.json"; return 1; }
    kill -INT -- -$p
    t=$(date +%s%N)
    wait $p || rc=$?
    t=$((($(date +%s%N) - t) / 1000000))
    echo "exit $rc after $t ms"
    [ $rc = 130 ] && [ $t -lt 5500 ]
}
reached() { jq -e -n --arg s "$2" --arg g "$3" 'first(inputs | select(.system == $s and .stage == $g))' "$1" >/dev/null 2>&1; }
quiet_hosts() { within 5 no_processes 1 && within 1 no_processes 2; }

for at in "x86_1 build" "arm_1 kat" "arm_1 measure"; do
    read -r system stage <<< "$at"
    name=cut-$system-$stage
    check "$name: Ctrl-C ends it with 130 within 5 s" interrupt_at "$name" "$system" "$stage"
    check "$name: no process of ours is left on the hosts" quiet_hosts
    check "$name: the same command completes it" gives 0 campaign "$name"
    check "$name: and says that it resumes" says 'resum|contin'
    check "$name: the cells are those of an undisturbed campaign" same_cells "$name"
    check "$name: the tree verifies" gives 0 fleetmark verify "$WORK/results/$name"
done
