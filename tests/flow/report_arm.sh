#!/usr/bin/env bash
# The controller built for AArch64 (and run under qemu-user) writes the same bytes as the one built here: of a tree, of the published
# data set in its three layouts, and of a comparison. Its libraries are Debian packages, unpacked, not installed. Exit 77 where they
# cannot be had, or nothing foreign can be built.
#
#   LAB_CACHE   where the unpacked libraries are kept (here: removed at the end)
#   ARM_BUILD   a finished AArch64 program, instead of building one
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "report_arm: $*" >&2; exit 1; }
[ "$(uname -m)" = x86_64 ] || skip "this machine is $(uname -m)"
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static cmake apt-get; do command -v $tool > /dev/null || skip "no $tool"; done
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

libs=${LAB_CACHE:-$work}/arm64-libs
LAB_ARM_PKGS="libssh-dev libcurl4-openssl-dev libcjson-dev libinih-dev libarchive-dev" \
	"$FLEETMARK_ROOT/deploy/lab_rootfs.sh" "$libs" > "$work/log" 2>&1 || skip "libraries: $(tail -n 1 "$work/log")"
arm=${ARM_BUILD:-$work/build/fleetmark}
if [ ! -x "$arm" ]; then
	PKG_CONFIG_LIBDIR=$libs/usr/lib/aarch64-linux-gnu/pkgconfig:$libs/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$libs \
		cmake -S "$FLEETMARK_ROOT" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DFLEETMARK_TESTS=OFF -DCMAKE_SYSTEM_NAME=Linux \
		-DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER="$(command -v aarch64-linux-gnu-gcc)" \
		-DCMAKE_SYSROOT="$libs" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER > "$work/log" 2>&1 ||
		{ cat "$work/log"; fail "cmake"; }
	cmake --build "$work/build" -j2 --target fleetmark > "$work/log" 2>&1 || { tail -n 20 "$work/log"; fail "it does not build for AArch64"; }
fi
file=$(od -An -tx1 -j18 -N2 "$arm" | tr -d ' ')
[ "$file" = b700 ] || fail "$arm is not for AArch64"
foreign() { qemu-aarch64-static -L "$libs" "$arm" "$@"; }
here() { "$FLEETMARK_BUILD/fleetmark" "$@"; }

export FLEETMARK_HOME=$work/none
"$FLEETMARK_BUILD/mktree" "$work/world" 2 2 2 3 guide > /dev/null 2> "$work/err" || { cat "$work/err"; exit 1; }
cp -R "$FLEETMARK_ROOT/tests/data/published" "$work/published"
cd "$work" # relative paths: the emulator looks for absolute ones below the libraries first
for who in here foreign; do
	$who report world/tree -o "$who/tree" 2> err || { cat err; fail "report: $who"; }
	for layout in fleetmark published site; do
		$who report --data published/data --layout "$layout" -o "$who/$layout" 2> err || { cat err; fail "$layout: $who"; }
	done
	$who compare published/data > "$who/compare.txt" 2> /dev/null || [ $? = 1 ] || fail "compare: $who"
done
diff -r here foreign || fail "other bytes on AArch64"
files=$(find here -type f | wc -l)
foreign report world/tree --check > out 2>&1 || { cat out; fail "--check on AArch64 refuses what was written here"; }
echo "report_arm: $files files equal byte for byte on x86-64 and AArch64"
