#!/bin/bash
# candidates.sh - ns per byte at 64 KiB of every instance of the four candidates, reference against performance version, and
# our order on x86-64 beside the published order of x86_1. Everything goes through the program: build, known answers, processes.
#
#   candidates.sh [TREE]     TREE: a finished campaign with both versions on one x86_64 system; without one it is made here
#
# FLEETMARK_BUILD   where fleetmark is; default build/release      PROFILE   guide (default, some 30 minutes) or smoke
# The figures are worth what the machine is: use a quiet one. Exit 0: all 40 libraries measured; 1: some are missing.
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
F=${FLEETMARK_BUILD:-$ROOT/build/release}/fleetmark
PUBLISHED=$ROOT/tests/data/published/tables
IDS=hash-07,hash-09,hash-29,hash-31
command -v jq >/dev/null || { echo "needs jq" >&2; exit 2; }

T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-candidates-XXXXXX")
trap 'rm -rf "$T"' EXIT
TREE=${1-}
if [ -z "$TREE" ]; then
	[ -x "$F" ] || { echo "no program $F" >&2; exit 2; }
	export FLEETMARK_HOME=$T/home
	printf '[x86_1]\narch = x86_64\ntransport = local\nworkdir = %s/work\n' "$T" > "$T/here.ini"
	"$F" run candidates -i "$T/here.ini" -c $IDS --versions reference,performance --profile "${PROFILE:-guide}" \
		--root "$ROOT" --results "$T/results" >&2 || [ $? = 1 ]
	TREE=$T/results/candidates
fi
SYSTEM=$(jq -r '[.systems[] | select(.arch == "x86_64") | .system] | first // empty' "$TREE/plan/plan.json")
[ -n "$SYSTEM" ] || { echo "$TREE has no x86_64 system" >&2; exit 2; }

# label|ns per byte|KAT word of every record of 64 KiB
measured() {
	find "$TREE/data/$SYSTEM/records" -name '*__hash_65536.json' -exec \
		jq -r '"\(.label)|\(.mean_seconds * 1e9 / .input_bytes)|\(.kat)"' {} +
}
# instance|cycles per byte of every published reference row of 64 KiB
published() { awk -F, '$2 == 65536 && $1 !~ /-avx2$/ { print $1 "|" $4 }' "$PUBLISHED"/x86_1_*.csv; }

measured > "$T/measured"
published > "$T/published"
echo "system $SYSTEM, profile $(jq -r .profile "$TREE/plan/plan.json"), $(jq -r .environment.cpu_model \
	"$(find "$TREE/data/$SYSTEM/records" -name '*__hash_65536.json' | sort | sed -n 1p)")"
awk -F'|' '
	FNR == NR { published[$1] = $2; next }
	$3 != "PASS" { next }
	{ name = $1; fast = sub(/-performance$/, "", name) }
	fast { quick[name] = $2; next }
	{ plain[name] = $2 }
	function by(list, rank,    n, i, k, t, names) { # names in rising order; rank[name] from 1
		n = 0
		for (i in list) names[++n] = i
		for (i = 2; i <= n; i++)
			for (k = i; k > 1 && list[names[k]] + 0 < list[names[k - 1]] + 0; k--) {
				t = names[k]; names[k] = names[k - 1]; names[k - 1] = t
			}
		for (i = 1; i <= n; i++) { rank[names[i]] = i; order[i] = names[i] }
		return n
	}
	END {
		by(published, theirs)
		n = by(plain, ours)
		printf "%4s  %-18s %10s %12s %8s   %9s %12s %6s\n", "rank", "instance", "reference", "performance", "gain",
			"published", "x86_1", "change"
		printf "%4s  %-18s %10s %12s %8s   %9s %12s %6s\n", "", "", "ns/B", "ns/B", "ratio", "rank", "cycles/B", ""
		for (i = 1; i <= n; i++) {
			name = order[i]
			gain = name in quick ? sprintf("%.2f", plain[name] / quick[name]) : "-"
			printf "%4d  %-18s %10.3f %12s %8s   %9d %12s %+6d\n", i, name, plain[name],
				name in quick ? sprintf("%.3f", quick[name]) : "-", gain, theirs[name], published[name],
				theirs[name] - i
			both += name in quick
		}
		printf "%d instances, %d with both versions\n", n, both
		exit !(n == 20 && both == 20)
	}' "$T/published" "$T/measured"
