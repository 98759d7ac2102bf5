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
grep -q 'core_cycles' "$T/results/tree/bundles/toy_1/toys/evidence.json" && label=$(jq -r .measure.counter.label "$T/results/tree/bundles/toy_1/toys/evidence.json")
step "counter here: ${label:-ref_ticks}"
gives 0 fm verify --root "$T/root" "$T/results/tree"
echo ok
