#!/bin/bash
# worker_time.sh [PART] - the worker's task time on toy libraries, order by order: what the frame costs, that layouts are written down,
# that what does nothing is stopped. No time is judged by itself: this machine may be busy.
set -euo pipefail
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
WORKER=${FLEETMARK_BUILD:-}/fleetmark-worker
[ -x "$WORKER" ] || { echo "no $WORKER"; exit 77; }
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

fail() { echo "FAILED: $*"; sed 's/^/    /' "$T/res"; exit 1; }
toy() { gcc -std=gnu11 -O2 -Wall -Werror -fPIC -shared -o "$T/$1.so" "$ROOT/tests/toys/${2-$1}.c"; }   # NAME [SOURCE]

# one NAME BYTES SEED: one process; its results in $T/res, its exit status returned
one() {
    printf '%s\n' 'fleetmark-order 1' 'task time' "library $T/$1.so" "library_sha256 $(sha256sum < "$T/$1.so" | cut -c1-64)" \
        'candidate toys' "instance $1" 'digest_bits 256' 'cpu -1' "bytes $2" 'calls 8' 'windows 2' 'min_ns 1000000' 'warm 1' \
        "digest_sha256 ${4-none}" "seed $(printf %016x "$3")" 'counter auto' end > "$T/order"
    env -i timeout 60 "$WORKER" 3<"$T/order" 4>"$T/res" </dev/null >"$T/log" 2>&1
}
fact() { sed -n "s/^fact $1 //p" "$T/res"; }
good() { one "$@" && [ "$(tail -n 1 "$T/res")" = 'end ok' ] || fail "$*"; }

mt_14() {   # a column that is missing is missing for a reason, in one line each; nothing faked, whatever this machine has
    local label
    (cd "$T" && env -i "$WORKER" --list-counters < /dev/null > "$T/res" 2> "$T/log") || fail "--list-counters"
    label=$(fact label)
    [ -n "$label" ] && [ -n "$(fact source)" ] || fail "no counter chosen"
    if [ "$label" != core_cycles ]; then
        grep -qE '^fact rejected perf_(rdpmc|user): .*(E[A-Z]+|no PMU|perf_user_access|SIG[A-Z]+|truth test|counter 0)' "$T/res" || fail "no reason"
        grep -qE '^fact rejected perf_read: ' "$T/res" || fail "perf_read is not spoken of"
        case $label in ref_ticks) [ "$(fact hz)" -gt 0 ] || fail "ticks without a rate" ;; ns) ;; *) fail "label $label" ;; esac
    fi
    echo "$label by $(fact source); $(grep -c '^fact rejected' "$T/res") rejected, each with its reason"
}

mt_18() {   # what does nothing, or always the same, is not timed
    local digest name
    toy plain; toy nothing; toy fixed
    good plain 32 1
    digest=$(printf 'fleetmark-order 1\ntask digest\nlibrary %s\nlibrary_sha256 %s\ncandidate toys\ninstance plain\ndigest_bits 256\ncpu -1\nbytes 32\nend\n' \
        "$T/plain.so" "$(sha256sum < "$T/plain.so" | cut -c1-64)" > "$T/order"
        env -i "$WORKER" 3<"$T/order" 4>"$T/res" </dev/null >"$T/log" 2>&1; fact digest_sha256_32)
    good plain 32 2 "$digest"
    for name in nothing fixed; do
        if one $name 32 3 "$digest"; then fail "$name was timed"; fi
        [ "$(tail -n 1 "$T/res")" = 'end fail gate_mismatch' ] || fail "$name"
        ! grep -q '^window ' "$T/res" || fail "$name has windows"
    done
    # even if nobody knows the digest: the buffer is overwritten before every window
    if one nothing 32 4; then fail "nothing was timed"; fi
    [ "$(tail -n 1 "$T/res")" = 'end fail gate_mismatch' ] || fail "nothing without a digest"
    echo "stopped by their digests"
}

mt_19() {   # the barrier around a call takes pointers, so its cost does not grow with the message
    local i small=0 large=0 n
    toy plain
    for ((i = 1; i <= 3; i++)); do   # the least of three, for a busy machine
        good plain 32 $i; n=$(fact frame_milli)
        if [ $small = 0 ] || [ "$n" -lt $small ]; then small=$n; fi
        good plain 65536 $i; n=$(fact frame_milli)
        if [ $large = 0 ] || [ "$n" -lt $large ]; then large=$n; fi
    done
    echo "frame: $small thousandths of a count with 32 bytes, $large with 65,536"
    [ "$small" -gt 0 ] && [ "$large" -gt 0 ] || fail "no frame"
    [ $((small)) -le $((2 * large)) ] && [ "$large" -le $((2 * small)) ] || fail "the frame depends on the message"
    grep -q '__asm__ volatile("" : "+r"(function), "+r"(message), "+r"(digest) : : "memory");' "$ROOT/agent/worker/operation.c" || fail "the barrier"
    ! grep -rn '__asm__ volatile.*"+m"' "$ROOT/agent/worker" || fail "a barrier takes an object"
}

mt_20() {   # the empty call is measured in every process, at another place in each
    local i
    toy plain
    for ((i = 1; i <= 6; i++)); do
        good plain 32 $((i * 7919))
        fact frame_milli
    done | sort -n > "$T/frames"
    [ "$(wc -l < "$T/frames")" = 6 ] && ! grep -qv '^[0-9]*$' "$T/frames" || fail "not six frames: $(tr '\n' ' ' < "$T/frames")"
    echo "frame over six processes: $(head -n 1 "$T/frames") to $(tail -n 1 "$T/frames") thousandths of a count"
}

mt_21() {   # where the code and the data lie is written down, for the same source under two names
    local name key i
    toy plain; toy alias plain
    for name in plain alias; do
        for ((i = 1; i <= 4; i++)); do
            good $name 32 $((i * 104729))
            for key in entry_mod64 entry_mod4096 stack_shift message_offset digest_offset; do
                [[ $(fact $key) =~ ^[0-9]+$ ]] || fail "$name: $key is '$(fact $key)'"
            done
            [ $(($(fact entry_mod4096) % 64)) = "$(fact entry_mod64)" ] || fail "$name: entry"
            echo "$(fact stack_shift) $(fact message_offset) $(fact digest_offset)"
            # what the core did at once is known, and in order; under an emulator it is whatever it is
            [ "$(fact width_low_milli)" -ge 0 ] && [ "$(fact width_low_milli)" -le "$(fact width_milli)" ] &&
                [ "$(fact width_milli)" -le "$(fact width_high_milli)" ] || fail "$name: width $(fact width_milli)"
        done | sort -u > "$T/layouts"
        [ "$(wc -l < "$T/layouts")" = 4 ] || fail "$name: four processes, $(wc -l < "$T/layouts") layouts"
    done
    echo "four processes, four layouts each"
}

for part in ${1:-mt_14 mt_18 mt_19 mt_20 mt_21}; do $part; done
echo ok
