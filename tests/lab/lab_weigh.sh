#!/bin/bash
# lab_weigh.sh - the figures of tests/flow/weigh.sh on AArch64: weigher and toys made by the cross compiler, run by qemu.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin lab
lab deps arm >"$WORK/deps.log" 2>&1 || skip "no AArch64 userland: $(tail -n 1 "$WORK/deps.log")"

ARM=$LAB_CACHE/arm64
CROSS="aarch64-linux-gnu-gcc --sysroot=$ARM"
# shellcheck disable=SC2317   # called by check
build() {
    local files=("$FLEETMARK_ROOT"/agent/weigh/*.c "$FLEETMARK_ROOT"/protocol/*.c) f
    for f in "$FLEETMARK_ROOT"/agent/worker/*.c; do
        case ${f##*/} in main.c | frame_so.c) ;; *) files+=("$f");; esac
    done
    $CROSS -O2 -std=c11 -Wall -Werror -fvisibility=hidden -ffunction-sections -fdata-sections -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
        -DFM_VERSION='"0"' -I"$FLEETMARK_ROOT" -Wl,--gc-sections -o "$WORK/fleetmark-weigh" "${files[@]}" \
        "$ARM/usr/lib/aarch64-linux-gnu/libsodium.a" -pthread -ldl -lm
}
check "the weigher, cross-compiled" build
# under its own name the interpreter may only be called by the kernel
ln -s "$LAB_CACHE/qemu/aarch64-binfmt-P" "$WORK/qemu"
export CC=$CROSS RUNNER="$WORK/qemu -L $ARM" FLEETMARK_WEIGH=$WORK/fleetmark-weigh
check "MT-31 to MT-34 on AArch64: exact" bash "$FLEETMARK_ROOT/tests/flow/weigh.sh"
exit $FAILED
