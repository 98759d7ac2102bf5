#!/bin/bash
# One of two hosts cannot be used, in six ways: its cells say why, the other host's are accepted all the same, nothing ever
# prompts, and the same command completes the campaign once the fault is gone.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin program

small_root 1
check "two hosts are up" lab up 2
lab inventory x86_1=1 x86_2=2 > "$WORK/good.ini"
cp "$WORK/good.ini" "$INV"
check "both enrol" enrol x86_1 x86_2

# NAME CLASS PATTERN: a campaign now, with the fault in place
spoiled() {
    check "$1: the campaign ends with exit 1" gives 1 campaign "$1"
    check "$1: what is printed names the system and fits" says "x86_2.*($3)|($3).*x86_2"
    check "$1: nothing prompted" no_prompt
    check "$1: every cell of x86_2 is of class $2" cells_fail_with "$WORK/results/$1" x86_2 "$2"
    check "$1: every cell of x86_1 is accepted" all_accepted "$WORK/results/$1" x86_1
}
mended() {   # NAME: with the fault gone
    check "$1: the same command completes it" gives 0 campaign "$1"
    check "$1: every cell of x86_2 is accepted" all_accepted "$WORK/results/$1" x86_2
    check "$1: the tree verifies" gives 0 fleetmark verify "$WORK/results/$1"
}
no_prompt() { ! grep -qiE 'yes/no|password:|passphrase|\(y/n\)' "$WORK/out" "$WORK/err"; }

# the host shows another key than the pinned one
lab fault 2 hostkey
spoiled changed-key hostkey 'host key|hostkey'
lab fault 2 oldhostkey
mended changed-key

# no pin and nothing in the trust store
grep -v '^hostkey' "$WORK/good.ini" > "$INV"
unknown_key() { FLEETMARK_HOME=$WORK/empty-home gives 2 enrol x86_2 && says 'SHA256:' && no_prompt; }
check "an unknown host key: enrol shows its fingerprint, asks nothing, exit 2" unknown_key
cp "$WORK/good.ini" "$INV"

# another key of ours than the host knows
ssh-keygen -q -t ed25519 -N '' -f "$WORK/other-id"
sed "/^\[x86_2\]/,\$s#^identity = .*#identity = $WORK/other-id#" "$WORK/good.ini" > "$INV"
spoiled wrong-key auth 'auth|refused|denied'
cp "$WORK/good.ini" "$INV"
mended wrong-key

# no compiler; a crash and a boot give the files below the home back
lab fault 2 nocc
spoiled no-compiler host-state 'install.*gcc'
lab fault 2 crash
lab fault 2 boot
mended no-compiler

# no room
lab fault 2 fill 1
spoiled disk-full host-state 'space'
lab fault 2 unfill
mended disk-full

# nobody listens
lab fault 2 reject
spoiled unreachable transport 'refused|reach|connect'
lab fault 2 noreject
mended unreachable
