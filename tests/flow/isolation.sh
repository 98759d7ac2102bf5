#!/bin/bash
# isolation.sh: hostile candidates want the agent's key, its memory, other results, the network, to write, to live on; each is
# refused, and evidence and pages say what held them. The same code gets all of it where nothing holds it.
#
# ISOLATION_INVENTORY  another fleet of one system, whose work folder is ISOLATION_WORK   ISOLATION_CTL  words before fleetmark
# ISOLATION_ABSENT=yes the host has neither Landlock nor seccomp: then only what evidence and pages say is checked
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
[ -n "${ISOLATION_CTL-}" ] || toy_alone "$@"
toy_start gcc
SRC=$FLEETMARK_ROOT/tests/data/hostile
INVENTORY=${ISOLATION_INVENTORY:-$T/fleet.ini}
WORK=${ISOLATION_WORK:-$HOME/.fleetmark}
[ -z "${ISOLATION_CTL-}" ] || chmod 755 "$T"
# shellcheck disable=SC2206   # words
CTL=(${ISOLATION_CTL-})
ATTEMPTS=(read_key read_results read_memory open_socket write_outside outlive)

step "a candidate of hostile instances, with true known answers"
cat > answer.c <<'END'
#include "CryptHash_AlgorithmInstance.h"
#include <stdio.h>
int main(void)
{
	unsigned char d[32];
	if (CryptHash(256, (const unsigned char *)"abc", 24, d) != 0)
		return 1;
	for (int i = 0; i < 32; i++)
		printf("%02x", d[i]);
	puts("");
	return 0;
}
END
gcc -D_GNU_SOURCE -I"$SRC" -DTOY_START=1 -o answer answer.c "$FLEETMARK_ROOT/tests/data/toy/toy.c"
DIGEST=$(./answer)
C=$T/root/algos/hostile
mkdir -p "$C" "$T/root/kat/hostile"
cp "$SRC"/*.[ch] "$C/"; rm "$C/probe.c"
sed -i "s,@WORK@,$WORK," "$C/hostile.h"
printf '%s\n' '[candidate]' 'id = hostile' 'name = Hostile' 'category = hash' 'origin = own' > "$C/candidate.ini"
for a in "${ATTEMPTS[@]}" take_in; do
	printf '%s\n' "[instance $a]" 'digest_bits = 256' 'digest = fixed' 'header = CryptHash_AlgorithmInstance.h' "sources = $a.c" >> "$C/candidate.ini"
	echo "$a|24|616263|$DIGEST|abc" >> "$T/root/kat/hostile/vectors.txt"
done

step "where nothing holds it, every attempt succeeds"
mkdir -p free/jobs free/src
printf '%064d\n' 0 > free/key; cp free/key free/key.pub; cp free/key free/controller.pub; chmod 600 free/key
gcc -o probe "$SRC/probe.c" -ldl
gcc -D_GNU_SOURCE -I"$SRC" -DTOY_START=1 -fPIC -shared -o honest.so "$FLEETMARK_ROOT/tests/data/toy/toy.c"
rm -f /tmp/fleetmark-hostile-key
for a in "${ATTEMPTS[@]}" take_in; do
	gcc -D_GNU_SOURCE -I"$SRC" -DWORK="\"$T/free\"" -fPIC -shared -o "$a.so" "$SRC/$a.c"
	[ "$(timeout 20 ./probe "$T/honest.so" "$T/$a.so")" = won ] || fail "$a does not even succeed unhindered"
done
rm -rf /tmp/fleetmark-hostile-key /tmp/hostile-folder /tmp/hostile-link
living() { local n; n=$(grep -lx hostile-lives /proc/[0-9]*/comm 2> /dev/null | cut -d/ -f3) || true; [ -z "$n" ] || echo "$n"; }
[ -n "$(living)" ] || fail "outlive does not even live on unhindered"
for pid in $(living); do kill -KILL "$pid"; done

step "measured by the agent"
[ -z "${ISOLATION_CTL-}" ] || gives 0 "${CTL[@]}" "$F" enrol --yes -i "$INVENTORY" --root "$T/root" "$(sed -n 's/^\[\(.*\)\]$/\1/p' "$INVENTORY" | head -1)"
rc=0
${CTL[@]+"${CTL[@]}"} "$F" run held -i "$INVENTORY" --root "$T/root" --results "$T/results" --profile smoke -c hostile > "$T/out" 2> "$T/err" || rc=$?
B=$(echo results/held/bundles/*/hostile)
E=$B/evidence.json
[ -s "$E" ] || fail "no bundle (run ended with $rc)"
SYSTEM=$(basename "$(dirname "$B")")
jq -c .isolation "$E"
page=results/held/hostile/perf_$SYSTEM.md
if [ "${ISOLATION_ABSENT-}" = yes ]; then
	jq -e '.isolation | .landlock == 0 and .seccomp == 0' "$E" > /dev/null || fail "the evidence says that something held it"
	grep -i isolation "$page" || fail "the page does not speak of isolation"
	grep -i isolation "$page" | grep -qiE 'no landlock|landlock: no|landlock 0|none|absent' || fail "the page does not say that isolation was absent"
	jq -r '.kat[] | .instance + " " + .status' "$E"
	step "ok: nothing held it, and that is what evidence and page say"
	exit 0
fi
if ! jq -e '.isolation | .landlock > 0 and .seccomp == 1' "$E" > /dev/null; then
	echo "skipped: this kernel has no Landlock or no seccomp filters; the evidence says so: $(jq -c .isolation "$E")"
	exit 77
fi
[ $rc = 1 ] || fail "run ended with $rc"
jq -e '.isolation | .no_new_privs == 1 and .mode == "one-user"' "$E" > /dev/null || fail "isolation in the evidence"
grep -i isolation "$page" | grep -qi landlock || fail "the page does not speak of isolation"

for a in "${ATTEMPTS[@]}"; do
	[ "$(jq -r --arg a "$a" '.kat[] | select(.instance == $a) | .status' "$E")" = PASS ] ||
		{ cat "$B/kat/${a}__reference.log" >&2; fail "$a got something: $(jq -c --arg a "$a" '.kat[] | select(.instance == $a)' "$E")"; }
	jq -e --arg a "$a" '[.cells[] | select(.instance == $a) | .status] | unique == ["measured"]' "$E" > /dev/null || fail "$a was not measured to its end"
	step "$a: refused"
done
jq -e '.builds[] | select(.instance == "take_in") | .status == "failed"' "$E" > /dev/null || fail "take_in was built"
grep -qE '(file not found|Permission denied|not permitted).*/key|/key.*(Permission denied|not permitted)' "$B/build/take_in__reference.log" ||
	{ cat "$B/build/take_in__reference.log" >&2; fail "the log does not say why"; }
jq -e '[.cells[] | select(.cell | contains("/take_in/")) | .status + .class] | unique == ["failedbuild"]' results/held/tree.json > /dev/null || fail "take_in in tree.json"
step "take_in: refused while it was built, and recorded"

if [ -n "${ISOLATION_CTL-}" ]; then step "ok (what is left there was not looked at)"; exit 0; fi
step "nothing is left of it"
[ -z "$(living)" ] || fail "it lives on"
for left in "$WORK/hostile-was-here" /tmp/hostile-was-here /dev/shm/hostile-was-here /var/tmp/hostile-was-here /tmp/hostile-folder \
	/tmp/hostile-link /tmp/fleetmark-hostile-key "$WORK/key.gone"; do
	[ ! -e "$left" ] || fail "$left is there"
done
[ "$(stat -c '%a %s' "$WORK/key")" = "600 65" ] || fail "the key is not what it was"
! grep -rqF -f <(head -c 64 "$WORK/key") results || fail "the key is among the results"
[ -s "$WORK/controller.pub" ] || fail "controller.pub was cut"
gives 0 fm verify --root "$T/root" --key "$FLEETMARK_HOME/controller.pub" results/held
step ok
