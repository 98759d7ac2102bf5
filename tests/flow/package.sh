#!/bin/bash
# package.sh: manual page and completions from the one table of options; the Debian packages build, install in a fresh root where
# that is possible, work there without the source tree, and go without a trace.
set -euo pipefail
# shellcheck disable=SC1003,SC2016   # meant literally
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
F=$FLEETMARK_BUILD/fleetmark
[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
for tool in cmake cpack dpkg-deb dpkg-shlibdeps scdoc man; do command -v $tool > /dev/null || { echo "skipped: needs $tool"; exit 77; }; done
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-flow-XXXXXX")
trap 'rm -rf "$T"' EXIT
export HOME=$T/home FLEETMARK_HOME=$T/fm
unset FLEETMARK_INVENTORY
fail() { echo "FAILED: $*" >&2; exit 1; }
step() { printf '%4d s  %s\n' $SECONDS "$*"; }
cd "$T"
mkdir home

step "the manual page names every command and option, and renders"
"$F" help man > fm.scd
scdoc < fm.scd > fm.1
MANWIDTH=100 man --warnings -l fm.1 > page.txt 2> page.err
[ ! -s page.err ] || fail "man complains: $(head -3 page.err)"
commands=$("$F" help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | grep -vx help | sort -u)
[ "$(wc -w <<< "$commands")" -gt 15 ] || fail "too few commands: $commands"
for c in $commands; do
	grep -q "^   fleetmark $c" page.txt || fail "the page misses $c"
	"$F" help "$c" > help.txt
	sed -n 's/^  [-a-z, ]*\(--[a-z-]*\).*/\1/p' help.txt | while read -r o; do
		grep -qF -e "$o" page.txt || fail "the page misses $o of $c"
	done
done
for w in 'EXIT STATUS' ENVIRONMENT FLEETMARK_NOTIFY; do grep -q "$w" page.txt || fail "the page misses $w"; done
if grep -n '\\' page.txt; then fail "markup is left in the page"; fi
scdoc < "$FLEETMARK_ROOT/deploy/fleetmark-setup-host.8.scd" > setup.8
man --warnings -l setup.8 2> page.err | grep -q 'fit to be measured' || fail "the page of the host side"
[ ! -s page.err ] || fail "man complains: $(cat page.err)"

step "completion of bash"
"$F" help bash > fm.bash
cat > ask.bash <<'END'
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_fleetmark
printf '%s\n' "${COMPREPLY[@]}"
END
ask() { bash --norc ask.bash fm.bash "$@"; }
[ "$(ask fleetmark r | sort | tr '\n' ' ')" = "redo remove report run " ] || fail "r: $(ask fleetmark r)"
ask fleetmark run --n | grep -qx -- --notify || fail "run --n"
if ask fleetmark check --n | grep -q notify; then fail "check takes no --notify"; fi
ask fleetmark run --profile s | grep -qx smoke || fail "run --profile s"
touch here.ini
ask fleetmark run -i her | grep -qx here.ini || fail "run -i her"
for c in $commands; do ask fleetmark "$c" | grep -qx "$c" || fail "completion misses $c"; done
"$F" help zsh > _fleetmark
if command -v zsh > /dev/null; then zsh -n _fleetmark || fail "zsh does not read its completion"; fi
for c in $commands; do grep -q "^		'$c:" _fleetmark || fail "zsh misses $c"; done

step "versions"
"$F" --version > version
for w in fleetmark libsodium libssh libcurl cJSON inih libarchive; do grep -qE "$w [0-9]" version || fail "--version misses $w: $(cat version)"; done

step "packages"
how=(); if command -v ccache > /dev/null; then how=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
cmake -S "$FLEETMARK_ROOT" -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DFLEETMARK_TESTS=OFF "${how[@]}" > cmake.log 2>&1 || fail "cmake: $(tail -3 cmake.log)"
CCACHE_BASEDIR=$FLEETMARK_ROOT CCACHE_NOHASHDIR=1 cmake --build build -j2 > build.log 2>&1 || fail "build: $(tail -3 build.log)"
(cd build && cpack > ../cpack.log 2>&1) || fail "cpack: $(tail -3 cpack.log)"
mapfile -t debs < <(find build -maxdepth 1 -name '*.deb' | sort)
[ ${#debs[@]} = 2 ] || fail "packages: ${debs[*]}"
controller=$(printf '%s\n' "${debs[@]}" | grep -v fleetmark-host) host=$(printf '%s\n' "${debs[@]}" | grep fleetmark-host)
dpkg-deb -f "$controller" Depends | grep -q libssh || fail "the controller's package does not depend on libssh"
dpkg-deb -f "$host" Depends | grep -q libsodium-dev || fail "the host's package does not depend on libsodium-dev"
[ "$(dpkg-deb -f "$host" Architecture)" = all ] || fail "the host's package has an architecture"
dpkg-deb -c "$controller" > files
for f in ./usr/bin/fleetmark ./usr/share/man/man1/fleetmark.1 ./usr/share/bash-completion/completions/fleetmark ./usr/share/zsh/site-functions/_fleetmark \
	./usr/share/fleetmark/algos/flags.ini ./usr/share/fleetmark/agent/build.sh ./usr/share/fleetmark/verify/verify-tree.sh; do
	grep -qE " $f(\.gz)?\$" files || fail "$f is not in the package"
done
dpkg-deb -c "$host" | grep -q ' ./usr/sbin/fleetmark-setup-host$' || fail "no setup-host"

# in ROOT: a stranger's first minute, with the sources of this build out of sight
try_in() {
	printf '[x86_1]\narch = x86_64\naddress = 192.0.2.1\n' > "$1/tmp/fleet.ini"
	"${@:2}" /usr/bin/fleetmark --version && "${@:2}" /usr/bin/fleetmark plan -i /tmp/fleet.ini -c hash-31 --json && "${@:2}" /usr/sbin/fleetmark-setup-host --help
}
step "without the source tree: unpacked elsewhere"
mkdir moved moved/tmp
dpkg-deb -x "$controller" moved; dpkg-deb -x "$host" moved
printf '[x86_1]\narch = x86_64\naddress = 192.0.2.1\n' > fleet.ini
moved/usr/bin/fleetmark plan -i fleet.ini -c hash-31 --json > plan.json || fail "plan from an unpacked package"
strace -f -e trace=openat,access -o trace moved/usr/bin/fleetmark plan -i fleet.ini -c hash-31 > /dev/null 2>&1 || true
if [ -s trace ] && grep -F "$FLEETMARK_ROOT/algos" trace; then fail "the installed program reads the source tree"; fi

if [ "$(id -u)" = 0 ] && unshare --mount true 2> /dev/null && unshare --mount bash -c 'm=$(mktemp -d) && mount -t tmpfs t "$m" && mkdir "$m"/{u,w,r} &&
	mount -t overlay o -o "lowerdir=/,upperdir=$m/u,workdir=$m/w" "$m/r"' 2> /dev/null; then
	step "installed with dpkg in a fresh root, and removed again"
	cp "$controller" controller.deb; cp "$host" host.deb
	export -f try_in
	unshare --mount bash -euc '
		mkdir lay; mount -t tmpfs t lay; mkdir lay/{u,w,r}
		mount -t overlay o -o "lowerdir=/,upperdir=$PWD/lay/u,workdir=$PWD/lay/w" lay/r
		R=$PWD/lay/r
		mount -t tmpfs t "$R/tmp"; mount --bind /dev "$R/dev"; mount -t proc p "$R/proc"
		mkdir "$R/tmp/home"; mount -t tmpfs t "$R/$1"
		cp controller.deb host.deb "$R/tmp/"
		chroot "$R" dpkg -i /tmp/controller.deb
		chroot "$R" dpkg -i --force-depends /tmp/host.deb   # sshd is not asked for here
		export HOME=/tmp/home FLEETMARK_HOME=/tmp/fm
		try_in "$R" chroot "$R"
		chroot "$R" man fleetmark | grep -q "EXIT STATUS" || chroot "$R" sh -c "zcat -f /usr/share/man/man1/fleetmark.1* | grep -q EXIT"
		chroot "$R" dpkg -r fleetmark fleetmark-host
		left=$(find "$R"/usr -name "*fleetmark*" -newer "$R/tmp/controller.deb" ! -path "*/dpkg/*" -print)
		[ -z "$left" ] || { echo "left: $left"; exit 1; }
	' _ "$FLEETMARK_ROOT" > install.log 2>&1 || fail "installing: $(tail -8 install.log)"
	grep -q 'libssh [0-9]' install.log || fail "no version from the installed program"
else
	step "not installed: needs root and overlays"
fi

step "cmake --install"
DESTDIR=$T/dest cmake --install build > /dev/null
[ -x dest/usr/bin/fleetmark ] && [ -f dest/usr/share/man/man1/fleetmark.1 ] || fail "cmake --install"
step ok
