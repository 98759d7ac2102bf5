#!/bin/sh
# build.sh - builds fleetmark-agent, fleetmark-worker, fleetmark-weigh and fleetmark-frame.so on a measured host, with cc and libsodium only.
#
# sh agent/build.sh OUT     OUT: an absolute folder that exists. Says nothing when all is well, else what is missing or wrong
#                           on stderr, and ends with 1 (a compiler's error) or 2 (something is missing).
# CC                        another compiler than gcc or cc; CFLAGS: added behind our flags

set -u
LC_ALL=C
export LC_ALL

version=0.1.0   # as in CMakeLists.txt

say() { printf 'build.sh: %s\n' "$*" >&2; }

# The install line for this distribution; $1, $2, $3: the package's name with apt, with dnf and zypper, with apk
install_line() {
	if command -v apt-get >/dev/null 2>&1; then say "install it with: apt-get install $1"
	elif command -v dnf >/dev/null 2>&1; then say "install it with: dnf install $2"
	elif command -v zypper >/dev/null 2>&1; then say "install it with: zypper install $2"
	elif command -v apk >/dev/null 2>&1; then say "install it with: apk add $3"
	else say "install the package that has it ($1 on Debian, $2 on Fedora)"; fi
}

case ${1-} in
/*) out=$1 ;;
*) say "usage: sh agent/build.sh OUT (an absolute folder)"; exit 2 ;;
esac
if ! [ -d "$out" ] || ! [ -w "$out" ]; then say "$out is no folder that can be written"; exit 2; fi
root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
cd "$root" || exit 2

cc=${CC:-$(command -v gcc || command -v cc)}
if [ -z "$cc" ]; then
	say "no C compiler (gcc or cc) in PATH"
	install_line "gcc libc6-dev" "gcc glibc-devel" "gcc musl-dev"
	exit 2
fi
work=$out/.build.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
rm -rf "$work"
mkdir "$work" || exit 2

# libc's headers, then libsodium's
try() { printf '%s\n' "$1" > "$work/try.c"; shift; "$cc" -o "$work/try" "$work/try.c" "$@" >"$work/try.err" 2>&1; }
if ! try '#include <stdio.h>
int main(void) { return puts("") < 0; }'; then
	say "$cc cannot build a program: $(tail -n 1 "$work/try.err")"
	install_line "libc6-dev" "glibc-devel" "musl-dev"
	exit 2
fi
sodium_program='#include <sodium.h>
int main(void) { return sodium_init(); }'
archive=$("$cc" -print-file-name=libsodium.a)
if [ "$archive" != libsodium.a ] && try "$sodium_program" "$archive" -pthread; then sodium=$archive
elif try "$sodium_program" -lsodium; then sodium=-lsodium
else
	say "libsodium's development files are missing: $(tail -n 1 "$work/try.err")"
	install_line libsodium-dev libsodium-devel libsodium-dev
	exit 2
fi

# -ffile-prefix-map: the same programs wherever the source was unpacked
flags="-O2 -std=c11 -Wall -fvisibility=hidden -ffunction-sections -fdata-sections -ffp-contract=off -pthread
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 ${CFLAGS-}"
jobs=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

# Compiles every jobs-th file of a folder, from the k-th on, in one run of the compiler: where the host is emulated, starting it
# takes longer than most files do.
compile() { # FOLDER K
	mkdir -p "$work/$1" && cd "$work/$1" || exit 1
	k=$2 n=0
	for file in "$root/$1"/*.c; do
		[ "$file" != "$root/agent/worker/frame_so.c" ] || continue
		n=$((n + 1))
		[ $((n % jobs)) -ne "$k" ] || set -- "$@" "$file"
	done
	shift 2
	# shellcheck disable=SC2086   # flags are words
	[ $# -eq 0 ] || "$cc" $flags "-DFM_VERSION=\"$version\"" "-I$root" "-ffile-prefix-map=$root=." -c "$@" >"err.$k" 2>&1 || : >"failed.$k"
}

k=0
while [ $k -lt "$jobs" ]; do
	(compile protocol "$k"; compile agent "$k"; compile agent/worker "$k"; compile agent/weigh "$k") &
	k=$((k + 1))
done
wait
for failed in "$work"/protocol/failed.* "$work"/agent/failed.* "$work"/agent/worker/failed.* "$work"/agent/weigh/failed.*; do
	[ -e "$failed" ] || continue
	say "the compiler ($cc) refused:"
	words=$(grep -m 5 -E 'error|fatal' "${failed%/*}/err.${failed##*.}" || tail -n 5 "${failed%/*}/err.${failed##*.}")
	printf '%s\n' "$words" | sed "s|$root/||" >&2
	exit 1
done

# The first line of a linker's complaint that says something
link() {
	target=$1
	shift
	if ! "$cc" -Wl,--gc-sections -o "$work/$target" "$@" >"$work/link.err" 2>&1; then
		say "linking $target failed:"
		tail -n 5 "$work/link.err" >&2
		exit 1
	fi
}
link fleetmark-worker "$work"/agent/worker/*.o "$work"/protocol/*.o "$sodium" -ldl -lm -pthread
mv "$work/agent/worker/main.o" "$work/main.o"   # the weigher is the worker's sources with another beginning and its own malloc
link fleetmark-weigh "$work"/agent/weigh/*.o "$work"/agent/worker/*.o "$work"/protocol/*.o "$sodium" -ldl -lm -pthread
link fleetmark-agent "$work"/agent/*.o "$work"/protocol/*.o "$sodium" -ldl -lm -pthread
link fleetmark-frame.so -O2 -std=c11 -fPIC -shared agent/worker/frame_so.c

for target in fleetmark-frame.so fleetmark-worker fleetmark-weigh fleetmark-agent; do
	mv -f "$work/$target" "$out/$target" || exit 1
done
