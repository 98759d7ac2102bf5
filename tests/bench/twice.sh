#!/bin/bash
# twice.sh - two campaigns of profile rigorous on one machine: do they agree? For a quiet machine, about 4 to 9 minutes.
#   interleaved   one campaign over a candidate that has every instance under two names, so that each round runs every cell of
#                 both in one random order: the two halves are two campaigns with interleaved rounds
#   consecutive   that campaign and the same one again after it, cell by cell
# A cell agrees when the 95 % interval of the ratio (Fieller, over process means) holds 1. What does not agree one after the other
# is looked at again with the core clocks that both recorded (ticks times the measured clock), and for processes on a shared core and steal ticks.
#   twice.sh BUILD [DIR]    BUILD: folder with the program (release); results, ratios.tsv and summary.txt below DIR
#   TWICE_CANDIDATE=hash-31 TWICE_INSTANCES=6 TWICE_PROFILE=rigorous
set -euo pipefail
export LC_ALL=C
BUILD=$(realpath "${1:?the build folder}")
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/bench/aa.bash
. "$ROOT/tests/bench/aa.bash"
OUT=$(realpath -m "${2:-twice.$(date -u +%Y%m%dT%H%M%SZ)}")
FROM=${TWICE_CANDIDATE:-hash-31} MOST=${TWICE_INSTANCES:-6} PROFILE=${TWICE_PROFILE:-rigorous}
mkdir -p "$OUT/root/algos/twice" "$OUT/root/kat"
export HOME=$OUT/home FLEETMARK_HOME=$OUT/home/controller
mkdir -p "$HOME"
cp -r "$ROOT/agent" "$ROOT/protocol" "$OUT/root/"
cp "$ROOT/algos/flags.ini" "$OUT/root/algos/"
cp "$ROOT/algos/$FROM"/*.[ch] "$OUT/root/algos/twice/"
awk -v most="$MOST" '/^\[instance /{ n++ } n == 0 { if (/^id =/) $0 = "id = twice"; print; next } n <= most && !/^sources\.|^kat/ { text[n] = text[n] $0 "\n" }
    END { for (i = 1; i <= n && i <= most; i++) { print text[i]; sub(/\]/, "-2]", text[i]); print text[i] } }' \
    "$ROOT/algos/$FROM/candidate.ini" > "$OUT/root/algos/twice/candidate.ini"
case $(uname -m) in x86_64) arch=x86_64 system=x86_1 ;; *) arch=aarch64 system=arm_1 ;; esac
printf '[%s]\ntransport = local\narch = %s\n' "$system" "$arch" > "$OUT/fleet.ini"
cd "$OUT"
"$BUILD/fleetmark" enrol -i fleet.ini --root root "$system" > enrol.txt 2>&1 || { cat enrol.txt; exit 1; }

# INSTANCE OPERATION n mean variance-of-the-mean steal shared_core of every cell of a bundle: means over accepted processes
figures() {   # BUNDLE
    local file stem counts
    for file in "$1"/env/*.process.tsv; do
        stem=$(basename "$file" .process.tsv)
        counts=$1/samples/$stem.core_cycles.txt
        [ -e "$counts" ] || counts=$1/samples/$stem.ref_ticks.txt
        [ -e "$counts" ] || counts=$1/samples/$stem.ns.txt
        awk 'FNR == NR { if (FNR == 1) for (i = 1; i <= NF; i++) column[$i] = i
                else if ($column["state"] == 0) { ok[$1] = 1; steal += ($column["steal_ticks"] > 0); shared += ($column["reason"] == 18) }
                next }
            $1 in ok { t[$1] += $3; c[$1] += $2 }
            END { for (p in t) { x = t[p] / c[p]; n++; d = x - m; m += d / n; q += d * (x - m) }
                split(stem, part, "__"); if (n > 1) printf "%s %s %d %.9g %.9g %d %d\n", part[1], part[3], n, m, q / (n - 1) / n, steal, shared }' stem="$stem" \
            "$file" <(paste "$1/samples/$stem.process.txt" "$1/samples/$stem.calls.txt" "$counts")
    done
}

# From figures A and B: INSTANCE OPERATION ratio low high, and after the clocks: low high; steal, shared_core
ratios() {   # A B MAP CLOCK-RATIO: MAP is what is put behind the names of A to find those of B
    awk -v map="$3" -v clock="$4" 'function t(f) { return 1.96 + 2.4 / f + 2.2 / f / f }
        FNR == NR { n[$1 map, $2] = $3; m[$1 map, $2] = $4; v[$1 map, $2] = $5; s[$1 map, $2] = $6; h[$1 map, $2] = $7; next }
        ($1, $2) in m { A = m[$1, $2]; a = v[$1, $2]; B = $4; b = $5; k = t((n[$1, $2] < $3 ? n[$1, $2] : $3) - 1); g = k * k * b / B / B
            if (g >= 1) next
            r = A / B; w = k / B * sqrt(a * (1 - g) + r * r * b)
            low = (r - w) / (1 - g); high = (r + w) / (1 - g)
            printf "%s\t%s\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\t%d\t%d\n", $1, $2, r, low, high, low * clock, high * clock,
                s[$1, $2] + $6, h[$1, $2] + $7 }' "$1" "$2"
}
clock_of() { jq -r '[.measure.clock[].measured_hz] | sort | .[(length / 2 | floor)]' "$1/evidence.json"; }
label_of() { jq -r '.measure.counter.label' "$1/evidence.json"; }
share() { awk -F'\t' '{ n++; k += ($4 <= 1 && $5 >= 1) } END { print k + 0, n + 0 }' "$1"; }

for name in first second; do
    begin=$(date +%s)
    "$BUILD/fleetmark" run $name -i fleet.ini --root root --profile "$PROFILE" --results results > $name.out 2> $name.err || { tail -n 20 $name.err >&2; exit 1; }
    echo $(($(date +%s) - begin)) > $name.seconds
    figures "results/$name/bundles/$system/twice" > $name.figures
done
F=results/first/bundles/$system/twice S=results/second/bundles/$system/twice
for name in first second; do
    grep -v -- '-2 ' $name.figures > one
    grep -- '-2 ' $name.figures > two
    ratios one two -2 1
done > interleaved.tsv
case $(label_of $F) in
core_cycles) clock=1 ;;
*) clock=$(awk -v a="$(clock_of $F)" -v b="$(clock_of $S)" 'BEGIN { printf "%.6f", a / b }') ;;
esac
ratios first.figures second.figures '' "$clock" > consecutive.tsv
{
    echo "$(label_of $F); $(wc -l < first.figures) cells twice, $(cat first.seconds) and $(cat second.seconds) s," \
        "processes a cell: $(awk '{ n += $3; if (!l || $3 < l) l = $3; if ($3 > h) h = $3 } END { printf "%.1f (%d to %d)", n / NR, l, h }' first.figures second.figures)"
    # shellcheck disable=SC2046   # two words
    echo "interleaved rounds: agree $(aa_share $(share interleaved.tsv))"
    # shellcheck disable=SC2046
    echo "one after the other: agree $(aa_share $(share consecutive.tsv)); median ratio $(cut -f3 consecutive.tsv | sort -g | awk '{ r[NR] = $1 } END { print r[int((NR + 1) / 2)] }')"
    awk -F'\t' -v clock="$clock" '!($4 <= 1 && $5 >= 1) { n++; if ($6 <= 1 && $7 >= 1) c++; else if ($9 > 0) h++; else if ($8 > 0) s++ } ($6 <= 1 && $7 >= 1) { all++ }
        END { printf "of the %d that do not: %d agree once multiplied by the ratio of the recorded core clocks (%.5f), %d of the others had processes on a shared core, %d of the rest steal ticks, %d are not explained; with the clocks %d of %d agree\n",
            n, c, clock, h, s, n - c - h - s, all, NR }' consecutive.tsv
    for name in first second; do
        echo "$name: core clock $(jq -r '[.measure.clock[].measured_hz] | "\(min / 1e6 | floor) to \(max / 1e6 | floor) MHz in \(length) checks"' "results/$name/bundles/$system/twice/evidence.json"), $(awk '{ s += $6 } END { print s + 0 }' $name.figures) accepted processes with steal, $(awk '{ s += $7 } END { print s + 0 }' $name.figures) on a shared core"
    done
} | tee summary.txt
