#!/bin/bash
# aa.sh - one library under two names, interleaved in random blocks: their ratio must be 1 as often as its interval says, and a
# slowdown of 2 % that was built in must be found. For a quiet machine; the worker does what it does in profile rigorous.
#   aa.sh [DIR]       results below DIR (default: a new folder in the current one): samples.tsv, cells.tsv, summary.txt
#   AA_INSTANCES=20 AA_ROUNDS=20 AA_SIZES="32 128 512 1024 4096 8192 16384 65536" AA_CPU=-1 AA_SLOW=20 (thousandths; 0: none)
# Takes about 40 ms for every process: 20 x 8 x 3 x 20 of them in about 7 minutes. CC: another compiler than gcc.
set -euo pipefail
export LC_ALL=C
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
OUT=${1:-aa.$(date -u +%Y%m%dT%H%M%SZ)}
ROUNDS=${AA_ROUNDS:-20} MOST=${AA_INSTANCES:-20} CPU=${AA_CPU:--1} SLOW=${AA_SLOW:-20}
read -r -a SIZES <<< "${AA_SIZES:-32 128 512 1024 4096 8192 16384 65536}"
CC=${CC:-gcc}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
mkdir -p "$OUT" "$T/bin"
sh "$ROOT/agent/build.sh" "$T/bin"

# NAME|BITS|SOURCES|DEFINES|FOLDER of every instance that can be built from one line of sources
instances() {
    local ini
    for ini in "$ROOT"/algos/*/candidate.ini; do
        awk -F' = ' -v dir="${ini%/*}" '/^\[instance /{ if (n) print n"|"b"|"s"|"d"|"dir; n=$0; sub(/^\[instance /,"",n); sub(/\]$/,"",n); d="" }
            /^digest_bits/{b=$2} /^sources =/{s=$2} /^defines/{d=$2} END{ if (n) print n"|"b"|"s"|"d"|"dir }' "$ini"
    done
}

# order LIBRARY INSTANCE BITS BYTES: one process as profile rigorous has it; prints "counts calls ns label"
one() {
    {
        printf 'fleetmark-order 1\ntask time\nlibrary %s\nlibrary_sha256 %s\ncandidate aa\ninstance %s\ndigest_bits %s\ncpu %s\n' \
            "$1" "$(cat "$1.sha256")" "$2" "$3" "$CPU"
        printf 'bytes %s\ncalls 8\nwindows 20\nmin_ns 5000000\nwarm 1\ndigest_sha256 none\nseed %08x%08x\ncounter auto\nend\n' \
            "$4" $((RANDOM * 32768 + RANDOM)) $((RANDOM * 32768 + RANDOM))
    } > "$T/order"
    env -i "$T/bin/fleetmark-worker" 3<"$T/order" 4>"$T/result" </dev/null >/dev/null 2>&1 || true
    awk '$1=="window"{c+=$2; n+=$3; t+=($4=="-"?$3:$4)} $2=="label"{l=$3} /^end ok/{ok=1} END{ if (ok && c) printf "%.0f %d %.0f %s\n",t,c,n,l }' "$T/result"
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

count=0
: > "$T/list"
while IFS='|' read -r name bits sources defines dir; do
    [ "$count" -lt "$MOST" ] || break
    [ -n "$sources" ] || continue
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
done < <(instances)
echo "$count instances x ${#SIZES[@]} sizes, $(wc -l < "$T/list") processes a round, $ROUNDS rounds"

begin=$(date +%s)
printf 'round\tinstance\tbytes\twhich\tcounts\tcalls\tns\tlabel\n' > "$OUT/samples.tsv"
for ((round = 1; round <= ROUNDS; round++)); do
    while read -r number name bits bytes which; do
        result=$(one "$T/$which.$number.so" "$name" "$bits" "$bytes")
        [ -z "$result" ] || printf '%d\t%s\t%s\t%s\t%s\n' "$round" "$name" "$bytes" "$which" "${result// /$'\t'}" >> "$OUT/samples.tsv"
    done < <(shuf "$T/list")
done

# Ratio inside rounds: t interval of d = ln x - ln a, 95 %. Columns: instance bytes which n ratio low high half_width
awk -F'\t' 'NR>1 { v[$2"\t"$3"\t"$4"\t"$1]=$5/$6; cell[$2"\t"$3]=1; if ($1>rounds) rounds=$1 }
    function t(f) { return f<1 ? 12.7 : 1.96+2.4/f+2.2/f/f }
    END { for (c in cell) for (k=1;k<=2;k++) { w=substr("bs",k,1); n=0; m=0; q=0
        for (r=1;r<=rounds;r++) { a=v[c"\ta\t"r]; x=v[c"\t"w"\t"r]; if (!a||!x) continue; d=log(x)-log(a); n++; e=d-m; m+=e/n; q+=e*(d-m) }
        if (n<2) continue; h=t(n-1)*sqrt(q/(n-1)/n); printf "%s\t%s\t%d\t%.6f\t%.6f\t%.6f\t%.6f\n",c,w,n,exp(m),exp(m-h),exp(m+h),h } }' \
    "$OUT/samples.tsv" | sort -k1,1 -k2,2n -k3,3 > "$OUT/cells.tsv"

# The share that holds 1, and whether 0.95 is within its own binomial interval (Wilson); the planted slowdown from 1 KiB on.
{
    printf 'counter: %s, core %s Hz; %d s for %d processes\n' "$(awk '$2=="label"||$2=="source"{printf "%s ",$3}' "$OUT/counters.txt")" "$HZ" \
        $(($(date +%s) - begin)) $(($(wc -l < "$OUT/samples.tsv") - 1))
    awk -F'\t' '$3=="b" { n++; in1+=($6<=1&&$7>=1); print $8 > half }
        END { p=in1/n; z=1.96; c=(p+z*z/2/n)/(1+z*z/n); w=z*sqrt(p*(1-p)/n+z*z/4/n/n)/(1+z*z/n)
            printf "A/A: %d of %d cells hold 1 (%.3f, binomial interval %.3f to %.3f): 0.95 is %s it\n",in1,n,p,c-w,c+w,(c-w<=0.95&&c+w>=0.95)?"within":"OUTSIDE" }' half="$T/half" "$OUT/cells.tsv"
    sort -g "$T/half" | awk '{h[NR]=$1} END{printf "median half-width of the ratio: %.3f %%\n",100*h[int((NR+1)/2)]}'
    awk -F'\t' '$3=="s"&&$2>=1024 { n++; hit+=($6>1) } $3=="b" { m++; f+=($6>1||$7<1) }
        END { if (n) printf "planted slowdown: found in %d of %d cells of 1 KiB and more (%.1f %%)\n",hit,n,100*hit/n
            printf "false alarms: %d of %d cells (%.1f %%)\n",f,m,100*f/m }' "$OUT/cells.tsv"
} | tee "$OUT/summary.txt"
