#!/bin/bash
# shellcheck disable=SC2317,SC2016   # functions are called by check; what runs there is quoted here
# A real PMU path, with exact counts: a whole AArch64 machine under qemu-system with -icount, where one instruction is one cycle
# is one ns. The kernel's perf driver, the event's page and PMCCNTR are the real ones; what they count are instructions of an
# emulator, so the evidence, the records and the pages say emulated and rank nothing.
#
# About 12 minutes on a quiet machine.
#
#   ICOUNT_INSTANCES   instances of the planted 0.1 % (20), each in 8 sizes
#   ICOUNT_OUT         folder for its samples.tsv, cells.tsv and the summary icount.txt
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
# shellcheck source=../bench/aa.bash
. "$FLEETMARK_ROOT/tests/bench/aa.bash"
# shellcheck source=../flow/toys.bash
. "$FLEETMARK_ROOT/tests/flow/toys.bash"
begin program
[ "$(uname -m)" = x86_64 ] || skip "an emulated AArch64 machine needs an x86-64 one"
lab deps vm >"$WORK/deps.log" 2>&1 && lab deps arm >>"$WORK/deps.log" 2>&1 || skip "no AArch64 machine: $(tail -n 1 "$WORK/deps.log")"
LIMIT=1200 OUT=${ICOUNT_OUT:-$WORK} MOST=${ICOUNT_INSTANCES:-20}
SIZES=(32 128 512 1024 4096 8192 16384 65536)
CROSS="aarch64-linux-gnu-gcc --sysroot=$LAB_CACHE/arm64"
LIBS=$WORK/libs
mkdir -p "$OUT" "$LIBS"

# ---------------------------------------------------------------- the machine and its agent

# The agent is built on a host where this machine's cross compiler is bound in: the same programs, byte for byte, in seconds.
agent_there() {
    enrol arm_2 || return 1
    lab ctl ssh -F "$FLEETMARK_LAB/ssh_config" h2 'tar cf - .fleetmark/agent' </dev/null |
        lab ctl ssh -F "$FLEETMARK_LAB/ssh_config" h1 'mkdir -m 700 .fleetmark && tar xmf -'
    enrol arm_1
}
toys_root "$WORK/root" "$FLEETMARK_ROOT" plain
check "a machine of exact counts is up" lab arm icount 1
check "a host that builds for it is up" lab arm accel 2
lab inventory arm_1=1 arm_2=2 > "$INV"
check "both enrol" agent_there
AGENT=$(ssh_to h1 'cd .fleetmark/agent && echo $PWD/*')

# ---------------------------------------------------------------- what check says

sysctl_there() { lab in 1 sh -c "echo $2 > /proc/sys/kernel/$1"; }
counter_is() {   # WORDS: in what check says about arm_1; a host with a mark gives 1
    fleetmark -i "$INV" -l arm_1 check --root "$WORK/root" -v >"$WORK/out" 2>"$WORK/err" || [ $? = 1 ]
    says "$1"
}
check "check names the source, and that it is emulated" counter_is 'perf_user'
check "... emulator" says 'qemu-tcg'
sysctl_there perf_user_access 0
check "kernel.perf_user_access = 0 is named and the event is read by a call" counter_is 'perf_user_access = 0'
check "... perf_read" says 'perf_read'
sysctl_there perf_event_paranoid 3
check "perf_event_paranoid = 3 is named and ticks are counted" counter_is 'perf_event_paranoid = 3'
check "... cntvct" says 'cntvct'
sysctl_there perf_event_paranoid 1
sysctl_there perf_user_access 1

# ---------------------------------------------------------------- processes with orders of our own

cat > "$WORK/guest.sh" <<'G'
# WORKER < lines TAG LIBRARY INSTANCE BITS BYTES CALLS WINDOWS MIN_NS SEED COUNTER: one process each; prints TAG CALLS COUNT ... of
# its windows, or FAILED
while read -r tag library instance bits bytes calls windows min seed counter; do
    [ -e "$library.sha256" ] || sha256sum < "$library" | cut -c1-64 > "$library.sha256"
    read -r sha < "$library.sha256"
    printf '%s\n' 'fleetmark-order 1' 'task time' "library $library" "library_sha256 $sha" 'candidate aa' "instance $instance" \
        "digest_bits $bits" 'cpu -1' "bytes $bytes" "calls $calls" "windows $windows" "min_ns $min" 'warm 1' 'digest_sha256 none' \
        "seed $seed" "counter $counter" end > order
    env -i "$1" 3<order 4>result </dev/null >log 2>&1
    line=$tag label=none end=FAILED
    while read -r word a b c d; do
        case "$word $a" in
        "fact label") label=$b;;
        window*) line="$line $a $c";;
        "end ok") end=$label;;
        esac
    done < result
    echo "$end $line"
done
G
push() { tar -C "$LIBS" -cf - . | lab ctl ssh -F "$FLEETMARK_LAB/ssh_config" h1 'mkdir -p libs && tar -C libs -xmf -' 2>"$WORK/tar.err"; }
guest() { lab ctl ssh -F "$FLEETMARK_LAB/ssh_config" h1 "cd libs && bash guest.sh $AGENT/fleetmark-worker" < "$1" > "$2"; }
cp "$WORK/guest.sh" "$LIBS/guest.sh"
G=/home/bench/libs

# One count for one number of calls, in every process and by both ways of reading: window = opening + calls x cost, all integers.
exact() {
    awk '$1 != "core_cycles" { print "not measured: " $0; bad = 1; next }
        { for (i = 3; i < NF; i += 2) { key = $2 FS $i
            if (key in seen && seen[key] != $(i + 1)) { print key " calls: " seen[key] " and " $(i + 1); bad = 1 }
            seen[key] = $(i + 1); n++
            if ($2 in calls && calls[$2] != $i) {
                cost = ($(i + 1) - count[$2]) / ($i - calls[$2])
                if (cost != int(cost) || ($2 in per && per[$2] != cost)) { print $2 ": a call costs " cost " and " per[$2]; bad = 1 }
                per[$2] = cost
            } else if (!($2 in calls)) { calls[$2] = $i; count[$2] = $(i + 1) } } }
        END { for (k in per) { print k ": " per[k] " a call"; split(k, p, ","); by[p[2]] = by[p[2]] FS per[k] }
            for (b in by) { m = split(by[b], p, FS); for (i = 2; i <= m; i++) if (p[i] != p[2]) { print b " bytes: not the same by both"; bad = 1 } }
            print n " windows"; exit bad || n < 300 }' "$WORK/exact.out"
}
repeats() {
    local source bytes k
    for source in perf_user perf_read; do for bytes in 64 1024 4096; do for k in 1 2 3 4 5 6; do
        printf '%s,%s %s plain 256 %s 8 10 300000 %016x %s\n' "$source" "$bytes" "$G/plain.so" "$bytes" $((k * 7919)) "$source"
    done; done; done > "$WORK/exact.in"
    # shellcheck disable=SC2086   # CROSS is words
    $CROSS -std=gnu11 -O2 -fPIC -shared -o "$LIBS/plain.so" "$FLEETMARK_ROOT/tests/toys/plain.c" && push && guest "$WORK/exact.in" "$WORK/exact.out" && exact
}
check "six processes by each of perf_user and perf_read: every count repeats exactly" repeats
tail -n 7 "$WORK/check.out" | sed 's/^/          /'

# ---------------------------------------------------------------- a planted 0.1 %

cat > "$WORK/spin.c" <<'C'
/* beside sources built with -DCryptHash=fm_honest: SPIN instructions before every call */
#undef CryptHash
int fm_honest(int bits, const unsigned char *msg, unsigned long long len, unsigned char *digest);
int CryptHash(int bits, const unsigned char *msg, unsigned long long len, unsigned char *digest);
#define TEXT(x) #x
#define REPEAT(n) ".rept " TEXT(n) "\n\tadd %0, %0, %0\n\t.endr"
int CryptHash(int bits, const unsigned char *msg, unsigned long long len, unsigned char *digest)
{
	unsigned long sum = 1;
	__asm__ volatile(REPEAT(SPIN) : "+r"(sum));
	return fm_honest(bits, msg, len, digest);
}
C
honest() {   # every instance as an archive of objects, and the library to compare with
    local name bits sources defines dir count=0 o s d flags
    : > "$WORK/instances.tsv"
    while IFS='|' read -r name bits sources defines dir; do
        [ "$count" -lt "$MOST" ] || break
        o=$WORK/o.$count flags=()
        mkdir -p "$o"
        for d in $defines; do flags+=("-D$d"); done
        for s in $sources; do
            # shellcheck disable=SC2086   # CROSS is words
            $CROSS -std=gnu11 -O2 -fPIC -DCryptHash=fm_honest -I"$dir" "${flags[@]}" -c -o "$o/${s%.c}.o" "$dir/$s" || return 1
        done
        slowed "$count" 0 "a.$count.so" && cp "$LIBS/a.$count.so" "$LIBS/b.$count.so" || return 1
        printf '%s\t%s\t%s\n' "$count" "$name" "$bits" >> "$WORK/instances.tsv"
        count=$((count + 1))
    done < <(aa_instances "$FLEETMARK_ROOT")
    echo "$count instances"
}
slowed() {   # COUNT SPIN NAME
    # shellcheck disable=SC2086   # CROSS is words
    $CROSS -std=gnu11 -O2 -fPIC -shared -DSPIN="$2" -o "$LIBS/$3" "$WORK/o.$1"/*.o "$WORK/spin.c"
}
cost() {   # what a call takes there; then a library slowed by 0.1 %, rounded up to an instruction, for every cell
    local count name bits bytes tag spin
    while IFS=$'\t' read -r count name bits; do for bytes in "${SIZES[@]}"; do
        echo "$count,$bytes $G/a.$count.so $name $bits $bytes 2 2 100000 0000000000000001 auto"
    done; done < "$WORK/instances.tsv" > "$WORK/cost.in"
    push && guest "$WORK/cost.in" "$WORK/cost.out" || return 1
    ! grep -v '^core_cycles' "$WORK/cost.out" || return 1
    while read -r _ tag calls counts _; do
        spin=$(((counts / calls + 999) / 1000))
        slowed "${tag%,*}" "$spin" "s.${tag/,/.}.so" || return 1
    done < "$WORK/cost.out"
    push
}
planted() {   # two rounds, for counts that repeat have no spread
    local round count name bits bytes which library
    for round in 1 2; do
        while IFS=$'\t' read -r count name bits; do for bytes in "${SIZES[@]}"; do for which in a b s; do
            library=$which.$count.so
            [ "$which" != s ] || library=s.$count.$bytes.so
            printf '%s %016x\n' "$round,$name,$bytes,$which $G/$library $name $bits $bytes 2 4 200000" $((RANDOM * 32768 + RANDOM + 1))
        done; done; done < "$WORK/instances.tsv" | shuf
    done | sed 's/$/ auto/' > "$WORK/planted.in"
    guest "$WORK/planted.in" "$WORK/planted.out" || return 1
    awk 'BEGIN { OFS = "\t"; print "round", "instance", "bytes", "which", "counts", "calls" }
        $1 == "core_cycles" { split($2, k, ","); n = c = 0; for (i = 3; i < NF; i += 2) { n += $i; c += $(i + 1) } print k[1], k[2], k[3], k[4], c, n }' \
        "$WORK/planted.out" > "$OUT/samples.tsv"
    aa_cells "$OUT/samples.tsv" > "$OUT/cells.tsv"
    aa_summary "$OUT/cells.tsv" "0.1 %"
    [ "$(wc -l < "$OUT/samples.tsv")" = $(($(wc -l < "$WORK/planted.in") + 1)) ] || { echo "processes that failed: $(grep -vc '^core' "$WORK/planted.out")"; return 1; }
    awk -F'\t' '$3 == "s" { n++; if ($6 <= 1) { bad = 1; print "not found: " $0 } } END { exit bad || n == 0 }' "$OUT/cells.tsv"
}
check "the candidates' libraries for that machine" honest
check "what every cell costs there" cost
check "a planted 0.1 % is found in every cell" planted
grep -E '^(A/A|median|false|planted|not)' "$WORK/check.out" | tee "$OUT/icount.txt" | sed 's/^/          /'

# ---------------------------------------------------------------- a campaign

TREE=$WORK/results/exact BUNDLE=$WORK/results/exact/bundles/arm_1/toys
sed -i '/^\[arm_2\]/,$d' "$INV"
labels() {
    jq -e '.measure.counter | .label == "core_cycles" and .source == "perf_user" and .scope == "emulated"' "$BUNDLE/evidence.json" &&
        jq -e '.host.emulator == "qemu-tcg" and .host.virtual == 1 and ([.measure.cells[] | .marks | index("emulated")] | all)' "$BUNDLE/evidence.json"
}
samples_exact() {   # all processes of a cell: as many calls, as many cycles
    local stem
    for stem in "$BUNDLE"/samples/*.core_cycles.txt; do
        stem=${stem%.core_cycles.txt}
        paste "$stem.calls.txt" "$stem.core_cycles.txt" | awk -v cell="${stem##*/}" '$1 in seen && seen[$1] != $2 { print cell ": " $1 " calls: " seen[$1] " and " $2; bad = 1 }
            { if (NR == 1) { b = $1; c = $2 } else if ($1 != b) { p = ($2 - c) / ($1 - b); if (p != int(p)) { print cell ": " p " a call"; bad = 1 } } seen[$1] = $2; n++ }
            END { exit bad || n < 4 }' || return 1
    done
}
pages() {   # core cycles of an emulator are no results: the page says emulated, the records hold no cycles, nothing is ranked
    grep -qi 'emulated' "$TREE/toys/perf_arm_1.md" && grep -qi 'qemu-tcg' "$TREE/toys/perf_arm_1.md" && grep -qi 'All cells of arm_1: emulated' "$TREE"/compare.md "$TREE"/toys/*.md &&
        jq -e '.mean_cycles == null and all(.trials[]; .cycles == 0) and .fleetmark.emulated and (.fleetmark.publishable | not)' "$TREE"/data/arm_1/records/toys/plain__hash_32.json
}
check "the campaign ends with exit 0" gives 0 campaign exact
check "every cell is accepted" all_accepted "$TREE" arm_1
check "evidence: core_cycles by perf_user, scope emulated, every cell marked" labels
check "its samples: equal calls count equal cycles, in all processes" samples_exact
check "pages and records say emulated, no cycles as results, no rank" pages
check "fleetmark verify accepts the tree" gives 0 fleetmark verify --root "$WORK/root" "$TREE"
exit $FAILED
