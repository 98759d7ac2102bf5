#!/bin/bash
# aa.sh - one library under two names, interleaved in random blocks: their ratio must be 1 as often as its interval says, and a
# slowdown of 2 % that was built into a third must be found. For a quiet machine; the worker does what it does in profile
# rigorous, and a disturbed process is tried again at most twice, by the same evidence as there.
#   aa.sh [DIR]       results below DIR (default: a new folder in the current one): attempts.txt (all of them), samples.tsv,
#                     cells.tsv (all rounds), cells_undisturbed.tsv (rounds in which no process of the cell has a mark), summary.txt
#   AA_INSTANCES=20 AA_ROUNDS=60 AA_SECONDS=720 AA_SIZES="32 128 512 1024 4096 8192 16384 65536" AA_CPU=-1
#   AA_SLOW=20 (thousandths; 0: none)
# Whole rounds, as many as AA_ROUNDS and AA_SECONDS allow: an attempt takes about 25 ms, a round of 20 x 8 x 3 processes 12 s if none
# is disturbed and 36 s if all are. CC: another compiler than gcc.
set -euo pipefail
export LC_ALL=C
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/bench/aa.bash
. "$ROOT/tests/bench/aa.bash"
OUT=${1:-aa.$(date -u +%Y%m%dT%H%M%SZ)}
ROUNDS=${AA_ROUNDS:-60} SECONDS_MOST=${AA_SECONDS:-720} MOST=${AA_INSTANCES:-20} CPU=${AA_CPU:--1} SLOW=${AA_SLOW:-20}
read -r -a SIZES <<< "${AA_SIZES:-32 128 512 1024 4096 8192 16384 65536}"
CC=${CC:-gcc}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
mkdir -p "$OUT" "$T/bin"
sh "$ROOT/agent/build.sh" "$T/bin"

# one LIBRARY INSTANCE BITS BYTES: one process as profile rigorous has it, at most three attempts, all of them in attempts.tsv;
# prints "counts calls ns label attempts reason low width high", reason - or the evidence that still stands against the last
# attempt. T/best: the most the core was seen to do at once.
one() {
    local try seed sha best line=
    read -r sha < "$1.sha256"
    for try in 1 2 3; do
        printf -v seed '%08x%08x' $((RANDOM * 32768 + RANDOM)) $((RANDOM * 32768 + RANDOM))
        aa_order "$1" "$sha" "$2" "$3" "$4" "$CPU" 8 20 5000000 "$seed" auto > "$T/order"
        env -i "$T/bin/fleetmark-worker" 3<"$T/order" 4>"$T/result" </dev/null >/dev/null 2>&1 || true
        read -r best < "$T/best"
        line=$(awk -v try=$try -v best="$best" '
            $1 == "window" { c += $2; n += $3; t += $4 == "-" ? $3 : $4; hit += int($5 / 2) % 2 || int($5 / 4) % 2 }
            $1 == "fact" { f[$2] = $3 } /^end ok/ { ok = 1 }
            END { if (!ok || !c) exit
                if (f["width_high_milli"] > best) best = f["width_high_milli"]
                if (hit) why = "preempted"
                else if (f["nvcsw"] > 0) why = "blocked"
                else if (f["steal_ticks"] > 0) why = "steal"
                else if (f["majflt"] > 0) why = "majfault"
                else if (f["width_low_milli"] >= 0 && best >= 1500 && f["width_low_milli"] < 0.9 * best) why = "shared_core"
                else if (f["span_ns"] > 0 && f["thread_cpu_ns"] >= 0 && f["thread_cpu_ns"] < 0.95 * (f["span_ns"] - f["run_delay_ns"])) why = "kernel_share"
                else why = "-"
                printf "%.0f %d %.0f %s %d %s %d %d %d %d %.0f %d\n", t, c, n, f["label"], try, why, f["width_low_milli"],
                    f["width_milli"], f["width_high_milli"], f["nivcsw"], f["run_delay_ns"], best }' "$T/result")
        [ -n "$line" ] || continue
        echo "${line##* }" > "$T/best"
        line=${line% *}
        echo "$2 $4 $line" >> "$OUT/attempts.txt"
        line=${line% * *}
        case $line in *" - "*) break;; esac
    done
    [ -z "$line" ] || echo "$line"
}

cat > "$T/slow.c" <<'C'
/* built with -DCryptHash=fm_honest, as the sources beside it: spends a share of t1 in a chain of additions */
#undef CryptHash
int fm_honest(int bits, const unsigned char *msg, unsigned long long len, unsigned char *digest);
int CryptHash(int bits, const unsigned char *msg, unsigned long long len, unsigned char *digest);
int CryptHash(int bits, const unsigned char *msg, unsigned long long len, unsigned char *digest)
{
	static const struct { unsigned long long bytes, spin; } table[] = { SPINS };
	unsigned long long n = 0, sum = 1;
	for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
		if (8 * table[i].bytes == len) n = table[i].spin;
	for (; n > 0; n--) { sum += n; __asm__ volatile("" : "+r"(sum)); }
	return fm_honest(bits, msg, len, digest);
}
C

printf 'fleetmark-order 1\ntask counters\ncpu %s\nend\n' "$CPU" > "$T/order"
env -i "$T/bin/fleetmark-worker" 3<"$T/order" 4>"$OUT/counters.txt" </dev/null >/dev/null 2>&1 || true
HZ=$(awk '$2=="measured_hz"{print $3}' "$OUT/counters.txt")
awk '$2 == "width_high_milli" { w = $3 } END { print w + 0 }' "$OUT/counters.txt" > "$T/best"
echo 'instance bytes counts calls ns label attempt reason width_low width width_high nivcsw run_delay_ns' > "$OUT/attempts.txt"

count=0
: > "$T/list"
while IFS='|' read -r name bits sources defines dir; do
    [ "$count" -lt "$MOST" ] || break
    flags=()
    for d in $defines; do flags+=("-D$d"); done
    files=()
    for s in $sources; do files+=("$dir/$s"); done
    lib=$T/a.$count.so
    "$CC" -std=gnu11 -O2 -fPIC -shared -I"$dir" -o "$lib" "${flags[@]}" "${files[@]}" 2>"$T/cc.log" || { echo "$name: not built"; continue; }
    sha256sum < "$lib" | cut -c1-64 > "$lib.sha256"
    cp "$lib" "$T/b.$count.so"; cp "$lib.sha256" "$T/b.$count.so.sha256"
    [ -n "$(one "$lib" "$name" "$bits" 32)" ] || { echo "$name: not timed: $(tail -n 2 "$T/result" | tr '\n' ' ')"; continue; }
    if [ "$SLOW" -gt 0 ]; then
        spins=
        for bytes in "${SIZES[@]}"; do
            read -r _ calls ns _ < <(one "$lib" "$name" "$bits" "$bytes")
            spins+="{$bytes, $(awk -v n="$ns" -v c="$calls" -v hz="$HZ" -v s="$SLOW" 'BEGIN{printf "%.0f", n/c*1e-9*hz*s/1000}')},"
        done
        "$CC" -std=gnu11 -O2 -fPIC -shared -I"$dir" -DCryptHash=fm_honest "-DSPINS=$spins" -o "$T/s.$count.so" "${flags[@]}" \
            "${files[@]}" "$T/slow.c" 2>"$T/cc.log" || { echo "$name: no slowed copy"; cat "$T/cc.log"; continue; }
        sha256sum < "$T/s.$count.so" | cut -c1-64 > "$T/s.$count.so.sha256"
    fi
    for bytes in "${SIZES[@]}"; do
        for which in a b s; do
            [ -e "$T/$which.$count.so" ] && echo "$count $name $bits $bytes $which" >> "$T/list"
        done
    done
    count=$((count + 1))
done < <(aa_instances "$ROOT")
echo "$count instances x ${#SIZES[@]} sizes, $(wc -l < "$T/list") processes a round, at most $ROUNDS rounds and $SECONDS_MOST s"

# One round: the cells in random order, the two or three of a cell side by side in random order.
begin=$SECONDS
printf 'round\tinstance\tbytes\twhich\tcounts\tcalls\tns\tlabel\tattempts\treason\twidth_low\twidth\twidth_high\n' > "$OUT/samples.tsv"
for ((round = 1; round <= ROUNDS; round++)); do
    [ "$round" -le 2 ] || [ $((SECONDS + (SECONDS - begin) / (round - 1))) -le "$SECONDS_MOST" ] || break
    while read -r _ number name bits bytes which; do
        result=$(one "$T/$which.$number.so" "$name" "$bits" "$bytes")
        [ -z "$result" ] || printf '%d\t%s\t%s\t%s\t%s\n' "$round" "$name" "$bytes" "$which" "${result// /$'\t'}" >> "$OUT/samples.tsv"
    done < <(awk -v seed=$((RANDOM * 32768 + RANDOM)) 'BEGIN { srand(seed) } { k = $1 FS $4; if (!(k in at)) at[k] = rand(); printf "%.9f.%.9f %s\n", at[k], rand(), $0 }' \
        "$T/list" | sort -t. -k2,2 -k4,4)
done
aa_cells "$OUT/samples.tsv" > "$OUT/cells.tsv"
aa_undisturbed "$OUT/samples.tsv" > "$T/undisturbed.tsv"
aa_cells "$T/undisturbed.tsv" > "$OUT/cells_undisturbed.tsv"
planted=$(awk -v s="$SLOW" 'BEGIN { print s / 10 " %" }')
{
    printf 'counter: %s, core %s Hz; %d s for %d rounds of %d processes\n' \
        "$(awk '$2=="label"||$2=="source"{printf "%s ",$3}' "$OUT/counters.txt")" "$HZ" $((SECONDS - begin)) $((round - 1)) "$(wc -l < "$T/list")"
    aa_summary "$OUT/cells.tsv" "$planted"
    echo "why it is so wide here:"
    aa_why "$OUT/attempts.txt" "$OUT/samples.tsv" "$(<"$T/best")"
    echo "the rounds in which no process of a cell has a mark:"
    aa_summary "$OUT/cells_undisturbed.tsv" "$planted"
} | tee "$OUT/summary.txt"
