#!/bin/bash
# smoke.sh: builds every fuzz target with clang and runs each for a few seconds over its seeds.
#   FLEETMARK_FUZZ_SECONDS  seconds per target (default 3)
#   FLEETMARK_FUZZ_SEED     of the mutations (default 1, so that a failure can be seen again; 0: another one each time)
# Exit 77 (skipped) without clang or its fuzzer runtime.
set -eu

root=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
seconds=${FLEETMARK_FUZZ_SECONDS:-3}
seed=${FLEETMARK_FUZZ_SEED:-1}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command -v clang > "$scratch/clang" || { echo "skipped: no clang"; exit 77; }
printf '%s\n' '#include <stddef.h>' 'int LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) { (void)d; (void)n; return 0; }' > "$scratch/try.c"
clang -fsanitize=fuzzer,address,undefined "$scratch/try.c" -o "$scratch/try" 2> "$scratch/log" ||
	{ echo "skipped: clang has no fuzzer runtime"; exit 77; }

build=$scratch/build
if [ -n "${FLEETMARK_BUILD:-}" ]; then
	build=$(dirname "$FLEETMARK_BUILD")/fuzz
fi
cmake -S "$root" --preset fuzz -B "$build" > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }

names=()
for source in "$root"/tests/fuzz/fuzz_*.c; do
	names+=("$(basename "$source" .c)")
done
cmake --build "$build" --target "${names[@]}" -j 2 > "$scratch/log" 2>&1 || { tail -30 "$scratch/log"; exit 1; }

status=0
for name in "${names[@]}"; do
	mkdir -p "$scratch/$name"
	seeds=$root/tests/fuzz/corpus/${name#fuzz_}
	[ -d "$seeds" ] || { echo "FAIL: $name has no seeds in tests/fuzz/corpus/${name#fuzz_}"; status=1; continue; }
	if "$build/$name" -seed="$seed" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$scratch/" \
		"$scratch/$name" "$seeds" > "$scratch/log" 2>&1; then
		echo "ok: $name, $(grep -c . < <(ls "$scratch/$name")) new inputs, $(grep -o '^Done [0-9]* runs' "$scratch/log" || true)"
	else
		echo "FAIL: $name"
		tail -40 "$scratch/log"
		for input in "$scratch"/crash-* "$scratch"/leak-* "$scratch"/timeout-* "$scratch"/oom-*; do
			if [ -f "$input" ]; then
				echo "input in base64: $(base64 -w 0 < "$input")"
			fi
		done
		status=1
	fi
done
exit $status
