#!/bin/bash
# awk.sh - the awk line of agent/METHOD.md, as it stands there, gives the mean that every record of a tree states; over a sample that
# was changed it gives another.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
for tool in jq awk paste; do command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }; done
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

# the two lines of the document
line=$(sed -n '/^    awk -F/,/core_cycles/p' "$FLEETMARK_ROOT/agent/METHOD.md")
[[ $line == *env/X.process.tsv*samples/X.core_cycles.txt* ]] || fail "METHOD.md has no awk line"

"$FLEETMARK_BUILD/mktree" "$T/world" 1 1 1 3 guide > /dev/null
bundles=$T/world/tree/bundles
mean() { (cd "$1" && eval "${line//X/$2}"); }   # BUNDLE STEM

checked=0 changed=0
for record in "$T"/world/tree/data/*/records/*/*.json; do
	[ "$(jq -r .fleetmark.counter.label "$record")" = core_cycles ] || continue
	stem=$(jq -r '.fleetmark.samples[0].file' "$record")
	stem=${stem#samples/} stem=${stem%.process.txt}
	system=${record#"$T/world/tree/data/"} candidate=$(basename "$(dirname "$record")")
	bundle=$bundles/${system%%/*}/$candidate
	want=$(jq -r .mean_cycles "$record" | awk '{printf "%.4f\n", $1}')
	[ "$(mean "$bundle" "$stem")" = "$want" ] || fail "$stem: awk says $(mean "$bundle" "$stem"), the record $want"
	checked=$((checked + 1))
	awk 'NR==1{$1+=1000} {print}' "$bundle/samples/$stem.core_cycles.txt" > "$T/samples" && cp "$T/samples" "$bundle/samples/$stem.core_cycles.txt"
	[ "$(mean "$bundle" "$stem")" = "$want" ] || changed=$((changed + 1))
done
[ $checked -gt 0 ] && [ $changed = $checked ] || fail "$checked records, $changed seen to change with their samples"
echo "$checked records"
