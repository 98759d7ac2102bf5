#!/bin/bash
# lab_isolation.sh - the hostile candidates of tests/flow/isolation.sh on other machines than this one: refused and recorded on an
# x86-64 host and in an AArch64 machine with a kernel of its own; under qemu-user nothing holds them, and evidence and page say so.
#
#   LAB_ISOLATION   which of them: x86 user vm (default: all). The agent of `user` is put on `vm`, where building it takes half an hour.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin program

hostile() {   # SYSTEM I [VARIABLE=VALUE]: the whole of isolation.sh with that host
    lab inventory "$1=$2" > "$WORK/$1.ini" || return 1
    env "${@:3}" ISOLATION_CTL="$FLEETMARK_ROOT/deploy/lab.sh ctl" ISOLATION_INVENTORY="$WORK/$1.ini" \
        ISOLATION_WORK=/home/bench/.fleetmark bash "$FLEETMARK_ROOT/tests/flow/isolation.sh" > "$WORK/$1.log" 2>&1 || { cat "$WORK/$1.log"; return 1; }
}
# The same userland is on both; what the controller finds there is taken as if it had been built there.
give_agent() {   # FROM TO
    ssh_to "$1" 'tar -C .fleetmark -c agent' | lab ctl ssh -F "$FLEETMARK_LAB/ssh_config" "$2" 'umask 077; mkdir -p .fleetmark && tar -C .fleetmark -x'
}
show() { sed -n '/refused\|landlock\|isolation/s/^/          | /p' "$WORK/$1.log"; }

for which in ${LAB_ISOLATION:-x86 user vm}; do
    case $which in
    x86)
        check "an x86-64 host is up" lab up 1
        check "x86_1: each attempt is refused and recorded" hostile x86_1 1
        show x86_1;;
    vm)
        if ! { [ "$(uname -m)" = x86_64 ] && lab deps vm > "$WORK/deps.log" 2>&1; }; then say "left out: no machine under qemu-system here: $(tail -n 1 "$WORK/deps.log")"; continue; fi
        check "an AArch64 machine is up" lab arm vm 2
        if [ -d "$FLEETMARK_LAB/h3" ]; then check "it gets the agent of arm_1" give_agent h3 h2; fi
        check "arm_vm: each attempt is refused and recorded" hostile arm_vm 2
        show arm_vm
        lab ctl ssh -n -F "$FLEETMARK_LAB/ssh_config" h2 uptime || true;;
    user)
        if ! { [ "$(uname -m)" = x86_64 ] && lab deps arm > "$WORK/deps.log" 2>&1; }; then say "left out: no qemu-user here: $(tail -n 1 "$WORK/deps.log")"; continue; fi
        check "an AArch64 host under qemu-user is up" lab arm accel 3
        check "arm_1: evidence and page say that nothing held them" hostile arm_1 3 ISOLATION_ABSENT=yes
        show arm_1;;
    *) echo "LAB_ISOLATION: x86, vm or user, not '$which'" >&2; exit 2;;
    esac
done
