#!/bin/bash
# quality.sh - time to the same quality: a candidate's cells under profile guide and under profile rigorous, side by side: wall
# time, interval width, share of the time that is timed work, all from the recorded samples. For a quiet machine; hash-31 takes
# about 4 minutes under guide and 2 to 5 under rigorous.
#   quality.sh BUILD [DIR]    BUILD: folder with the program (release); results, PROFILE.cells and summary.txt below DIR
#     wall_s the whole command; measure_s from the first start of a process to the last end; timed_s inside windows, of every attempt;
#     hw the relative half-width of the 95 % t interval over process means
#   QUALITY_CANDIDATE=hash-31 QUALITY_PROFILES="guide rigorous"
set -euo pipefail
export LC_ALL=C
BUILD=$(realpath "${1:?the build folder}")
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
OUT=$(realpath -m "${2:-quality.$(date -u +%Y%m%dT%H%M%SZ)}")
CANDIDATE=${QUALITY_CANDIDATE:-hash-31}
read -r -a PROFILES <<< "${QUALITY_PROFILES:-guide rigorous}"
mkdir -p "$OUT"
export HOME=$OUT/home FLEETMARK_HOME=$OUT/home/controller
mkdir -p "$HOME"
case $(uname -m) in x86_64) arch=x86_64 system=x86_1 ;; *) arch=aarch64 system=arm_1 ;; esac
printf '[%s]\ntransport = local\narch = %s\n' "$system" "$arch" > "$OUT/fleet.ini"
cd "$OUT"
"$BUILD/fleetmark" enrol -i fleet.ini --root "$ROOT" "$system" > enrol.txt 2>&1 || { cat enrol.txt; exit 1; }

# Of one bundle: cells, processes, seconds from the first start to the last end, seconds inside windows, median and greatest relative
# half-width of the 95 % t interval over process means.
figures() {   # BUNDLE PROFILE
    local stem file rows=0
    : > "$OUT/.cells"; : > "$OUT/.span"
    for file in "$1"/env/*.process.tsv; do
        stem=$(basename "$file" .process.tsv)
        counts=$1/samples/$stem.core_cycles.txt
        [ -e "$counts" ] || counts=$1/samples/$stem.ref_ticks.txt
        [ -e "$counts" ] || counts=$1/samples/$stem.ns.txt
        awk -F'\t' 'NR>1{print $8/1e9, ($8+$9)/1e9}' "$file" >> "$OUT/.span"
        awk 'FNR==NR{if (FNR>1) ok[$1]=($4==0); next} {ns+=$3} ok[$1]{t[$1]+=$4; c[$1]+=$2}
            END { for (p in t) { x=t[p]/c[p]; n++; d=x-m; m+=d/n; q+=d*(x-m) }
                f=n-1; tv=f==4?2.776:1.96+2.4/f+2.2/f/f; if (n>1) printf "%d %.9f %.3f %s\n",n,tv*sqrt(q/f/n)/m,ns/1e9,stem }' stem="$stem" \
            "$file" <(paste "$1/samples/$stem.process.txt" "$1/samples/$stem.calls.txt" "$1/samples/$stem.ns.txt" "$counts") >> "$OUT/.cells"
        rows=$((rows + 1))
    done
    awk '{if (NR==1||$1<a) a=$1; if ($2>b) b=$2; alive+=$2-$1} END{printf "%.1f %.1f ",b-a,alive}' "$OUT/.span"
    sort -g -k2,2 "$OUT/.cells" | awk '{n+=$1; h[NR]=$2; ns+=$3} END{printf "%d %d %.1f %.5f %.5f\n",NR,n,ns,h[int((NR+1)/2)],h[NR]}'
    mv "$OUT/.cells" "$OUT/$2.cells"
    rm -f "$OUT/.span"
}

spans=()
{
    printf '%-9s %8s %10s %6s %10s %8s %9s %8s %10s %12s\n' profile wall_s measure_s cells processes timed_s of_meas. of_wall median_hw greatest_hw
    for profile in "${PROFILES[@]}"; do
        begin=$(date +%s)
        "$BUILD/fleetmark" run "$profile" -i fleet.ini --root "$ROOT" -c "$CANDIDATE" --profile "$profile" --results "$OUT/results" \
            > "$profile.out" 2> "$profile.err" || { tail -n 20 "$profile.err" >&2; exit 1; }
        wall=$(($(date +%s) - begin))
        read -r span _ cells processes timed median greatest < <(figures "$OUT/results/$profile/bundles/$system/$CANDIDATE" "$profile")
        printf '%-9s %8d %10.1f %6d %10d %8.1f %8.1f%% %7.1f%% %9.3f%% %11.3f%%\n' "$profile" "$wall" "$span" "$cells" "$processes" "$timed" \
            "$(awk -v t="$timed" -v s="$span" 'BEGIN{print 100*t/s}')" "$(awk -v t="$timed" -v s="$wall" 'BEGIN{print 100*t/(s?s:1)}')" \
            "$(awk -v h="$median" 'BEGIN{print 100*h}')" "$(awk -v h="$greatest" 'BEGIN{print 100*h}')"
        spans+=("$span")
    done
    if [ "${PROFILES[*]}" = "guide rigorous" ]; then
        awk -v a="${spans[0]}" -v b="${spans[1]}" 'FNR == NR { guide[$4] = $2; next } $4 in guide { n++; k += ($2 <= guide[$4]); target += ($2 <= 0.005) }
            END { printf "rigorous beside guide: %.2f times less time to measure; no wider in %d of %d cells, at most 0.5 %% in %d\n", a / b, k, n, target }' \
            "$OUT/guide.cells" "$OUT/rigorous.cells"
    fi
} | tee "$OUT/summary.txt"
grep -h 'about .* s' "$OUT"/*.err > "$OUT/estimates.txt" || true
