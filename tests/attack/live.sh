#!/bin/bash
# live.sh - the attacks of a host while it talks to the controller: a real campaign of two candidates against an agent that lies about
# one of them. The lie is refused for the stated reason and kept, the other candidate is accepted, the controller's memory stays
# small, the command ends, and both verifiers pass the tree.
#
#   live.sh [CASE...]      default: all. Cases of the attack matrix by their number, further ones M..
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
toy_alone "$@"
toy_start timeout
B=$FLEETMARK_BUILD/tests; [ -x "$B/resign" ] || B=$FLEETMARK_BUILD
for f in resign seal_check; do [ -x "$B/$f" ] || { echo "skipped: no $f in $FLEETMARK_BUILD"; exit 77; }; done
WORK=$HOME/.fleetmark
MEMORY=${LIVE_MEMORY:-400000}   # KiB the controller may take at most; under AddressSanitizer it needs most of that anyway

step "a campaign with an honest agent; then the liar takes its place"
cp -r "$T/root/algos/toy" "$T/root/algos/toy2"
sed -i 's/^id = toy/id = toy2/; s/Toy-256/Toy2-256/; s/TOY_START=1/TOY_START=2/' "$T/root/algos/toy2/candidate.ini"
gives 0 run honest
gcc -std=c11 -O1 -D_GNU_SOURCE -I"$FLEETMARK_ROOT" -o liar "$FLEETMARK_ROOT/tests/data/liar.c" "$FLEETMARK_ROOT"/protocol/*.c -lsodium
agent=$(echo "$WORK"/agent/*/fleetmark-agent)
mv "$agent" "$agent.real"
cp liar "$agent"

# case_of ID HOW PATH REASON WORDS: HOW as liar.c has it; a hook's text is on stdin, with b as the bundle's folder
case_of() {
	local id=$1 how=$2 path=$3 reason=$4 words=$5 rc=0 peak tree=$T/results/$1
	[ ${#WANTED[@]} = 0 ] || [[ " ${WANTED[*]} " = *" $id "* ]] || return 0
	{ printf '%s\n' 'set -eu; LC_ALL=C; export LC_ALL' "w='$WORK' t='$T' b='$WORK/jobs/$id/bundles/toy' resign='$B/resign'" \
		'cd "$b"; chmod -R u+w .' \
		'sign() { "$resign" "$w/key" bundle.v1@fleetmark < MANIFEST.sha256 > sig; mv sig MANIFEST.sha256.sig; }' \
		'seal() { find . -type f ! -name "MANIFEST*" -printf "%P\n" | sort | xargs sha256sum > m; mv m MANIFEST.sha256; sign; }'
		cat; } > "$WORK/hook"
	echo "$how $path" > "$WORK/lie"
	timeout -k 5 120 "$B/seal_check" --run "$F" run "$id" -i fleet.ini --root root --profile smoke > out 2> err < /dev/null || rc=$?
	rm -f "$WORK/lie"
	[ $rc = 4 ] || { tail -n 20 results/$id/incoming/logs/* 2> /dev/null >&2 || true; fail "$id: ended with $rc, not 4"; }
	peak=$(tail -n 1 err | awk '{ print $4 }')
	[ "$peak" -lt "$MEMORY" ] || fail "$id: $peak KiB of memory"
	jq -e --arg r "$reason" '[.jobs[] | select(.candidate == "toy") | .status + " " + .class + "/" + .reason] == ["rejected verify/" + $r]' "$tree/tree.json" > /dev/null ||
		fail "$id: $(jq -c '.jobs[] | [.candidate, .status, .class, .reason, .text]' "$tree/tree.json")"
	jq -e '[.jobs[] | select(.candidate == "toy2") | .status] == ["accepted"]' "$tree/tree.json" > /dev/null || fail "$id: the other candidate was not accepted"
	grep -q "^verify/$reason: .*$words" "$tree/rejected/toy_1/toy.1/reason.txt" || fail "$id: $(cat "$tree/rejected/toy_1/toy.1/reason.txt")"
	gives 0 fm verify --root root --key "$FLEETMARK_HOME/controller.pub" "$tree"
	gives 0 "$FLEETMARK_ROOT/deploy/verify-tree.sh" "$tree" "$FLEETMARK_HOME/controller.pub"
	step "$id: $(head -c 150 "$tree/rejected/toy_1/toy.1/reason.txt" | head -n 1) ($peak KiB)"
}
WANTED=("$@")
M=MANIFEST.sha256

case_of L01 announce $M size 'announced' < /dev/null
case_of L01b hook $M size 'asked for at most' << 'E'
seq 1000000 1999999 | sed "s/^/$(printf %064d 0)  /" > m; mv m MANIFEST.sha256
E
case_of L01c hook $M size 'has 14200000 bytes\|allowed are' << 'E'
seq 100000 299999 | sed "s/^/$(printf %064d 0)  /" > m; mv m MANIFEST.sha256; sign
E
case_of L01d hook $M size '16384' << 'E'
seq 100000 199999 | sed "s/^/$(printf %064d 0)  /" > m; mv m MANIFEST.sha256; sign
E
case_of L02 hook $M form 'the host does not give it' << 'E'
rm env/host.txt; ln -s "$t/secret" env/host.txt; echo secret-of-the-host > "$t/secret"
{ grep -v '  env/host.txt$' MANIFEST.sha256; echo "$(sha256sum < "$t/secret" | cut -c1-64)  env/host.txt"; } | sort -k2 > m; mv m MANIFEST.sha256; sign
E
[ ! -e results/L02 ] || ! grep -rqF secret-of-the-host results/L02 || fail "L02: what the link led to is here"
case_of L03 endless evidence.json size 'more come' < /dev/null
case_of L03b announce evidence.json size 'announced' < /dev/null
case_of L03c short evidence.json size '100 bytes announced, 10 came' < /dev/null
case_of L03d hook evidence.json digest 'the manifest says' << 'E'
echo more >> evidence.json
E
case_of L06 hook $M replay 'job_nonce' << 'E'
sed -i "s/\"job_nonce\": \"[0-9a-f]*\"/\"job_nonce\": \"$(printf %064d 1)\"/" evidence.json; seal
E
case_of L07 hook $M identity 'system' << 'E'
sed -i 's/"system": "toy_1"/"system": "toy_2"/' evidence.json; seal
E
case_of L07b hook $M signature '' << 'E'
printf "%064d\n" 7 > "$t/other"; chmod 600 "$t/other"; "$resign" "$t/other" bundle.v1@fleetmark < MANIFEST.sha256 > sig; mv sig MANIFEST.sha256.sig
E
case_of M01 hook $M form 'plain file' << 'E'
rm env/host.txt; mkfifo env/host.txt
E
case_of M02 hook $M form '' << 'E'
: > MANIFEST.sha256; sign
E
case_of M03 hook $M form '' << 'E'
n=$(printf %0201d 0); echo x > env/$n; seal
E
case_of M04 hook $M size '2147483648 bytes' << 'E'
truncate -s 2G env/host.txt
E
case_of M05 hook $M form '../' << 'E'
{ cat MANIFEST.sha256; echo "$(printf %064d 0)  ../../../key"; } | sort -k2 > m; mv m MANIFEST.sha256; sign
E

if [ ${#WANTED[@]} = 0 ] || [[ " ${WANTED[*]} " = *" M06 "* ]]; then
	echo "end -" > "$WORK/lie"
	rc=0; timeout -k 5 120 "$F" run M06 -i fleet.ini --root root --profile smoke > out 2> err < /dev/null || rc=$?
	rm -f "$WORK/lie"
	[ $rc != 0 ] && [ $rc -lt 124 ] || fail "M06: ended with $rc"
	jq -e '[.jobs[] | select(.candidate == "toy") | .status + " " + .class + "/" + .reason] == ["failed internal/internal"]' results/M06/tree.json > /dev/null ||
		fail "M06: $(jq -c '.jobs[]' results/M06/tree.json)"
	! grep -q splendid results/M06/tree.json results/M06/index.md out err || fail "M06: the host's own word is taken over"
	! grep -rlF "$(printf '\033')" out err results/M06/tree.json results/M06/*.html results/M06/*/*.html results/M06/*.md || fail "M06: the host's escape sequence"
	! grep -lF '<b>bold' results/M06/*.html results/M06/*/*.html || fail "M06: the host's mark-up"
	gives 0 fm verify --root root --key "$FLEETMARK_HOME/controller.pub" results/M06
	gives 0 "$FLEETMARK_ROOT/deploy/verify-tree.sh" results/M06 "$FLEETMARK_HOME/controller.pub"
	step "M06: a class of the host's own is not taken over, its text is escaped"
fi

if [ ${#WANTED[@]} = 0 ] || [[ " ${WANTED[*]} " = *" M07 "* ]]; then
	# while the first bundle is fetched a hundred days pass for the controller
	gcc -shared -fPIC -O2 -o clock.so "$FLEETMARK_ROOT/tests/data/clock.c"
	echo 0 > offset
	echo "echo 8640000 > $T/offset" > "$WORK/hook"
	echo "hook $M" > "$WORK/lie"
	gives 4 env LD_PRELOAD="$T/clock.so" CLOCK_OFFSET="$T/offset" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
		"$F" run M07 -i fleet.ini --root root --profile smoke
	rm -f "$WORK/lie"
	jq -e '[.jobs[] | .status + " " + .class + "/" + .reason] | unique == ["rejected verify/expired"]' results/M07/tree.json > /dev/null ||
		fail "M07: $(jq -c '.jobs[]' results/M07/tree.json)"
	gives 0 fm verify --root root --key "$FLEETMARK_HOME/controller.pub" results/M07
	gives 0 "$FLEETMARK_ROOT/deploy/verify-tree.sh" results/M07 "$FLEETMARK_HOME/controller.pub"
	step "M07: $(cat results/M07/rejected/toy_1/toy.1/reason.txt)"
fi
step ok
