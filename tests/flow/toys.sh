#!/bin/bash
# toys.sh - toy functions of known stack, heap, leak and sections through a whole campaign: the evidence states what was measured.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
# shellcheck source=tests/flow/toys.bash
. "$FLEETMARK_ROOT/tests/flow/toys.bash"
toy_alone "$@"
# shellcheck disable=SC2119   # no further tools
toy_start
rm -rf "$T/root"
toys_root "$T/root" "$FLEETMARK_ROOT"
gives 0 fm enrol -i "$T/fleet.ini" --root "$T/root" toy_1
gives 0 run tree
step "measured"
toys_weighed "$T/results/tree/bundles/toy_1/toys/evidence.json" || fail "a figure is not exact"
# Without a hardware counter: every source before the one that counts has its reason, and ticks stand in no cycle column.
E=$T/results/tree/bundles/toy_1/toys/evidence.json
if [ "$(jq -r .measure.counter.label "$E")" = core_cycles ]; then
    step "core_cycles by $(jq -r .measure.counter.source "$E")"
else
    step "$(jq -r '.measure.counter | "\(.label) by \(.source); rejected \(.rejected | join("; "))"' "$E")"
    jq -e '.measure.counter.rejected | map(select(startswith("perf_") and test(": .+"))) | length >= 2' "$E" >/dev/null || fail "a source is missing without a reason"
    for record in "$T"/results/tree/data/toy_1/records/toys/*.json; do
        jq -e '.mean_cycles == null and .median_trial_cycles == null and all(.trials[]; .cycles == 0)' "$record" >/dev/null || fail "$record prints cycles"
    done
    grep -qF 'This system gave no core cycles' "$T/results/tree/toys/perf_toy_1.md" || fail "the page does not say that there are no core cycles"
    awk -F'|' '/^\| instance \| message \| mean cycles/ { on = 1; next } !/^\|/ { on = 0 } on && $2 !~ /^-/ && ($4 ~ /[0-9]/ || $5 ~ /[0-9]/) { print; bad = 1 } END { exit bad }' \
        "$T/results/tree/toys/perf_toy_1.md" || fail "a number stands in a column of cycles"
fi
gives 0 fm verify --root "$T/root" "$T/results/tree"
echo ok
