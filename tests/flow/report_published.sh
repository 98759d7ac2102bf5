#!/usr/bin/env bash
# Pages of a published data set equal the published pages byte for byte, once the rows of absent records are deleted there; --check
# finds one changed byte; locale and time zone change nothing.
set -euo pipefail

fleetmark=$FLEETMARK_BUILD/fleetmark
sample=$FLEETMARK_ROOT/tests/data/published
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "report_published: $*" >&2
	exit 1
}

# Deletes the rows of sections 4, 5 and 7 whose record is not in the sample: page, candidate.
expected() {
	awk -v dir="$sample/data/arm_1/records/$2" '
		/^## [0-9]\./ { section = substr($2, 1, 1) }
		/^\| `/ {
			split($0, cell, / *\| */)
			label = cell[2]; gsub(/`/, "", label)
			file = ""
			if (section == 4) { split(cell[3], size, " "); file = label "__hash_" size[1] ".json" }
			if (section == 5) file = label "__" cell[3] ".json"
			if (section == 7 && cell[3] ~ /^timing /) { file = cell[3]; sub(/^timing /, "", file); file = label "__" file ".json" }
			if (file != "") {
				if ((getline line < (dir "/" file)) <= 0) next
				close(dir "/" file)
			}
		}
		{ print }' "$1"
}

for layout in published site; do
	LC_ALL=C TZ=UTC "$fleetmark" report --layout "$layout" --data "$sample/data" -o "$work/$layout"
	LC_ALL=de_DE.UTF-8 TZ=Asia/Kathmandu "$fleetmark" report --layout "$layout" --data "$sample/data" -o "$work/$layout" --check ||
		fail "another locale and time zone give other bytes"
done
for candidate in hash-07 hash-09; do
	expected "$sample/pages/${candidate}_arm_1.md" "$candidate" > "$work/want"
	cmp "$work/want" "$work/published/$candidate/perf_arm_1.md" || fail "$candidate: layout published differs"
	expected "$sample/pages/${candidate}_arm_1.site2.md" "$candidate" > "$work/want"
	cmp "$work/want" "$work/site/arm_1/$candidate.md" || fail "$candidate: layout site differs"
done

# every row of section 4 stands in the published tables
rows=0
for table in "$sample"/tables/*.csv; do
	name=$(basename "$table" .csv)
	page=$work/published/${name#*_1_}/perf_${name%_hash-*}.md
	[ -f "$page" ] || continue
	while IFS= read -r row; do
		line=$(printf '%s\n' "$row" | sed -e 's/^| `//' -e 's/ |$//' -e 's/`* | /,/g' -e 's/ B,/,/')
		grep -qxF -- "$line" "$table" || fail "$name: row not in the table: $line"
		rows=$((rows + 1))
	done < <(sed -n '/^## 4/,/^## 5/p' "$page" | grep '^| `')
done
[ "$rows" -eq 23 ] || fail "compared $rows rows of section 4, expected 23"

# the comparison of the tables: places that swap
while IFS= read -r row; do
	grep -qxF -- "$row" "$work/published/compare.md" || fail "compare.md: missing: $row"
done << 'EOF'
| hash-31 | `ZC-DMC-1280-512` | 6.8 | 1 | 5.0 | 1 (=) |
| hash-31 | `ZC-DMC-1536-512` | 9.1 | 2 | 12.6 | 3 (▼ 1) |
| hash-09 | `Eijen-512` | 11.2 | 3 | 7.4 | 2 (▲ 1) |
| hash-07 | `Dragon-512` | 17.8 | 4 | 30.0 | 5 (▼ 1) |
| hash-29 | `XRH-2-512` | 29.7 | 5 | 14.5 | 4 (▲ 1) |
| hash-31 | `ZC-DMC-1280-768` | 10.6 | 1 | 7.9 | 1 (=) |
| hash-09 | `Eijen-768` | 13.6 | 3 | 9.0 | 2 (▲ 1) |
| hash-31 | `ZC-DMC-1536-1024` | 19.3 | 2 | 20.9 | 3 (▼ 1) |
| hash-29 | `XRH-2-1024` | 105.6 | 5 | 53.4 | 4 (▲ 1) |
EOF
grep -qF 'Eijen-512: 3 on x86_1, 2 (▲ 1) on arm_1; ' "$work/published/compare.html" || fail "no picture of the places"
grep -qF 'Published elsewhere, unsigned' "$work/published/compare.html" || fail "compare.html does not say where the figures are from"
grep -qiE '<script|src=|@import|url\(h' "$work/published/compare.html" && fail "compare.html loads something"

printf x >> "$work/published/hash-07/perf_arm_1.md"
if out=$("$fleetmark" report --layout published --data "$sample/data" -o "$work/published" --check 2> /dev/null); then
	fail "--check did not see a changed byte"
else
	[ $? -eq 1 ] || fail "--check: exit status is not 1"
fi
[ "$out" = "differs: hash-07/perf_arm_1.md" ] || fail "--check said: $out"

# the summary page: ratio to the baseline with as many output bits
cp -R "$sample/data" "$work/base"
cp "$sample/candidates.csv" "$work/"
echo 'iccs;ICCS helper functions;' >> "$work/candidates.csv"
mkdir "$work/base/arm_1/records/iccs"
sed -E -e 's/"candidate": "hash-07"/"candidate": "iccs"/' -e 's/"(label|instance)": "Dragon-512"/"\1": "pseudoXOF-512"/' \
	-e 's/"variant": "reference"/"variant": "iccs-baseline"/' -e 's/"cycles": [0-9]+/"cycles": 56200000/' \
	-e 's/"(mean_cycles|median_trial_cycles)": [0-9.]+/"\1": 2810.0/' \
	"$sample/data/arm_1/records/hash-07/Dragon-512__hash_32.json" > "$work/base/arm_1/records/iccs/pseudoXOF-512__hash_32.json"
"$fleetmark" report --layout published --data "$work/base" -o "$work/out" 2> "$work/err" || [ $? -eq 4 ] || fail "baseline: $(cat "$work/err")"
grep -qF 'no entry iccs/pseudoXOF-512' "$work/err" || fail "the missing build entry was not told"
summary=$work/out/performance/summary_arm_1.md
# shellcheck disable=SC2016
grep -qF '| `pseudoXOF-512` | 2810 |' "$summary" || fail "summary: no baseline row"
# shellcheck disable=SC2016
grep -qF '| `Dragon-512` | 3862 (1.37×) | – | 1.97 M (ratio –) | – |' "$summary" || fail "summary: no ratio"
grep -qF 'Host state, of 19 records: none deviates' "$work/out/performance/method_arm_1.md" || fail "method: host state"

# our own layout of the same data: every page says where it is from, spread and ratios stand beside the published cells
LC_ALL=C TZ=UTC "$fleetmark" report --data "$sample/data" -o "$work/own"
LC_ALL=tr_TR.UTF-8 TZ=America/St_Johns "$fleetmark" report --data "$sample/data" -o "$work/own" --check || fail "layout fleetmark: other bytes"
while IFS= read -r page; do
	grep -qF 'Published elsewhere, unsigned' "$page" || fail "$page does not say where its figures are from"
	case $page in *.html) ! grep -qiE '<script|src=|@import|url\(h' "$page" || fail "$page loads something" ;; esac
done < <(find "$work/own" -name '*.md' -o -name '*.html')
# shellcheck disable=SC2016
grep -qF '| `ZC-DMC-1280-1024` | 8192 B | 209.0 k | 25.5 | 77.5 µs | 105.7 | 53160 (5 × 10632) | **154.9 k** | ± 72 % | 0.0 % … +174 % | 7 | outlier 1 of 5; mean ≠ median |' \
	"$work/own/hash-31/perf_arm_1.md" || fail "own layout: the outlier's row"
grep -qF '0.743 (0.738–0.748) | 0.742 | 3.23 | 1.86 | 0.577 (0.573–0.581)' "$work/own/hash-31/compare.md" || fail "own layout: ratio"
[ "$(wc -l < "$work/own/data/processes.csv")" -eq 116 ] || fail "processes.csv: not 5 x 23 rows"
[ "$(grep -c 'outlier 1 of 5' "$work/own/data/cells.csv")" -eq 2 ] || fail "cells.csv: not the two outliers"

# bad input is named with file and field; the page shows the rest and says what is missing
spoil() { # NAME WORDS-OF-THE-ERROR SED-PROGRAM [FILE]: a record of Eijen-256 spoiled, all else as it was
	local file=${4:-records/hash-09/Eijen-256__hash_32.json} status=0
	rm -rf "$work/bad" "$work/out"
	cp -R "$sample/data" "$work/bad"
	sed -i -E "$3" "$work/bad/arm_1/$file"
	! cmp -s "$work/bad/arm_1/$file" "$sample/data/arm_1/$file" || fail "$1: nothing was spoiled"
	"$fleetmark" report --data "$work/bad" -o "$work/out" 2> "$work/err" || status=$?
	[ "$status" -eq 4 ] || fail "$1: exit status $status: $(cat "$work/err")"
	grep -qF "arm_1/$file: " "$work/err" || fail "$1: the file is not named: $(cat "$work/err")"
	grep -qE -- "$2" "$work/err" || fail "$1: said: $(cat "$work/err")"
	# shellcheck disable=SC2016
	grep -qF '| `Eijen-256` | 128 B |' "$work/out/hash-09/perf_arm_1.md" || fail "$1: the good rows are gone"
	cases=$((cases + 1))
}
spoiled() { # the same, and the page names the record
	spoil "$@"
	# shellcheck disable=SC2016
	grep -qF '| `Eijen-256` | 32 B | failed: record |' "$work/out/hash-09/perf_arm_1.md" || fail "$1: the page does not show the hole"
	grep -qF 'Eijen-256\_\_hash\_32.json: ' "$work/out/hash-09/perf_arm_1.md" || grep -qF 'Eijen-256__hash_32.json: ' "$work/out/hash-09/perf_arm_1.md" ||
		fail "$1: the page does not say why"
}
cases=0
spoiled 'missing field' 'wall_s|mean_seconds' '/"mean_seconds"/d'
spoiled 'missing environment' 'cpu_number' '/"cpu_number"/d'
spoiled 'other schema' 'schema: read 3, allowed is 2' 's/"schema": 2/"schema": 3/'
spoiled 'NaN' 'hash_32.json: ' 's/"mean_cycles": [0-9.]+/"mean_cycles": NaN/'
spoiled '2^53 + 1' 'cycles|measurements' '0,/"cycles": [0-9]+/s//"cycles": 9007199254740993/'
spoiled 'trial count' 'trials: 5, but plan.trials says 4' 's/"trials": 5/"trials": 4/'
spoiled 'wrong statistic' 'mean_cycles: stored 1.5, the trials give' 's/"mean_cycles": [0-9.]*/"mean_cycles": 1.5/'
# shellcheck disable=SC2016
spoiled 'two records for one cell' 'the record inside belongs into Eijen-256__hash_128.json' \
	"1r $sample/data/arm_1/records/hash-09/Eijen-256__hash_128.json"$'\n''1,$d'
# shellcheck disable=SC2016
spoiled 'cut short' 'hash_32.json: ' '100,$d'
spoil 'no build entry' 'build.json: instances: no entry hash-09/Eijen-256' 's/"hash-09\/Eijen-256"/"hash-09\/Eijen-257"/; s/"label": "Eijen-256"/"label": "Eijen-257"/' build.json
# shellcheck disable=SC2016
grep -qF 'no build entry for `Eijen-256`' "$work/out/hash-09/perf_arm_1.md" || fail "the page does not say that the build entry is missing"
rm -rf "$work/bad"
cp -R "$sample/data" "$work/bad"
mv "$work/bad/arm_1/records/hash-09/Eijen-256__hash_32.json" "$work/bad/arm_1/records/hash-09/notes.txt"
if "$fleetmark" report --data "$work/bad" -o "$work/out" 2> "$work/err"; then fail "a foreign file among records was taken"; fi
grep -qF 'notes.txt' "$work/err" || fail "foreign file: $(cat "$work/err")"
echo "report_published: 4 pages equal byte for byte, $rows rows found in the tables, $cases kinds of bad input named"
