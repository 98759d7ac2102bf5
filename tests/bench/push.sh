#!/bin/bash
# push.sh: pushing a tree of many small files to one lab host over a line of 0 and of 20 ms round trip: fleetmark's push (which
# verifies every file there) against scp -r, tar | ssh and rsync, in turn, medians of ROUNDS, as ratios.
#
#   tests/bench/push.sh [ENTRIES]        files in the tree (50000)   ROUNDS (3)   RATE kbit/s (0: none)   DELAYS ms ("0 20")
#                                        LIMIT seconds for another tool (300): one that takes longer is stopped, and not tried again
#
# fleetmark's figure is that of its log ("push of N trees: ok in ..."): first byte to verdict. Root, a lab, rsync, a quiet machine;
# FLEETMARK_BUILD: a release build. Also prints what a second, unchanged push costs in bytes.
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
F=$(realpath "${FLEETMARK_BUILD:-$ROOT/build/release}/fleetmark")
ENTRIES=${1:-50000} ROUNDS=${ROUNDS:-3} RATE=${RATE:-0}
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-bench-XXXXXX")
export FLEETMARK_LAB=$T/net LAB_CACHE=${LAB_CACHE:-$ROOT/.cache/lab} FLEETMARK_HOME=$T/fm LAB_HOME_MB=2048
lab() { "$ROOT/deploy/lab.sh" "$@"; }
trap 'lab down; rm -rf "$T"' EXIT
trap 'exit 130' INT TERM

mkdir -p "$T/root/algos" "$T/root/kat"
cp -a "$ROOT/agent" "$ROOT/protocol" "$T/root/"
cp -a "$ROOT/algos/flags.ini" "$T/root/algos/"
mkdir "$T/root/algos/toy"
cp "$ROOT"/tests/data/toy/{toy.c,CryptHash_AlgorithmInstance.h} "$T/root/algos/toy/"
printf '%s\n' '[candidate]' 'id = toy' 'name = Toy' 'category = hash' 'origin = own' '[instance Toy-256]' 'digest_bits = 256' \
    'digest = fixed' 'header = CryptHash_AlgorithmInstance.h' 'sources = toy.c' 'defines = TOY_START=1' > "$T/root/algos/toy/candidate.ini"
awk -v n="$ENTRIES" -v top="$T/root/algos/toy/many" 'BEGIN {
    for (i = 0; i < n; i++) {
        if (i % 500 == 0) system("mkdir -p " top "/d" int(i / 500))
        f = top "/d" int(i / 500) "/f" i ".h"
        printf "/* file %d */\n#define F_%d %d\n", i, i, i > f
        close(f)
    }
}'
bytes=$(du -sb "$T/root/algos/toy" | cut -f1)
median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
timed() {
    local name=$1 t rc=0; shift
    [ ! -e "$T/$name.cut" ] || return 0
    t=$(ms)
    timeout -k 5 "${LIMIT:-300}" "$@" > "$T/$name.out" 2>&1 || rc=$?
    t=$(($(ms) - t))
    if [ $rc = 124 ]; then touch "$T/$name.cut"; rc=0; fi
    [ $rc = 0 ] || { echo "push: $name ended with $rc: $(tail -n 1 "$T/$name.out" | cut -c1-200)" >&2; return 0; }
    echo $t >> "$T/$name.ms"
}
on() { lab ctl ssh -n -F "$T/net/ssh_config" "h$HOST" "$@"; }
ours() {   # ROUND: a campaign that is planned and pushed, then cancelled; its log has the time
    local name=push-$DELAY-$1
    lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$F" -i "$T/fleet.ini" run "$name" --profile smoke --root "$T/root" --results "$T/results" -q > "$T/ours.out" 2>&1 < /dev/null || true
    # "took" of the log, in words (1.2 s, 3 min 20 s), to milliseconds
    sed -n 's/.*push of [0-9]* trees: ok in \(.*\)$/\1/p' "$T/results/$name/incoming/logs/x86_1.log" | tail -1 |
        awk '{t = 0; for (i = 1; i < NF; i += 2) t += $i * ($(i + 1) == "s" ? 1000 : $(i + 1) == "min" ? 60000 : 3600000); if (t > 0) print int(t)}' >> "$T/fleetmark.ms"
}

for DELAY in ${DELAYS:-0 20}; do
    lab down
    lab up 1 > /dev/null
    HOST=1
    if [ "$DELAY" != 0 ] || [ "$RATE" != 0 ]; then
        HOST=2
        LAB_WAN="$((DELAY * 500)) 0 0 0 0 $RATE 1000000" lab add 2 > /dev/null
    fi
    lab inventory "x86_1=$HOST" > "$T/fleet.ini"
    lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$F" -i "$T/fleet.ini" enrol --yes --root "$T/root" x86_1 > /dev/null 2>&1
    rm -f "$T"/*.ms "$T"/*.cut
    for ((r = 0; r < ROUNDS; r++)); do
        echo "/* round $DELAY $r */" >> "$T/root/algos/toy/toy.c"     # another tree each time
        ours "$r"
        on rm -rf there; timed tar sh -c "tar -C '$T/root/algos' -cf - toy | '$ROOT/deploy/lab.sh' ctl ssh -F '$T/net/ssh_config' h$HOST 'mkdir there && tar -xf - -C there'"
        on rm -rf there; timed scp "$ROOT/deploy/lab.sh" ctl scp -q -r -F "$T/net/ssh_config" "$T/root/algos/toy" "h$HOST:there"
        if command -v rsync > /dev/null; then on rm -rf there; timed rsync "$ROOT/deploy/lab.sh" ctl rsync -a -e "ssh -F $T/net/ssh_config" "$T/root/algos/toy/" "h$HOST:there"; fi
    done
    base=$(median < "$T/fleetmark.ms")
    echo "$ENTRIES files, $bytes bytes, $DELAY ms round trip, medians of $ROUNDS:"
    for tool in fleetmark tar scp rsync; do
        [ -s "$T/$tool.ms" ] || { echo "  $tool: not measured"; continue; }
        m=$(median < "$T/$tool.ms") more=
        [ ! -e "$T/$tool.cut" ] || more=' at most, it was stopped then'
        printf '  %-10s %8d ms   fleetmark / %s = %s%s\n' "$tool" "${m%.*}" "$tool" "$(awk -v a="$base" -v b="$m" 'BEGIN {printf "%.2f", a / b}')" "$more"
    done
    ours again; ours again2 || true
    sed -n 's/.*\(push: every tree is there; .*\)/  second push: \1/p' "$T"/results/push-"$DELAY"-again*/incoming/logs/x86_1.log | tail -1
done
