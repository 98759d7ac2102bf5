# shellcheck shell=bash
# lab_vm.sh - whole AArch64 machines under qemu-system for lab.sh, which sources it.
#
# Debian's arm64 kernel, the userland of lab_rootfs.sh as a read-only disk, a small first program that lays a tmpfs over it.
# With -icount one instruction is one cycle is one ns of the guest's clock: exact and repeatable, and never comparable with
# a real machine.

VM_MODULES="virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk failover net_failover virtio_net
         virtio-rng overlay sch_netem"

vm_deps() { pkg_install qemu-system-arm cpio e2fsprogs; }

vm_parts() {   # once: the kernel, the modules the first minute needs, the disk
    local V=$CACHE/vm x=$CACHE/vm/x kernel m
    [ ! "$V/complete" -nt "$CACHE/arm64/.complete" ] || return 0
    rm -rf --one-file-system "$V"
    mkdir -p "$x" "$V/dl" "$V/ird/bin" "$V/ird/mod"
    (
        export APT_CONFIG=$CACHE/arm64.apt/apt.conf
        kernel=$(apt-cache depends linux-image-cloud-arm64 2>/dev/null | awk '/Depends: linux-image/ {print $2; exit}')
        [ -n "$kernel" ] || die "no kernel linux-image-cloud-arm64 in these archives (Debian has it)"
        cd "$V/dl" && apt-get -qq download "$kernel" busybox-static
    )
    for m in "$V"/dl/*.deb; do dpkg-deb -x "$m" "$x"; done
    cp "$x"/boot/vmlinuz-* "$V/vmlinuz"
    find "$x" -path "*/bin/busybox" -exec cp {} "$V/ird/bin/" \;
    for m in $VM_MODULES; do find "$x" -name "$m.ko*" -exec cp {} "$V/ird/mod/" \;; done
    find "$V/ird/mod" -name '*.xz' -exec xz -d {} +      # Debian 13 compresses them
    mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$CACHE/arm64" "$V/root.img" $(($(du -sm "$CACHE/arm64" | cut -f1) * 5 / 4 + 64))M >/dev/null
    rm -rf --one-file-system "$x" "$V/dl"
    touch "$V/complete"
}

vm_init() {   # ADDRESS HOST: the first program of the VM
    cat <<E
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in ${VM_MODULES//$'\n'/ }; do [ ! -f /mod/\$m.ko ] || insmod /mod/\$m.ko; done
n=0; while [ ! -b /dev/vda ] && [ \$n -lt 100 ]; do sleep 0.05; n=\$((n + 1)); done
mount -t ext4 -o ro /dev/vda /lower
mount -t tmpfs -o size=70% tmpfs /t; mkdir /t/up /t/wk
mount -t overlay overlay -o lowerdir=/lower,upperdir=/t/up,workdir=/t/wk /mnt
ip link set lo up; ip addr add $1/24 dev eth0; ip link set eth0 up
R=/mnt
mkdir -p \$R/home/bench/.ssh \$R/root/.ssh \$R/run \$R/etc/ssh
for d in proc sys dev; do mount --move /\$d \$R/\$d; done
mkdir -p \$R/dev/pts \$R/dev/shm
mount -t devpts devpts \$R/dev/pts; mount -t tmpfs tmpfs \$R/dev/shm
mount -t tmpfs tmpfs \$R/run; mount -t tmpfs -o mode=1777 tmpfs \$R/tmp; mkdir \$R/run/sshd
printf 'root:x:0:0:root:/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\nbench:x:1000:1000::/home/bench:/bin/bash\nbench-run:x:1001:1001::/nonexistent:/usr/sbin/nologin\n' > \$R/etc/passwd
printf 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\nbench:x:1000:\nbench-run:x:1001:\n' > \$R/etc/group
printf 'root:*:19000::::::\nsshd:*:19000::::::\nbench:*:19000::::::\nbench-run:*:19000::::::\n' > \$R/etc/shadow
chmod 600 \$R/etc/shadow
cp /lab/machine-id \$R/etc/machine-id
cp /lab/id.pub \$R/home/bench/.ssh/authorized_keys
cp /lab/id.pub \$R/root/.ssh/authorized_keys; chown -R 0:0 \$R/root; chmod 700 \$R/root \$R/root/.ssh
chown -R 1000:1000 \$R/home/bench; chmod 700 \$R/home/bench \$R/home/bench/.ssh
cp /lab/hostkey \$R/etc/ssh/ssh_host_ed25519_key; chmod 600 \$R/etc/ssh/ssh_host_ed25519_key
printf 'HostKey /etc/ssh/ssh_host_ed25519_key\nUsePAM no\nUseDNS no\nPidFile /run/sshd.pid\nSubsystem sftp internal-sftp\n' > \$R/etc/ssh/sshd_config
echo 1 > \$R/proc/sys/kernel/perf_event_paranoid
echo 1 > \$R/proc/sys/kernel/perf_user_access
hostname $2
exec chroot /mnt /bin/sh -c 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin; /usr/sbin/sshd -E /run/sshd.log
    echo LAB-SSHD \$(cut -d" " -f1 /proc/uptime); while :; do sleep 1000; done'
E
}

vm_boot() {   # I QEMU-OPTION...
    local i=$1 D=$LAB/h$1 V=$CACHE/vm n=0; shift
    free_number "$i"
    introduce "$i"
    cp -a "$V/ird" "$D/"
    mkdir -p "$D"/ird/{proc,sys,dev,lower,t,mnt,lab}
    cp "$D/hostkey" "$D/machine-id" "$LAB/id.pub" "$D/ird/lab/"
    vm_init "$(ip_of "$i")" "h$i" > "$D/ird/init"
    chmod 755 "$D/ird/init"
    (cd "$D/ird" && find . | cpio -o -H newc --quiet | gzip -1 > ../ird.gz)
    rm -rf "$D/ird" "$D/serial.log"
    ip -n "$CTL" link show "v$i" >/dev/null 2>&1 || ip -n "$CTL" tuntap add "v$i" mode tap
    ip -n "$CTL" link set "v$i" master br0 up
    setsid ip netns exec "$CTL" qemu-system-aarch64 -machine virt,gic-version=3 -cpu "${LAB_VM_CPU:-cortex-a72}" -smp 1 -m "${LAB_VM_MB:-1024}" "$@" \
        -nodefaults -display none -no-reboot -serial "file:$D/serial.log" -kernel "$V/vmlinuz" -initrd "$D/ird.gz" \
        -append "console=ttyAMA0 loglevel=4 mitigations=off panic=-1" -drive "if=none,file=$V/root.img,format=raw,id=d,readonly=on" \
        -device virtio-blk-pci,drive=d -netdev "tap,id=n,ifname=v$i,script=no,downscript=no" -device virtio-rng-pci \
        -device "virtio-net-pci,netdev=n,romfile=,mac=52:54:00:12:34:$(printf %02x "$i")" </dev/null >"$D/qemu.log" 2>&1 &
    echo $! > "$D/vm.pid"
    until grep -q LAB-SSHD "$D/serial.log" 2>/dev/null; do
        n=$((n + 1))
        if [ $n -gt 1800 ] || ! [ -d "/proc/$(cat "$D/vm.pid")" ]; then cat "$D/qemu.log" "$D/serial.log" >&2; die "host $i did not come up"; fi
        sleep 0.1
    done
}

vm_up() {   # I QEMU-OPTION...
    deps vm
    ctl_up
    cache_lock
    "$HERE/lab_rootfs.sh" "$CACHE/arm64"
    vm_parts
    cache_unlock
    vm_boot "$@"
}
