#!/bin/bash
# lab_rootfs.sh OUT - an arm64 userland with gcc, make and sshd, by downloading and unpacking alone.
#
# The same release as this machine's, so that the compilers on both sides are one version. No maintainer script runs, so
# nothing is emulated while it is made; apt and dpkg-deb of the machine itself are enough (no debootstrap, no foreign
# architecture in the machine's own dpkg). apt's lists stay in OUT.apt for lab_vm.sh. Does nothing when OUT is complete.
# Not a full system: no users, no services; lab_host.sh writes what a host needs.
#
#   LAB_MIRROR, LAB_SUITE   another archive or release than that of this machine's own apt sources
#   LAB_ARM_PKGS            further packages, such as "libgmp-dev cmake"
set -euo pipefail
case ${1:-} in '' | -*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 2;; esac
HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
# shellcheck source=packages.sh
. "$HERE/packages.sh"
OUT=$(readlink -m "$1")
APT=$OUT.apt
PKGS="base-files bash dash coreutils grep sed gawk tar gzip xz-utils findutils diffutils procps hostname util-linux mount
      libc-bin gcc libc6-dev make openssh-server openssh-sftp-server openssh-client libsodium-dev faketime ${LAB_ARM_PKGS:-}"
[ ! -f "$OUT/.complete" ] || exit 0

release() { (. /etc/os-release; printf '%s\n' "${!1:-}"); }
SUITE=${LAB_SUITE:-$(release VERSION_CODENAME)}
case " $(release ID) $(release ID_LIKE) " in
*" ubuntu "*) KEYS=ubuntu-archive-keyring COMPONENTS="main universe";;
*) KEYS=debian-archive-keyring COMPONENTS=main;;
esac

# "URI SUITE" of every archive of this release that the machine itself uses (the plain one, updates, security). Ubuntu keeps
# arm64 on the ports server beside the archive server, under another path.
archives() {
    if [ -n "${LAB_MIRROR:-}" ]; then echo "$LAB_MIRROR $SUITE"; return 0; fi
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v s="$SUITE" '$3 == "main" && ($2 == s || index($2, s "-") == 1) {print $1, $2}' | sort -u |
        sed -E '/ubuntu-ports/!s#^(https?)://([a-z0-9.-]+\.)?(archive|security)\.([^/ ]+)/ubuntu/? #http://ports.\4/ubuntu-ports/ #' | sort -u
}

sources() {
    local uri suite key
    for key in "/usr/share/keyrings/$KEYS".{gpg,pgp}; do [ ! -f "$key" ] || break; done
    while read -r uri suite; do echo "deb [arch=arm64 signed-by=$key] $uri $suite $COMPONENTS"; done < <(archives)
}

rm -rf --one-file-system "$OUT"
mkdir -p "$OUT" "$APT"/{lists/partial,archives/partial,etc/preferences.d}
: > "$APT/status"                                     # nothing is installed yet, so apt names every dependency
sources > "$APT/etc/sources.list"
[ -s "$APT/etc/sources.list" ] || { echo "lab_rootfs: no archive of '$SUITE' in apt's sources; set LAB_MIRROR and LAB_SUITE" >&2; exit 1; }
cat > "$APT/apt.conf" <<E
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "true";
Dir::State "$APT";
Dir::State::status "$APT/status";
Dir::State::lists "$APT/lists";
Dir::Cache "$APT";
Dir::Cache::archives "$APT/archives";
Dir::Etc::sourcelist "$APT/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "$APT/etc/preferences.d";
E
export APT_CONFIG=$APT/apt.conf
apt-get -qq update
# shellcheck disable=SC2086
apt-get -qq -y -d install $PKGS >"$APT/log" || { tail -n 20 "$APT/log" >&2; exit 1; }

# base-files first and alone: where it brings the links /bin, /lib and so on itself, they must not be replaced while others unpack
for d in bin sbin lib; do mkdir -p "$OUT/usr/$d"; ln -s "usr/$d" "$OUT/$d"; done
pkg_unpack "$OUT" "$APT"/archives/base-files_*.deb
export OUT HERE
# shellcheck disable=SC2016
find "$APT/archives" -maxdepth 1 -name '*.deb' ! -name 'base-files_*' -print0 |
    xargs -0 -P "$(nproc)" -n 8 bash -c 'set -e; . "$HERE/packages.sh"; pkg_unpack "$OUT" "$@" || exit 255' _
# the links that maintainer scripts would have made
ln -sf dash "$OUT/bin/sh"
ln -sf gawk "$OUT/usr/bin/awk"
ln -sf gcc "$OUT/usr/bin/cc"
ln -sf which.debianutils "$OUT/usr/bin/which"
rm -rf --one-file-system "$APT/archives"
mkdir -p "$APT/archives/partial"
touch "$OUT/.complete"
