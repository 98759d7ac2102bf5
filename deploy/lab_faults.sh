# shellcheck shell=bash
# lab_faults.sh - what lab.sh can break on a host and mend again; sourced by lab.sh.

# shellcheck disable=SC2034   # printed by lab.sh
FAULTS='network   down | up                 link cut: no FIN, no RST, packets vanish
          loss PERMILLE | noloss    packets lost at random, both directions
          rate RATE | norate        bandwidth, as for tc ("80mbit")
          reject | noreject         port 22 answers with a TCP reset
          wan "D J L DUP C R Q"     new values for a host added with LAB_WAN
sshd      killsession               every open connection dies, the jobs it started live on
          killsshd | startsshd      nobody listens any more
          hostkey | oldhostkey      the host shows another key
          nokey | key               authorized_keys gone: public key refused (password pwI still works)
host      freeze | thaw             every process stopped; the kernel still answers TCP
          crash | boot              every process dies at once; home kept, all other writes lost
          reinstall                 crash, empty home, boot
disk      fill [MB] | unfill        home full but for MB (0)
          rohome | rwhome           home read-only
          noexec | exec             nothing in home may be executed
compiler  nocc | badcc              no compiler; one that always fails (crash and boot gives it back)
time      clock OFFSET | noclock    new sessions see the time shifted ("+3d"), dynamic programs only
limits    cpu PERCENT | nocpu       all its processes together get PERCENT of one core
          mem MB | nomem            memory limit, the kernel kills what exceeds it'

# nft runs on the host, whose lower layer has it; its table lives in the host's network namespace
nft_drop() { printf 'table inet loss {\n  chain in { type filter hook input priority -300; numgen random mod 1000 < %s drop;\n  }\n  chain out { type filter hook output priority -300; numgen random mod 1000 < %s drop;\n  }\n}\n' "$1" "$1"; }
nft_reset() { printf 'table inet refuse {\n  chain in { type filter hook input priority -200; tcp dport 22 reject with tcp reset;\n  }\n}\n'; }

fault_network() {   # I KIND ARG
    local i=$1 n p; n=$(ns_of "$1")
    case $2 in
    down | up) ip -n "$CTL" link set "v$i" "$2";;
    loss) nft_drop "$3" | in_host "$i" nft -f -;;
    noloss) in_host "$i" nft delete table inet loss;;
    reject) nft_reset | in_host "$i" nft -f -;;
    noreject) in_host "$i" nft delete table inet refuse;;
    rate) tc -n "$CTL" qdisc replace dev "v$i" root tbf rate "$3" burst 32k latency 100ms
          [ ! -e "/run/netns/$n" ] || tc -n "$n" qdisc replace dev eth0 root tbf rate "$3" burst 32k latency 100ms;;
    norate) tc -n "$CTL" qdisc del dev "v$i" root; [ ! -e "/run/netns/$n" ] || tc -n "$n" qdisc del dev eth0 root;;
    wan) p=$(ours "$LAB/h$i/wan.pid" netdelay) || die "host $i has no netdelay link"; echo "$3" > "$LAB/h$i/wan"; kill -HUP "$p";;
    esac
}

# shellcheck disable=SC2016
sshd_hup() { in_host "$1" sh -c 'kill -HUP "$(cat /run/sshd.pid)"'; }

# shellcheck disable=SC2016
fault_sshd() {   # I KIND
    local i=$1
    case $2 in
    killsession) in_host "$i" sh -c 'm=$(cat /run/sshd.pid); k=; for p in $(cat /proc/$m/task/$m/children); do k="$k $p $(cat /proc/$p/task/$p/children)"; done; [ -z "$k" ] || kill -9 $k';;
    killsshd) in_host "$i" sh -c 'rm -f /run/want-sshd; m=$(cat /run/sshd.pid); kill -9 $m $(cat /proc/$m/task/$m/children) 2>/dev/null';;
    startsshd) in_host "$i" touch /run/want-sshd;;
    hostkey) in_host "$i" sh -c 'cd /etc/ssh; rm -f ssh_host_ed25519_key*; ssh-keygen -q -t ed25519 -N "" -f ssh_host_ed25519_key'; sshd_hup "$i";;
    oldhostkey) in_host "$i" sh -c 'umask 077; cat > /etc/ssh/ssh_host_ed25519_key' < "$LAB/h$i/hostkey"; sshd_hup "$i";;
    nokey) in_host "$i" rm -f /home/bench/.ssh/authorized_keys;;
    key) in_host "$i" sh -c 'cat > /home/bench/.ssh/authorized_keys' < "$LAB/id.pub";;
    esac
}

fault_host() {   # I KIND
    local i=$1 p
    case $2 in
    freeze) for _ in 1 2; do for p in $(host_pids "$i"); do kill -STOP "$p" 2>/dev/null || true; done; done;;
    thaw) for p in $(host_pids "$i"); do kill -CONT "$p" 2>/dev/null || true; done;;
    crash) host_kill "$i";;
    boot) [ -f "$LAB/h$i/rootfs" ] || die "host $i is a VM: lab.sh arm vm $i starts it again"
          ! pid1 "$i" >/dev/null || die "host $i is running"
          host_boot "$i"; wait_up "$i";;
    reinstall) host_kill "$i"; rm -rf --one-file-system "$LAB/h$i/home/"*; host_boot "$i"; wait_up "$i";;
    esac
}

# shellcheck disable=SC2016
fault_inside() {   # I KIND ARG: disk, compiler, clock
    local i=$1
    case $2 in
    fill) in_host "$i" sh -c 'head -c 100G /dev/zero > /home/.fill 2>/dev/null; [ "$0" = 0 ] || truncate -s -"$0"M /home/.fill' "${3:-0}";;
    unfill) in_host "$i" rm -f /home/.fill;;
    rohome) in_host "$i" mount -o remount,bind,ro /home;;
    rwhome) in_host "$i" mount -o remount,bind,rw /home;;
    noexec | exec) in_host "$i" mount -o "remount,bind,$2" /home;;
    nocc) in_host "$i" bash -c 'rm -f /usr/bin/{cc,gcc,gcc-*,c89,c99,tcc,clang,clang-*} /usr/bin/{x86_64,aarch64}-linux-gnu-gcc*';;
    badcc) in_host "$i" sh -c 'for c in cc gcc; do rm -f /usr/bin/$c; printf "#!/bin/sh\necho \"internal compiler error: lab\" >&2\nexit 4\n" > /usr/bin/$c; chmod 755 /usr/bin/$c; done';;
    clock) in_host "$i" sh -c 'p=/usr/lib/$(uname -m)-linux-gnu/faketime/libfaketime.so.1; sed -i /^SetEnv/d /etc/ssh/sshd_config
               echo "SetEnv LD_PRELOAD=$p FAKETIME=$0 FAKETIME_DONT_FAKE_MONOTONIC=1" >> /etc/ssh/sshd_config' "$3"; sshd_hup "$i";;
    noclock) in_host "$i" sed -i /^SetEnv/d /etc/ssh/sshd_config; sshd_hup "$i";;
    esac
}

cgroup_of() {   # CONTROLLER HOST: its group, for version 1 (a folder per controller) and version 2 (one tree)
    if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo "/sys/fs/cgroup/$PREFIX-h$2"; else echo "/sys/fs/cgroup/$1/$PREFIX-h$2"; fi
}
limit() {   # HOST CONTROLLER FILE1 VALUE FILE2 VALUE: a group with these values around all processes of the host
    local i=$1 g p; g=$(cgroup_of "$2" "$1")
    [ ! -f /sys/fs/cgroup/cgroup.controllers ] || echo "+$2" > /sys/fs/cgroup/cgroup.subtree_control
    mkdir -p "$g"; shift 2
    while [ $# -gt 0 ]; do [ ! -e "$g/$1" ] || echo "$2" > "$g/$1"; shift 2; done
    for p in $(host_pids "$i"); do echo "$p" > "$g/cgroup.procs" 2>/dev/null || true; done
}
cgroup_off() { local c; for c in cpu memory; do rmdir "$(cgroup_of $c "$1")" 2>/dev/null || true; done; }

fault() {   # I KIND [ARG]
    local i=$1 k=$2 a=${3:-}
    case $k in
    loss | rate | wan | clock | cpu | mem) [ -n "$a" ] || die "fault $k needs a value; lab.sh fault lists them";;
    esac
    case $k in
    down | up | loss | noloss | rate | norate | reject | noreject | wan) fault_network "$i" "$k" "$a";;
    killsession | killsshd | startsshd | hostkey | oldhostkey | nokey | key) fault_sshd "$i" "$k";;
    freeze | thaw | crash | boot | reinstall) fault_host "$i" "$k";;
    fill | unfill | rohome | rwhome | noexec | exec | nocc | badcc | clock | noclock) fault_inside "$i" "$k" "$a";;
    cpu) limit "$i" cpu cpu.cfs_period_us 100000 cpu.cfs_quota_us $((a * 1000)) cpu.max "$((a * 1000)) 100000";;
    nocpu) limit "$i" cpu cpu.cfs_quota_us -1 cpu.max max;;
    mem) limit "$i" memory memory.limit_in_bytes "${a}m" memory.max "${a}M";;
    nomem) limit "$i" memory memory.limit_in_bytes -1 memory.max max;;
    *) die "unknown fault '$k'; lab.sh fault lists them";;
    esac
}
