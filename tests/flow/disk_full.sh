#!/bin/bash
# disk_full.sh: the controller's disk is full from a certain call on, all through a campaign and its sealing: the command says so
# and ends, what is there is never a wrong seal, and with room again the same command ends with the same cells.
#
#   FULL_POINTS  how many such points (8), half of them within the last quarter of the calls, where the tree is sealed
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
toy_alone "$@"
toy_start gcc
POINTS=${FULL_POINTS:-8}
gcc -shared -fPIC -D_GNU_SOURCE -o killer.so "$FLEETMARK_ROOT/tests/data/killer.c" -ldl
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
campaign() { run --results "$T/results" "$@"; }

step "a campaign with room"
gives 0 campaign warm
gives 0 env LD_PRELOAD="$T/killer.so" KILL_COUNT="$T/count" "$F" run -i fleet.ini --root root --profile smoke --results results whole
CALLS=$(cat count)
jq -c '[.cells[] | .cell + " " + .status]' results/whole/tree.json > whole.cells

full=0
for ((i = 0; i < POINTS; i++)); do
	if [ $((i % 2)) = 0 ]; then at=$((1 + i * CALLS / POINTS)); else at=$((CALLS * 3 / 4 + i * CALLS / 4 / POINTS)); fi
	rc=0
	LD_PRELOAD=$T/killer.so FULL_AT=$at "$F" run -i fleet.ini --root root --profile smoke --results results f$i > "$T/out" 2> "$T/err" < /dev/null || rc=$?
	if [ $rc = 0 ]; then step "point $i: fewer than $at calls"; continue; fi
	full=$((full + 1))
	[ $rc -lt 128 ] || fail "point $i: ended with $rc"
	grep -qiE 'no space|disk' "$T/err" "$T/out" || fail "point $i (call $at of $CALLS): it is not said that the disk is full"
	# whatever seal is there is a good one
	if [ -e results/f$i/MANIFEST.sha256.sig ]; then gives 0 fm verify --root root --key "$FLEETMARK_HOME/controller.pub" results/f$i; fi
	gives 0 campaign f$i
	jq -c '[.cells[] | .cell + " " + .status]' results/f$i/tree.json | cmp -s - whole.cells || fail "point $i: other cells"
	gives 0 fm verify --root root --key "$FLEETMARK_HOME/controller.pub" results/f$i
	step "point $i, call $at of $CALLS: said, resumed, sealed"
done
[ $full -gt $((POINTS / 2)) ] || fail "only $full of $POINTS times the disk was full"
step ok
