#!/bin/bash
# lab_toys.sh - tests/flow/toys.sh on AArch64: toy functions of known stack, heap, leak and sections through a campaign on a host
# under qemu-user; the evidence states the same figures as on x86-64.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
# shellcheck source=../flow/toys.bash
. "$FLEETMARK_ROOT/tests/flow/toys.bash"
begin program
lab deps arm >"$WORK/deps.log" 2>&1 || skip "no AArch64 userland: $(tail -n 1 "$WORK/deps.log")"
LIMIT=900
toys_root "$WORK/root" "$FLEETMARK_ROOT"
check "an AArch64 host is up" lab arm accel 1
lab inventory arm_1=1 > "$INV"
check "it enrols" enrol arm_1
check "the campaign ends with exit 0" gives 0 campaign toys
check "every cell is accepted" all_accepted "$WORK/results/toys" arm_1
check "stack, heap, leak and sections: as stated" toys_weighed "$WORK/results/toys/bundles/arm_1/toys/evidence.json"
sed 's/^/          /' "$WORK/check.out"
exit $FAILED
