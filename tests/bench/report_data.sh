#!/usr/bin/env bash
# report_data.sh: time and peak memory of `report --data` over a data set of many records, each a copy of a published one.
#
#   FLEETMARK_BUILD=build/release tests/bench/report_data.sh [RECORDS] [LAYOUT]
#
# RECORDS: 100000 (default; about 1.2 GB in a scratch folder, removed afterwards), in candidates of six. LAYOUT: fleetmark (default),
# published, site. Run it with two sizes: the peak must not follow the number.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
records=${1:-100000}
layout=${2:-fleetmark}
[ -x /usr/bin/time ] || { echo "needs /usr/bin/time (package time)" >&2; exit 77; }
sample=$FLEETMARK_ROOT/tests/data/published/data/arm_1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=$(((records + 5) / 6))
mkdir -p "$work/data/arm_1/records"
cp "$sample/campaign.json" "$work/data/arm_1/"
seq -f 'c-%06g' "$count" > "$work/ids"
awk '{ print $1 ";Copy " NR ";https://example.org/" }' "$work/ids" > "$work/data/candidates.csv"
while read -r id; do
	mkdir "$work/data/arm_1/records/$id"
	for r in "$sample"/records/hash-09/*.json; do
		text=$(< "$r")
		printf '%s\n' "${text/'"candidate": "hash-09"'/"\"candidate\": \"$id\""}" > "$work/data/arm_1/records/$id/${r##*/}"
	done
done < "$work/ids"
jq -R -s '{instances: (split("\n") | map(select(. != "") | {key: (. + "/Eijen-256"), value: {candidate: ., label: "Eijen-256", instance: "Eijen-256",
	variant: "reference", flags: "guide", kat: "PASS"}}) | from_entries)}' "$work/ids" > "$work/data/arm_1/build.json"
/usr/bin/time -o "$work/time" -f '%e %U %S %M' "$FLEETMARK_BUILD/fleetmark" report --data "$work/data" --layout "$layout" -o "$work/pages"
awk -v n=$((count * 6)) -v l="$layout" '{ printf "%d records, layout %s: %.1f s wall, %.1f s CPU, %.1f MB peak\n", n, l, $1, $2 + $3, $4 / 1024 }' "$work/time"
