#!/bin/bash
# lab_host.sh I - pid 1 of lab host I: makes the host's root, moves into it, then keeps sshd running and reaps orphans.
#
# Started by lab.sh in fresh mount, pid, uts and ipc namespaces; the LAB_* variables are set by it. Not to be run by hand.
set -euo pipefail
: "${LAB:?started by lab.sh}" "${LAB_DISK_MB:?}" "${LAB_HIDE?}" "${LAB_NATIVE?}" "${LAB_CC1IDENT?}"

system_mounts() {   # R: proc, sys, dev and the other file systems that every host has of its own
    local R=$1 n
    mkdir -p "$R"/{proc,sys,dev,tmp,run,home,root,etc/ssh,var/empty}
    mount -t proc proc "$R/proc"
    mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$R/sys"
    mount -t tmpfs -o mode=1777,size=1g tmpfs "$R/tmp"
    mount -t tmpfs -o mode=755,size=64m tmpfs "$R/run"
    mount -t tmpfs -o mode=755,size=1m tmpfs "$R/dev"
    for n in null zero full random urandom tty; do : > "$R/dev/$n"; mount --bind "/dev/$n" "$R/dev/$n"; done
    mkdir "$R/dev/pts" "$R/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$R/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$R/dev/shm"
    ln -s pts/ptmx "$R/dev/ptmx"
    ln -s /proc/self/fd "$R/dev/fd"
    for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%:*}" "$R/dev/${n#*:}"; done
}

hide() {   # R: nothing of the machine's own users, of the source tree or of the lab's state is to be seen on a host
    local R=$1 n dirs
    IFS=: read -ra dirs <<< "$LAB_HIDE"
    for n in "${dirs[@]}"; do [ ! -d "$R$n" ] || mount -t tmpfs -o mode=700,size=1m tmpfs "$R$n"; done
}

accounts() {   # R I: root without a password, bench with the password pwI, bench-run without a login
    local R=$1 pw
    printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'sshd:x:101:65534::/run/sshd:/usr/sbin/nologin' \
        'nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin' 'bench:x:1000:1000::/home/bench:/bin/bash' \
        'bench-run:x:1001:1001::/nonexistent:/usr/sbin/nologin' > "$R/etc/passwd"
    printf '%s\n' 'root:x:0:' 'tty:x:5:' 'nogroup:x:65534:' 'bench:x:1000:' 'bench-run:x:1001:' > "$R/etc/group"
    pw=$(openssl passwd -6 -salt lab "pw$2")
    rm -f "$R/etc/shadow" "$R/etc/gshadow"
    (umask 077; printf '%s\n' 'root:*:19000::::::' 'sshd:*:19000::::::' 'nobody:*:19000::::::' \
        "bench:$pw:19000::::::" 'bench-run:*:19000::::::' > "$R/etc/shadow")
    [ -d "$R/home/bench" ] && return 0        # a boot after a crash: the home is the old one
    mkdir -p "$R/home/bench/.ssh"
    cp "$LAB/id.pub" "$R/home/bench/.ssh/authorized_keys"
    chown -R 1000:1000 "$R/home/bench"
    chmod 700 "$R/home/bench" "$R/home/bench/.ssh"
}

identity() {   # R I: all hosts share one kernel; without this they would be one machine to whoever asks
    local R=$1 D=$LAB/h$2
    echo "127.0.0.1 localhost h$2" > "$R/etc/hosts"
    echo "h$2" > "$R/etc/hostname"
    rm -f "$R/etc/machine-id" "$R/etc/resolv.conf" "$R"/etc/profile.d/*.sh
    cp "$D/machine-id" "$R/etc/machine-id"
    : > "$R/etc/resolv.conf"
    cat /proc/sys/kernel/random/uuid > "$R/run/boot_id"
    mount --bind "$R/run/boot_id" "$R/proc/sys/kernel/random/boot_id"
}

sshd_files() {   # R I
    local R=$1 sftp=internal-sftp
    mkdir -p "$R/run/sshd"
    rm -f "$R"/etc/ssh/ssh_host_*
    (umask 077; cp "$LAB/h$2/hostkey" "$R/etc/ssh/ssh_host_ed25519_key")
    [ ! -x "$R/usr/lib/openssh/sftp-server" ] || sftp=/usr/lib/openssh/sftp-server
    cat > "$R/etc/ssh/sshd_config" <<E
Port 22
AddressFamily inet
HostKey /etc/ssh/ssh_host_ed25519_key
UsePAM no
UseDNS no
PermitRootLogin no
PasswordAuthentication yes
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
MaxStartups 100
MaxSessions 64
LogLevel VERBOSE
PidFile /run/sshd.pid
Subsystem sftp $sftp
E
}

arm_cpuinfo() {   # R: qemu-user shows the real machine's processor; a host must look like what its programs run on
    local n
    for n in 0 1; do
        printf 'processor\t: %s\nBogoMIPS\t: 125.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics cpuid\n' "$n"
        printf 'CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n'
    done > "$1/run/cpuinfo"
    mount --bind "$1/run/cpuinfo" "$1/proc/cpuinfo"
}

name_of() { "$@" --version | sed -n '1s/^[^(]*/GCC: /p'; }     # what that compiler writes into its objects

# This machine's cross compiler, a native program, takes the place of the emulated one of the same version: NAME lies in
# lib or libexec, on both sides. Where the two are different builds, cc1ident gives the objects the emulated one's name.
arm_tool() {   # R VERSION NAME OURS THEIRS
    local R=$1 d from to
    for d in lib libexec; do
        from=/usr/$d/gcc-cross/aarch64-linux-gnu/$2/$3 to=$R/usr/$d/gcc/aarch64-linux-gnu/$2/$3
        [ -e "$from" ] && [ -e "$to" ] || continue
        if [ "$4" != "$5" ]; then
            printf '%s\n' "$4" "$5" > "$to.ident"
            : > "$to.cross"
            mount --bind "$from" "$to.cross"
            # a copy: another lab may renew the one in the cache while this host lives
            cp --remove-destination "$LAB_CC1IDENT" "$to"
        else
            mount --bind "$from" "$to"
        fi
        return 0
    done
    echo "no cross compiler of version $2 here (gcc-aarch64-linux-gnu): $3" >&2
    return 1
}

arm_compiler() {   # R
    local R=$1 d v n ours theirs
    for d in "$R"/usr/lib/gcc/aarch64-linux-gnu/*; do v=${d##*/}; done
    ours=$(name_of aarch64-linux-gnu-gcc)
    theirs=$(name_of chroot "$R" /usr/bin/gcc)
    mkdir -p "$R/lib64" "$R/usr/lib/x86_64-linux-gnu" "$R/usr/lib/gcc-cross"
    ln -sfn ../gcc/aarch64-linux-gnu "$R/usr/lib/gcc-cross/aarch64-linux-gnu"
    cp -L /lib64/ld-linux-x86-64.so.2 "$R/lib64/"
    mount --bind /usr/lib/x86_64-linux-gnu "$R/usr/lib/x86_64-linux-gnu"
    for n in cc1 lto1; do arm_tool "$R" "$v" $n "$ours" "$theirs"; done
    for n in collect2 lto-wrapper liblto_plugin.so; do arm_tool "$R" "$v" $n '' ''; done
    for n in as ld.bfd; do mount --bind "/usr/bin/aarch64-linux-gnu-$n" "$R/usr/bin/aarch64-linux-gnu-$n"; done
}

make_root() {   # R I: an overlay of the root file system the host starts from, and of what is mounted into it
    local R=$1 D=$LAB/h$2 top n
    top=$(cat "$D/rootfs")
    mount -t tmpfs -o "size=${LAB_DISK_MB}m,mode=755" tmpfs "$D/t"
    mkdir -p "$D/t/up" "$D/t/wk" "$R"
    # programs for hosts only; copied, because a layer may not lie inside another one
    if [ "$top" = / ] && [ -d "$LAB_NATIVE" ]; then cp -a "$LAB_NATIVE/." "$D/t/up/"; fi
    mount -t overlay overlay -o "lowerdir=$top,upperdir=$D/t/up,workdir=$D/t/wk" "$R"
    for n in usr usr/local opt var; do      # an overlay shows one file system only
        mountpoint -q "$top/$n" || continue
        mkdir -p "$D/t/m/$n/up" "$D/t/m/$n/wk"
        mount -t overlay overlay -o "lowerdir=$top/$n,upperdir=$D/t/m/$n/up,workdir=$D/t/m/$n/wk" "$R/$n"
    done
    system_mounts "$R"
    mount --bind "$D/home" "$R/home"
    hide "$R"
    accounts "$R" "$2"
    identity "$R" "$2"
    sshd_files "$R" "$2"
}

main() {
    local i=$1 R=$LAB/h$1/t/root
    mount --make-rprivate /
    hostname "h$i"
    make_root "$R" "$i"
    if [ "$(od -An -tx1 -j18 -N1 "$R/usr/sbin/sshd" | tr -d ' ')" = b7 ] && [ "$(uname -m)" != aarch64 ]; then
        arm_cpuinfo "$R"
        [ ! -s "$LAB/h$i/accel" ] || arm_compiler "$R"
    fi
    mkdir -p "$R/old"
    pivot_root "$R" "$R/old"
    cd /
    umount -l /old
    rmdir /old
    trap 'exit 0' TERM
    set +e
    : > /run/want-sshd
    while :; do
        if [ -e /run/want-sshd ]; then env -i PATH="$PATH" LANG=C.UTF-8 /usr/sbin/sshd -D -e 2>>/run/sshd.log & wait $!; fi
        sleep 0.05
    done
}
main "$@"
