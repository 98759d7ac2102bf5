#!/bin/sh
# Builds every own instance under algos/ as its recipe says, with the guide's reference flags, and checks each
# library with algos_check: vectors, alignment, unused bits, refusals, bytes around the digest, exported names.
# The same with AddressSanitizer and UBSan under gcc and clang; the sums over all lengths 0 to 4096 must be equal.
# With clang's MemorySanitizer a message counts as uninitialised: a branch or an index that depends on it is found.
# Then the versions performance and resource, which must give the sum of the reference; what the core here cannot run is
# only built. A performance version with sources of its own goes through the sanitizers as well.
# First the checker itself is shown libraries that are wrong on purpose: it must name what is wrong with each.
#
#     test_algos.sh [CANDIDATE...]     all, or those named
#
# Exit 0 all passed, 1 something failed, 77 no compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
root=$(cd "$here/../.." && pwd) || exit 1
machine=$(uname -m)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

have() { command -v "$1" >/dev/null 2>&1; }

cc=${CC:-}
for c in gcc cc clang; do
	[ -n "$cc" ] && break
	have "$c" && cc=$c
done
if [ -z "$cc" ] || ! have "${cc%% *}"; then
	echo "no C compiler"
	exit 77
fi

passed=0
failed=0
pass() { passed=$((passed + 1)); }
fail() {
	failed=$((failed + 1))
	echo "FAIL $*"
}

# flags_of SECTION: the flags of a section of algos/flags.ini
flags_of() {
	awk -v want="[$1]" '
		/^\[/ { inside = ($0 == want) }
		inside && sub(/^flags *= */, "") { print }
	' "$root/algos/flags.ini"
}

# recipe FILE: the candidate's origin, then a line
# "name|bits|digest|sources|defines|include|libs|arch|sources.performance|sources.resource" per instance
recipe() {
	awk '
		function flush() {
			if (name != "")
				print name "|" v["digest_bits"] "|" v["digest"] "|" v["sources"] "|" v["defines"] \
					"|" v["include"] "|" v["libs"] "|" v["arch"] \
					"|" v["sources.performance"] "|" v["sources.resource"]
			name = ""
			split("", v)
		}
		/^[ \t]*(;|$)/ { next }
		{ sub(/[ \t]+;.*$/, "") }
		/^\[/ { flush() }
		/^\[instance / { name = substr($0, 11); sub(/\].*$/, "", name); next }
		{
			at = index($0, "=")
			key = substr($0, 1, at - 1)
			value = substr($0, at + 1)
			gsub(/^[ \t]+|[ \t]+$/, "", key)
			gsub(/^[ \t]+|[ \t]+$/, "", value)
			if (key == "origin")
				print value
			v[key] = value
		}
		END { flush() }
	' "$1"
}

# prefixed PREFIX WORD...: each word with the prefix
prefixed() {
	p=$1
	shift
	for w; do printf '%s%s ' "$p" "$w"; done
}

# build OUT COMPILER FLAGS...: the current instance as a shared object
build() {
	out=$1
	shift
	# the lists of a recipe are words without spaces
	# shellcheck disable=SC2046,SC2086
	(cd "$root/algos/$id" && "$@" $(prefixed -D $defines) -I. $(prefixed -I $include) \
		-shared -o "$out" $sources $(prefixed -l $libs)) >"$tmp/build.log" 2>&1
}

# tally CHECK-OUTPUT RC WHAT: counts its lines; an end that is not a result is a failure as well
tally() {
	passed=$((passed + $(grep -c '^ok ' "$1")))
	bad=$(grep -c '^FAIL ' "$1")
	failed=$((failed + bad))
	grep '^FAIL ' "$1" | sed "s/\$/ ($3)/"
	if [ "$2" -gt 1 ] || { [ "$2" -eq 1 ] && [ "$bad" -eq 0 ]; }; then
		fail "$name: algos_check ended with $2 ($3)"
		sed 's/^/    /' "$1" | head -n 20
	fi
}

# check LIBRARY CHECKER OUTPUT: the current instance
check() {
	kat=$root/kat/$id
	set -- "$1" "$2" "$3" "$kat/vectors.txt" "$kat/xof-lengths.txt"
	[ -f "$5" ] || set -- "$1" "$2" "$3" "$4"
	lib=$1 checker=$2 output=$3
	shift 3
	ASAN_OPTIONS=detect_leaks=0 "$checker" "$lib" "$name" "$bits" "$digest" "$@" >"$output" 2>&1
}

checker_flags='-std=c99 -Wpedantic -Wall -Wextra -D_GNU_SOURCE'
sanitizers='-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all'

# ---- the checkers

# shellcheck disable=SC2086
if ! $cc $checker_flags -O2 -o "$tmp/check" "$here/algos_check.c" -ldl; then
	fail "algos_check.c does not build with $cc"
	echo "$passed passed, $failed failed"
	exit 1
fi
sanitizing=
for c in gcc clang; do
	have "$c" || continue
	# shellcheck disable=SC2086
	if $c $checker_flags $sanitizers -o "$tmp/check-$c" "$here/algos_check.c" -ldl 2>/dev/null; then
		sanitizing="$sanitizing $c"
	else
		echo "note: no sanitizers with $c"
	fi
done

cat >"$tmp/constant.c" <<'C'
/* Hashes messages that count as uninitialised: MemorySanitizer ends the program at a branch or an index that depends
 * on them. The digests must depend on them, else nothing was seen. */
#include <sanitizer/msan_interface.h>
#include <stdlib.h>
int CryptHash(int n, const unsigned char *m, unsigned long long bits, unsigned char *d);
int main(int argc, char **argv)
{
	static unsigned char digest[512];
	int n = argc > 1 ? atoi(argv[1]) : 0;

	for (unsigned bits = 1; bits <= 3000; bits += 7) {
		unsigned char *msg = malloc(bits / 8 + 1);

		if (msg == NULL)
			return 2;
		__msan_poison(msg, bits / 8 + 1);
		if (CryptHash(n, msg, bits, digest) != 0 || __msan_test_shadow(digest, (size_t)n / 8) < 0)
			return 1;
		free(msg);
	}
	return 0;
}
C
memory='-O1 -g1 -fsanitize=memory -fno-sanitize-recover=all'
tracking=
echo 'int main(void) { return 0; }' >"$tmp/probe.c"
# shellcheck disable=SC2086
if have clang && clang $memory -o "$tmp/probe" "$tmp/probe.c" 2>/dev/null && "$tmp/probe"; then
	tracking=yes
else
	echo "note: no MemorySanitizer"
fi

# constant_time BITS FLAGS_AND_SOURCES...: in the current folder
constant_time() {
	n=$1
	shift
	# shellcheck disable=SC2086
	clang $memory -o "$tmp/constant" "$tmp/constant.c" "$@" >"$tmp/out" 2>&1 &&
		"$tmp/constant" "$n" >"$tmp/out" 2>&1
}

# ---- libraries that are wrong on purpose

# A 32-bit toy hash; WRONG chooses what is wrong with it.
cat >"$tmp/wrong.c" <<'C'
#include <stdint.h>
#define PRIME 16777619U
int CryptHash(int n, const unsigned char *m, unsigned long long bits, unsigned char *d);
int CryptHash(int n, const unsigned char *m, unsigned long long bits, unsigned char *d)
{
	static unsigned calls;
	uint32_t v = (uint32_t)bits * PRIME;
	unsigned rest = (unsigned)(bits % 8);

	calls++;
	if (n != 32)
		return WRONG != 1; /* accepts any digest length */
	for (; bits >= 8; bits -= 8)
		v = (v ^ *m++) * PRIME;
	if (rest != 0)
		v = (v ^ (WRONG == 2 ? *m : *m >> (8 - rest))) * PRIME; /* takes unused bits */
	if (WRONG == 3 && rest == 0 && calls > 100) /* keeps state */
		v += calls;
	if (WRONG == 4) /* depends on the alignment */
		v += (uintptr_t)m % 2;
	for (unsigned i = 0; i < 4; i++)
		d[i] = (unsigned char)(v >> 8 * i);
	if (WRONG == 5) /* writes too much */
		d[4] = 0;
	if (WRONG == 6) /* is another function */
		d[0] ^= 1;
#if WRONG == 8 /* looks up what the message says */
	static const unsigned char table[256] = {1, 2, 3};
	d[1] ^= table[d[0]];
#elif WRONG == 9 /* takes as long as the message says */
	for (volatile unsigned i = 0; i < d[0]; i++)
		;
#endif
	return WRONG == 7; /* reports an error after writing */
}
C
printf '%s\n' '# toy' 'toy|0|-|00000000|empty' 'toy|16|a5ff|504f65ce|' >"$tmp/toy.txt"

# expect_wrong N MODE CHECKS: library N fails in exactly these checks, in this order
expect_wrong() {
	# shellcheck disable=SC2086
	$cc $checker_flags -O2 -fPIC -DWRONG="$1" -shared -o "$tmp/wrong.so" "$tmp/wrong.c"
	"$tmp/check" "$tmp/wrong.so" toy 32 "$2" "$tmp/toy.txt" >"$tmp/out" 2>&1
	found=$(sed -n 's/^FAIL toy: \([^:]*\):.*/\1/p' "$tmp/out" | paste -sd, -)
	if [ "$found" = "$3" ] && grep -q '^ok\|^FAIL' "$tmp/out"; then
		pass
	else
		fail "algos_check on wrong library $1: expected '$3', found '$found'"
		sed 's/^/    /' "$tmp/out"
	fi
}

expect_wrong 0 fixed ''
expect_wrong 1 fixed 'wrong digest length'
expect_wrong 1 any 'wrong digest length,output lengths'
expect_wrong 2 fixed 'unused bits'
expect_wrong 3 fixed 'repeated call'
expect_wrong 4 fixed 'vectors'
expect_wrong 5 fixed 'bytes around the digest'
expect_wrong 6 fixed 'vectors'
expect_wrong 7 fixed 'bytes around the digest'
if [ -n "$tracking" ]; then
	if constant_time 32 -DWRONG=0 "$tmp/wrong.c"; then pass; else fail "constant time: the toy hash does not pass"; fi
	for w in 8 9; do
		if constant_time 32 -DWRONG=$w "$tmp/wrong.c" || ! grep -q MemorySanitizer "$tmp/out"; then
			fail "constant time: wrong library $w is not found"
		else
			pass
		fi
	done
fi

# ---- the instances

# version_flags VERSION: the guide's flags of this machine with the additions; fails if there are none
version_flags() {
	flags=$(flags_of "$machine $1")
	[ -n "$flags" ] && flags="$flags $(flags_of additions)"
}

for v in reference performance resource; do
	version_flags $v || fail "algos/flags.ini has no $v flags for $machine"
done

# runs_here FLAGS: whether the core has the instructions that these flags allow
runs_here() {
	case $1 in
	*-mavx2*) grep -qw avx2 /proc/cpuinfo ;;
	*+sve*) grep -qw sve /proc/cpuinfo ;;
	esac
}

# no_warnings COMPILER: the last build said nothing
no_warnings() {
	[ -s "$tmp/build.log" ] || return 0
	fail "$name: warnings of $1"
	sed 's/^/    /' "$tmp/build.log" | head -n 20
	return 1
}

# constant VERSION: no branch and no index depends on the message; once for each list of sources
constant() {
	[ -n "$tracking" ] || return 0
	case " $tracked " in *" $id|$sources "*) return ;; esac
	# shellcheck disable=SC2046,SC2086
	if (cd "$root/algos/$id" && constant_time "$bits" ${flags%%-flto*} ${flags#*-flto} $(prefixed -D $defines) -I. \
		$(prefixed -I $include) $sources); then
		pass
	else
		fail "$name, $1: a branch or an index depends on the message"
		sed 's/^/    /' "$tmp/out" | head -n 20
	fi
	tracked="$tracked $id|$sources"
}

# sanitized VERSION: the checks again in builds with sanitizers. Instances that differ in the timed digest length alone
# share these builds.
sanitized() {
	key="$id|$sources|$defines|$include|$libs"
	for c in $sanitizing; do
		lib=$tmp/lib-$c.so
		if [ "$key" != "$built" ]; then
			rm -f "$lib"
			# shellcheck disable=SC2086
			if ! build "$lib" $c ${flags%%-flto*} ${flags#*-flto} $sanitizers; then
				fail "$name, $1: does not build with $c and sanitizers"
				sed 's/^/    /' "$tmp/build.log" | head -n 20
			else
				no_warnings "$c"
			fi
		fi
		[ -f "$lib" ] || continue
		check "$lib" "$tmp/check-$c" "$tmp/out"
		tally "$tmp/out" $? "$1, $c, sanitizers"
		if [ -n "$sum" ] && [ "$(grep '^fold ' "$tmp/out")" = "$sum" ]; then
			pass
		else
			fail "$name, $1: other digests with $c and sanitizers than the reference with $cc"
		fi
	done
	built=$key
}

# one_version VERSION: builds and checks the instance in name, bits, digest, sources, defines, include, libs
one_version() {
	version_flags "$1" || return
	lib=$tmp/lib.so
	# shellcheck disable=SC2086
	if ! build "$lib" $cc $flags; then
		fail "$name, $1: does not build with $cc"
		sed 's/^/    /' "$tmp/build.log" | head -n 20
		return
	fi
	no_warnings "$cc" && pass
	if have nm; then
		names=$(nm -D --defined-only "$lib" | awk '{ print $NF }' | tr '\n' ' ')
		if [ "$names" = 'CryptHash ' ]; then pass; else fail "$name, $1: exports $names"; fi
	fi
	if ! runs_here "$flags"; then
		skipped=$((skipped + 1))
		return
	fi
	check "$lib" "$tmp/check" "$tmp/out"
	tally "$tmp/out" $? "$1, $cc"
	if [ "$1" = reference ]; then
		sum=$(grep '^fold ' "$tmp/out")
	elif [ -n "$sum" ] && [ "$(grep '^fold ' "$tmp/out")" = "$sum" ]; then
		pass
	else
		fail "$name, $1: other digests than the reference"
	fi
	constant "$1"
	if [ "$1" = reference ] || [ "$sources" != "$plain" ]; then
		sanitized "$1"
	fi
}

instances=0
skipped=0
built=
tracked=
for ini in "$root"/algos/*/candidate.ini; do
	id=$(basename "$(dirname "$ini")")
	case " ${*:-$id} " in *" $id "*) ;; *) continue ;; esac
	recipe "$ini" >"$tmp/recipe"
	read -r origin <"$tmp/recipe"
	[ "$origin" = own ] || continue
	sed 1d "$tmp/recipe" >"$tmp/instances"
	while IFS='|' read -r name bits digest plain defines include libs arch performance resource; do
		case " ${arch:-$machine} " in *" $machine "*) ;; *) continue ;; esac
		instances=$((instances + 1))
		sum=
		sources=$plain
		one_version reference
		for v in performance resource; do
			[ $v = performance ] && sources=${performance:-$plain}
			[ $v = resource ] && sources=${resource:-$plain}
			[ "$sources" = none ] || one_version $v
		done
	done <"$tmp/instances"
done
[ "$instances" -gt 0 ] || fail "no instance was found"

echo "$instances instances"
[ "$skipped" -eq 0 ] || echo "$skipped libraries only built: this core lacks what their flags allow"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
