#!/bin/bash
# kill_controller.sh: kill -9 of the controller at random points of campaigns, half of them random in time, half just before a
# call that changes the disk (so: all through accept, merge and seal). Each campaign goes on and ends with the same set of cells,
# none measured twice unmarked, no accepted bundle lost. And two controllers keep out of each other's way.
#
#   KILL_POINTS     how many kills of each sort (10)     KILL_SEED       of the random points (the time)
#   KILL_EACH       kills of one campaign at most (4)    KILL_INVENTORY  another fleet than this machine
#   KILL_CTL        words before fleetmark (deploy/lab.sh ctl); the systems must be enrolled or local
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
[ -n "${KILL_CTL-}" ] || toy_alone "$@"
toy_start setsid
POINTS=${KILL_POINTS:-10} EACH=${KILL_EACH:-4} RANDOM=${KILL_SEED:=$(($(date +%s) % 32768))}
INVENTORY=${KILL_INVENTORY:-$T/fleet.ini}
[ -z "${KILL_CTL-}" ] || chmod 755 "$T"
now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
# a second candidate, so that there is something before and after each bundle
cp -r "$T/root/algos/toy" "$T/root/algos/toy2"
sed -i 's/^id = toy/id = toy2/; s/Toy-256/Toy2-256/; s/TOY_START=1/TOY_START=2/' "$T/root/algos/toy2/candidate.ini"
# shellcheck disable=SC2206   # words
CTL=(${KILL_CTL-})
RUN=(${CTL[@]+"${CTL[@]}"} "$F" run -i "$INVENTORY" --root "$T/root" --results "$T/results" --profile smoke)
campaign() { "${RUN[@]}" "$@"; }
journal() { echo "$T/results/$1/incoming/journal"; }
field() { sed -n "s/^[0-9]* $1 .*system=\([^ ]*\) candidate=\([^ ]*\) .*job_nonce=\([0-9a-f]*\).*manifest_sha256=\([0-9a-f]*\).*/\1 \2 \3 \4/p" "$2"; }
sealed() { [ -e "$(journal "$1")" ] && tail -n 1 "$(journal "$1")" | grep -q '^[0-9]* sealed '; }

step "seed $KILL_SEED; a campaign nobody disturbs"
# shellcheck disable=SC2046   # names of systems
[ -z "${KILL_CTL-}" ] || gives 0 "${CTL[@]}" "$F" enrol --yes -i "$INVENTORY" --root "$T/root" $(sed -n 's/^\[\(.*\)\]$/\1/p' "$INVENTORY")
gives 0 campaign warm          # builds the agent
start=$(now_ms)
gives 0 campaign whole
D=$(($(now_ms) - start))
gcc -shared -fPIC -D_GNU_SOURCE -o killer.so "$FLEETMARK_ROOT/tests/data/killer.c" -ldl
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
gives 0 env LD_PRELOAD="$T/killer.so" KILL_COUNT="$T/count" "${RUN[@]}" counted
CALLS=$(cat count)
[ "$CALLS" -gt 50 ] || fail "only $CALLS calls were counted"
jq -c '[.cells[] | .cell + " " + .status]' results/whole/tree.json > whole.cells
[ "$(jq length whole.cells)" -gt 1 ] || fail "no cells"

# check NAME: what a campaign must be like once it has ended
check() {
	local at=$T/results/$1 tree=$T/results/$1/tree.json ev
	gives 0 fm verify --root "$T/root" --key "$FLEETMARK_HOME/controller.pub" "$at"
	jq -c '[.cells[] | .cell + " " + .status]' "$tree" | cmp -s - whole.cells || fail "$1: other cells than the undisturbed campaign"
	# every dispatch is in the tree, marked; one of each pair is accepted
	[ "$(grep -c '^[0-9]* issued ' "$at/incoming/journal")" = "$(jq '.jobs | length' "$tree")" ] || fail "$1: dispatches are missing in tree.json"
	jq -e '[.jobs[] | select(.status == "accepted") | .system + "/" + .candidate] | length == (unique | length)' "$tree" > /dev/null || fail "$1: a pair twice"
	jq -e '[.jobs[].job_nonce] | length == (unique | length)' "$tree" > /dev/null || fail "$1: a nonce twice"
	# within a bundle: the planned number of processes counts, each more is marked replaced or invalid
	for ev in "$at"/bundles/*/*/evidence.json; do
		jq -e '.measure.cells | all(.accepted == .planned)' "$ev" > /dev/null || fail "$1: $ev: more or fewer processes than planned"
	done
	awk -F'\t' 'FNR == 1 { n = 0; next } $1 != ++n { print FILENAME; exit 1 }' "$at"/bundles/*/*/env/*.process.tsv > /dev/null || fail "$1: a process twice"
	# what was ever accepted is what is in the tree
	sort -u "$T/accepted.$1" | while read -r system candidate nonce manifest; do
		jq -e --arg s "$system" --arg c "$candidate" --arg n "$nonce" --arg m "$manifest" \
			'any(.jobs[]; .system == $s and .candidate == $c and .job_nonce == $n and .manifest_sha256 == $m and .status == "accepted")' \
			"$tree" > /dev/null || fail "$1: the accepted bundle $nonce of $system $candidate is lost"
	done
	[ -z "$(find "$at/incoming" -maxdepth 1 -name '.in-*' -print -quit)" ] || fail "$1: half a bundle is left"
	[ "$(find "$at" -maxdepth 1 -name '*.new' -print -quit)" = "" ] || fail "$1: half a file is left"
}

# after NAME POINT: what is there after a kill can be read, and is kept for the check at the end
after() {
	local rc=0
	if [ -e "$(journal "$1")" ]; then field accepted "$(journal "$1")" >> "accepted.$1"; fi
	if sealed "$1" || [ ! -e "results/$1/plan" ]; then return; fi
	fm status "$1" --results results > "$T/out" 2> "$T/err" || rc=$?
	[ $rc -le 1 ] || fail "$1: status cannot read the journal after the kill at $2"
}
finish() { # NAME
	sealed "$1" || gives 0 campaign "$1"
	[ ! -e "results/$1.2" ] || fail "$1: a second campaign was begun"
	check "$1"
	step "$1: $kills kills"
}

kills=0 n=0 early=0
while [ $kills -lt "$POINTS" ]; do
	n=$((n + 1)) name=t$n
	: > "accepted.$name"
	for ((i = 0; i < EACH && kills < POINTS; i++)); do
		delay=$(((RANDOM * 32768 + RANDOM) % D))
		"${RUN[@]}" $name > "$T/out" 2> "$T/err" < /dev/null & pid=$!
		sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
		if kill -KILL $pid 2>/dev/null; then kills=$((kills + 1)); else early=$((early + 1)); fi
		rc=0; wait $pid 2>/dev/null || rc=$?
		[ $rc = 137 ] || [ $rc = 0 ] || fail "$name ended with $rc by itself after kill $i"
		after $name "$delay ms"
		if sealed $name; then break; fi
	done
	finish $name
done
step "$kills kills at a random time in $n campaigns ($early runs had ended before); undisturbed $D ms"

all=$kills kills=0 n=0
while [ $kills -lt "$POINTS" ]; do
	n=$((n + 1)) name=s$n
	: > "accepted.$name"
	for ((i = 0; i < EACH && kills < POINTS; i++)); do
		at=$((RANDOM % CALLS + 1)) rc=0
		LD_PRELOAD="$T/killer.so" KILL_AT=$at "${RUN[@]}" $name > "$T/out" 2> "$T/err" < /dev/null &
		wait $! 2> /dev/null || rc=$?
		case $rc in
		137) kills=$((kills + 1)) ;;
		0) ;; # fewer calls than that were left
		*) fail "$name ended with $rc by itself, told to end at call $at" ;;
		esac
		after $name "call $at"
		if sealed $name; then break; fi
	done
	finish $name
done
step "$kills kills at one of $CALLS calls in $n campaigns; $((all + kills)) in all"

step "two controllers on one campaign: the second is refused, the first does not notice"
"${RUN[@]}" both > first.out 2> first.err < /dev/null & pid=$!
for _ in $(seq 400); do grep -q '^1 opened ' "$(journal both)" 2>/dev/null && break; sleep 0.02; done
gives 2 campaign both
says "another controller works on this campaign: pid"
gives 2 fm redo measure both -i "$INVENTORY" --root "$T/root" --results results
says "another controller works on this campaign"
wait $pid || fail "the first controller ended with $?"
: > accepted.both; check both

step "two controllers on one host: the second waits, both end well"
"${RUN[@]}" left > first.out 2> first.err < /dev/null & pid=$!
for _ in $(seq 400); do grep -q ' issued ' "$(journal left)" 2>/dev/null && break; sleep 0.02; done
gives 0 campaign right
wait $pid || fail "the first controller ended with $?"
for name in left right; do : > accepted.$name; check $name; done
grep -h "waiting\|is held" first.err "$T/err" | head -2 || true

step "nothing of ours is left running"
for exe in /proc/[0-9]*/exe; do
	case $(readlink "$exe" 2>/dev/null) in "$T"/*) fail "$exe is still there" ;; esac
done
step ok
