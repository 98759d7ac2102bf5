# shellcheck shell=bash
# packages.bash: makes packages with the official folder layout of each of the four candidates, our own sources inside, for
# the scripts of this folder, which source it. Needs bsdtar in $BSDTAR and the sources in $FLEETMARK_ROOT.

# pkg_header FOLDER NAME BITS: the API header of an instance, with its macros, lines ending in CR LF as in the submissions
pkg_header() {
	printf '#define ALGORITHM_INSTANCE "%s"\r\n#define DIGEST_BIT_LENGTH %s\r\n#define OUTPUT_BLANK_TEST_VECTORS 0\r\n' "$2" "$3" > "$1/CryptHash_AlgorithmInstance.h"
	printf 'int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits, unsigned char *digest);\r\n' >> "$1/CryptHash_AlgorithmInstance.h"
}

# pkg_driver FOLDER: what every instance ships beside its code and what must never be compiled, linked or run
pkg_driver() {
	printf '#error the KAT driver was compiled\n' > "$1/KAT_CryptHash.c"
	printf '#error the shipped drng was compiled\n' > "$1/drng.c"
	printf '/* drng */\n' > "$1/drng.h"
	printf 'all:\n\ttouch %s/owned\n' "$T" > "$1/Makefile"
	printf 'execute_process(COMMAND touch %s/owned)\n' "$T" > "$1/CMakeLists.txt"
	printf '\177ELF not really' > "$1/run_kat"
	printf '\177ELF not really' > "$1/libhash.so"
	printf '#!/bin/sh\ntouch %s/owned\n' "$T" > "$1/run.sh"
	chmod 755 "$1/run_kat" "$1/run.sh"
}

# pkg_source FILE DEFINES FROM: our source with these defines in front, lines ending in CR LF
pkg_source() {
	{ printf '%b' "$2"; cat "$3"; } | sed 's/$/\r/' > "$1"
}

pkg_hash07() { # TOP
	local a=$FLEETMARK_ROOT/algos/hash-07 tree dir inst define bits
	for tree in Dragon-x86 Dragon-ARM; do
		while read -r inst bits define; do
			dir="$1/Dragon/Implementations and Test_vector/$tree/Implementations/Reference_Implementation/$inst"
			mkdir -p "$dir/output"
			pkg_header "$dir" "$inst" "$bits"
			pkg_driver "$dir"
			pkg_source "$dir/CryptHash_AlgorithmInstance.c" "#define $define\n" "$a/dragon.c"
			pkg_source "$dir/permutation.c" '' "$a/dragon_permute.c"
			cp "$a/dragon_permute.h" "$a/dragon_set.h" "$dir/"
			[ $tree = Dragon-x86 ] || echo '#error the wrong tree' >> "$dir/permutation.c"
		done <<-'END'
			Dragon-512 512 DRAGON_FIXED 512
			Dragon-768 768 DRAGON_FIXED 768
			Dragon-1024 1024 DRAGON_FIXED 1024
			Dragon-XOF-256 1280 DRAGON_XOF 256
			Dragon-XOF-384 1152 DRAGON_XOF 384
			Dragon-XOF-512 1024 DRAGON_XOF 512
		END
	done
}

pkg_hash09() {
	local a=$FLEETMARK_ROOT/algos/hash-09 dir n
	for n in 256 384 512 768 1024; do
		dir=$1/Eijen/Implementations/Reference_Implementation/Eijen-$n
		mkdir -p "$dir"
		pkg_header "$dir" "Eijen-$n" "$n"
		pkg_driver "$dir"
		pkg_source "$dir/CryptHash_AlgorithmInstance.c" "#define DIGEST_BITS $n\n" "$a/eijen.c"
		pkg_source "$dir/eijen_ref.c" '' "$a/eijen_permute.c"
		cp "$a/eijen_permute.h" "$dir/"
	done
}

pkg_hash29() {
	local a=$FLEETMARK_ROOT/algos/hash-29 dir n
	for n in 512 768 1024; do
		dir=$1/XRH-2/Implementations/Reference_Implementation/XRH-2-$n
		mkdir -p "$dir"
		pkg_header "$dir" "XRH-2-$n" "$n"
		pkg_driver "$dir"
		# one source, as there
		{ printf '#define DIGEST_BITS %s\n' "$n"; cat "$a/xrh_permute.c" "$a/xrh2.c"; } | sed 's/$/\r/' > "$dir/CryptHash_AlgorithmInstance.c"
		cp "$a/xrh_permute.h" "$dir/"
	done
	mkdir -p "$1/XRH-2/算法文档"
	echo 'text' > "$1/XRH-2/算法文档/设计说明.txt"
	# a name in another encoding (GBK), as older tools pack it
	echo 'text' > "$1/XRH-2/"$'\xb2\xe2\xca\xd4.txt'
}

pkg_hash31() {
	local a=$FLEETMARK_ROOT/algos/hash-31 top=$1/ZC-DMC/Implementations dir w n
	mkdir -p "$top/lib/common" "$top/lib/low"
	sed 's/$/\r/' "$a/zud_round.h" > "$top/lib/common/brg_endian.h"
	for w in 1280 1536; do
		mkdir -p "$top/lib/low/ZuD$w"
		{ printf '#ifndef ZUD_WIDTH\n#define ZUD_WIDTH %s\n#endif\n' "$w"; cat "$a/zud.h"; } > "$top/lib/low/ZuD$w/ZuD$w-plain.h"
		sed "s/\"zud.h\"/\"ZuD$w-plain.h\"/; s/\"zud_round.h\"/\"brg_endian.h\"/" "$a/zud$w.c" > "$top/lib/low/ZuD$w/ZuD$w-plain.c"
		for n in 512 768 1024; do
			dir=$top/Implementations/Reference_Implementation/ZC-DMC-$w-$n
			mkdir -p "$dir"
			pkg_header "$dir" "ZC-DMC-$w-$n" "$n"
			pkg_driver "$dir"
			{ printf '#define ZUD_WIDTH %s\n#define DIGEST_BITS %s\n' "$w" "$n"
			  sed "s|\"zud.h\"|\"../../../lib/low/ZuD$w/ZuD$w-plain.h\"|" "$a/zcdmc.c"; } | sed 's/$/\r/' > "$dir/CryptHash_AlgorithmInstance.c"
		done
	done
}

# pkg_make ID OUT.zip: the package of hash-07, hash-09, hash-29 or hash-31
pkg_make() {
	local top=$T/top-$1
	rm -rf "$top"
	mkdir -p "$top"
	"pkg_${1/-/}" "$top"
	head -c 3000000 /dev/urandom > "$top/paper.pdf" # most of a real package is no source
	(cd "$top" && LC_ALL=C "$BSDTAR" --format zip -cf "$2" ./*)
	rm -rf "$top"
}

# pkg_root ROOT: a root of its own with our candidates, the agent and the flags
pkg_root() {
	mkdir -p "$1/algos"
	cp -r "$FLEETMARK_ROOT/kat" "$FLEETMARK_ROOT/agent" "$FLEETMARK_ROOT/protocol" "$1/"
	cp "$FLEETMARK_ROOT/algos/flags.ini" "$1/algos/"
}

# pkg_recipe ROOT ID PACKAGE URL [BYTES]: the bundled recipe with the digest of this package
pkg_recipe() {
	local sum
	sum=$(sha256sum "$3") sum=${sum%% *}
	mkdir -p "$1/algos/$2-archive"
	sed "s|^url = .*|url = $4|; s|^sha256 = .*|sha256 = $sum|; /^bytes = /d" "$FLEETMARK_ROOT/algos/$2-archive/candidate.ini" > "$1/algos/$2-archive/candidate.ini"
	[ -z "${5:-}" ] || sed -i "s|^sha256 = .*|&\nbytes = $5|" "$1/algos/$2-archive/candidate.ini"
}
