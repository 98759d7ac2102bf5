#!/bin/bash
# case_insensitive.sh: trees on a real file system that does not tell a from A (exFAT, in a file, through FUSE): a good tree is good
# there for both verifiers, one whose name is spelt in another case is not, and a campaign ends well with its results there.
# Exit 77 where it cannot be mounted (needs root, loop devices, /dev/fuse, packages exfat-fuse and exfatprogs).
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "skipped: only root mounts"; exit 77; }
for tool in mkfs.exfat mount.exfat-fuse losetup unshare; do command -v $tool > /dev/null || { echo "skipped: needs $tool"; exit 77; }; done
[ -e /dev/fuse ] || { echo "skipped: no /dev/fuse"; exit 77; }
[ -n "${CASE_ALONE-}" ] || CASE_ALONE=yes exec unshare -m bash "$0" "$@"
toy_alone "$@"
toy_start losetup
MKTREE=$FLEETMARK_BUILD/tests/mktree; [ -x "$MKTREE" ] || MKTREE=$FLEETMARK_BUILD/mktree
[ -x "$MKTREE" ] || { echo "skipped: no mktree in $FLEETMARK_BUILD"; exit 77; }

LOOP=
away() { mountpoint -q "$T/disk" && umount "$T/disk" || true; [ -z "$LOOP" ] || losetup -d "$LOOP" || true; toy_end; }
trap away EXIT
mkdir disk
truncate -s 192M image
mkfs.exfat image > "$T/out" 2>&1 || fail mkfs.exfat
LOOP=$(losetup -f --show image 2> "$T/err") || { LOOP=; echo "skipped: no loop device: $(cat "$T/err")"; exit 77; }
mount.exfat-fuse "$LOOP" disk > "$T/out" 2>&1 || { echo "skipped: cannot be mounted: $(tail -n 1 "$T/out")"; exit 77; }
touch disk/Probe
[ -e disk/pROBE ] || fail "this file system tells cases apart"
rm disk/Probe

both() { # STATUS TREE ANCHOR [WORDS]
	gives "$1" fm verify --root "$T/root" --key "$3" "$2"
	if [ "$1" = 4 ]; then says "$4"; fi
	gives $(($1 / 4)) "$FLEETMARK_ROOT/deploy/verify-tree.sh" "$2" "$3"
	if [ "$1" = 4 ]; then says "$4"; fi
}

step "a tree copied there"
"$MKTREE" "$T/world" > number 2> "$T/err" || fail mktree
anchor=$T/world/home/controller.pub
cp -r world/tree disk/copy
both 0 disk/copy "$anchor"
says "PASS attack $(cat number)"

step "one name in another case: every open still finds the file, both verifiers miss the name"
for name in bundles/x86_1/tiny-1/env/host.txt bundles/x86_1/tiny-1/evidence.json plan/plan.json trust/allowed_signers tree.json; do
	other=$(dirname "$name")/$(basename "$name" | tr a-z A-Z)
	mv disk/copy/"$name" disk/away; mv disk/away "disk/copy/$other"
	[ -e "disk/copy/$name" ] || fail "$name is not found by its own name"
	both 4 disk/copy "$anchor" "$(basename "$other")"
	mv "disk/copy/$other" disk/away; mv disk/away disk/copy/"$name"
done
both 0 disk/copy "$anchor"

step "a campaign whose results lie there"
gives 0 run one --results "$T/disk/results"
both 0 disk/results/one "$FLEETMARK_HOME/controller.pub"
step ok
