#!/bin/bash
# lost.sh: a peer that vanishes without a word, in both ways: its link is cut, and its processes are frozen while the kernel still
# answers. It is missed within 45 s, the other host is not delayed, and once it is back the campaign completes (T01, T02, T28 of
# README.md).
set -euo pipefail
# shellcheck source=tests/lab/common.bash
. "$(dirname "$0")/../lab/common.bash"
begin program
small_root 6
check "two hosts are up" lab up 2
lab inventory x86_1=1 x86_2=2 > "$INV"
check "both enrol" enrol x86_1 x86_2

start() {   # NAME
    lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$FLEETMARK_BUILD/fleetmark" -i "$INV" run "$1" --json --profile smoke \
        --root "$WORK/root" --results "$WORK/results" </dev/null >"$WORK/$1.json" 2>"$WORK/$1.err" &
    RUN=$!
}
seen() { jq -e -n --arg s "$2" --arg e "$3" 'first(inputs | select(.system == $s and .event == $e))' "$1" >/dev/null 2>&1; }
stage() { jq -e -n --arg s "$2" --arg g "$3" 'first(inputs | select(.system == $s and .event == "stage" and .stage == $g))' "$1" >/dev/null 2>&1; }

# injecting takes a while on a loaded machine: from the build on there is enough to do
for kind in "down up measure" "freeze thaw build"; do
    read -r cut mend at <<< "$kind"
    name=lost-$cut
    start "$name"
    check "$name: x86_2 is in stage $at" within 200 stage "$WORK/$name.json" x86_2 "$at"
    lab fault 2 "$cut"; t=$SECONDS
    check "$name: it is missed within 45 s" within 50 seen "$WORK/$name.json" x86_2 retry
    say "      missed after $((SECONDS - t)) s: $(jq -r 'select(.event == "retry" and .system == "x86_2") | .text' "$WORK/$name.json" | head -1)"
    check "$name: missed within 45 s by the clock" [ $((SECONDS - t)) -le 45 ]
    check "$name: x86_1 ends as if alone" within 200 seen "$WORK/$name.json" x86_1 host_done
    lab fault 2 "$mend"
    rc=0; wait $RUN || rc=$?
    check "$name: once it is back the campaign completes" [ $rc = 0 ]
    check "$name: every cell is accepted" all_accepted "$WORK/results/$name" x86_2
    check "$name: the job was not dispatched twice" [ "$(jq '.jobs | length' "$WORK/results/$name/tree.json")" = 2 ]
done

# T28: the controller dies; the job goes on by itself and is adopted
start orphan
check "orphan: x86_2 measures" within 200 stage "$WORK/orphan.json" x86_2 measure
kill -KILL "$(sed -n 's/^pid \([0-9]*\) .*/\1/p' "$WORK/results/orphan/incoming/lock")"
wait $RUN 2>/dev/null || true
check "orphan: jobs go on without the controller, and end" within 200 no_processes 2
check "orphan: the next run adopts what was done" gives 0 campaign orphan
check "orphan: nothing was dispatched twice" [ "$(jq '.jobs | length' "$WORK/results/orphan/tree.json")" = 2 ]
