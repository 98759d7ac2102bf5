#!/bin/bash
# lab.sh - real SSH test hosts on one Linux machine, with faults on demand. Root only.
#
#   lab.sh up N [ROOTFS]         controller namespace and hosts 1..N (ROOTFS: the files a host starts from, default /)
#   lab.sh add I [ROOTFS]        one more host of the machine's own architecture
#   lab.sh arm LEVEL I           an AArch64 host on an x86-64 machine; LEVEL is one of
#                                  accel   userland under qemu-user; this machine's cross compiler compiles (same code)
#                                  user    the same, its own gcc emulated
#                                  vm      a whole machine under qemu-system: own kernel, perf_event_open, PMU
#                                  icount  the same with -icount: 1 instruction = 1 cycle, exact and repeatable
#   lab.sh inventory NAME=I...   an inventory of these hosts on standard output, host keys pinned
#   lab.sh ctl CMD...            run CMD where the controller under test runs
#   lab.sh in I CMD...           run CMD on host I, as root
#   lab.sh fault I KIND [ARG]    inject a fault or take it back; "lab.sh fault" lists them
#   lab.sh status | pids I       what is up; every process of host I
#   lab.sh check                 can this machine carry a lab? says what is missing; exit 0 or 1
#   lab.sh deps [arm|vm]         install or fetch what is missing (up, add and arm do it too)
#   lab.sh down                  end every host, leave nothing behind
#   lab.sh clean                 down, and what was downloaded and unpacked goes too
#
# Host I is ssh host "hI" of $FLEETMARK_LAB/ssh_config: address $LAB_NET.(10+I), user bench, password pwI (and bench-run,
# no login), own network, mount, pid, uts and ipc namespaces, own host key, machine-id and boot_id, an overlay of ROOTFS on
# tmpfs and a home that survives crash and boot. The machine itself gets no user, no service and no sshd.
#
#   FLEETMARK_LAB   state folder (/tmp/fleetmark-lab)          LAB_HOME_MB  size of /home on each host (256)
#   LAB_PREFIX      names of the namespaces (from the folder)  LAB_DISK_MB  room for everything else it writes (4096)
#   LAB_NET         three octets (198.51.100)                  LAB_CACHE    downloads, unpacked ($FLEETMARK_LAB-cache)
#   LAB_HIDE        folders hosts must not see, with colons between (/root, /srv, /mnt, /media and where the sources lie)
#   LAB_WAN         "delay_us jitter_us loss dup corrupt rate_kbit queue_bytes": the host's link runs over netdelay
#   LAB_MIRROR, LAB_SUITE, LAB_ARM_PKGS as for lab_rootfs.sh;  LAB_VM_CPU (cortex-a72), LAB_VM_MB (1024)
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
LAB=$(realpath -ms "${FLEETMARK_LAB:-/tmp/fleetmark-lab}")
CACHE=$(realpath -ms "${LAB_CACHE:-$LAB-cache}")
# two labs differ in their folder; prefix and network of a lab that is up are those it was started with
PREFIX=${LAB_PREFIX:-$(cat "$LAB/prefix" 2>/dev/null || echo "fm$(cksum <<< "$LAB" | cut -d' ' -f1)")}
NET=${LAB_NET:-$(cat "$LAB/net" 2>/dev/null || echo 198.51.100)}
HOME_MB=${LAB_HOME_MB:-256}
DISK_MB=${LAB_DISK_MB:-4096}
CTL=$PREFIX-c

die() { echo "lab: $*" >&2; exit 1; }
ip_of() { echo "$NET.$((10 + $1))"; }
ns_of() { echo "$PREFIX-h$1"; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$HERE/lab.sh"; }

# shellcheck source=packages.sh
. "$HERE/packages.sh"
# shellcheck source=lab_faults.sh
. "$HERE/lab_faults.sh"
# shellcheck source=lab_arm.sh
. "$HERE/lab_arm.sh"
# shellcheck source=lab_vm.sh
. "$HERE/lab_vm.sh"

# ---------------------------------------------------------------- what the machine must have

check() {   # one line for each thing that is missing
    local bad=0
    lacks() { echo "lab: $1" >&2; bad=1; }
    [ "$(uname -s)" = Linux ] || { lacks "needs Linux"; return 1; }
    [ "$(id -u)" = 0 ] || { lacks "needs root (mounts, network namespaces)"; return 1; }
    command -v unshare >/dev/null || { lacks "needs unshare (package util-linux)"; return 1; }
    unshare --mount --pid --uts --ipc --net --fork true 2>/dev/null ||
        { lacks "cannot make namespaces: CAP_SYS_ADMIN is missing (container: run it with --privileged)"; return 1; }
    # shellcheck disable=SC2016
    unshare --mount bash -c 'd=$(mktemp -d) && mount -t tmpfs t "$d" && mkdir "$d"/{u,w,r} &&
        mount -t overlay o -o "lowerdir=/,upperdir=$d/u,workdir=$d/w" "$d/r" && [ -x "$d/r/bin/sh" ]; r=$?
        umount -l "$d"; rmdir "$d"; exit $r' 2>/dev/null ||
        lacks "no overlay over / (type $(findmnt -no FSTYPE / 2>/dev/null || echo unknown)): the kernel lacks overlayfs, or / is already two overlays deep"
    if command -v ip >/dev/null; then
        unshare --net sh -c 'ip link add br0 type bridge && ip link add va type veth peer name vb' 2>/dev/null ||
            lacks "the kernel gives no bridge or no veth (CAP_NET_ADMIN, modules bridge and veth)"
    fi
    [ "$(uname -m)" != x86_64 ] || unshare --mount mount -t binfmt_misc binfmt_misc /mnt 2>/dev/null ||
        lacks "no binfmt_misc: hosts of this architecture work, AArch64 hosts do not"
    return $bad
}

deps() {
    pkg_install "${PKG_LAB[@]}"
    native_files
    case ${1:-} in arm) arm_deps;; vm) vm_deps;; esac
}

# What only hosts need of the machine's own architecture is not installed but unpacked, and copied to a host's disk.
native_files() {
    local dir=$CACHE/native want
    mapfile -t want < <(pkg_missing openssh-server nftables faketime)
    [ ${#want[@]} -gt 0 ] || return 0
    cache_lock
    if [ "$(cat "$dir.packages" 2>/dev/null)" != "${want[*]}" ]; then
        pkg_fetch "$dir" "${want[@]}"
        echo "${want[*]}" > "$dir.packages"
    fi
    cache_unlock
}
cache_lock() { mkdir -p "$CACHE"; exec {CACHE_FD}<"$CACHE"; flock "$CACHE_FD"; }
cache_unlock() { exec {CACHE_FD}<&-; }

hidden() {   # folders that hosts must not see: the lab's own, the machine's users', the one the sources lie in
    local top=${HERE#/} list=${LAB_HIDE-/root:/srv:/mnt:/media}
    case $top in
    tmp/* | run/* | home/*) top=$LAB;;            # a host has its own of these
    bin/* | dev/* | etc/* | lib*/* | opt/* | proc/* | sbin/* | sys/* | usr/* | var/*) top=${HERE%/*};;
    *) top=/${top%%/*};;
    esac
    echo "$list:$LAB:$CACHE:$top"
}

state_folder() {   # a root-owned folder that nobody else can have prepared
    [ "$(id -u)" = 0 ] || die "needs root"
    case $LAB$CACHE in *[:,\\\"]*) die "no colon, comma, quote or backslash may stand in $LAB or $CACHE";; esac
    [ ${#LAB} -le 200 ] || die "the path $LAB is too long"
    mkdir -p "$LAB"
    [ ! -L "$LAB" ] && [ "$(stat -c %u "$LAB")" = 0 ] || die "$LAB belongs to somebody else"
    chmod 700 "$LAB"
    echo "$PREFIX" > "$LAB/prefix"
    echo "$NET" > "$LAB/net"
}

netdelay() {   # the relay, compiled once into the state folder
    [ -x "$LAB/netdelay" ] || { "${CC:-cc}" -O2 -o "$LAB/netdelay.$$" "$HERE/netdelay.c" && mv "$LAB/netdelay.$$" "$LAB/netdelay"; }
}

# ---------------------------------------------------------------- controller and hosts, seen from the machine

has_ns() { [ -e "/run/netns/$1" ]; }
owner() { ip -n "$CTL" link show br0 2>/dev/null | sed -n 's/^ *alias //p'; }   # the bridge knows which lab it is of

ctl_up() {
    if has_ns "$CTL" && [ -n "$(owner)" ] && [ "$(owner)" != "$LAB" ]; then
        die "the namespaces $PREFIX-* are those of the lab in $(owner); set another LAB_PREFIX, or end that one with FLEETMARK_LAB=$(owner) $HERE/lab.sh down"
    fi
    state_folder
    if ! has_ns "$CTL"; then ip netns add "$CTL"; fi
    if [ -z "$(owner)" ]; then
        ip -n "$CTL" -batch - <<E
link set lo up
link add br0 type bridge
link set br0 alias "$LAB"
addr add $NET.1/24 dev br0
link set br0 up
E
    fi
    [ -f "$LAB/id" ] || ssh-keygen -q -t ed25519 -N '' -C lab-client -f "$LAB/id"
    touch "$LAB/known_hosts"
    [ -f "$LAB/ssh_config" ] || cat > "$LAB/ssh_config" <<E
Host h*
  User bench
  IdentityFile "$LAB/id"
  IdentitiesOnly yes
  UserKnownHostsFile "$LAB/known_hosts"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
E
}

introduce() {   # host I gets a key, a line in known_hosts and an alias
    local i=$1 D=$LAB/h$1 a; a=$(ip_of "$i")
    mkdir -p "$D"
    [ -f "$D/hostkey" ] || ssh-keygen -q -t ed25519 -N '' -C "h$i" -f "$D/hostkey"
    [ -f "$D/machine-id" ] || tr -d - < /proc/sys/kernel/random/uuid > "$D/machine-id"
    sed -i "/^${a//./\\.} /d" "$LAB/known_hosts"
    echo "$a $(cut -d' ' -f1,2 "$D/hostkey.pub")" >> "$LAB/known_hosts"
    grep -qx "Host h$i" "$LAB/ssh_config" || printf 'Host h%s\n  HostName %s\n' "$i" "$a" >> "$LAB/ssh_config"
}

host_link() {   # I: the cable between the host and the bridge
    local i=$1 D=$LAB/h$1 n t=0; n=$(ns_of "$1")
    ip netns add "$n"
    if [ -n "${LAB_WAN:-}" ]; then
        netdelay
        echo "$LAB_WAN" > "$D/wan"
        setsid "$LAB/netdelay" "$CTL" "v$i" "$n" eth0 "$D/wan" </dev/null >"$D/wan.log" 2>&1 &
        echo $! > "$D/wan.pid"
        until grep -q ready "$D/wan.log"; do t=$((t + 1)); [ $t -lt 200 ] || die "netdelay: $(cat "$D/wan.log")"; sleep 0.01; done
    else
        ip -n "$CTL" link add "v$i" type veth peer name eth0 netns "$n"
    fi
    ip -n "$CTL" link set "v$i" master br0 up
    ip -n "$n" -batch - <<E
link set lo up
addr add $(ip_of "$i")/24 dev eth0
link set eth0 up
E
}

host_add() {   # I ROOTFS [accel]
    local i=$1 D=$LAB/h$1
    free_number "$i"
    introduce "$i"
    host_link "$i"
    mkdir -p "$D/home" "$D/t"
    mount -t tmpfs -o "size=${HOME_MB}m,mode=755" "$PREFIX-home" "$D/home"      # outside the host, so a crash keeps it
    echo "$2" > "$D/rootfs"
    printf %s "${3:-}" > "$D/accel"
    host_boot "$i"
}
free_number() {
    [[ $1 =~ ^[0-9]+$ ]] && [ "$1" -ge 1 ] && [ "$1" -le 240 ] || die "host number 1..240, not '$1'"
    ! has_ns "$(ns_of "$1")" && ! ours "$LAB/h$1/vm.pid" qemu-system >/dev/null || die "host $1 is already there"
}

host_boot() {
    local i=$1 D=$LAB/h$1
    setsid nsenter --net="/run/netns/$(ns_of "$i")" unshare --mount --pid --uts --ipc --fork --kill-child \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LAB="$LAB" \
        LAB_DISK_MB="$DISK_MB" LAB_HIDE="$(hidden)" LAB_NATIVE="$CACHE/native" \
        LAB_CC1IDENT="$CACHE/cc1ident" bash "$HERE/lab_host.sh" "$i" </dev/null >"$D/init.log" 2>&1 &
    echo $! > "$D/unshare.pid"
}

wait_up() {   # until sshd sends its banner
    local i=$1 t=0
    # shellcheck disable=SC2016
    until ip netns exec "$CTL" timeout 1 bash -c 'exec 3<>"/dev/tcp/$0/22"; read -t 1 -n 4 b <&3; [ "$b" = SSH- ]' "$(ip_of "$i")" 2>/dev/null; do
        t=$((t + 1))
        if [ $t -gt 600 ] || { [ $t -gt 20 ] && ! pid1 "$i" >/dev/null; }; then cat "$LAB/h$i/init.log" >&2; die "host $i did not come up"; fi
        sleep 0.05
    done
}

ours() {   # PIDFILE NAME: prints the pid when that process is still the one that was started
    local p; p=$(cat "$1" 2>/dev/null) || return 1
    case $(cat "/proc/$p/comm" 2>/dev/null) in "$2"*) echo "$p";; *) return 1;; esac
}
pid1() {   # pid of the host's own pid 1, seen from the machine
    local u p; u=$(ours "$LAB/h$1/unshare.pid" unshare) || return 1
    p=$(cat "/proc/$u/task/$u/children"); [ -n "$p" ] || return 1
    echo "${p%% *}"
}
gone() {   # PID: wait until it has ended; a zombie has, and its parent may be slow to reap it
    local k s
    for k in $(seq 250); do
        s=$(awk '/^State/ {print $2}' "/proc/$1/status" 2>/dev/null) || return 0
        case $s in '' | Z | X) return 0;; esac
        sleep 0.02
    done
    echo "lab: process $1 did not end (try $k)" >&2
}
host_kill() {   # the host's processes end at once; its link and its home stay
    local D=$LAB/h$1 p
    if p=$(pid1 "$1"); then kill -9 "$p" 2>/dev/null || true; gone "$p"; fi
    if p=$(ours "$D/unshare.pid" unshare); then kill -9 "$p" 2>/dev/null || true; gone "$p"; fi
    if p=$(ours "$D/vm.pid" qemu-system); then kill -9 "$p" 2>/dev/null || true; gone "$p"; fi
    rm -f "$D/unshare.pid" "$D/vm.pid"
}
in_host() {
    local p
    if ours "$LAB/h$1/vm.pid" qemu-system >/dev/null; then
        ip netns exec "$CTL" ssh -F "$LAB/ssh_config" -l root "h$1" "$(printf '%q ' "${@:2}")"
        return
    fi
    p=$(pid1 "$1") || die "host $1 is not running"; shift
    nsenter -t "$p" -m -p -u -i -n -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
host_pids() {   # as the machine numbers them; for a VM: its one process
    local p ns d
    if ours "$LAB/h$1/vm.pid" qemu-system; then return 0; fi
    p=$(pid1 "$1") || return 0; ns=$(readlink "/proc/$p/ns/pid")
    for d in /proc/[0-9]*; do [ "$(readlink "$d/ns/pid" 2>/dev/null)" != "$ns" ] || echo "${d#/proc/}"; done
}
host_numbers() { local d; for d in "$LAB"/h[0-9]*; do [ ! -d "$d" ] || echo "${d##*/h}"; done; }

status() {
    local i d s
    for i in $(host_numbers); do
        d=$LAB/h$i
        if [ -f "$d/vm.pid" ]; then s=vm; ours "$d/vm.pid" qemu-system >/dev/null || s=vm-off
        elif pid1 "$i" >/dev/null; then s=up; else s=off; fi
        printf 'h%s %s %s %s\n' "$i" "$(ip_of "$i")" "$s" "$(cat "$d/rootfs" 2>/dev/null || echo vm)"
    done
}

inventory() {   # NAME=I...
    local a i D arch about
    echo "; hosts of the test lab in $LAB, written by deploy/lab.sh inventory; gone after lab.sh down"
    for a; do
        i=${a#*=} D=$LAB/h${a#*=} arch=$(uname -m) about="lab host, its own namespaces on this machine"
        [ -f "$D/hostkey.pub" ] || die "no host $i"
        if grep -qs "/arm64$" "$D/rootfs"; then arch=aarch64 about="lab host, AArch64 under QEMU user emulation"; fi
        [ -f "$D/rootfs" ] || arch=aarch64 about="lab host, AArch64 machine emulated by QEMU"
        cat <<E

[${a%%=*}]
arch = $arch
transport = ssh
address = $(ip_of "$i")
port = 22
user = bench
identity = $LAB/id
hostkey = $(ssh-keygen -lf "$D/hostkey.pub" | cut -d' ' -f2)
cpu = $(if [ -f "$D/rootfs" ]; then echo $(($(nproc --all) - 1)); else echo 0; fi)
about = $about
E
    done
}

# ---------------------------------------------------------------- the end

end_processes() {   # NAMESPACE: what still runs there, but not this script and those it was started from
    local p me=:$$: q=$$
    while q=$(awk '/^PPid/ {print $2}' "/proc/$q/status" 2>/dev/null) && [ "${q:-0}" -gt 1 ]; do me+=$q:; done
    for p in $(ip netns pids "$1" 2>/dev/null); do
        case $me in *:"$p":*) continue;; esac
        kill "$p" 2>/dev/null || continue
        for _ in $(seq 50); do [ -d "/proc/$p" ] || break; sleep 0.02; done
        kill -9 "$p" 2>/dev/null && gone "$p" || true
    done
}
host_remove() {
    local i=$1 D=$LAB/h$1 n p; n=$(ns_of "$1")
    host_kill "$i"
    if p=$(ours "$D/wan.pid" netdelay); then kill "$p"; gone "$p"; fi
    ! has_ns "$n" || end_processes "$n"          # a start that was cut off left no number behind
    umount "$D/home" 2>/dev/null || umount -l "$D/home" 2>/dev/null || true
    ip netns del "$n" 2>/dev/null || true
    cgroup_off "$i"
    rm -rf --one-file-system "$D"
}
mounts_below() { awk '{print $5}' /proc/self/mountinfo | while read -r m; do printf '%b\n' "$m"; done | grep "^$1/" | sort -r || true; }

down() {
    [ "$(id -u)" = 0 ] || die "needs root"
    local i n m
    for i in $(host_numbers); do host_remove "$i" & done
    wait
    if has_ns "$CTL" && { [ "$(owner)" = "$LAB" ] || { [ -z "$(owner)" ] && [ -f "$LAB/prefix" ]; }; }; then
        # by name: also those whose folder was lost
        for n in $(ip netns list | awk -v p="$PREFIX-" 'index($1, p) == 1 {print $1}'); do end_processes "$n"; ip netns del "$n" 2>/dev/null || true; done
        # "ip netns add" makes /run/netns a mount of its own and never takes it back
        [ -n "$(ls /run/netns 2>/dev/null)" ] || { umount /run/netns && rmdir /run/netns; } 2>/dev/null || true
    fi
    [ -d "$LAB" ] || return 0
    binfmt_off
    while read -r m; do umount "$m" 2>/dev/null || umount -l "$m" || true; done < <(mounts_below "$LAB")
    rm -f "$LAB"/{known_hosts,ssh_config,id,id.pub,prefix,net} "$LAB"/netdelay*
    rmdir "$LAB" 2>/dev/null || echo "lab: $LAB is not empty, files of others lie there" >&2
}

up() {   # N [ROOTFS]: all or nothing
    local i
    [ "$(id -u)" = 0 ] || die "needs root"
    [[ ${1:-1} =~ ^[0-9]+$ ]] || die "how many hosts? '$1' is no number"
    [ -z "$(host_numbers)" ] || die "a lab is up in $LAB (or was cut off); lab.sh down ends it"
    trap 'trap "" INT TERM; down; exit 130' INT TERM HUP
    trap 'trap - EXIT; down' EXIT
    deps
    ctl_up
    for i in $(seq "${1:-1}"); do host_add "$i" "${2:-/}"; done
    for i in $(seq "${1:-1}"); do wait_up "$i"; done
    trap - EXIT INT TERM HUP
}

case ${1:-} in
up) up "${@:2}";;
add) deps; ctl_up; host_add "$2" "${3:-/}"; wait_up "$2";;
arm) [ $# = 3 ] || { usage >&2; exit 2; }; arm "$2" "$3";;
inventory) shift; inventory "$@";;
ctl) shift; exec ip netns exec "$CTL" "$@";;
in) shift; in_host "$@";;
fault) shift; if [ $# -lt 2 ]; then echo "$FAULTS"; else fault "$@"; fi;;
status) status;;
pids) host_pids "$2";;
check) check;;
deps) deps "${2:-}";;
down) down;;
clean) down; rm -rf --one-file-system "$CACHE"/{native,native.packages,native.dl,qemu,qemu.new,qemu.new.dl,cc1ident,arm64,arm64.apt,vm}; rmdir "$CACHE" 2>/dev/null || true;;
-h | --help | help) usage;;
*) usage >&2; exit 2;;
esac
