#!/bin/bash
# kat_full.sh: the files of the known answers that a campaign adds: KAT_Loop with --kat loop, made and named where nobody
# published a digest; KAT_2_33 with --kat full, whose cells are missing, reason memory, on a host without room for its message.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
F=$FLEETMARK_BUILD/fleetmark
[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
for tool in gcc tar jq unshare; do command -v $tool >/dev/null || { echo "skipped: needs $tool"; exit 77; }; done
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-katfull-XXXXXX")
trap 'rm -rf "$T"' EXIT
ZOO=$FLEETMARK_ROOT/tests/zoo
export FLEETMARK_HOME=$T/home
unset FLEETMARK_INVENTORY SSH_AUTH_SOCK
fail() { echo "FAILED: $*" >&2; tail -n 20 "$T/err" >&2; exit 1; }

R=$T/root
mkdir -p "$R/algos" "$R/kat/a-good" "$T/work"
cp -r "$FLEETMARK_ROOT/agent" "$FLEETMARK_ROOT/protocol" "$R/"
cp "$FLEETMARK_ROOT/algos/flags.ini" "$R/algos/"
cp -r "$ZOO/a-good" "$R/algos/"
cp "$ZOO/honest.h" "$ZOO/CryptHash_AlgorithmInstance.h" "$R/algos/a-good/"
while read -r hex tag; do echo "$hex strict a-good-256/${tag}_a-good-256.txt"; done < "$ZOO/kat.txt" > "$R/kat/a-good/kat.sha256"
printf '[here_1]\narch = %s\ntransport = local\nworkdir = %s/work\n' "$(uname -m)" "$T" > "$T/here.ini"
fleet() {   # NAME KAT [RUNNER...]
	local name=$1 kat=$2
	shift 2
	RC=0
	"$@" "$F" run "$name" -i "$T/here.ini" --root "$R" --results "$T/results" --profile smoke --kat "$kat" > "$T/out" 2> "$T/err" || RC=$?
	E=$T/results/$name/bundles/here_1/a-good
}

fleet most most
[ $RC = 2 ] || fail "--kat most ended with $RC"

fleet loop loop
[ $RC = 0 ] || fail "--kat loop ended with $RC"
jq -e '.kat[0] | .status == "PASS" and .passed == 2 and .files == 4 and .properties == []' "$E/evidence.json" >/dev/null || fail "loop: kat"
grep -q '^generated [0-9a-f]\{64\} strict KAT_Loop_a-good-256.txt$' "$E/kat/a-good-256__reference.log" || fail "KAT_Loop was not made"
grep -q 'PASS, 2 of 4 files.*KAT_2_33, KAT_Loop (no reference)' "$T/results/loop/a-good/perf_here_1.md" || fail "the page does not say it"
grep -q 'PASS, 2 of 4 files' "$T/results/loop/summary_here_1.md" || fail "the summary does not say it"

# With its digest known KAT_Loop is a reference like the others, and a wrong one is found.
loop=$(sed -n 's/^generated \([0-9a-f]*\) strict KAT_Loop.*/\1/p' "$E/kat/a-good-256__reference.log")
echo "$loop strict a-good-256/KAT_Loop_a-good-256.txt" >> "$R/kat/a-good/kat.sha256"
fleet known loop
[ $RC = 0 ] && jq -e '.kat[0].passed == 3' "$E/evidence.json" >/dev/null || fail "KAT_Loop with a reference: $RC"
grep -q 'PASS, 3 of 4 files' "$T/results/known/a-good/perf_here_1.md" || fail "the page does not say 3 of 4"
fleet short standard
[ $RC = 0 ] && jq -e '.kat[0].passed == 2' "$E/evidence.json" >/dev/null || fail "standard runs KAT_Loop: $RC"
sed -i "s/^$loop/$(tr 0-9a-f 1-9a-f0 <<< "$loop")/" "$R/kat/a-good/kat.sha256"
fleet wrong loop
[ $RC != 0 ] && jq -e '.kat[0].status == "MISMATCH"' "$E/evidence.json" >/dev/null || fail "a wrong KAT_Loop: $RC"

# A host whose work folder has no room for 1 GiB: nothing is measured, nothing is blamed on the candidate.
sed -i '/KAT_Loop/d' "$R/kat/a-good/kat.sha256"
# shellcheck disable=SC2016   # the inner shell's words
inside=(unshare -rm sh -c 'mount -t tmpfs -o size=400m none "$0" && exec "$@"' "$T/work")
if "${inside[@]}" true 2>/dev/null; then
	rm -rf "$T/work" && mkdir "$T/work" "$T/other"
	FLEETMARK_HOME=$T/other fleet small full "${inside[@]}"
	[ $RC != 0 ] || fail "--kat full without room ended with 0"
	jq -e '[.cells[] | select(.status == "missing" and .class == "host-state" and .reason == "memory" and (.text | test("KAT_2_33 needs")))] | length == 8' \
		"$E/evidence.json" >/dev/null || fail "cells without room"
else
	echo "no user namespaces here: a full disk not tried"
fi
echo ok
