#!/bin/bash
# trust.sh: the life of keys with real campaigns: rotated (also broken off in between), retired, stolen, lost; what was signed
# before stays good or not, for both verifiers, with and without a newer trust folder.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
toy_alone "$@"
toy_start ssh-keygen
work=$HOME/.fleetmark
trust() { fm trust -i "$T/fleet.ini" --root "$T/root" "$@"; }
enrol() { fm enrol -i "$T/fleet.ini" --root "$T/root" "$@"; }
# both STATUS TREE [TRUST]: both verifiers give that verdict: 0, or 4 and 1
both() {
	gives "$1" fm verify --root "$T/root" --key "$FLEETMARK_HOME/controller.pub" ${3:+--trust "$3"} "$2"
	if [ "$1" = 4 ]; then says "${WHY:-FAIL}"; fi
	gives $(($1 / 4)) "$FLEETMARK_ROOT/deploy/verify-tree.sh" "$2" "$FLEETMARK_HOME/controller.pub" ${3:+"$3"}
	if [ "$1" = 4 ]; then says "${WHY:-FAIL}"; fi
}
key() { cat "$work/key.pub"; }
listed() { grep -c "^toy_1 " "$FLEETMARK_HOME/trust/allowed_signers"; }

step "wrong use"
gives 2 trust
gives 2 trust show; says "allowed are list, rotate, revoke"
gives 2 trust list toy_1; says "takes no system"
gives 2 trust rotate; says "needs a system"
gives 2 trust revoke toy_1; says "revoke says why"
gives 2 trust revoke toy_1 --retired --stolen; says "revoke says why"
gives 2 trust revoke toy_1 --stolen-since yesterday; says "expected YYYY-MM-DDTHH:MM:SSZ"
gives 2 trust revoke toy_1 --retired; says "toy_1 has no key"
gives 2 trust revoke controller --stolen; says "cannot be revoked from inside"
gives 2 trust rotate ../x

step "a first campaign"
gives 0 run one
first=$(key)
both 0 results/one
gives 0 trust list
says "toy_1            valid"
gives 0 trust list --json
jq -e -s 'map(select(.event == "key")) | length == 1 and .[0].state == "valid" and .[0].system == "toy_1" and .[0].key == $k
	and (.[0].after | test("^20[0-9-]+T[0-9:]+Z$"))' --arg k "$first" "$T/out" > /dev/null || fail "trust list --json"

step "rotation: the old key signs the new one, old trees stay good"
gives 0 trust rotate toy_1
second=$(key)
[ "$first" != "$second" ] || fail "the key is the same"
[ "$(listed)" = 2 ] || fail "not two keys"
[ ! -e "$work/key.new" ] || fail "key.new is left"
[ "$(stat -c %a "$work/key")" = 600 ] || fail "mode of the new key"
S=$FLEETMARK_HOME/trust
stock() { # PUBLIC-LINE SIGNATURE
	printf 'toy_1 namespaces="enrol.v1@fleetmark" %s\n' "$1" > signer
	ssh-keygen -Y verify -f signer -I toy_1 -n enrol.v1@fleetmark -s "$S/enrol/$2" < "$S/enrol/toy_1.txt" > /dev/null ||
		fail "stock ssh-keygen refuses $2"
}
stock "$first" toy_1.txt.prev.sig
stock "$second" toy_1.txt.sig
grep -qxF "previous $first" "$S/enrol/toy_1.txt" || fail "the statement does not name the old key"
both 0 results/one
both 0 results/one "$S"
gives 0 run two
both 0 results/two
cmp -s <(tail -n 1 results/two/trust/allowed_signers | cut -d' ' -f3,4) <(key) || fail "the second tree has another key"

step "a change broken off before the host hears of it is finished by the next command"
cp "$work/key" key.saved
gives 0 trust rotate toy_1
mv "$work/key" "$work/key.new"; mv key.saved "$work/key"
printf '%s\n' "$second" > "$work/key.pub"
third=$(sed -n '$s/^.* \(ssh-ed25519 .*\)$/\1/p' "$S/allowed_signers")
gives 0 run three
says "finished the change of its key"
[ "$(key)" = "$third" ] || fail "the host has not the third key"
both 0 results/three
gives 0 trust list
[ "$(grep -c ended "$T/out")" = 2 ] || fail "two ended keys"

step "no rotation while results are owed, nor for another controller"
mkdir -p open/late
cp -r results/one/plan open/late/
mkdir open/late/incoming
head -n 2 results/one/incoming/journal > open/late/incoming/journal
mv open/late open/one
gives 3 trust rotate toy_1 --results open
says "campaign one waits for results of toy_1"
gives 3 env FLEETMARK_HOME="$T/other" "$F" trust -i "$T/fleet.ini" --root "$T/root" rotate toy_1
says "no key yet"

step "a lost key needs an explicit word"
rm "$work/key" "$work/key.pub"
gives 4 run four
says "fleetmark enrol --lost toy_1"
gives 4 enrol --yes toy_1
says "if that one is lost"
gives 0 enrol --lost --yes toy_1
fourth=$(key)
[ "$(listed)" = 4 ] || fail "not four keys"
grep -qx "previous none" "$S/enrol/toy_1.txt" || fail "the statement names a previous key"
[ ! -e "$S/enrol/toy_1.txt.prev.sig" ] || fail "the signature of the key before is left"
gives 0 run four
both 0 results/four
both 0 results/two "$S"

step "retired: counts until now; a new key follows"
gives 0 trust revoke toy_1 --retired
gives 0 trust revoke toy_1 --retired --dry-run
says "would revoke"
both 0 results/four "$S"
gives 4 run five
says "retired; make a new one"
gives 0 trust rotate toy_1
[ "$(key)" != "$fourth" ] || fail "still the retired key"
gives 0 run five
both 0 results/five

step "stolen at a known time: what came later does not count"
since=$(jq -r '.jobs[0].received_at' results/four/tree.json)
gives 2 trust revoke toy_1 --stolen-since 2999-01-01T00:00:00Z
says "lies in the future"
gives 2 trust revoke toy_1 --stolen-since "$since"
says "before the key counted"
print=$(ssh-keygen -lf <(printf '%s x\n' "$fourth") | cut -d' ' -f2)
gives 0 trust revoke toy_1 --fingerprint "$print" --stolen-since "$(date -u -d "$since - 1 second" +%Y-%m-%dT%H:%M:%SZ)"
both 0 results/four
WHY="did not count any more" both 4 results/four "$S"
both 0 results/five "$S"
gives 0 trust revoke toy_1 --fingerprint "$print" --stolen-since "$since"
says "nothing to do"

step "stolen, time unknown: nothing it signed counts, with the newer trust and after the next seal"
before=$(sha256sum < results/five/MANIFEST.sha256)
gives 0 trust revoke toy_1 --stolen
both 0 results/five
WHY="is revoked" both 4 results/five "$S"
gives 0 trust list --json
jq -e -s 'map(select(.state == "stolen")) | length == 1' "$T/out" > /dev/null || fail "no stolen key in the list"
gives 4 fm redo merge five -i "$T/fleet.ini" --root "$T/root"
says "its key was revoked"
[ "$before" != "$(sha256sum < results/five/MANIFEST.sha256)" ] || fail "no new seal"
jq -e '[.cells[] | .status + .class + .reason] | unique == ["rejectedverifyrevoked"]' results/five/tree.json > /dev/null || fail "cells are not rejected"
[ -s results/five/rejected/toy_1/toy.1/reason.txt ] || fail "the bundle is not kept in rejected/"
[ ! -e results/five/bundles/toy_1/toy ] || fail "the bundle is still in the tree"
both 0 results/five
both 0 results/five "$S"
# One that keeps the bundle under the new list of keys, sealed as it was: nobody can make that without the controller's key,
# and with the list swapped in only the digests already say no.
cp -r results/two bad
rm -r bad/trust; cp -r "$S" bad/trust
both 4 bad

step "the controller's own key: the old one names the new one, every host is given to it by hand"
cp "$FLEETMARK_HOME/controller.pub" old.pub
gives 2 trust rotate controller; says "trust rotate controller --yes"
gives 3 trust rotate controller --yes --results open; says "campaign one waits"
gives 0 trust rotate controller --yes
says "trust/handover, sealed by the old one, says so"
! cmp -s old.pub "$FLEETMARK_HOME/controller.pub" || fail "the key is the same"
# who holds only the old line checks with stock tools that the new one follows it
H=$S/handover
printf 'controller namespaces="trust.v1@fleetmark" %s\n' "$(cat old.pub)" > signer
ssh-keygen -Y verify -f signer -I controller -n trust.v1@fleetmark -s "$H/MANIFEST.sha256.sig" < "$H/MANIFEST.sha256" > /dev/null ||
	fail "stock ssh-keygen refuses the handover"
(cd "$H" && sha256sum -c --strict --quiet MANIFEST.sha256) || fail "the handover's digests"
[ "$(sed -n '2s/^controller .* \(ssh-ed25519 .*\)$/\1/p' "$H/allowed_signers")" = "$(cat "$FLEETMARK_HOME/controller.pub")" ] || fail "the handover names another key"
# trees of the old key stay good for it, and for nobody else
gives 0 fm verify --root "$T/root" --key old.pub results/four
gives 4 fm verify --root "$T/root" --key "$FLEETMARK_HOME/controller.pub" results/four
gives 3 enrol --yes toy_1; says "obeys another controller"; says "controller.pub on the host itself"
rm "$work/controller.pub"
gives 4 enrol --yes toy_1; says "was revoked"
rm "$work/key" "$work/key.pub"
gives 0 enrol --yes toy_1
gives 0 run after
both 0 results/after
gives 4 fm verify --root "$T/root" --key old.pub results/after
says "has handed over to $(cat "$FLEETMARK_HOME/controller.pub")"
[ -e results/after/trust/handover/MANIFEST.sha256.sig ] || fail "the tree does not hold the handover"
gives 0 trust rotate toy_1
[ -e "$H/MANIFEST.sha256.sig" ] || fail "a change of the list loses the handover"

step "a revoked key takes no part any more; the next one does"
gives 0 trust revoke toy_1 --stolen
gives 4 run six
says "was revoked; make a new one"
gives 0 trust rotate toy_1
gives 0 run six
both 0 results/six
gives 0 trust list
cat "$T/out"
step ok
