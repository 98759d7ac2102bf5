#!/bin/bash
# workdir.sh: work folders that do not do: nothing may be run there, nothing may be written, somebody else's, open to all; with and
# without an agent that stands there already (T39, T40 of README.md).
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
[ "$(id -u)" = 0 ] || { echo "skipped: needs root, to mount"; exit 77; }
toy_alone "$@"
[ -n "${TOY_MOUNTS-}" ] || TOY_MOUNTS=own exec unshare -m bash "$0"
toy_start mount
mkdir disk
mount -t tmpfs -o mode=755 tmpfs disk
trap 'umount -l "$T/disk" 2>/dev/null || true; toy_end' EXIT
fleet() { printf '[toy_1]\narch = %s\ntransport = local\nworkdir = %s\n' "$(uname -m)" "$1" > fleet.ini; }
check() { fm check -i fleet.ini --root root --json; }
# refused WORDS: no campaign and no check, for a reason that names the folder
refused() {
	gives 3 check
	jq -es --arg p "$W" --arg w "$1" 'any(.[]; .event == "error" and .class + "/" + .reason == "host-state/workdir" and (.text | contains($p) and contains($w)))' out > /dev/null ||
		{ cat out err; fail "not host-state/workdir with '$1'"; }
}
good() { gives 0 check; }

for there in no yes; do
	W=$T/disk/work-$there
	fleet "$W"
	if [ $there = yes ]; then step "an agent is there"; good; else step "no agent is there"; fi

	step "T39: nothing may be run there"
	mount -o remount,noexec disk; refused 'does not run'; mount -o remount,exec disk
	step "T40: nothing may be written there"
	[ $there = yes ] || rmdir "$W"
	mount -o remount,ro disk; refused "$([ $there = yes ] && echo 'cannot be written' || echo 'Read-only')"; mount -o remount,rw disk
	mkdir -p "$W"
	step "T40: it belongs to another user"
	chown 12345 "$W"; refused 'belongs to another user'; chown 0 "$W"
	step "T40: others may write to it"
	chmod 777 "$W"; refused 'others may write'; chmod 755 "$W"
done
step "mended, it works and is ours alone"
good
[ "$(stat -c %a "$W")" = 700 ] || fail "mode $(stat -c %a "$W")"
step "another folder works, as the message says"
mount -o remount,noexec disk; refused 'workdir = FOLDER in the inventory'
mount -o remount,exec disk; cp -a "$W" elsewhere; mount -o remount,noexec disk
fleet "$T/elsewhere"; good
step ok
