#!/bin/bash
# golden.sh: the golden vector, made and checked by our code on x86-64, AArch64 and (big-endian) s390x: the same bytes on all, and
# those of FORMATS.md section 3; stock ssh-keygen takes them. Foreign machines are emulated (qemu-user), their libsodium comes as a
# Debian package, unpacked, not installed. Exit 77 where nothing foreign can be built.
set -euo pipefail
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
WANT=fc16fff14ca79a5a3f6c4dcb3f9d448809043081233e5d7ddf2ea4af6d0931ce
PUBLIC='ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4'
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
SOURCES=("$ROOT/tests/data/golden.c" "$ROOT"/protocol/*.c)
FLAGS=(-std=c11 -O2 -D_GNU_SOURCE -I"$ROOT" -pthread)
fail() { echo "FAILED: $*" >&2; exit 1; }

# libsodium of that architecture from this machine's own archives, below $T/ARCH
foreign_sodium() { # DEBIAN-ARCH
	local d=$T/$1 o
	mkdir -p "$d"/{state/lists/partial,cache/archives/partial,files}
	: > "$d/state/status"
	o=(-qq -o APT::Architecture="$1" -o APT::Architectures="$1" -o Dir::State="$d/state" -o Dir::State::status="$d/state/status"
		-o Dir::Cache="$d/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 -o Debug::NoLocking=1)
	(cd "$d" && apt-get "${o[@]}" update && apt-get "${o[@]}" download libsodium-dev) > "$d/log" 2>&1 || return 1
	dpkg-deb --fsys-tarfile "$d"/libsodium-dev_*.deb | tar -x -C "$d/files"
}

check() { # NAME COMMAND...: what it prints is the vector
	local name=$1; shift
	"$@" > "$T/$name.out" || fail "$name: it does not run, or refuses its own signature"
	[ "$(head -n 1 "$T/$name.out")" = "$PUBLIC" ] || fail "$name: another public line"
	[ "$(tail -n +2 "$T/$name.out" | sha256sum | cut -c1-64)" = $WANT ] || fail "$name: another signature"
	echo "$name: same public line, same 314 bytes"
}

gcc "${FLAGS[@]}" -o "$T/here" "${SOURCES[@]}" -lsodium
check "$(uname -m)" "$T/here"
printf 'arm_1 namespaces="bundle.v1@fleetmark" %s\n' "$PUBLIC" > "$T/signers"
tail -n +2 "$T/$(uname -m).out" > "$T/sig"
echo fleetmark | ssh-keygen -Y verify -f "$T/signers" -I arm_1 -n bundle.v1@fleetmark -s "$T/sig" > /dev/null || fail "stock ssh-keygen refuses it"

done=0
for pair in aarch64:arm64 s390x:s390x; do
	arch=${pair%:*} deb=${pair#*:}
	[ "$arch" != "$(uname -m)" ] || continue
	if ! command -v "$arch-linux-gnu-gcc" > /dev/null || ! command -v "qemu-$arch-static" > /dev/null; then
		echo "$arch: left out, needs $arch-linux-gnu-gcc and qemu-$arch-static"
	elif ! command -v apt-get > /dev/null || ! foreign_sodium "$deb"; then
		echo "$arch: left out, no libsodium-dev for it in this machine's archives"
	else
		lib=$(find "$T/$deb/files" -name libsodium.a)
		"$arch-linux-gnu-gcc" "${FLAGS[@]}" -static -I"$T/$deb/files/usr/include" -I"$(dirname "$lib" | sed "s,/lib/,/include/,")" \
			-o "$T/golden-$arch" "${SOURCES[@]}" "$lib"
		check "$arch" "qemu-$arch-static" "$T/golden-$arch"
		done=$((done + 1))
	fi
done
[ $done -gt 0 ] || { echo "skipped: no foreign architecture here"; exit 77; }
