#!/bin/bash
# flip-byte.sh TREE CONTROLLER.pub [FILE] - shows that a tree with one changed byte is refused.
#
# Copies TREE, changes one byte of FILE in the copy (a path inside the tree; default: the first raw sample), lets both
# verifiers look at the copy and deletes it. TREE itself is only read.
#   FLEETMARK   the program (build/release/fleetmark)
# Exit: 0 both refused and named the file, 1 one of them did not, 2 usage.
set -euo pipefail

HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
PROGRAM=${FLEETMARK:-$HERE/../build/release/fleetmark}
[ $# -ge 2 ] && [ -d "$1" ] && [ -f "$2" ] || { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
TREE=$(realpath "$1")
PUB=$2
FILE=${3:-$(cd "$TREE" && find bundles -path '*/samples/*.ns.txt' -type f | LC_ALL=C sort | sed -n 1p)}
[ -n "$FILE" ] && [ -f "$TREE/$FILE" ] || { echo "flip-byte: no file '$FILE' in $TREE" >&2; exit 2; }

COPY=$(mktemp -d)
trap 'rm -rf "$COPY"' EXIT
cp -a "$TREE/." "$COPY/tree"

# the byte in the middle gets another lowest bit, so a digit stays a digit
at=$(($(stat -c %s "$COPY/tree/$FILE") / 2))
old=$(od -An -tu1 -j $at -N 1 "$COPY/tree/$FILE")
# shellcheck disable=SC2059   # the format is the byte
printf "\\x$(printf %02x $((old ^ 1)))" | dd of="$COPY/tree/$FILE" bs=1 seek=$at conv=notrunc status=none
echo "one byte of a copy changed: $FILE, offset $at, $old became $((old ^ 1))"

refused() {   # NAME WANTED-STATUS COMMAND...: ends with that status and names the file
    local name=$1 want=$2 rc=0 out; shift 2
    out=$("$@" 2>&1) || rc=$?
    echo "$name: exit $rc: $(grep -F -m 1 "${FILE##*/}" <<< "$out" || sed -n 1p <<< "$out")"
    [ "$rc" = "$want" ] && grep -qF "${FILE##*/}" <<< "$out"
}
ok=0
refused "fleetmark verify" 4 "$PROGRAM" verify "$COPY/tree" || ok=1
refused "verify-tree.sh" 1 "$HERE/verify-tree.sh" "$COPY/tree" "$PUB" || ok=1
[ $ok = 0 ] || echo "flip-byte: not refused as it should be" >&2
exit $ok
