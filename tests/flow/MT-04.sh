#!/bin/bash
# MT-04.sh - the AArch64 worker under qemu-user (MT-04, MT-05, MT-06, MT-17): a register that traps is a refusal with its name, never
# the end of the program; what is left is a tick counter with the step that was seen, and a cell is timed with it.
# Needs a cross compiler, qemu-user and libsodium for arm64: those of the lab ($LAB_CACHE/arm64).
set -euo pipefail
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
ARM=${LAB_CACHE:-$ROOT/.cache/lab}/arm64
CC=aarch64-linux-gnu-gcc
QEMU=qemu-aarch64-static
for tool in $CC $QEMU; do command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }; done
SODIUM=$ARM/usr/lib/aarch64-linux-gnu/libsodium.a
[ -e "$SODIUM" ] || { echo "skipped: no $SODIUM (deploy/lab.sh makes it)"; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
fail() { echo "FAILED: $*"; sed 's/^/    /' "$T/res"; exit 1; }

mkdir "$T/inc"
cp -r "$ARM/usr/include/sodium.h" "$ARM/usr/include/sodium" "$T/inc/"
sources=()
for file in "$ROOT"/agent/worker/*.c "$ROOT"/protocol/*.c; do
    [ "${file##*/}" = frame_so.c ] || sources+=("$file")
done
$CC -O1 -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFM_VERSION='"0"' -pthread "-I$ROOT" "-I$T/inc" -o "$T/fleetmark-worker" \
    "${sources[@]}" "$SODIUM" -ldl -lm
$CC -O2 -std=c11 -fPIC -shared -o "$T/fleetmark-frame.so" "$ROOT/agent/worker/frame_so.c"
$CC -O2 -fPIC -shared -DTOY_START=7 "-I$ROOT/tests/data/toy" -o "$T/toy.so" "$ROOT/tests/data/toy/toy.c"

run() {   # the order on stdin
    local status=0
    cat > "$T/order"
    (cd "$T" && ulimit -c 0 && timeout 120 $QEMU -L /usr/aarch64-linux-gnu ./fleetmark-worker 3<order 4>res </dev/null >log 2>&1) || status=$?
    [ $status = 0 ] || fail "exit status $status"
    [ "$(tail -n 1 "$T/res")" = "end ok" ] || fail "no good end"
}
has() { grep -qE -- "$1" "$T/res" || fail "no '$1'"; }

printf 'fleetmark-order 1\ntask counters\ncpu -1\ncounter raw\nend\n' | run
has '^fact rejected pmccntr: SIGILL$'
has '^fact rejected perf_user: (no )?kernel.perf_user_access'
has '^fact rejected perf_read: ENOSYS: no perf in this kernel'
has '^fact source (cntvct|clock)$'
has '^fact label (ref_ticks|ns)$'
! grep -q core_cycles "$T/res" || fail "cycles under an emulator"
if grep -q '^fact source cntvct$' "$T/res"; then   # the register says 62.5 MHz; the step is what was seen
    step=$(sed -n 's/^fact resolution //p' "$T/res")
    [ "$step" -gt 1 ] || fail "resolution $step"
    echo "CNTVCT: step $step, $(sed -n 's/^fact hz //p' "$T/res") Hz"
fi
! ls "$T"/core* "$T"/qemu_*.core >/dev/null 2>&1 || fail "a core file"

printf 'fleetmark-order 1\ntask time\nlibrary %s\nlibrary_sha256 %s\ncandidate toy\ninstance Toy-256\ndigest_bits 256\ncpu -1\nbytes 32\ncalls 1\nwindows 2\nmin_ns 1000000\nwarm 1\ndigest_sha256 none\nseed 0123456789abcdef\ncounter raw\nend\n' \
    "$T/toy.so" "$(sha256sum < "$T/toy.so" | cut -c1-64)" | run
has '^window [0-9]+ [0-9]+ [0-9-]+ [0-9]+$'
echo ok
