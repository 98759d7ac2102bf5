#!/bin/bash
# "Builds natively" tested and not assumed: an AArch64 host whose own gcc runs under emulation makes the same library, byte for
# byte, as one where this machine's cross compiler is bound in.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin program
LIMIT=1500                      # seconds for one command: the whole agent goes through an emulated compiler
TREE=$WORK/results/gcc

small_root 1
check "arm_1 is up, with the cross compiler" lab arm accel 1
check "arm_2 is up, with its own gcc" lab arm user 2
lab inventory arm_1=1 arm_2=2 > "$INV"

library() { jq -er '.builds[] | select(.status == "ok") | .library_sha256' "$TREE/bundles/$1/hash-31/evidence.json"; }
same_library() {
    echo "arm_1 $(library arm_1)"
    echo "arm_2 $(library arm_2)"
    [ -n "$(library arm_1)" ] && [ "$(library arm_1)" = "$(library arm_2)" ]
}
check "both enrol" enrol arm_1 arm_2
check "the campaign ends with exit 0" gives 0 campaign gcc
check "every cell of arm_2 is accepted" all_accepted "$TREE" arm_2
check "both built the same library" same_library
