#!/bin/bash
# The lab itself: hosts of both architectures come up, can be reached by SSH, build natively, see nothing of the machine they
# must not see, survive a crash as hosts do; and nothing stays, also when the start was cut off.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin lab

binfmt_entries() { unshare --mount sh -c 'mount -t binfmt_misc binfmt_misc /mnt && ls /mnt' 2>/dev/null || true; }
PREFIX=fm$(cksum <<< "$FLEETMARK_LAB" | cut -d' ' -f1)
echo "$FLEETMARK_LAB" > "$WORK/pattern"       # in a file, so that the search does not find itself
traces() {   # what a lab could leave on the machine
    awk '{print $5}' /proc/self/mountinfo | grep -F -f "$WORK/pattern" || true
    binfmt_entries | grep "$PREFIX" || true
    cut -d: -f1 /etc/passwd
    find /run/netns -name "$PREFIX*" 2>/dev/null || true
    grep -laF -f "$WORK/pattern" /proc/[0-9]*/cmdline 2>/dev/null || true
}
nothing_left() { traces | diff "$WORK/before" - && [ ! -e "$FLEETMARK_LAB" ]; }

traces > "$WORK/before"
cat > "$WORK/t.c" <<'E'
#include <sodium.h>
#include <stdio.h>
int main(void)
{
    unsigned char h[32];
    if (sodium_init() < 0 || crypto_hash_sha256(h, (const unsigned char *)"abc", 3) != 0) return 1;
    printf("%02x%02x\n", h[0], h[1]);
    return 0;
}
E

send() { lab ctl ssh -F "$FLEETMARK_LAB/ssh_config" "$1" 'cat > t.c' < "$WORK/t.c"; }
builds() { send "$1" && [ "$(ssh_to "$1" 'gcc -O2 -c -o t.o t.c && gcc -o t t.o -lsodium && ./t')" = ba78 ]; }
object() { ssh_to "$1" 'sha256sum < t.o'; }
same_object() { [ -n "$(object h2)" ] && [ "$(object h2)" = "$(object h3)" ]; }
machine() { [ "$(ssh_to "$1" uname -m)" = "$2" ]; }
hides() { ! ssh_to "$1" "cat $FLEETMARK_ROOT/CMakeLists.txt || ls ~root || cat $FLEETMARK_LAB/id" >/dev/null 2>&1; }
differ() { [ "$(ssh_to h1 cat "$1")" != "$(ssh_to h2 cat "$1")" ]; }
keeps_home() { ssh_to h1 'echo kept > mark && echo x > /tmp/mark' && lab fault 1 crash && lab fault 1 boot && [ "$(ssh_to h1 'cat mark; ls /tmp/mark 2>/dev/null')" = kept ]; }
pinned() { lab inventory x86_1=1 arm_1=2 > "$INV" && grep -c '^hostkey = SHA256:' "$INV" | grep -qx 2 && grep -qx 'arch = aarch64' "$INV"; }
other_lab_refused() { ! FLEETMARK_LAB=$WORK/other LAB_PREFIX=$PREFIX lab up 1 >"$WORK/out" 2>&1 && grep -q LAB_PREFIX "$WORK/out" && [[ $(lab status) == "h1 "*" up "* ]]; }

check "an x86-64 host comes up" lab up 1
check "it can be reached and builds with libsodium" builds h1
check "its folders hide the sources, /root and the lab's keys" hides h1
check "a crash ends it and keeps its home, a boot brings it back" keeps_home
if [ "$(uname -m)" = x86_64 ] && lab deps arm >/dev/null 2>&1; then
    check "an AArch64 host comes up, compiled for by the cross compiler" lab arm accel 2
    check "one that compiles for itself comes up" lab arm user 3
    check "both say aarch64" eval 'machine h2 aarch64 && machine h3 aarch64'
    check "the first builds" builds h2
    check "the second builds" builds h3
    check "both compilers give the same object" same_object
    check "the AArch64 host hides the same folders" hides h2
    check "machine-id differs from host to host" differ /etc/machine-id
    check "boot_id differs from host to host" differ /proc/sys/kernel/random/boot_id
    check "the inventory pins both host keys" pinned
fi
check "another lab under the same names is refused and harms nothing" other_lab_refused
check "down ends it" lab down
check "nothing of it is left" nothing_left

cut_off() {   # SIGNAL: of a start in its middle
    setsid "$FLEETMARK_ROOT/deploy/lab.sh" up 2 >"$WORK/out" 2>&1 &
    local p=$!
    within 20 [ -e "$FLEETMARK_LAB/h1/unshare.pid" ] || return 1
    kill "-$1" $p
    wait $p || true
}
check "a start ended by SIGTERM" cut_off TERM
check "leaves nothing" within 5 nothing_left
check "a start ended by SIGKILL" cut_off KILL
check "leaves what down can end" lab down
check "and then nothing" within 5 nothing_left
