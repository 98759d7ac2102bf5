#!/usr/bin/env bash
# data/cells.csv, cells.json and processes.csv as their readers get them: pandas and R see the same rows, the same types and the same
# figures, and every column with a quantity has its unit in its name. Installs what Debian has of pandas, R and jsonlite where it may.
#
#   exports.sh [TREE]     a tree of the tests, or any finished one
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=../../deploy/packages.sh
. "$FLEETMARK_ROOT/deploy/packages.sh"
pkg_install "${PKG_EXPORTS[@]}" || { echo "skipped: no pandas and R"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=${1:-$work/world/tree}
[ $# -gt 0 ] || FLEETMARK_HOME=$work/none "$FLEETMARK_BUILD/mktree" "$work/world" 2 2 2 3 guide > /dev/null 2> "$work/err" || { cat "$work/err"; exit 1; }

cat > "$work/read.py" <<'P'
import json, re, sys
import pandas
tree, out = sys.argv[1:3]
cells = pandas.read_csv(f"{tree}/data/cells.csv", float_precision="round_trip")
same = pandas.DataFrame(json.load(open(f"{tree}/data/cells.json"))["cells"])
processes = pandas.read_csv(f"{tree}/data/processes.csv")
planned = json.load(open(f"{tree}/tree.json"))["cells"]

assert len(cells) == len(same) == len(planned) and len(cells) > 0, (len(cells), len(same), len(planned))
assert list(cells.columns) == list(same.columns)
words = {"system", "candidate", "instance", "label", "version", "operation", "state", "class", "reason", "kat", "build_flags_kind",
         "count_label", "emulated", "publishable", "cpu", "flags", "library_sha256", "bundle_manifest_sha256"}
counts = {"processes", "calls", "process", "attempt", "isolated_allocations_per_call"}
unit = re.compile(r"_(ns|bytes|hz|core_cycles|ref_ticks|MB_per_s|per_byte)$")
for name in list(cells.columns) + list(processes.columns):
    assert name in words or name in counts or unit.search(name), f"{name}: no unit"
for name in cells.columns:
    a, b = cells[name], same[name]
    if name in ("emulated", "publishable"):
        assert a.dtype == bool and b.dtype == bool, name
        assert (a == b).all(), name
    elif name in words - {"cpu"}:
        assert a.dropna().map(type).eq(str).all(), f"{name}: not text"
        assert (a.fillna("") == b.fillna("")).all(), name
    else:
        assert a.dtype.kind in "if", f"{name}: {a.dtype}, not a number"
        b = pandas.to_numeric(b)
        assert ((a == b) | (a.isna() & b.isna())).all(), f"{name}: CSV and JSON differ"
measured = cells[cells.state == "measured"]
assert measured.mean_ns.notna().all() and (measured.mean_ns > 0).all()
assert not (cells.mean_core_cycles.notna() & cells.mean_ref_ticks.notna()).any(), "cycles and ticks of one cell"

# the mean of a cell, from its accepted processes
key = ["system", "candidate", "label", "operation"]
sums = processes[processes.state == "accepted"].groupby(key)[["total_ns", "calls"]].sum()
joined = measured.set_index(key).join(sums, rsuffix="_sum")
assert (joined.calls == joined.calls_sum).all()
assert ((joined.mean_ns - joined.total_ns / joined.calls).abs() <= 1e-9 * joined.mean_ns).all(), "means do not follow from processes.csv"
numbers = [c for c in cells.columns if c == "cpu" or (c not in words and cells[c].dtype.kind in "if")]
with open(out, "w") as f:
    for c in sorted(numbers):
        f.write(f"{c} {cells[c].notna().sum()} {float(cells[c].sum()):.10e}\n")
print(f"exports: pandas {pandas.__version__}: {len(cells)} cells, {len(cells.columns)} columns ({len(numbers)} of numbers), {len(processes)} processes")
P
cat > "$work/read.R" <<'R'
args <- commandArgs(TRUE)
cells <- read.csv(file.path(args[1], "data/cells.csv"))
same <- jsonlite::fromJSON(file.path(args[1], "data/cells.json"))$cells
stopifnot(nrow(cells) == nrow(same), identical(names(cells), names(same)))
stopifnot(is.logical(cells$emulated), is.logical(cells$publishable), is.integer(cells$input_bytes), is.numeric(cells$mean_ns))
numbers <- names(cells)[sapply(cells, function(x) is.numeric(x) || all(is.na(x)))]
numbers <- setdiff(numbers, c("class", "reason", "flags", "kat", "build_flags_kind"))
for (n in numbers) stopifnot(isTRUE(all.equal(as.numeric(cells[[n]]), as.numeric(same[[n]]), tolerance = 0)))
lines <- sapply(sort(numbers, method = "radix"), function(n)
	sprintf("%s %d %.10e", n, sum(!is.na(cells[[n]])), sum(as.numeric(cells[[n]]), na.rm = TRUE)))
writeLines(lines, args[2])
cat(sprintf("exports: R %s.%s: %d cells, %d columns\n", R.version$major, R.version$minor, nrow(cells), ncol(cells)))
R
LC_ALL=C.UTF-8 /usr/bin/python3 "$work/read.py" "$tree" "$work/py.txt"
LC_ALL=C.UTF-8 Rscript --vanilla "$work/read.R" "$tree" "$work/r.txt"
cut -d' ' -f1,2 "$work/py.txt" > "$work/a"
cut -d' ' -f1,2 "$work/r.txt" > "$work/b"
diff "$work/a" "$work/b" || { echo "FAILED: pandas and R see other columns or other gaps"; exit 1; }
paste -d' ' "$work/py.txt" "$work/r.txt" | awk '{ d = $3 - $6; if (d < 0) d = -d; s = $3 < 0 ? -$3 : $3; if (d > 1e-8 * s) { print "FAILED: " $0; bad = 1 } } END { exit bad }'
echo "exports: both see the same gaps and sums in $(wc -l < "$work/a") columns of numbers"
