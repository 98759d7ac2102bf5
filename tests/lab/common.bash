# shellcheck shell=bash disable=SC2317   # its functions are called by the tests
# common.bash - what the lab tests share: a lab of their own, the program inside it, checks that print what they check.
#
# FLEETMARK_BUILD and FLEETMARK_ROOT name the build and the source folder. The lab of test NAME lies in
# $FLEETMARK_BUILD/lab/NAME and is taken down at the end; what a killed test left is taken down by the next start.

: "${FLEETMARK_BUILD:?the build folder}" "${FLEETMARK_ROOT:?the source folder}"
NAME=$(basename "$0" .sh)
BASE=$(realpath -m "$FLEETMARK_BUILD")/lab/$NAME
WORK=$BASE/work
export FLEETMARK_LAB=$BASE/net LAB_CACHE=${LAB_CACHE:-$FLEETMARK_ROOT/.cache/lab}
export FLEETMARK_HOME=$WORK/home
unset LAB_PREFIX LAB_NET FLEETMARK_INVENTORY
# shellcheck disable=SC2034   # used by the tests
INV=$WORK/fleet.ini
FAILED=0
START=$SECONDS

lab() { "$FLEETMARK_ROOT/deploy/lab.sh" "$@"; }
ssh_to() { lab ctl ssh -n -F "$FLEETMARK_LAB/ssh_config" "$@"; }       # hI COMMAND

# The program where the controller lives: no way out, hosts on a bridge. Never a terminal, never an answer to a prompt.
fleetmark() { lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" timeout -k 5 "${LIMIT:-300}" setsid -w "$FLEETMARK_BUILD/fleetmark" "$@" </dev/null; }

say() { printf '%4d s  %s\n' $((SECONDS - START)) "$*"; }
skip() { echo "SKIP: $*"; exit 77; }
check() {   # TEXT COMMAND...: one line; on failure what the command printed
    local text=$1 rc=0; shift
    "$@" >"$WORK/check.out" 2>&1 || rc=$?
    if [ $rc = 0 ]; then say "ok    $text"; return 0; fi
    say "FAIL  $text (exit $rc)"
    tail -n 30 "$WORK/check.out" | cat -v | sed 's/^/          | /'
    FAILED=1
}
gives() {   # STATUS COMMAND...: ends with exactly that status; its output stays in $WORK/out and $WORK/err
    local want=$1 rc=0; shift
    "$@" >"$WORK/out" 2>"$WORK/err" || rc=$?
    [ $rc = "$want" ] && return 0
    echo "exit $rc instead of $want"; tail -n 20 "$WORK/err"
    return 1
}
says() { grep -qE -e "$1" "$WORK/out" "$WORK/err" || { echo "'$1' does not stand in:"; cat "$WORK/out" "$WORK/err"; return 1; }; }
within() {   # SECONDS COMMAND...: becomes true in that time
    local end=$((SECONDS + $1)); shift
    until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done
}

begin() {   # lab | program: skips where there can be no lab (or no program yet); ends what an earlier run left
    [ "$(id -u)" = 0 ] || skip "needs root"
    lab check >/dev/null 2>&1 || skip "no lab on this machine: $(lab check 2>&1 | sed -n 1p)"
    [ "$1" != program ] || [ -x "$FLEETMARK_BUILD/fleetmark" ] || skip "no program $FLEETMARK_BUILD/fleetmark"
    command -v jq >/dev/null || skip "needs jq"
    mkdir -p "$WORK"
    trap finish EXIT
    trap 'exit 130' INT TERM HUP
    lab down
    rm -rf "$WORK"
    mkdir -p "$WORK"
}
finish() {
    local rc=$?
    trap - EXIT
    trap '' INT TERM HUP
    lab down || rc=1
    if [ $rc = 0 ] && [ $FAILED != 0 ]; then rc=1; fi
    case $rc in
    0) say "passed"; rm -rf "$BASE";;
    77) ;;
    *) say "failed (exit $rc); $WORK is kept";;
    esac
    exit $rc
}

small_root() {   # INSTANCES: a copy of the program's data folders with hash-31 cut to its first INSTANCES, in $WORK/root
    local d
    mkdir -p "$WORK/root/algos"
    for d in kat agent protocol; do cp -a "$FLEETMARK_ROOT/$d" "$WORK/root/"; done
    cp -a "$FLEETMARK_ROOT/algos/hash-31" "$FLEETMARK_ROOT/algos/flags.ini" "$WORK/root/algos/"
    awk -v n="$1" '/^\[instance / {k++} k <= n' "$FLEETMARK_ROOT/algos/hash-31/candidate.ini" > "$WORK/root/algos/hash-31/candidate.ini"
    # known answers of instances that are not in the recipe are refused, so those go too
    sed -n 's/^\[instance \(.*\)\]$/\1/p' "$WORK/root/algos/hash-31/candidate.ini" > "$WORK/instances"
    awk 'FNR == NR {want[$0]; next} {split($3, p, "/")} p[1] in want' "$WORK/instances" "$FLEETMARK_ROOT/kat/hash-31/kat.sha256" > "$WORK/root/kat/hash-31/kat.sha256"
    awk -F'|' 'FNR == NR {want[$0]; next} /^#/ || $1 in want' "$WORK/instances" "$FLEETMARK_ROOT/kat/hash-31/vectors.txt" > "$WORK/root/kat/hash-31/vectors.txt"
}
campaign() {   # NAME [OPTION...]: over the inventory, profile smoke, with the small root
    fleetmark -i "$INV" run "$@" --profile smoke --root "$WORK/root" --results "$WORK/results"
}
enrol() { fleetmark -i "$INV" enrol --yes --root "$WORK/root" "$@"; }
cells_fail_with() {   # TREE SYSTEM CLASS: none of its cells is accepted, each says this class
    jq -r --arg s "$2/" '.cells[] | select(.cell | startswith($s)) | "\(.cell) \(.status) \(.class) \(.reason): \(.text)"' "$1/tree.json"
    jq -e --arg s "$2/" --arg c "$3" '[.cells[] | select(.cell | startswith($s))] | length > 0 and all(.status != "accepted" and .class == $c)' "$1/tree.json" >/dev/null
}
accepted() { jq -r --arg s "$2/" '[.cells[] | select((.cell | startswith($s)) and .status == "accepted")] | length' "$1/tree.json"; }    # TREE SYSTEM
planned() { jq -r --arg s "$2/" '[.cells[] | select(.cell | startswith($s))] | length' "$1/tree.json"; }
all_accepted() {   # TREE SYSTEM
    local a p; a=$(accepted "$1" "$2") p=$(planned "$1" "$2")
    echo "$2: $a of $p accepted"
    [ "$p" -gt 0 ] && [ "$a" = "$p" ]
}
bench_processes() {   # I: the processes of the measuring user there, by number, since on qemu hosts all have one name
    local p
    for p in $(lab pids "$1"); do
        [ "$(stat -c %u "/proc/$p" 2>/dev/null)" != 1000 ] || echo "$p $(tr '\0' ' ' < "/proc/$p/cmdline" 2>/dev/null)"
    done
}
no_processes() { [ -z "$(bench_processes "$1")" ] || { bench_processes "$1"; return 1; }; }
