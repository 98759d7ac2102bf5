#!/usr/bin/env bash
# compare: systems of a published data set, versions, a tree beside a data set, seals checked with --key; exit status and --json.
set -euo pipefail

fleetmark=$FLEETMARK_BUILD/fleetmark
sample=$FLEETMARK_ROOT/tests/data/published/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FLEETMARK_HOME=$work/none

fail() {
	echo "compare: $*" >&2
	exit 1
}
expect() { # STATUS COMMAND...: output in $work/out and err
	local want=$1 got=0
	shift
	"$@" > "$work/out" 2> "$work/err" || got=$?
	[ "$got" -eq "$want" ] || fail "exit status $got, not $want: $*: $(cat "$work/err")"
}
has() { grep -qF -- "$1" "$work/out" || fail "missing: $1; said: $(cat "$work/out")"; }

# the systems of the published data: the ratios of the report guide, in intervals that hold together
expect 1 "$fleetmark" compare "$sample" -c hash-31
for r in 0.639 0.696 0.725 0.737 0.743; do has "  $r ("; done
has 'each is made at 1 - 0.05 / 10 (Bonferroni)'
has 'differs   processor: 12th Gen Intel(R) Core(TM) i7-12700 / Qualcomm Oryon'
has '5 B less'
expect 0 "$fleetmark" compare "$sample" "$sample"
has 'no difference shown'
expect 2 "$fleetmark" compare "$sample" --base mips_1
grep -q 'has no such system' "$work/err" || fail "--base: $(cat "$work/err")"
expect 1 "$fleetmark" compare "$sample" --base arm_1 -c hash-31
has 'A = arm_1, B = x86_1'

# versions: another label of the same instance, 10 % slower in every trial
cp -R "$sample" "$work/data"
records=$work/data/arm_1/records/hash-31
sed -E 's/"label": "[^"]*"/"label": "ZC-DMC-1280-512-avx2"/' "$records/ZC-DMC-1280-512__hash_32.json" \
	> "$records/ZC-DMC-1280-512-avx2__hash_32.json"
expect 0 "$fleetmark" compare "$work/data" --base reference -c hash-31 -l arm_1
has 'ZC-DMC-1280-512-avx2'
has 'arm_1: A = version reference'

# a tree beside a data set; its own data/ says again what its samples say
"$FLEETMARK_BUILD/mktree" "$work/world" 2 2 1 2 guide > "$work/number"
tree=$work/world/tree
expect 3 "$fleetmark" compare "$tree" "$tree/data" -l x86_1 # two processes a cell: every interval is infinite
has '1.000 (no interval)'
has "tree number $(cat "$work/number")"
has 'missing in A'
expect 2 "$fleetmark" compare "$tree" "$sample" -l x86_1 -c 'nothing*'
expect 3 "$fleetmark" compare "$tree" --base reference -l x86_1
has 'Tiny-1-001-performance'
expect 3 "$fleetmark" compare "$tree" "$tree" -l x86_1 --key "$work/world/home/controller.pub"
expect 2 "$fleetmark" compare "$tree"
grep -q 'not comparable: core_cycles / ref_ticks (A: x86_1, B: arm_1)' "$work/err" || fail "labels: $(cat "$work/err")"

# versions of one rigorous campaign ran in the same rounds: ratios of the rounds, not of the means
"$FLEETMARK_BUILD/mktree" "$work/rounds" 1 1 1 2 rigorous > /dev/null
got=0; "$fleetmark" compare "$work/rounds/tree" --base reference -l x86_1 > "$work/out" 2> "$work/err" || got=$?
[ "$got" -le 1 ] || fail "--base on rounds: $got: $(cat "$work/err")"
has 'rows ran in the same rounds: their ratios are geometric means of the rounds'

# one JSON object a line, all of them whole
expect 1 "$fleetmark" compare "$sample" -c hash-31 --json
jq -e -s 'map(.event) | index("pair") == 0 and (.[-1] == "compared")' "$work/out" > /dev/null || fail "--json: $(head -c 400 "$work/out")"
jq -e -s '[.[] | select(.verdict == "b_less")] | length == 5' "$work/out" > /dev/null || fail "--json: rows"
jq -e 'select(.event == "compared") | .intervals == 10 and .b_less == 5' "$work/out" > /dev/null || fail "--json: end"

# a broken seal is not compared
printf x >> "$tree/summary_x86_1.md"
expect 4 "$fleetmark" compare "$tree" "$tree" --key "$work/world/home/controller.pub"
echo "compare: systems, versions, trees, data sets, labels, seals"
