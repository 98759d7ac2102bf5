# shellcheck shell=bash
# lab_arm.sh - AArch64 hosts under qemu-user for lab.sh, which sources it: interpreter, userland, start.
#
# The kernel's table of foreign program formats (binfmt_misc) is one for the whole machine. A lab enters a line of its own
# name through a mount of its own, and down takes back both; what the machine itself has registered stays untouched and two
# labs do not disturb each other.

arm_deps() {
    [ "$(uname -m)" = x86_64 ] || die "AArch64 hosts need an x86-64 machine here; on AArch64 use plain hosts"
    pkg_install "${PKG_LAB_ARM[@]}"
    cache_lock
    [ -x "$CACHE/qemu/aarch64-binfmt-P" ] || fetch_qemu
    [ "$CACHE/cc1ident" -nt "$HERE/cc1ident.c" ] || gcc -O2 -static -o "$CACHE/cc1ident" "$HERE/cc1ident.c"
    "$HERE/lab_rootfs.sh" "$CACHE/arm64"
    cache_unlock
}

# A static qemu-aarch64, unpacked and not installed: the package would register thirty formats for good. Debian 12 and
# Ubuntu 24.04 have it as qemu-user-static; later qemu-user is static itself.
fetch_qemu() {
    local q dir=$CACHE/qemu
    q=$(static_qemu "" || true)
    if [ -z "$q" ]; then
        pkg_fetch "$dir.new" qemu-user-static || pkg_fetch "$dir.new" qemu-user
        q=$(static_qemu "$dir.new") || die "no statically linked qemu-aarch64 in qemu-user-static or qemu-user"
    fi
    mkdir -p "$dir"
    cp "$q" "$dir/aarch64-binfmt-P"        # the name that Debian's qemu looks for: keep the program's own argv[0]
    rm -rf --one-file-system "$dir.new"
}
static_qemu() {   # ROOT: prints the first one below it
    local q
    for q in "$1/usr/bin/qemu-aarch64-static" "$1/usr/bin/qemu-aarch64"; do
        q=$(readlink -f "$q" 2>/dev/null) && [ -x "$q" ] || continue
        case $(ldd "$q" 2>&1) in *"statically linked"* | *"not a dynamic"*) echo "$q"; return 0;; esac
    done
    return 1
}

binfmt_on() {   # flag F: the kernel keeps the interpreter open, so no host needs a copy of it
    local B=$LAB/binfmt
    [ ! -e "$B/$PREFIX-aarch64" ] || return 0
    mkdir -p "$B"
    mountpoint -q "$B" || mount -t binfmt_misc binfmt_misc "$B"
    # the interpreter's path may have 127 bytes only: it is shown to the kernel as /mnt/aarch64-binfmt-P
    # shellcheck disable=SC2016
    unshare --mount bash -c 'mount --bind "$1" /mnt && printf %s ":$2:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/mnt/aarch64-binfmt-P:PF" > "$3/register"' \
        _ "$CACHE/qemu" "$PREFIX-aarch64" "$B"
}
binfmt_off() {
    local B=$LAB/binfmt
    [ -d "$B" ] || return 0
    [ ! -e "$B/$PREFIX-aarch64" ] || echo -1 > "$B/$PREFIX-aarch64"
    umount "$B" 2>/dev/null || true
    rmdir "$B" 2>/dev/null || true
}

arm_user() {   # I [accel]
    deps arm
    ctl_up
    binfmt_on
    host_add "$1" "$CACHE/arm64" "${2:-}"
    wait_up "$1"
}

arm() {   # LEVEL I
    case $1 in
    user) arm_user "$2";;
    accel) arm_user "$2" accel;;
    vm) vm_up "$2" -accel tcg,thread=multi,tb-size=256;;
    icount) vm_up "$2" -accel tcg,thread=single -icount shift=0,sleep=on;;
    *) die "levels are accel, user, vm, icount, not '$1'";;
    esac
}
