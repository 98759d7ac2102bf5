#!/bin/bash
# lacks.sh: a version whose flags ask for instructions that this processor lacks is refused with the reason and never run; the
# reference beside it is measured.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
F=$FLEETMARK_BUILD/fleetmark
[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
for tool in gcc tar jq; do command -v $tool >/dev/null || { echo "skipped: needs $tool"; exit 77; }; done

# FLAG WORD: a flag of the agent's list, and what /proc/cpuinfo calls it
flag='' word=''
while read -r f w; do
	grep -qw "$w" /proc/cpuinfo || { flag=$f word=$w; break; }
done < <(case $(uname -m) in
	x86_64) printf '%s\n' '-mavx512f avx512f' '-msha sha_ni' '-mavx2 avx2' '-mbmi2 bmi2' ;;
	aarch64) printf '%s\n' '-march=armv8.2-a+sve sve' '-march=armv8.5-a+sve2 sve2' ;;
esac)
[ -n "$flag" ] || { echo "skipped: this processor has every instruction set that could be missing"; exit 77; }

T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-lacks-XXXXXX")
trap 'rm -rf "$T"' EXIT
export FLEETMARK_HOME=$T/home
unset FLEETMARK_INVENTORY SSH_AUTH_SOCK
fail() { echo "FAILED: $*" >&2; tail -n 20 "$T/err" >&2; exit 1; }

R=$T/root
mkdir -p "$R/algos" "$R/kat/a-good" "$T/work"
cp -r "$FLEETMARK_ROOT/agent" "$FLEETMARK_ROOT/protocol" "$R/"
cp -r "$FLEETMARK_ROOT/tests/zoo/a-good" "$R/algos/"
cp "$FLEETMARK_ROOT/tests/zoo/honest.h" "$FLEETMARK_ROOT/tests/zoo/CryptHash_AlgorithmInstance.h" "$R/algos/a-good/"
while read -r hex tag; do echo "$hex strict a-good-256/${tag}_a-good-256.txt"; done < "$FLEETMARK_ROOT/tests/zoo/kat.txt" > "$R/kat/a-good/kat.sha256"
awk -v want="[$(uname -m) performance]" -v flag="$flag" '/^\[/ { inside = $0 == want } inside && /^flags/ { $0 = "flags = -O2 " flag } { print }' \
	"$FLEETMARK_ROOT/algos/flags.ini" > "$R/algos/flags.ini"
printf '[here_1]\narch = %s\ntransport = local\nworkdir = %s/work\n' "$(uname -m)" "$T" > "$T/here.ini"

RC=0
"$F" run lacks -i "$T/here.ini" --root "$R" --results "$T/results" --profile smoke --versions reference,performance > "$T/out" 2> "$T/err" || RC=$?
[ $RC = 1 ] || fail "the campaign ended with $RC, must be 1: some cells are missing"
TREE=$T/results/lacks
cells() { jq -e --arg v "/$1/" "[.cells[] | select(.cell | contains(\$v))] | length > 0 and all($2)" "$TREE/tree.json" >/dev/null; }
cells reference '.status == "accepted"' || fail "the reference is not measured"
cells performance ".status == \"missing\" and .class == \"host-state\" and .text == \"instruction set missing: $word\"" ||
	fail "the performance version: $(jq -c '.cells[0]' "$TREE/tree.json")"
jq -e '[.kat[] | select(.version == "performance")] | all(.status != "PASS")' "$TREE/bundles/here_1/a-good/evidence.json" >/dev/null ||
	fail "the performance version was run"
grep -q "instruction set missing: $word" "$TREE/a-good/perf_here_1.md" || fail "the page does not give the reason"
