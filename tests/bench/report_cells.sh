#!/usr/bin/env bash
# report_cells.sh: time and peak memory of report, compare and the check of derived files over a tree of many cells.
#
#   FLEETMARK_BUILD=build/release MKTREE=build/dev/mktree tests/bench/report_cells.sh [CELLS] [FOLDER]
#
# CELLS: 100000 (default); rounded to whole candidates of 800 cells (2 systems, 25 instances, 2 versions, 8 sizes), so twice the
# cells are twice the candidates. The tree is made by mktree with smoke windows (1 GB and more for 100,000) in FOLDER, by default
# a scratch folder that is removed; it is kept and used again when FOLDER is given. Prints one line per step: what, wall seconds, CPU seconds, peak memory.
set -euo pipefail
: "${FLEETMARK_BUILD:?}"
MKTREE=${MKTREE:-$FLEETMARK_BUILD/mktree}
cells=${1:-100000}
candidates=$(((cells + 799) / 800))
[ -x /usr/bin/time ] || { echo "needs /usr/bin/time (package time)" >&2; exit 77; }
if [ $# -gt 1 ]; then
	work=$2
	mkdir -p "$work"
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi
export FLEETMARK_HOME=$work/none

timed() { # NAME COMMAND...: exit statuses 0, 1 and 3 are answers here
	local name=$1 status=0
	shift
	/usr/bin/time -o "$work/time" -f '%e %U %S %M' "$@" > "$work/out" 2> "$work/err" || status=$?
	case $status in 0 | 1 | 2 | 3) ;; *) echo "$name: exit status $status: $(tail -n 1 "$work/err")" >&2; exit 1 ;; esac
	tail -n 1 "$work/time" | awk -v n="$name" '{ printf "%-28s %8.1f s wall %8.1f s CPU %8.1f MB peak\n", n, $1, $2 + $3, $4 / 1024 }'
}

[ -e "$work/world/tree/MANIFEST.sha256.sig" ] ||
	"$MKTREE" "$work/world" 2 "$candidates" 25 8 smoke > /dev/null 2> "$work/err" || { cat "$work/err" >&2; exit 1; }
tree=$work/world/tree
echo "$(jq '.cells | length' "$tree/tree.json") cells, $(find "$tree" -type f | wc -l) files, $(du -sm "$tree" | cut -f1) MB"
rm -rf "$work/pages"
timed 'report -o (write)' "$FLEETMARK_BUILD/fleetmark" report "$tree" -o "$work/pages"
timed 'report (compare)' "$FLEETMARK_BUILD/fleetmark" report "$tree"
timed 'compare, with itself' "$FLEETMARK_BUILD/fleetmark" compare "$tree" "$tree" -l x86_1
