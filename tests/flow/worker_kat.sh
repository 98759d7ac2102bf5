#!/bin/bash
# worker_kat.sh - the worker by itself: the bundled candidates pass their known answers, and every kind of broken library gets
# the status it deserves.
set -euo pipefail
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${FLEETMARK_BUILD:?the build folder}
WORKER=${FLEETMARK_WORKER:-$BUILD/fleetmark-worker}
[ -x "$WORKER" ] || { echo "no $WORKER"; exit 77; }
CC=${CC:-gcc}
command -v "$CC" >/dev/null || { echo "no $CC"; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
FAILED=0

bad() { echo "FAILED: $*"; sed 's/^/    /' "$T/res"; FAILED=1; }

# run [RUNNER...]: the order in $T/order; results in $T/res, exit status in $STATUS
run() {
    STATUS=0
    # shellcheck disable=SC2086   # RUNNER is words
    env -i timeout 60 ${RUNNER-} "$WORKER" 3<"$T/order" 4>"$T/res" </dev/null >"$T/log" 2>&1 || STATUS=$?
}

# expect WHAT STATUS-OR-- END-OR-- [WORDS]: what the results must hold
expect() {
    local status end
    status=$(sed -n 's/^status //p' "$T/res")
    end=$(sed -n 's/^end //p' "$T/res")
    [ "${status:--}" = "$2" ] || bad "$1: status '$status', must be '$2'"
    [ "${end:--}" = "$3" ] || bad "$1: end '$end', must be '$3'"
    [ -z "${4-}" ] || grep -q -- "$4" "$T/res" || bad "$1: no '$4'"
}

order() {   # TASK LIBRARY CANDIDATE INSTANCE BITS, then the lines of the task
    local task=$1 library=$2 candidate=$3 instance=$4 bits=$5
    shift 5
    {
        printf 'fleetmark-order 1\ntask %s\nlibrary %s\nlibrary_sha256 %s\ncandidate %s\ninstance %s\ndigest_bits %s\ncpu -1\n' \
            "$task" "$library" "$(sha256sum < "$library" | cut -c1-64)" "$candidate" "$instance" "$bits"
        printf '%s\n' "$@"
        echo end
    } > "$T/order"
}

# --- the bundled candidates -------------------------------------------------------------------------------------------------
# Reads what is needed of candidate.ini; the controller's own reader is tested elsewhere.
instances() {   # CANDIDATE: lines instance|bits|sources|defines
    awk -F' = ' '/^\[instance /{ if (n) print n"|"b"|"s"|"d; n=$0; sub(/^\[instance /,"",n); sub(/\]$/,"",n); d="" }
        /^digest_bits/{b=$2} /^sources =/{s=$2} /^defines/{d=$2} END{ if (n) print n"|"b"|"s"|"d }' "$ROOT/algos/$1/candidate.ini"
}

build() {   # CANDIDATE INSTANCE SOURCES DEFINES: the library
    local flags=() d s
    for d in $4; do flags+=("-D$d"); done
    for s in $3; do flags+=("$ROOT/algos/$1/$s"); done
    "$CC" -std=c99 -O2 -fPIC -shared -o "$T/$2.so" "${flags[@]}"
}

COUNT=0
for candidate in hash-31 iccs; do
    while IFS='|' read -r instance bits sources defines; do
        build $candidate "$instance" "$sources" "$defines"
        lines=()
        if [ -e "$ROOT/kat/$candidate/kat.sha256" ]; then
            while read -r hex mode file; do
                lines+=("kat_line $hex $mode ${file#*/}")
            done < <(grep " $instance/KAT_2_[12]" "$ROOT/kat/$candidate/kat.sha256")
        fi
        files=${#lines[@]}
        vectors=$(grep -c "^$instance|" "$ROOT/kat/$candidate/vectors.txt")
        lines+=("kat_line $(grep "^$instance|" "$ROOT/kat/$candidate/vectors.txt" | sha256sum | cut -c1-64) vectors:$vectors vectors.txt"
            "vectors_file $ROOT/kat/$candidate/vectors.txt")
        order kat "$T/$instance.so" $candidate "$instance" "$bits" "kat_name $instance" "${lines[@]}" "seconds 60"
        run
        expect "$instance" PASS ok "^fact kat_files $files\$"
        expect "$instance" PASS ok "^fact kat_vectors $vectors\$"
        [ "$STATUS" = 0 ] || bad "$instance: exit status $STATUS"
        COUNT=$((COUNT + 1))
    done < <(instances $candidate)
done
[ $COUNT = 17 ] || bad "$COUNT instances instead of 17"

# --- broken libraries: one good function, bent before or after its call -----------------------------------------------------------------
cat > "$T/toy.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#define CryptHash honest
#include "zcdmc.c"
#undef CryptHash
__attribute__((noinline)) static int deep(volatile char *p) { volatile char a[4096]; a[0] = *p; return deep(a) + a[0]; }
int CryptHash(int bits, const unsigned char *msg, unsigned long long len, unsigned char *digest)
{
	static unsigned calls;
	int rc;

	calls++;
#ifdef FIRST
	FIRST
#endif
	rc = honest(bits, msg, len, digest);
#ifdef WRONG_AT
	if (len == WRONG_AT) digest[7] ^= 1;
#endif
#ifdef BEND
	BEND
#endif
	return rc;
}
C
toy() {   # NAME, then what it does at the end of a call (C), or -D flags
    local name=$1
    shift
    "$CC" -std=gnu11 -O1 -w -fPIC -shared -I"$ROOT/algos/hash-31" -DZUD_WIDTH=1280 -DDIGEST_BITS=512 "$@" -o "$T/$name.so" "$T/toy.c" \
        "$ROOT/algos/hash-31/zud1280.c"
}
REFERENCES=()
while read -r hex mode file; do REFERENCES+=("kat_line $hex $mode ${file#*/}"); done \
    < <(grep ' ZC-DMC-1280-512/KAT_2_[12]' "$ROOT/kat/hash-31/kat.sha256")
VECTORS=("kat_line $(grep '^ZC-DMC-1280-512|' "$ROOT/kat/hash-31/vectors.txt" | sha256sum | cut -c1-64) vectors:$(grep -c '^ZC-DMC-1280-512|' "$ROOT/kat/hash-31/vectors.txt") vectors.txt"
    "vectors_file $ROOT/kat/hash-31/vectors.txt")
gate() {   # NAME [SECONDS]
    order kat "$T/$1.so" hash-31 ZC-DMC-1280-512 512 'kat_name ZC-DMC-1280-512' "${REFERENCES[@]}" "${VECTORS[@]}" "seconds ${2:-60}"
    run
}

toy good
gate good
expect good PASS ok '^fact kat_files 2$'

toy wrong -DWRONG_AT=24
gate wrong
expect "one wrong digest" MISMATCH ok '^log differs vectors.txt: line 2 of this instance, vector of 24 bits'
expect "one wrong digest" MISMATCH ok '^log differs KAT_2_12'
expect "one wrong digest" MISMATCH ok '^fact kat_files 1$'
toy wrong23 -DWRONG_AT=8388608
gate wrong23
expect "wrong for long messages alone" MISMATCH ok '^log differs KAT_2_23'

toy returns "-DBEND=if (len == 100) return 3;"
gate returns
expect "return code 3" CRYPTOFAIL ok 'record Msg_Len = 100: CryptHash returned 3'

toy past "-DBEND=digest[64] = 1;"
gate past
expect "one byte past the digest" OVERFLOW ok 'bytes beside the digest'
toy before "-DBEND=digest[-1] = 1;"
gate before
expect "one byte before the digest" OVERFLOW ok 'bytes beside the digest'
toy page "-DBEND=memset(digest, 1, 8192);"
gate page
expect "a page past the digest" OVERFLOW 'fail signal' '^fact signal 11$'

toy crash "-DBEND=if (len == 9) *(volatile int *)8 = 1;"
gate crash
expect "null pointer" CRASH 'fail signal' '^fact signal 11$'
toy illegal "-DBEND=__builtin_trap();"
gate illegal
expect "illegal instruction" CRASH 'fail signal' '^fact signal [45]$'
toy abort "-DBEND=abort();"
gate abort
expect "abort" CRASH 'fail signal' '^fact signal 6$'
toy overflow "-DBEND=return deep((char *)digest);"
gate overflow
expect "stack overflow" CRASH 'fail signal' '^fact signal 11$'
toy bye "-DBEND=if (len == 50) exit(0);"
gate bye
expect "exit(0)" - -
toy bye2 "-DBEND=if (len == 50) _exit(0);"
gate bye2
expect "_exit(0)" - -
toy endless "-DBEND=if (len == 7) for (volatile int i = 0;; i++) ;"
gate endless 1
expect "endless loop" TIMEOUT 'fail time_limit'
toy constructor "-DBEND=;} __attribute__((constructor)) static void c(void) { for (volatile int i = 0;; i++) ; } void d(void) { int rc = 0;" -Wno-return-type
gate constructor 1
expect "endless constructor" TIMEOUT 'fail time_limit'
toy closes "-DBEND=for (int i = 0; i < 100; i++) close(i);"
gate closes
expect "closes every descriptor" - -

# what the cage says is closed is closed: the toy returns 9 when it got through
toy escape '-DBEND=
	if (fork() >= 0) return 9; if (socket(AF_INET, SOCK_STREAM, 0) >= 0) return 9; if (kill(getppid(), 0) == 0) return 9;
	if (execl("/bin/true", "true", (char *)0) == 0) return 9;'
gate escape
if grep -q '^fact seccomp 1$' "$T/res"; then expect "escape by system calls" PASS ok; else echo "no seccomp here: escape not tried"; fi
toy files '-DBEND=if (open("/etc/passwd", O_RDONLY) >= 0 || open("/tmp/x", O_CREAT | O_WRONLY, 0600) >= 0) return 9;'
gate files
if grep -q '^fact landlock [1-9]' "$T/res"; then expect "opening files" PASS ok; else echo "no Landlock here: files not tried"; fi

# references and libraries that are not what they should be
order kat "$T/good.so" hash-31 ZC-DMC-1280-512 512 'kat_name ZC-DMC-1280-512' 'seconds 60'
run
expect "no reference" NOKAT ok '^log generated 75120ae6e96315d0c24ba7aca77af23ed38218d435194f137e6356a5fa171223 strict KAT_2_12'
order kat "$T/good.so" hash-31 ZC-DMC-1280-512 512 'kat_name ZC-DMC-1280-512' "${REFERENCES[0]/KAT_2_12/KAT_9_99}" 'seconds 60'
run
expect "unknown file" LOADFAIL ok
order kat "$T/good.so" hash-31 ZC-DMC-1280-512 512 'kat_name ZC-DMC-1280-512' "${VECTORS[0]/vectors:*/vectors:3 vectors.txt}" "${VECTORS[1]}" 'seconds 60'
run
expect "another number of vectors" LOADFAIL ok
printf 'int other;\n' > "$T/other.c"
"$CC" -shared -fPIC -o "$T/other.so" "$T/other.c"
gate other
expect "no function" LOADFAIL ok 'no function CryptHash'
echo 'not an ELF file' > "$T/text.so"
gate text
expect "no library" LOADFAIL ok
gate good
sed -i 's/^library_sha256 ..../library_sha256 0000/' "$T/order"
run
expect "other digest" - 'fail library' 'ordered was 0000'
sed -i 's/^cpu .*/cpu 4000/' "$T/order"
run
expect "no such CPU" - 'fail pin'
echo "fleetmark-order 1" > "$T/order"
run
expect "cut order" - 'fail order'
[ $STATUS = 2 ] || bad "cut order: exit status $STATUS"

# --- properties beyond the known answers: none for the good one, and one for every kind of oddity --------------------------------
sound() {   # NAME fixed|any
    order sound "$T/$1.so" hash-31 ZC-DMC-1280-512 512 "digest $2" 'seconds 5'
    run
    expect "sound $1" - ok '^fact checks [1-9]'
}
sound good fixed
! grep '^fact property' "$T/res" || bad "the good one has properties"
odd() {   # NAME WORDS, then flags of toy
    local name=$1 words=$2
    shift 2
    toy "$name" "$@"
    sound "$name" fixed
    grep -q "^fact property $words" "$T/res" || bad "$name: no property '$words'"
}
odd odd_message 'unaligned: another digest (message at offset 3' '-DBEND=if (((unsigned long)msg & 7) == 3) digest[0] ^= 1;'
odd behind_message 'flush: memory outside the buffers is touched (an unreachable page behind' '-DBEND=rc += 0 * ((volatile unsigned char *)msg)[(len + 7) / 8];'
odd before_message 'flush: memory outside the buffers is touched (an unreachable page before' '-DBEND=rc += 0 * ((volatile unsigned char *)msg)[-1];'
odd writes_message 'flush: signal 11' '-DBEND=if (len > 0) *(volatile unsigned char *)msg ^= 0;'
odd unused 'unused bits: the digest depends on them' '-DBEND=if (len % 8) digest[0] ^= msg[len / 8] & (0xff >> len % 8);'
odd remembers 'order: the digest depends on the calls before' '-DBEND=static unsigned long long last; if (len < last) digest[0] ^= 1; last = len;'
odd by_process 'process: two processes give other digests' '-DBEND=digest[1] ^= getpid();'
odd odd_digest 'digest: bytes beside the digest are written' '-DBEND=if ((unsigned long)digest & 1) digest[-1] = 0;'
# a sanitizer has a heap of its own, which tells nothing
grep -q __asan_init "$WORKER" || odd keeps 'heap: 1[0-9][0-9] bytes stay allocated' '-DBEND=*(volatile char *)malloc(100) = 1;'
odd any_bits 'length: not refused (504 digest bits' '-DFIRST=if (bits != 512) return 0;'
odd any_length 'length: memory outside the buffers is touched\|length: bytes beside the digest are written' '-DFIRST=if (bits != 512) { memset(digest, 0, 64); return 0; }'
odd hangs 'order: did not end in time' '-DBEND=if (len == 65528) { alarm(0); for (volatile int i = 0; calls > 30; i++) ; }'
odd dies 'heap: signal [45]' '-DBEND=if (calls > 60 && calls < 80 && len == 8192) __builtin_trap();'
sound good any
grep -q '^fact property length: refused with' "$T/res" || bad "a fixed length passes for any"

# --- digests and timing ------------------------------------------------------------------------------------------------------
order digest "$T/good.so" hash-31 ZC-DMC-1280-512 512 'bytes 32' 'bytes 4096'
run
expect digest - ok '^fact t1_ns_4096 [1-9]'
D=$(sed -n 's/^fact digest_sha256_32 //p' "$T/res")
clock() {   # NAME DIGEST
    order time "$T/$1.so" hash-31 ZC-DMC-1280-512 512 'bytes 32' 'calls 300' 'windows 5' 'min_ns 0' 'warm 1' "digest_sha256 $2" \
        'seed 00000000000000ff' 'counter auto'
    run
}
clock good "$D"
expect time - ok '^fact message_offset [0-9]'
[ "$(awk '$1=="window"{n++; c+=$2} END{print n+0, (c>=300)}' "$T/res")" != "0 0" ] || bad "time: no windows"
grep -q '^fact label \(ns\|ref_ticks\|core_cycles\)$' "$T/res" || bad "time: no label"
clock good "$(printf x | sha256sum | cut -c1-64)"
expect "digest of another message" - 'fail gate_mismatch'
toy drifts "-DBEND=if (calls > 100) digest[0] ^= 1;"
clock drifts "$D"
expect "another digest after 100 calls" - 'fail gate_mismatch'
toy idle "-DFIRST=if (calls > 100) return 0;"
clock idle "$D"
expect "does nothing after 100 calls" - 'fail gate_mismatch'
toy scribbles "-DBEND=((unsigned char *)msg)[3] ^= 1; ((unsigned char *)msg)[3] ^= calls > 100;"
clock scribbles "$D"
expect "changes the message" - 'fail canary'
toy behind "-DBEND=digest[70] = 1;"
clock behind "$D"
expect "writes behind the digest" - 'fail canary'
toy refuses "-DBEND=if (calls > 10) return 1;"
clock refuses "$D"
expect "returns 1 later" - 'fail cryptofail'
toy late "-DBEND=if (calls > 100) *(volatile int *)8 = 1;"
clock late "$D"
expect "crashes while timed" - 'fail signal' '^fact signal 11$'
order memory "$T/good.so" hash-31 ZC-DMC-1280-512 512 'bytes 65536'
run
expect "weighing is not the worker's" - 'fail order'

exit $FAILED
