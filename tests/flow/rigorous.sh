#!/bin/bash
# rigorous.sh - a real campaign of profile rigorous on this machine: planned, measured in rounds, accepted, verified offline. How long
# it took beside what the agent expected is printed, not judged.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
toy_alone "$@"
# shellcheck disable=SC2119   # no further tools
toy_start

gives 0 fm enrol -i "$T/fleet.ini" --root "$T/root" toy_1
gives 0 fm plan -i "$T/fleet.ini" --root "$T/root" --profile rigorous
step "plan: $(tail -n 1 "$T/out")"
gives 0 fm run tree -i "$T/fleet.ini" --root "$T/root" --profile rigorous
grep -hoE 'toy: [0-9]+ cells.*' "$T/out" "$T/err" | head -n 1 || true
bundle=$T/results/tree/bundles/toy_1/toy
evidence=$bundle/evidence.json
[ "$(jq -r .measure.profile "$evidence")" = rigorous ] || fail "the profile"
[ "$(jq '.measure.cells | length' "$evidence")" = 8 ] || fail "cells"
jq -e 'all(.measure.cells[]; (.stop == "target" or .stop == "cap") and .planned == 20 and .accepted >= 20 and .accepted <= 60 and .accepted % 10 == 0)' \
	"$evidence" >/dev/null || fail "a cell did not stop at a look: $(jq -c '.measure.cells[] | [.operation, .stop, .accepted]' "$evidence")"
for file in "$bundle"/env/*.process.tsv; do
	# one planning process, number 0; then attempts in rounds that only rise, at most three of each but invalid ones
	awk -F'\t' 'NR==2 && ($1!=0 || $3!=0 || ($4!=3 && $4!=2)) {bad=1} NR>2 && ($3<last || $4==3) {bad=1} NR>1{last=$3} $4==1&&$5<=$1{bad=1} END{exit bad}' "$file" ||
		fail "$file: $(cut -f1-6 "$file")"
done
awk -F'\t' 'FNR>1{if (!a||$8<a) a=$8; if ($8+$9>b) b=$8+$9} END{printf "measured for %.1f s\n",(b-a)/1e9}' "$bundle"/env/*.process.tsv
gives 0 fm verify --root "$T/root" "$T/results/tree"
echo ok
