# shellcheck shell=bash
# toy.bash - for flow tests that need a real campaign but no real candidate: one tiny hash, measured on this machine.
#
# toy_start sets T (scratch folder, gone at exit), HOME, FLEETMARK_HOME, $T/root (agent, protocol, flags and the candidate
# `toy`) and $T/fleet.ini with one local system `toy_1`; fm runs the program with them.

# A host does one job at a time, and its lock lives in the network namespace: with one of its own a test waits for nobody.
toy_alone() {
	local how
	[ -z "${TOY_ALONE-}" ] || return 0
	for how in -n -rn; do
		if unshare $how true 2>/dev/null; then TOY_ALONE=yes exec unshare $how bash "$0" "$@"; fi
	done
}

toy_start() { # [TOOL...]
	F=$FLEETMARK_BUILD/fleetmark
	[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
	local tool
	for tool in gcc tar jq sha256sum ssh-keygen "$@"; do command -v "$tool" >/dev/null || { echo "skipped: needs $tool"; exit 77; }; done
	T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-flow-XXXXXX")
	trap 'toy_end' EXIT
	if [ -n "${TOY_ALONE-}" ] && command -v ip >/dev/null; then ip link set lo up; fi
	export HOME=$T/home FLEETMARK_HOME=$T/fm
	unset FLEETMARK_INVENTORY SSH_AUTH_SOCK
	mkdir -p "$HOME" "$T/root/algos/toy" "$T/root/kat"
	cp -r "$FLEETMARK_ROOT/agent" "$FLEETMARK_ROOT/protocol" "$T/root/"
	cp "$FLEETMARK_ROOT/algos/flags.ini" "$T/root/algos/"
	cp "$FLEETMARK_ROOT"/tests/data/toy/{toy.c,CryptHash_AlgorithmInstance.h} "$T/root/algos/toy/"
	printf '%s\n' '[candidate]' 'id = toy' 'name = Toy' 'category = hash' 'origin = own' '[instance Toy-256]' 'digest_bits = 256' \
		'digest = fixed' 'header = CryptHash_AlgorithmInstance.h' 'sources = toy.c' 'defines = TOY_START=1' > "$T/root/algos/toy/candidate.ini"
	printf '[toy_1]\narch = %s\ntransport = local\n' "$(uname -m)" > "$T/fleet.ini"
	cd "$T" || exit 1
}

# Ends what is left of this test's agents: those below its own folder, one by one.
toy_end() {
	local pid exe
	for pid in /proc/[0-9]*; do
		exe=$(readlink "$pid/exe" 2>/dev/null) || continue
		case $exe in "$T"/*) kill -KILL "${pid#/proc/}" 2>/dev/null || true ;; esac
	done
	[ -n "${KEEP-}" ] || rm -rf "$T"
}

fm() { "$F" "$@"; }
run() { fm run -i "$T/fleet.ini" --root "$T/root" --profile smoke "$@"; }
fail() { echo "FAILED: $*" >&2; tail -n 30 "$T/out" "$T/err" >&2 2>/dev/null; exit 1; }
step() { printf '%4d s  %s\n' $SECONDS "$*"; }
# gives STATUS COMMAND...: ends with that status; output in $T/out and $T/err
gives() {
	local want=$1 rc=0; shift
	"$@" > "$T/out" 2> "$T/err" < /dev/null || rc=$?
	[ $rc = "$want" ] || fail "'$*' ended with $rc, not $want"
}
says() { grep -qF -e "$1" "$T/out" "$T/err" || fail "'$1' is not said"; }
