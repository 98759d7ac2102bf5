#!/bin/bash
# agent_build.sh - agent/build.sh: builds all four files, names what is missing, leaves nothing behind when it fails.
set -euo pipefail
ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
fail() { echo "FAILED: $*"; cat "$T/log"; exit 1; }

# build WANTED-STATUS SOURCE-FOLDER [VARIABLE=VALUE...]: output in $T/log, the folder in $T/out
build() {
    local want=$1 source=$2 status=0
    shift 2
    rm -rf "$T/out"
    mkdir "$T/out"
    env "$@" sh "$source/agent/build.sh" "$T/out" > "$T/log" 2>&1 || status=$?
    [ $status = "$want" ] || fail "exit status $status instead of $want"
    [ "$want" = 0 ] || [ -z "$(ls -A "$T/out")" ] || fail "left behind: $(ls -A "$T/out")"
}

# a folder as a host gets it: only agent/ and protocol/
mkdir "$T/src"
(cd "$ROOT" && find agent protocol \( -name '*.c' -o -name '*.h' -o -name '*.sh' \) -print0 | tar -c --null -T -) | tar -x -C "$T/src"

build 0 "$T/src"
(cd "$T/out" && echo *) > "$T/made"
[ "$(cat "$T/made")" = "fleetmark-agent fleetmark-frame.so fleetmark-weigh fleetmark-worker" ] || fail "made: $(cat "$T/made")"
[ ! -s "$T/log" ] || fail "it was not silent"
[ "$("$T/out/fleetmark-worker" --version)" = "fleetmark-worker $(sed -n 's/^project(fleetmark VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt")" ] \
    || fail "the version is not that of CMakeLists.txt"
# made-up machines are for tests: what hosts run holds no word of them
grep -q 'chain_permille' "$ROOT/protocol/world.c" || fail "the words looked for are not those of the source"
for word in chain_permille fleetmark-world running_permille world_turn test_world -- --world; do
    [ "$word" = -- ] || ! grep -qaF -e "$word" "$T"/out/fleetmark-* || fail "'$word' is in a program for hosts"
done
"$T/out/fleetmark-agent" --version > "$T/log" || fail "the agent does not start"

# no compiler; one that builds nothing; no libsodium
mkdir "$T/bin"
for tool in sh dirname mkdir rm tail cat env grep basename tr nproc mv apt-get; do
    path=$(command -v $tool) && ln -s "$path" "$T/bin/$tool"
done
build 2 "$T/src" "PATH=$T/bin"
grep -q 'no C compiler' "$T/log" || fail "no word of the compiler"
grep -q 'install it with: apt-get install gcc libc6-dev' "$T/log" || [ ! -e "$T/bin/apt-get" ] || fail "no install line"
build 2 "$T/src" CC=false
grep -q 'cannot build a program' "$T/log" || fail "no word of a compiler that does not work"
# shellcheck disable=SC2016   # the new script's own variables
printf '#!/bin/sh\nfor a; do case $a in *.c) ! grep -q sodium.h "$a" || { echo "sodium.h: No such file" >&2; exit 1; };; esac; done\nexec gcc "$@"\n' > "$T/bin/nosodium"
chmod +x "$T/bin/nosodium"
build 2 "$T/src" "CC=$T/bin/nosodium"
grep -q "libsodium's development files are missing" "$T/log" || fail "no word of libsodium"
build 2 "$T/src" CC="$T/no such compiler"

# a source that does not compile, one that does not link; of one file each, since only the script is tested here
mkdir -p "$T/small/agent/worker" "$T/small/agent/weigh" "$T/small/protocol"
cp "$T/src/agent/build.sh" "$T/small/agent/"
cp "$T/src/agent/worker/frame_so.c" "$T/small/agent/worker/"
echo 'int main(void) { return 0; }' | tee "$T/small/agent/main.c" "$T/small/agent/weigh/main.c" > "$T/small/agent/worker/main.c"
echo 'extern int other;' > "$T/small/agent/worker/other.c"
echo 'extern int nothing;' > "$T/small/protocol/nothing.c"
build 0 "$T/small"
echo 'this is not C' > "$T/small/protocol/nothing.c"
build 1 "$T/small"
grep -q 'protocol/nothing.c' "$T/log" || fail "the file is not named"
[ "$(wc -l < "$T/log")" -le 6 ] || fail "too many lines"
echo 'extern int nothing;' > "$T/small/protocol/nothing.c"
echo 'int other(void); int main(void) { return other(); }' > "$T/small/agent/worker/main.c"
build 1 "$T/small"
grep -q 'linking fleetmark-worker failed' "$T/log" || fail "the link error is not named"

# no folder
sh "$T/src/agent/build.sh" out > "$T/log" 2>&1 && fail "a relative folder was taken"
sh "$T/src/agent/build.sh" "$T/none" > "$T/log" 2>&1 && fail "a missing folder was taken"
exit 0
