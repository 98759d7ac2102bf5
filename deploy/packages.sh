# shellcheck shell=bash
# packages.sh - installs or unpacks Debian and Ubuntu packages for the scripts of this folder, which source it.
#
# Three ways, from least to most: pkg_unpack (files only), pkg_fetch (download what is not installed, files only, into a
# folder of ours) and pkg_install (the machine has it afterwards; no service starts). A server that only test hosts need
# is fetched, never installed: the machine gets no sshd, no host key and no user from us.

# What each part needs, by the names that Debian 12, Debian 13 and Ubuntu 24.04 share
# shellcheck disable=SC2034   # used by those that source this
{
PKG_BUILD=(gcc libc6-dev make cmake pkgconf libssh-dev libcurl4-openssl-dev libcjson-dev libsodium-dev libinih-dev libarchive-dev openssh-client)
PKG_VERIFY=(jq openssl openssh-client)
PKG_LAB=(openssh-client iproute2 util-linux procps openssl tar gcc libc6-dev make libsodium-dev)
PKG_LAB_ARM=(gcc-aarch64-linux-gnu)
PKG_LONG=(gcc-aarch64-linux-gnu gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static exfat-fuse exfatprogs sudo)
PKG_EXPORTS=(python3-pandas r-base-core r-cran-jsonlite)
PKG_BROWSER=(chromium nodejs npm)
PKG_TEST=(libcmocka-dev clang libclang-rt-dev clang-format shellcheck git nginx libarchive-tools curl scdoc man-db zsh dpkg-dev strace)
}

PKG_APT=(-qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 -o APT::Install-Recommends=false)
PKG_POLICY=/usr/sbin/policy-rc.d
PKG_MARK='# fleetmark: only while packages are being installed'

pkg_missing() {   # PACKAGE...: prints those that are not installed
    local have p
    have=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    for p; do grep -qx "$p installed" <<< "$have" || echo "$p"; done
}

pkg_apt() {   # APT-ARGUMENT...: with the lists as they are; when that fails, once more with fresh ones
    if apt-get "${PKG_APT[@]}" "$@" >/dev/null 2>&1; then return 0; fi
    apt-get "${PKG_APT[@]}" update >/dev/null || return
    apt-get "${PKG_APT[@]}" "$@" >/dev/null
}

# Installs what is missing of PACKAGE...; nothing happens when nothing is. A subshell, so that the policy file goes away
# again whatever happens; the lock keeps two of us from taking away each other's.
pkg_install() (
    set -euo pipefail
    mapfile -t need < <(pkg_missing "$@")
    [ ${#need[@]} -gt 0 ] || exit 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "packages: missing here: ${need[*]} (or what this distribution calls them); installing them needs root and apt" >&2
        exit 1
    fi
    exec 9</var/lib/dpkg
    flock 9
    [ ! -e $PKG_POLICY ] || ! grep -qxF "$PKG_MARK" $PKG_POLICY || rm -f $PKG_POLICY
    if [ ! -e $PKG_POLICY ]; then
        trap 'rm -f $PKG_POLICY' EXIT
        trap 'exit 130' INT TERM HUP
        printf '#!/bin/sh\n%s\nexit 101\n' "$PKG_MARK" > $PKG_POLICY
        chmod 755 $PKG_POLICY
    fi
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    pkg_apt install "${need[@]}" 9<&- || { echo "packages: apt-get could not install: ${need[*]}" >&2; exit 1; }
)

pkg_preload() {   # PACKAGE...: downloads what pkg_install would install, so that the two can be timed apart
    local need
    mapfile -t need < <(pkg_missing "$@")
    [ ${#need[@]} = 0 ] || pkg_apt --download-only install "${need[@]}"
}

# The files of DEB... below FOLDER, without documentation. /bin, /lib and so on stay links into /usr where the machine has
# it so, because a folder there would hide the link when this is laid over a root.
pkg_unpack() {   # FOLDER DEB...
    local out=$1 d deb; shift
    for d in bin sbin lib lib64; do
        if [ ! -e "$out/$d" ] && [ -L "/$d" ]; then mkdir -p "$out/usr/$d"; ln -s "usr/$d" "$out/$d"; fi
    done
    for deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$out" --keep-directory-symlink --exclude='./usr/share/doc/*' \
            --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/info/*' -f - || return 1
    done
}

# PACKAGE... and those of their dependencies that this machine does not have, unpacked into FOLDER. No maintainer script runs.
pkg_fetch() {   # FOLDER PACKAGE...
    local out=$1 dl; shift
    dl=$out.dl
    rm -rf --one-file-system "$out" "$dl"
    mkdir -p "$out" "$dl/partial"
    pkg_apt --download-only -o Dir::Cache::archives="$dl" -o Debug::NoLocking=1 -o APT::Sandbox::User=root install "$@" ||
        { echo "packages: apt-get could not download: $*" >&2; return 1; }
    pkg_unpack "$out" "$dl"/*.deb || { echo "packages: could not unpack: $*" >&2; return 1; }
    rm -rf --one-file-system "$dl"
}
