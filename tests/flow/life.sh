#!/bin/bash
# life.sh: the life of campaigns on one host: finished and begun anew, cancelled and resumed, a stage done again, unchanged
# sources not sent twice, old jobs, trees and agents cleaned within their quota, and everything of ours taken off the host.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
toy_alone "$@"
toy_start setsid
W=$HOME/.fleetmark
within() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || fail "never: $*"; sleep 0.05; done; }
events() { grep -qs "\"event\": \"$2\"" "$T/results/$1/incoming/events"; }
count() { find "$1" -mindepth 1 -maxdepth 1 ! -name '.*' | wc -l; }
cells() { jq -c '[.cells[] | .cell + " " + .status]' "results/$1/tree.json"; }

step "five campaigns, each with other sources: the last three of the others stay, and what they name"
for i in 1 2 3 4 5; do
	sed -i "/^\/\* edit/d" root/algos/toy/toy.c
	echo "/* edit $i */" >> root/algos/toy/toy.c
	[ "$i" != 5 ] || for a in 1 2 3 4 5; do mkdir -p "$W/agent/$(printf "old agent %s" $a | sha256sum | cut -c1-64)"; done
	mkdir -p "$W/src/.in-left-$i"
	gives 0 run "c$i"
done
[ "$(count "$W/jobs")" = 4 ] || fail "jobs: $(ls -A "$W/jobs")"
[ ! -e "$W/jobs/c1" ] && [ -e "$W/jobs/c5" ] || fail "not the oldest job went"
[ "$(count "$W/src")" = 4 ] || fail "trees: $(ls -A "$W/src")"
[ "$(count "$W/agent")" = 4 ] || fail "agents: $(ls -A "$W/agent")"
[ -z "$(find "$W/src" "$W/jobs" -maxdepth 1 \( -name '.in-*' -o -name '.plan-*' \) -print -quit)" ] || fail "leftovers"

step "finished and begun anew; unchanged sources are not sent again"
gives 0 run c5
[ -e results/c5.2/tree.json ] || fail "no c5.2"
bytes=$(sed -n 's/.*push: every tree is there; asking took \([0-9]*\) bytes out, \([0-9]*\) in.*/\1 \2/p' results/c5.2/incoming/logs/toy_1.log | awk '{print $1 + $2}')
[ -n "$bytes" ] && [ "$bytes" -lt 1000 ] || fail "asking for unchanged trees took '$bytes' bytes"
echo "     an unchanged push: $bytes bytes"

step "one stage done again: a new dispatch, the earlier bundle set aside, the same cells"
cells c5.2 > before
gives 2 fm redo paint c5.2 -i fleet.ini --root root; says "allowed are push, build, kat"
gives 0 fm redo build c5.2 -i fleet.ini --root root; says "build is done again by the next run"
[ -d "results/c5.2/incoming/superseded/toy_1-toy.1" ] || fail "the earlier bundle is gone"
gives 0 run c5.2
[ "$(jq '.jobs | length' results/c5.2/tree.json)" = 2 ] || fail "no second dispatch in the tree"
cells c5.2 | cmp - before || fail "other cells"
gives 0 fm redo report c5.2 -i fleet.ini --root root
gives 0 fm verify --key "$FLEETMARK_HOME/controller.pub" --root root results/c5.2

step "a redo broken off between two bundles: the one the journal names takes its place again"
head -n -1 results/c5.2/incoming/journal > journal.open
tail -n 1 results/c5.2/incoming/journal | grep -q ' sealed ' || fail "the last line is not the seal"
cp journal.open results/c5.2/incoming/journal
mv results/c5.2/bundles/toy_1/toy results/c5.2/incoming/.in-toy_1-0123456789abcdef
cp -r results/c5.2/incoming/superseded/toy_1-toy.1 results/c5.2/bundles/toy_1/toy
rm results/c5.2/MANIFEST.sha256 results/c5.2/MANIFEST.sha256.sig
gives 0 run c5.2; says "finishing the interrupted arrival of toy"
cells c5.2 | cmp - before || fail "other cells after the repair"
[ "$(jq '.jobs | length' results/c5.2/tree.json)" = 2 ] || fail "a dispatch more"
[ -d results/c5.2/incoming/superseded/toy_1-toy.2 ] || fail "what lay in its place is gone"
gives 0 fm verify --key "$FLEETMARK_HOME/controller.pub" --root root results/c5.2

step "cancelled from another terminal: nothing of ours runs, then resumed"
"$F" run stop -i "$T/fleet.ini" --root "$T/root" --profile smoke > first.out 2> first.err < /dev/null & pid=$!
within 60 events stop stage
gives 0 fm cancel stop -i fleet.ini --root root; says "toy_1: finished"; says "to go on later"
rc=0; wait $pid || rc=$?
[ $rc = 3 ] || fail "the cancelled run ended with $rc"
grep -q "host-state cancelled" first.err || fail "the run does not say that it was cancelled"
for exe in /proc/[0-9]*/exe; do
	case $(readlink "$exe" 2>/dev/null) in "$W"/*) fail "$exe is still there" ;; esac
done
gives 0 fm list; says "unfinished"

step "sources edited under it: what differs is shown, with the command for a new campaign; put back, it is resumed"
cp root/algos/toy/toy.c toy.before
echo '/* edited under an unfinished campaign */' >> root/algos/toy/toy.c
gives 2 run stop; says "toy.c"; says "changed"; says "fleetmark run"
cp toy.before root/algos/toy/toy.c
gives 0 run stop; says "resuming"
cells stop | sed 's/stop/c5.2/' | cmp - before || fail "other cells after the resumption"

step "remove: refused while a job runs, only what is ours, then nothing"
gives 2 fm remove toy_1 -i fleet.ini --root root; says "fleetmark remove --yes toy_1"
"$F" run busy -i "$T/fleet.ini" --root "$T/root" --profile smoke > first.out 2> first.err < /dev/null & pid=$!
within 60 events busy stage
rc=0; fm remove --yes toy_1 -i fleet.ini --root root > out 2> err || rc=$?
[ $rc != 0 ] && grep -q "a job holds this host" out err || fail "remove under a running job: $rc"
wait $pid || fail "the running job was disturbed"
echo mine > "$W/thesis.txt"
gives 0 fm remove --yes toy_1 -i fleet.ini --root root; says "thesis.txt is not ours and stays"
[ "$(ls -A "$W")" = thesis.txt ] || fail "left: $(ls -A "$W")"
rm "$W/thesis.txt"
gives 0 fm remove --yes toy_1 -i fleet.ini --root root; says "toy_1: nothing of ours is left there"
[ ! -e "$W" ] || fail "the work folder is still there"
gives 0 fm verify --key "$FLEETMARK_HOME/controller.pub" --root root results/c5
gives 0 fm enrol --lost --yes toy_1 -i fleet.ini --root root
gives 0 run anew
step ok
