#!/bin/bash
# fleet_figures.sh: figures of a fleet in the lab, one part each, all of them by default:
#
#   push     bytes a host is sent when a campaign with unchanged sources is begun anew
#   cancel   from Ctrl-C to no process of ours on any of FIG_HOSTS (4) hosts that measure
#   frozen   a host whose processes are stopped while it measures: until its loss is told
#   resume   from the start of `run` to the first host connected, on a campaign of 10,000, 50,000 and 100,000 cells
#   fleet    wall time of one campaign over 8 equal hosts (FIG_CPU per cent of a core each, 20) against one of them
#   quiet    profile guide (FIG_PROFILE) on one host: share of the measuring phase in which no process was measured, and packets on its link
#            while one was
#
#   tests/bench/fleet_figures.sh [PART...]
#
# Root, a lab (deploy/lab.sh check), a quiet machine. FLEETMARK_BUILD: a release build (build/release).
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
F=$(realpath "${FLEETMARK_BUILD:-$ROOT/build/release}/fleetmark")
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-bench-XXXXXX")
export FLEETMARK_LAB=$T/net LAB_CACHE=${LAB_CACHE:-$ROOT/.cache/lab} FLEETMARK_HOME=$T/fm
lab() { "$ROOT/deploy/lab.sh" "$@"; }
SNIFF=
trap '[ -z "$SNIFF" ] || kill "$SNIFF" 2> /dev/null || true; lab down; rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
say() { printf '%-8s %s\n' "$PART" "$*"; }
die() { echo "fleet_figures: $PART: $*" >&2; exit 1; }
ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
fm() { lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" setsid -w "$F" -i "$T/fleet.ini" "$@" --root "$T/root" < /dev/null; }
within() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || die "never: $*"; sleep 0.02; done; }
event() { grep -qs "\"event\": \"$2\".*${3-}" "$T/$1.json"; }

small_root() {   # iccs, cut to its first instance, with its known answers
    mkdir -p "$T/root/algos" "$T/root/kat"
    cp -a "$ROOT/agent" "$ROOT/protocol" "$T/root/"
    cp -a "$ROOT/algos/flags.ini" "$ROOT/algos/iccs" "$T/root/algos/"
    cp -a "$ROOT/kat/iccs" "$T/root/kat/" 2> /dev/null || true
    awk '/^\[instance / {k++} k <= 1' "$ROOT/algos/iccs/candidate.ini" > "$T/root/algos/iccs/candidate.ini"
    sed -n 's/^\[instance \(.*\)\]$/\1/p' "$T/root/algos/iccs/candidate.ini" > "$T/instances"
    [ ! -f "$T/root/kat/iccs/kat.sha256" ] ||
        awk 'FNR == NR {want[$0]; next} {split($3, p, "/")} p[1] in want' "$T/instances" "$ROOT/kat/iccs/kat.sha256" > "$T/root/kat/iccs/kat.sha256"
    [ ! -f "$T/root/kat/iccs/vectors.txt" ] ||
        awk -F'|' 'FNR == NR {want[$0]; next} /^#/ || $1 in want' "$T/instances" "$ROOT/kat/iccs/vectors.txt" > "$T/root/kat/iccs/vectors.txt"
}
hosts_up() {   # N: hosts, their agents built, enrolled
    local names=() i
    lab down
    rm -rf "$T/results" "$T/fm"
    lab up "$1" > /dev/null
    for ((i = 1; i <= $1; i++)); do names+=("x86_$i=$i"); done
    lab inventory "${names[@]}" > "$T/fleet.ini"
    fm check --reach -j 2 > "$T/out" 2>&1 || { tail "$T/out"; die "not all hosts are reached"; }
    fm enrol --yes "${names[@]%=*}" > "$T/out" 2>&1 || { tail "$T/out"; die "not all hosts enrol"; }
}
start() {   # NAME [OPTION...]: a campaign in the background, its events in $T/NAME.json
    local name=$1; shift
    fm run "$name" --results "$T/results" --json "$@" > "$T/$name.json" 2> "$T/$name.err" & RUN=$!
}
of_bench() {   # processes of ours on host I
    local p
    for p in $(lab pids "$1"); do
        case $(readlink "/proc/$p/exe" 2> /dev/null) in */.fleetmark/*) echo "$p";; esac
    done
}
controller() { sed -n 's/^pid \([0-9]*\) .*/\1/p' "$T/results/$1/incoming/lock"; }

push() {
    hosts_up 1
    fm run one --results "$T/results" --profile smoke > "$T/out" 2>&1 || die "$(tail -n 3 "$T/out")"
    fm run two --results "$T/results" --profile smoke > "$T/out" 2>&1 || die "$(tail -n 3 "$T/out")"
    say "unchanged sources: $(sed -n 's/.*push: every tree is there; asking took \(.*\)/\1/p' "$T/results/two/incoming/logs/x86_1.log") for each host"
}
cancel() {
    local n=${FIG_HOSTS:-4} i t
    hosts_up "$n"
    start c --profile guide
    for ((i = 1; i <= n; i++)); do within 300 event c stage "\"system\": \"x86_$i\", \"stage\": \"measure\""; done
    t=$(ms)
    kill -INT "$(controller c)"
    for ((i = 1; i <= n; i++)); do while [ -n "$(of_bench "$i")" ]; do [ $(($(ms) - t)) -lt 30000 ] || die "x86_$i still works"; done; done
    say "$n hosts that measure: clean $(($(ms) - t)) ms after Ctrl-C (each look at the processes takes some ms)"
    wait $RUN || [ $? = 130 ] || die "not ended with 130"
    say "the controller had ended $(($(ms) - t)) ms after it"
}
frozen() {
    local t
    hosts_up 2
    start f --profile guide
    within 300 event f stage '"system": "x86_2", "stage": "measure"'
    lab fault 2 freeze; t=$(ms)
    within 60 event f retry '"system": "x86_2"'
    say "a frozen host: told after $(($(ms) - t)) ms"
    lab fault 2 thaw
    kill -INT "$(controller f)"; wait $RUN || true
}
resume() {
    local i k cells t
    hosts_up 10
    mv "$T/root/algos/iccs" "$T/iccs"
    for cells in 10000 50000 100000; do
        rm -rf "$T/root/algos"/m*
        for ((i = 0; i < cells / 800; i++)); do
            mkdir "$T/root/algos/m$i"
            cp "$ROOT"/tests/data/toy/{toy.c,CryptHash_AlgorithmInstance.h} "$T/root/algos/m$i/"
            echo "/* $i */" >> "$T/root/algos/m$i/toy.c"
            { printf '%s\n' '[candidate]' "id = m$i" "name = M$i" 'category = hash' 'origin = own'
                for ((k = 0; k < 10; k++)); do printf '%s\n' "[instance M$i-$k]" 'digest_bits = 256' 'digest = fixed' 'header = CryptHash_AlgorithmInstance.h' 'sources = toy.c' "defines = TOY_START=$k"; done
            } > "$T/root/algos/m$i/candidate.ini"
        done
        for how in begin resume; do
            t=$(awk '{printf "%d", $1 * 1000}' /proc/uptime)
            start "big-$cells" --profile smoke
            within 300 event "big-$cells" connected
            say "$cells cells, $how: $(jq -r --arg t "$t" 'select(.event == "connected") | (.mono_ns | tonumber) / 1000000 - ($t | tonumber) | floor' "$T/big-$cells.json" | head -1) ms from exec to the first host connected, peak $(sed -n 's/^VmHWM: *//p' "/proc/$(controller "big-$cells")/status")"
            kill -KILL "$(controller "big-$cells")"; wait $RUN 2> /dev/null || true
            fm cancel "big-$cells" --results "$T/results" > /dev/null 2>&1 || true
        done
    done
    rm -rf "$T/root/algos"/m*
    mv "$T/iccs" "$T/root/algos/iccs"
}
fleet() {
    local i t one all
    hosts_up 8
    for ((i = 1; i <= 8; i++)); do lab fault "$i" cpu "${FIG_CPU:-20}"; done
    t=$(ms); fm run one -l x86_1 --results "$T/results" --profile smoke > "$T/out" 2>&1 || die "$(tail -n 3 "$T/out")"; one=$(($(ms) - t))
    t=$(ms); fm run all --results "$T/results" --profile smoke > "$T/out" 2>&1 || die "$(tail -n 3 "$T/out")"; all=$(($(ms) - t))
    say "one host of ${FIG_CPU:-20} % of a core: $one ms; eight of them: $all ms, $(awk -v a=$all -v b=$one 'BEGIN {printf "%.2f", a / b}') times"
}
quiet() {
    hosts_up 1
    cat > "$T/sniff.c" << 'END'
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
int main(int n, char **v)
{
	struct sockaddr_ll a = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(v[n - 1])};
	int s = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	unsigned char m[2000];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (bind(s, (struct sockaddr *)&a, sizeof a) != 0)
		return 1;
	for (;;) {
		struct timespec t;
		struct sockaddr_ll from = {0};
		socklen_t size = sizeof from;
		long len = recvfrom(s, m, sizeof m, 0, (struct sockaddr *)&from, &size), head, carried = 0;
		clock_gettime(CLOCK_BOOTTIME, &t);
		if (len < 54 || m[12] != 8 || m[13] != 0 || m[23] != 6)
			continue; /* only TCP over IPv4 is ours */
		head = 4 * (m[14] & 15);
		carried = m[16] * 256 + m[17] - head - 4 * (m[14 + head + 12] >> 4);
		printf("%lld%09ld %s %ld\n", (long long)t.tv_sec, t.tv_nsec, from.sll_pkttype == PACKET_OUTGOING ? "to" : "from", carried);
	}
}
END
    gcc -O2 -o "$T/sniff" "$T/sniff.c"
    lab ctl "$T/sniff" v1 > "$T/packets" & SNIFF=$!
    start q --profile "${FIG_PROFILE:-guide}"
    wait $RUN || die "$(tail -n 3 "$T/q.err")"
    kill "$SNIFF"; SNIFF=
    # started_ns counts from boot_ns in the header of the spool; a process's windows lie in its last wall_ns
    local boot dir=$T/results/q/bundles/x86_1/iccs
    boot=$(lab in 1 cat /home/bench/.fleetmark/jobs/q/spool/iccs | sed -n 's/.* header .*boot_ns=\([0-9]*\).*/\1/p' | head -1)
    awk -v boot="$boot" -F'\t' 'FNR > 1 && $4 != 3 {printf "%.0f %.0f %d\n", boot + $8, boot + $8 + $9, $7}' "$dir"/env/*.process.tsv | sort -n > "$T/trials"
    awk 'NR == 1 {first = $1} {busy += $2 - $1; if (NR > 1 && $1 > end) {gap[++g] = $1 - end} if ($2 > end) end = $2}
        END {all = end - first; n = asort_(gap, g); printf "%d processes in %.1f s: %.2f %% of that time none was measured; median gap %.1f ms, longest %.1f ms\n", NR, all / 1e9, 100 * (all - busy) / all, gap[int((g + 1) / 2)] / 1e6, gap[g] / 1e6}
        function asort_(a, n,  i, j, x) {for (i = 2; i <= n; i++) {x = a[i]; for (j = i - 1; j > 0 && a[j] > x; j--) a[j + 1] = a[j]; a[j + 1] = x} return n}' "$T/trials" > "$T/idle"
    say "$(cat "$T/idle")"
    awk 'FNR == NR {from[NR] = $1; to[NR] = $2; n = NR; next} $1 >= from[1] && $1 <= to[n] {for (i = 1; i <= n; i++) if ($1 >= from[i] && $1 <= to[i]) {k = $2 ($3 > 0 ? " with bytes" : " empty"); seen[k]++; break}}
        END {printf "packets on the line to the host while a process was measured: to it %d with bytes of ours, %d acknowledgements; from it %d with bytes, %d acknowledgements", seen["to with bytes"], seen["to empty"], seen["from with bytes"], seen["from empty"]; print ""}' "$T/trials" "$T/packets" > "$T/idle"
    say "$(cat "$T/idle")"
}

small_root
[ $# -gt 0 ] || set -- push cancel frozen resume fleet quiet
for PART; do
    case $PART in
    push | cancel | frozen | resume | fleet | quiet) "$PART";;
    *) echo "fleet_figures: parts are push, cancel, frozen, resume, fleet, quiet" >&2; exit 2;;
    esac
done
