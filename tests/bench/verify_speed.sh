#!/bin/bash
# verify_speed.sh [smoke] [CELLS] - verification of a tree of about CELLS cells (100000) against `sha256sum -c` over the same files,
# and its memory beside that of a tree of a tenth of the cells. For a quiet machine; takes minutes and, in $BENCH_DIR (a folder of
# memory: /dev/shm), about 40 KB a cell.
#
#   smoke             the shape with most files for its cells: 2 systems and 25 instances a candidate instead of 10 and 5, beside a
#                     tree of 8000 cells (or of a tenth, if that is less), 3 runs: below 10 minutes for 100000 cells
#   FLEETMARK_BUILD   a release build with tests: cmake --preset release -B DIR -DFLEETMARK_TESTS=ON, targets fleetmark mktree seal_check
#   BENCH_RUNS        runs of each, taken in turn (5; smoke 3)
#
# Prints one line per tree: cells, files, MB; then median seconds of wall clock of sha256sum -c, of signature and digests, of the
# whole of `fleetmark verify`; their ratio to sha256sum; peak memory in MB. All files are read once before (warm cache for all).
# The last line: how many times the memory of the smaller tree the larger one takes.
set -euo pipefail
: "${FLEETMARK_BUILD:?}"
SYSTEMS=10 INSTANCES=5 RUNS=5 SMALL=
if [ "${1:-}" = smoke ]; then SYSTEMS=2 INSTANCES=25 RUNS=3 SMALL=8000; shift; fi
CELLS=${1:-100000} RUNS=${BENCH_RUNS:-$RUNS}
[[ $CELLS =~ ^[1-9][0-9]{2,6}$ && $RUNS =~ ^[1-9][0-9]?$ ]] || { echo "usage: verify_speed.sh [smoke] [CELLS, 100 to 9999999]" >&2; exit 2; }
if [ -z "$SMALL" ] || [ "$SMALL" -ge "$CELLS" ]; then SMALL=$((CELLS / 10)); fi
BASE=${BENCH_DIR:-/dev/shm}
W=$(mktemp -d "$BASE/fleetmark-bench-XXXXXX")
trap 'rm -rf "$W"' EXIT
for f in fleetmark mktree seal_check; do [ -x "$FLEETMARK_BUILD/$f" ] || { echo "no $FLEETMARK_BUILD/$f" >&2; exit 2; }; done

median() { sort -n "$1" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
peak() { sort -n -k4 "$1" | tail -n 1 | awk '{ printf "%.1f", $4 / 1024 }'; }
take() { # FILE COMMAND...: appends "wall user system KiB"
	local to=$1; shift
	"$FLEETMARK_BUILD/seal_check" --run "$@" > "$W/out" 2> "$W/err" || { cat "$W/out" "$W/err" >&2; exit 1; }
	tail -n 1 "$W/err" >> "$to"
}

one_tree() { # CELLS: 2 versions and 8 lengths an instance; 50 instances of a candidate over all systems
	local c=$((($1 + 799) / 800)) d=$W/$1 t s v w
	mkdir "$d"
	"$FLEETMARK_BUILD/mktree" "$d/world" "$SYSTEMS" "$c" "$INSTANCES" 8 smoke > "$d/number" 2> "$d/log" || { cat "$d/log" >&2; exit 1; }
	t=$d/world/tree
	(cd "$t" && sha256sum -c --quiet MANIFEST.sha256)
	for _ in $(seq "$RUNS"); do
		# shellcheck disable=SC2016   # its own argument
		take "$d/sum" sh -c 'cd "$1" && exec sha256sum -c --quiet MANIFEST.sha256' sh "$t"
		take "$d/seal" "$FLEETMARK_BUILD/seal_check" "$t" "$d/world/home/controller.pub"
		take "$d/whole" "$FLEETMARK_BUILD/fleetmark" verify --key "$d/world/home/controller.pub" "$t"
	done
	s=$(median "$d/sum") v=$(median "$d/seal") w=$(median "$d/whole")
	printf '%8d %8d %6d | %9.2f %9.2f %9.2f | %5.2f %5.2f | %7s %7s %7s\n' "$(grep -c '"cell":' "$t/tree.json")" "$(wc -l < "$t/MANIFEST.sha256")" \
		"$(du -sm --apparent-size "$t" | cut -f1)" "$s" "$v" "$w" "$(awk "BEGIN { print $v / $s }")" "$(awk "BEGIN { print $w / $s }")" \
		"$(peak "$d/sum")" "$(peak "$d/seal")" "$(peak "$d/whole")"
	echo "$(peak "$d/seal") $(peak "$d/whole")" >> "$W/peaks"
	rm -rf "$d"
}

echo "$(nproc) processors, $(sha256sum --version | head -n 1), median of $RUNS"
printf '%8s %8s %6s | %9s %9s %9s | %5s %5s | %7s %7s %7s\n' cells files MB sha256sum seal,s verify,s seal/ vrfy/ 'MB sum' 'MB seal' 'MB vrfy'
one_tree "$SMALL"
one_tree "$CELLS"
awk 'NR == 1 { seal = $1; whole = $2 } END { printf "memory, larger tree / smaller: seal %.2f, verify %.2f\n", $1 / seal, $2 / whole }' "$W/peaks"
