#!/bin/bash
# weigh.sh [PART] - fleetmark-weigh on toy libraries of known stack, heap, leak and sections: every figure exact.
#
# RUNNER         words before the program, such as an emulator    FLEETMARK_WEIGH  another program to test
# CC             the compiler of the toys, words too
set -euo pipefail
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${FLEETMARK_BUILD:-}
WEIGH=${FLEETMARK_WEIGH:-$BUILD/fleetmark-weigh}
[ -x "$WEIGH" ] || { echo "no $WEIGH"; exit 77; }
CC=${CC:-gcc}
command -v "${CC%% *}" >/dev/null || { echo "no $CC"; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
FAILED=0

bad() { echo "FAILED: $*"; sed 's/^/    /' "$T/res"; FAILED=1; }
ok() { echo "ok      $*"; }

toy() {   # NAME SOURCE [FLAG...]: $T/NAME.so
    local name=$1 source=$2
    shift 2
    # shellcheck disable=SC2086   # CC is words
    $CC -std=gnu11 -O2 -fno-stack-protector -Wall -Werror -fPIC -shared -o "$T/$name.so" "$ROOT/tests/toys/$source.c" "$@"
}

# weigh NAME BYTES [CALLS [REGION]]: the results in $T/res
weigh() {
    local name=$1 bytes=$2 status=0
    printf '%s\n' 'fleetmark-order 1' 'task memory' "library $T/$name.so" "library_sha256 $(sha256sum < "$T/$name.so" | cut -c1-64)" \
        'candidate toys' "instance $name" 'digest_bits 256' 'cpu -1' "bytes $bytes" "calls ${3:-17}" "stack_region ${4:-1048576}" end > "$T/order"
    # shellcheck disable=SC2086   # RUNNER is words
    env -i timeout 60 ${RUNNER-} "$WEIGH" 3<"$T/order" 4>"$T/res" </dev/null >"$T/log" 2>&1 || status=$?
    [ $status = 0 ] && grep -qx 'end ok' "$T/res" || bad "$name $bytes: exit status $status"
}

fact() { sed -n "s/^fact $1 //p" "$T/res"; }
# is KEY VALUE WHAT; near KEY VALUE BY WHAT
is() { if [ "$(fact "$1")" = "$2" ]; then ok "$3: $1 $2"; else bad "$3: $1 is '$(fact "$1")', must be $2"; fi; }
near() {
    local got
    got=$(fact "$1")
    if [ -n "$got" ] && [ $((got - $2)) -le "$3" ] && [ $(($2 - got)) -le "$3" ]; then ok "$4: $1 $got (stated $2)"; else bad "$4: $1 is '$got', must be $2 within $3"; fi
}

mt_31() {   # what the parent had in memory is not the child's
    local held pad
    # 200 MB that stay in this shell while the weigher is started from it
    # shellcheck disable=SC2034   # it only has to be there
    pad=$(head -c 200000000 /dev/zero | tr '\0' x)
    held=$(awk '/^VmRSS/ {print $2}' "/proc/$$/status")
    [ "$held" -gt 190000 ] || bad "the test itself does not hold 200 MB but $held KiB"
    weigh plain 32
    unset pad
    held=$(fact rss_peak_process_kib)
    # an emulator's own memory is in it
    if [ -n "${RUNNER-}" ] || [ "$held" -lt 10000 ]; then ok "MT-31: rss_peak_process_kib $held under a parent of 200 MB"; else bad "MT-31: $held KiB"; fi
    if grep -rn 'ru_maxrss' "$ROOT/agent" "$ROOT/orchestrator" "$ROOT/protocol"; then bad "MT-31: ru_maxrss is used"; fi
}

mt_32() {   # stack, to the byte
    local size now
    for size in 64 400 800 4096; do
        toy frame$size frame -DFRAME=$size
        weigh frame$size 32
        near stack_touched_bytes $size 16 "MT-32 frame$size"
    done
    toy frame256k frame -DFRAME=262144
    weigh frame256k 32
    near stack_touched_bytes 262144 16 "MT-32 frame256k"
    is stack_region_bytes 1048576 "MT-32 frame256k"
    weigh frame256k 32 17 65536
    near stack_touched_bytes 262144 16 "MT-32 frame256k from a region of 64 KiB"
    is stack_region_bytes 524288 "MT-32 the region doubled"
    toy frame5m frame -DFRAME=5000000
    weigh frame5m 32
    near stack_touched_bytes 5000000 16 "MT-32 more than the first region"
    toy lazy lazy -Wl,-z,now
    weigh lazy 32
    now=$(fact stack_touched_bytes)
    toy lazy lazy -Wl,-z,lazy
    weigh lazy 32
    is stack_touched_bytes "$now" "MT-32 lazy linking changes nothing"
    [ "$now" -lt 1000 ] || bad "MT-32: lazy needs $now bytes, so the linker ran on the painted stack"
}

mt_33() {   # file pages are no heap
    local usable
    toy heap heap
    weigh heap 32
    is heap_peak_requested_bytes 5941 "MT-33 heap"
    is allocs_per_call 6 "MT-33 heap"
    is leak_bytes_per_call 0 "MT-33 heap"
    is unaccounted_mapping_bytes 0 "MT-33 heap"
    usable=$(fact heap_peak_usable_bytes)
    # malloc gives each of the four blocks at the peak a little more, how much depends on the state of its heap
    [ "$usable" -ge 5941 ] && [ "$usable" -le $((5941 + 4 * 48)) ] || bad "MT-33: $usable usable bytes"
    toy heap heap -DBIG=50000000
    weigh heap 32
    is heap_peak_usable_bytes "$usable" "MT-33 with a file of 50 MB mapped and read"
    [ "$(fact rss_peak_process_kib)" -gt 48000 ] || bad "MT-33: the process figure does not show the file"
    ! sed -n 's/^fact \([a-z_]*\) .*/\1/p' "$T/res" | grep -E '(rss|hwm)_' | grep -vE '_process_|^hwm_reset$' || bad "MT-33: a process figure without _process_"
}

mt_34() {   # the leaking toy: peak and leak per call, whatever the number of calls
    local bytes calls peak
    toy leak leak
    for bytes in 32 65536; do
        peak=
        for calls in 3 17 200; do
            weigh leak $bytes $calls
            is leak_bytes_per_call $((bytes + 200)) "MT-34 leak, $bytes bytes, $calls calls"
            is heap_peak_requested_bytes $((bytes + 200)) "MT-34 leak, $bytes bytes, $calls calls"
            [ -z "$peak" ] || [ "$peak" = "$(fact heap_peak_usable_bytes)" ] || bad "MT-34: the peak depends on the calls"
            peak=$(fact heap_peak_usable_bytes)
        done
    done
    weigh leak 1000000
    is leak_bytes_per_call 1000200 "MT-34 leak of mapped blocks"
    is unaccounted_mapping_bytes 0 "MT-34 blocks that malloc maps are accounted for"
}

rest() {
    local t
    weigh plain 65536
    is heap_peak_requested_bytes 0 plain
    is allocs_per_call 0 plain
    is leak_bytes_per_call 0 plain
    is io_buffers_bytes 65568 plain
    toy behind behind
    weigh behind 32
    is unaccounted_mapping_bytes $((17 * 65536)) "mapped behind malloc's back"
    # what does not do its work is told, and nothing hangs: an endless recursion meets the end of the reserved stack
    printf '%s\n' '#include "toy.h"' '__attribute__((noinline)) static int deep(volatile int *n) { volatile int a[1000]; a[0] = *n; return deep(a) + a[0]; }' \
        'int CryptHash(int d, const unsigned char *m, unsigned long long b, unsigned char *o) { static int calls; volatile int n = 0; return calls++ > 0 && deep(&n) ? 1 : toy(d, m, b, o); }' > "$T/deep.c"
    # shellcheck disable=SC2086   # CC is words
    $CC -O1 -w -I"$ROOT/tests/toys" -fPIC -shared -o "$T/deep.so" "$T/deep.c"
    t=$FAILED
    weigh deep 32 > /dev/null
    FAILED=$t
    grep -qx 'end fail signal' "$T/res" && [ -n "$(fact rss_peak_process_kib)" ] || bad "an endless recursion"
    # an order for the worker
    printf '%s\n' 'fleetmark-order 1' 'task counters' 'cpu -1' end > "$T/order"
    # shellcheck disable=SC2086   # RUNNER is words
    if env -i ${RUNNER-} "$WEIGH" 3<"$T/order" 4>"$T/res" </dev/null 2>/dev/null; then bad "the weigher took an order of the worker"; fi
    grep -qx 'end fail order' "$T/res" || bad "an order of the worker"
}

toy plain plain
for part in ${1:-mt_31 mt_32 mt_33 mt_34 rest}; do $part; done
[ $FAILED = 0 ] && echo "passed"
exit $FAILED
