#!/bin/bash
# try_local.sh: `fleetmark try` as a new user meets it: this machine, an empty home, no sshd; the page is there and every seal
# stands up to stock ssh-keygen and sha256sum.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
F=$FLEETMARK_BUILD/fleetmark
[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
for tool in gcc tar sha256sum ssh-keygen; do command -v $tool >/dev/null || { echo "skipped: needs $tool"; exit 77; }; done
# shellcheck source=tests/flow/sshd.bash
. "$FLEETMARK_ROOT/tests/flow/sshd.bash"
own_network
open_folder
fail() { echo "FAILED: $*" >&2; tail -n 30 "$T/err" >&2; exit 1; }

export HOME=$T/home
unset FLEETMARK_HOME FLEETMARK_INVENTORY SSH_AUTH_SOCK
mkdir "$HOME"
cd "$T"
start=$SECONDS
"$F" try --root "$FLEETMARK_ROOT" -c iccs > "$T/out" 2> "$T/err" || fail "try ended with $?"
echo "first verified page after $((SECONDS - start)) s"

page=$(tail -n 1 "$T/out")
[ -s "$page" ] || fail "no page at '$page'"
grep -q "88 of 88 cells accepted" "$T/out" || fail "not every cell was accepted"
grep -q "made the controller's key" "$T/err" || fail "the new key was not announced"
grep -q "enrolled, key SHA256:" "$T/err" || fail "the enrolment was not announced"

# By hand: the tree is the controller's, the bundle is the system's, and every file is listed.
tree=$(dirname "$page")
system=$(ls "$tree/bundles")
check_seal() {   # FOLDER PRINCIPAL NAMESPACE
	ssh-keygen -q -Y verify -f "$tree/trust/allowed_signers" -I "$2" -n "$3@fleetmark" \
		-s "$1/MANIFEST.sha256.sig" < "$1/MANIFEST.sha256" || fail "ssh-keygen refuses $1"
	(cd "$1" && sha256sum --quiet --strict -c MANIFEST.sha256) || fail "sha256sum refuses $1"
}
check_seal "$tree" controller tree.v1
check_seal "$tree/plan" controller plan.v1
check_seal "$tree/trust" controller trust.v1
check_seal "$tree/bundles/$system/iccs" "$system" bundle.v1
"$F" verify --root "$FLEETMARK_ROOT" "$tree" > "$T/out" 2> "$T/err" || fail "verify ended with $?"

# A second try is another campaign, and needs no new enrolment.
"$F" try --root "$FLEETMARK_ROOT" -c iccs --json > "$T/json" 2> "$T/err" || fail "the second try ended with $?"
[ -s "$tree.2/index.html" ] || fail "no second tree"
! grep -q "enrolled, key" "$T/json" || fail "enrolled twice"
if command -v jq >/dev/null; then
	jq -e -s 'map(.seq) == [range(1; length + 1)] and any(.[]; .event == "finished")' "$T/json" >/dev/null || fail "events"
fi

# Nothing of ours is left running.
! pgrep -f "$HOME/.fleetmark/agent" >/dev/null || fail "an agent is still there"

# Wrong use is told with status 2 and nothing is made.
rc=0; "$F" try --root "$FLEETMARK_ROOT" 'user@-host' > "$T/out" 2> "$T/err" || rc=$?
[ $rc = 2 ] || fail "a bad host gave $rc"
rc=0; "$F" try --root "$FLEETMARK_ROOT" a@b:99999 > "$T/out" 2> "$T/err" || rc=$?
[ $rc = 2 ] || fail "a bad port gave $rc"
echo ok
