#!/bin/bash
# A fleet for hours: x86-64 hosts and one AArch64 host, one campaign with profile smoke over all candidates, while hosts are out
# of reach, drop off the line in a transfer, crash, run full, lose their sshd or have a tenth of a core, and the controller is
# killed with -9 and restarted. Every cell ends accepted or failed for its true reason; nothing is lost, nothing is measured
# twice unmarked; with the faults taken back the same command completes the campaign.
#
#   FLEET_HOSTS      x86-64 hosts, at least 6 (16)        FLEET_INSTANCES   of each candidate (1; 99: all)
#   FLEET_JOBS       hosts at a time (all)
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin program
HOSTS=${FLEET_HOSTS:-16} INSTANCES=${FLEET_INSTANCES:-1} ARM=$((${FLEET_HOSTS:-16} + 1))
[ "$HOSTS" -ge 6 ] || skip "FLEET_HOSTS must be at least 6"
TREE=$WORK/results/fleet JOURNAL=$WORK/results/fleet/incoming/journal EVENTS=$WORK/results/fleet/incoming/events
export LIMIT=6000

root_of_all() {   # every candidate of origin own, cut to its first INSTANCES, with their known answers
    local d c
    mkdir -p "$WORK/root/algos" "$WORK/root/kat"
    for d in agent protocol; do cp -a "$FLEETMARK_ROOT/$d" "$WORK/root/"; done
    cp -a "$FLEETMARK_ROOT/algos/flags.ini" "$WORK/root/algos/"
    for c in "$FLEETMARK_ROOT"/algos/*/candidate.ini; do
        grep -q '^origin = own' "$c" || continue
        d=$(basename "$(dirname "$c")")
        cp -a "$(dirname "$c")" "$WORK/root/algos/"
        awk -v n="$INSTANCES" '/^\[instance / {k++} k <= n' "$c" > "$WORK/root/algos/$d/candidate.ini"
        [ -d "$FLEETMARK_ROOT/kat/$d" ] || continue
        cp -a "$FLEETMARK_ROOT/kat/$d" "$WORK/root/kat/"
        # known answers of instances that are not in the recipe are refused, so those go too
        awk '/^\[instance / {i = substr($2, 1, length($2) - 1); print i} /^kat *=/ {print $3}' "$WORK/root/algos/$d/candidate.ini" > "$WORK/instances"
        [ ! -f "$WORK/root/kat/$d/kat.sha256" ] ||
            awk 'FNR == NR {want[$0]; next} {split($3, p, "/")} p[1] in want' "$WORK/instances" "$FLEETMARK_ROOT/kat/$d/kat.sha256" > "$WORK/root/kat/$d/kat.sha256"
        [ ! -f "$WORK/root/kat/$d/vectors.txt" ] ||
            awk -F'|' 'FNR == NR {want[$0]; next} /^#/ || $1 in want' "$WORK/instances" "$FLEETMARK_ROOT/kat/$d/vectors.txt" > "$WORK/root/kat/$d/vectors.txt"
    done
}
start() {   # the campaign in the background; its process in $RUN
    lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$FLEETMARK_BUILD/fleetmark" -i "$INV" run fleet --json --profile smoke ${FLEET_JOBS:+-j "$FLEET_JOBS"} \
        --root "$WORK/root" --results "$WORK/results" </dev/null >>"$WORK/run.json" 2>>"$WORK/run.err" &
    RUN=$!
}
reached() { jq -e -n --arg s "$1" --arg g "$2" 'first(inputs | select(.system == $s and .stage == $g and .event == "stage"))' "$EVENTS" >/dev/null 2>&1; }
await() {   # SYSTEM STAGE: that system is in that stage, or has passed it
    local end=$((SECONDS + 3000))
    until reached "$1" "$2"; do [ $SECONDS -lt $end ] && kill -0 "$RUN" 2>/dev/null || return 1; sleep 0.2; done
}
pid_of_controller() { sed -n 's/^pid \([0-9]*\) .*/\1/p' "$WORK/results/fleet/incoming/lock"; }

root_of_all
check "$HOSTS x86-64 hosts are up" lab up "$HOSTS"
check "one AArch64 host is up" lab arm accel "$ARM"
names=()
for ((i = 1; i <= HOSTS; i++)); do names+=("x86_$i=$i"); done
lab inventory "${names[@]}" "arm_1=$ARM" > "$INV"
check "all are reached, their agents built" fleetmark -i "$INV" check --reach -j 4 --root "$WORK/root"
check "all enrol" enrol "${names[@]%=*}" arm_1
say "memory and load: $(free -m | awk '/^Mem/ {print $3 " MB used"}'), $(cut -d' ' -f1-3 /proc/loadavg)"

lab fault 1 down                       # x86_1: out of reach from the start
lab fault 6 cpu 10                     # x86_6: a tenth of a core
lab fault 2 rate 1mbit                 # x86_2: slow enough that a transfer is caught in the middle
start
check "x86_2 is in its transfer" await x86_2 push
lab fault 2 down; cut=$SECONDS
say "x86_2: link down in the transfer"
check "x86_3 measures" await x86_3 measure
lab fault 3 crash
say "x86_3: crashed while it measured"
check "x86_4 builds or measures" await x86_4 build
lab fault 4 fill 0
say "x86_4: disk full"
check "x86_5 measures or checks known answers" await x86_5 kat
lab fault 5 killsshd
say "x86_5: no sshd"
while [ $((SECONDS - cut)) -lt 60 ]; do sleep 1; done
lab fault 2 up; lab fault 2 norate
say "x86_2: link up after $((SECONDS - cut)) s"
lab fault 3 boot
lab fault 5 startsshd
kill -KILL "$(pid_of_controller)"; wait $RUN 2>/dev/null || true
say "the controller was killed with -9; $(grep -c ' accepted ' "$JOURNAL" || true) bundles were accepted by then"
sleep 5
start
rc=0; wait $RUN || rc=$?
say "the restarted campaign ended with $rc"
check "it ends with exit 1: some cells failed" [ $rc = 1 ]

# what must hold of it
lost_none() {   # every planned cell is in the tree, accepted or with class, reason and text
    jq -r '.cells[] | select(.status != "accepted") | "\(.cell) \(.status) \(.class)/\(.reason): \(.text)"' "$TREE/tree.json" | awk '{split($1, c, "/"); print c[1], $2, $3}' | sort | uniq -c
    jq -e '.cells | length > 0 and all(.status == "accepted" or (.class != "" and .reason != "" and .text != ""))' "$TREE/tree.json" >/dev/null
}
twice_none() {
    local e issued
    issued=$(grep -c '^[0-9]* issued ' "$JOURNAL")
    jq -c '[.jobs[] | select(.status == "accepted") | .system + "/" + .candidate] | group_by(.)[] | select(length > 1)' "$TREE/tree.json" | grep . && return 1
    jq -c '[.jobs[] | .job_nonce | select(. != "")] | group_by(.)[] | select(length > 1)' "$TREE/tree.json" | grep . && return 1
    [ "$issued" = "$(jq '[.jobs[] | select(.job_nonce != "")] | length' "$TREE/tree.json")" ] || { echo "$issued dispatches in the journal"; jq -c '.jobs[]' "$TREE/tree.json"; return 1; }
    for e in "$TREE"/bundles/*/*/evidence.json; do
        jq -e '.measure.cells | all(.accepted == .planned)' "$e" >/dev/null || { echo "$e: more or fewer processes than planned"; return 1; }
    done
}
rest_accepted() {   # all but the two that could not work
    local s
    for s in $(jq -r '.cells[].cell | split("/")[0]' "$TREE/tree.json" | sort -u); do
        case $s in x86_1 | x86_4) ;; *) all_accepted "$TREE" "$s" || return 1;; esac
    done
}
check "every cell is accepted or says why not" lost_none
sed 's/^/      /' "$WORK/check.out"
check "no cell was measured twice unmarked" twice_none
check "x86_1, never reached: class transport" cells_fail_with "$TREE" x86_1 transport
rest_failed_with() {   # SYSTEM CLASS: what it had not delivered before is of that class, and there is some
    jq -c --arg s "$1/" '[.cells[] | select((.cell | startswith($s)) and .status != "accepted") | .class + "/" + .reason] | group_by(.)[] | [.[0], length]' "$TREE/tree.json"
    jq -e --arg s "$1/" --arg c "$2" '[.cells[] | select((.cell | startswith($s)) and .status != "accepted")] | length > 0 and all(.class == $c)' "$TREE/tree.json" > /dev/null
}
check "x86_4, disk full: class host-state for what it still owed" rest_failed_with x86_4 host-state
check "every cell of all other hosts is accepted" rest_accepted
check "the tree verifies" gives 0 fleetmark verify "$TREE"
lab fault 1 up
lab fault 4 unfill
check "with the faults taken back the same command completes it" gives 0 fleetmark -i "$INV" run fleet --profile smoke --root "$WORK/root" --results "$WORK/results"
check "every cell is accepted" jq -e '.cells | length > 0 and all(.status == "accepted")' "$TREE/tree.json"
check "no cell was measured twice unmarked" twice_none
check "the completed tree verifies" gives 0 fleetmark verify "$TREE"
say "$(jq '.cells | length' "$TREE/tree.json") cells, $(jq '.jobs | length' "$TREE/tree.json") dispatches, tree $(sha256sum < "$TREE/MANIFEST.sha256" | cut -c1-12)"
