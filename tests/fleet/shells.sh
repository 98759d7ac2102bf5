#!/bin/bash
# shellcheck disable=SC2016   # meant for the far shell
# shells.sh: accounts as they are: start-up files that print or wait, login shells of all sorts, shells that end in every way,
# sshds that drop connections, few open files (T12, T14, T17, T18, T19, T25, T26 of README.md).
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
F=$FLEETMARK_BUILD/fleetmark
[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
# shellcheck source=tests/flow/sshd.bash
. "$FLEETMARK_ROOT/tests/flow/sshd.bash"
[ "$(id -u)" = 0 ] || skip "needs root, for login shells of its own"
sshd_find
own_network
for tool in ssh-keygen gcc tar jq; do command -v $tool > /dev/null || skip "needs $tool"; done
step() { printf '%4d s  %s\n' $SECONDS "$*"; }
gives() { local want=$1 rc=0; shift; "$@" > "$T/out" 2> "$T/err" < /dev/null || rc=$?; [ $rc = "$want" ] || { tail -n 20 "$T/out" "$T/err" >&2; fail "'$*' ended with $rc, not $want"; }; }
says() { grep -qE -e "$1" "$T/out" "$T/err" || { cat "$T/out" "$T/err" >&2; fail "'$1' is not said"; }; }
open_folder
export HOME=$T/user FLEETMARK_HOME=$T/fm
unset FLEETMARK_INVENTORY SSH_AUTH_SOCK
mkdir -p "$HOME"
sshd_start
cd "$T"
arch=$(uname -m)
system() { # NAME
	printf '%s\n' "[$1]" "arch = $arch" 'address = 127.0.0.1' "port = $PORT" "user = $(id -un)" "identity = $T/ssh/client" \
		"hostkey = $(ssh-keygen -lf "$T/ssh/host_key.pub" | cut -d' ' -f2)"
}
system x86_1 > fleet.ini
check() { "$F" -i "$T/fleet.ini" check --root "$FLEETMARK_ROOT" --json; }
reason() { jq -rs '[.[] | select(.class != null and .system == "x86_1") | .class + "/" + .reason][0]' out; }
# what an account must be like: mkshell NAME TEXT makes a login shell of this text
mkshell() { printf '#!/bin/sh\n%b' "$2" > "$T/$1"; chmod 755 "$T/$1"; }
with_shell() { sshd_stop; LOGIN_SHELL=$1; export LOGIN_SHELL; sshd_start; }
reaches() { rc=0; check > out 2> err < /dev/null || rc=$?; [ $rc -le 1 ] && jq -es 'any(.[]; .event == "connected" or .event == "check")' out > /dev/null; }

step "the agent is built once"
check > out 2> err < /dev/null || true
jq -rs 'map(.event) | unique | join(" ")' out

step "T17: start-up files that print text, escape codes, JSON, a false marker, 1 MB"
with_shell /bin/bash
{ printf 'printf "\\033[31mred\\033[0m\\n{\\"event\\": \\"finished\\"}\\n0123456789abcdef0123456789abcdef\\nagent ready\\n"\nhead -c 1000000 /dev/zero | tr "\\\\0" x\necho\n'; } > home/.bashrc
cp home/.bashrc home/.profile
reaches || { tail err; fail "T17: not reached through the noise"; }
if grep -q $'\033' out err; then fail "T17: an escape code of the host came through"; fi

step "T18: a start-up file that takes 3 s is paid once"
echo 'sleep 3; echo x >> "$HOME/paid"' > home/.bashrc
reaches || fail "T18: not reached"
[ "$(wc -l < home/paid)" = 1 ] || fail "T18: the start-up file ran $(wc -l < home/paid) times"
rm -f home/.bashrc home/.profile

for shell in bash dash zsh csh tcsh fish 'busybox sh'; do
	name=${shell%% *}
	path=$(command -v "$name") || { echo "     T19: no $name here"; continue; }
	if [ "$name" = busybox ]; then mkshell bb "exec $path sh \"\$@\"\n"; path=$T/bb; fi
	step "T19: login shell $shell"
	with_shell "$path"
	reaches || { tail err; fail "T19: not reached through $shell"; }
done

step "T19: login shells that are none: class host-state, reason shell, with what was printed"
mkshell nologin 'echo This account is currently not available.; exit 1\n'
with_shell "$T/nologin"
check > out 2> err < /dev/null || true
[ "$(reason)" = host-state/shell ] || { cat err; fail "T19: nologin gives $(reason)"; }
grep -q 'not available' out || fail "T19: what was printed is not told"
for shell in /bin/true /bin/false; do
	with_shell $shell
	check > out 2> err < /dev/null || true
	[ "$(reason)" = host-state/shell ] || { cat err; fail "T19: $shell gives $(reason)"; }
done

step "T25: the shell ends with 255, is killed, or the connection goes: three outcomes, none of them success"
outcome() { jq -rs '[.[] | select(.class != null and .system == "x86_1") | .text][0]' out; }
mkshell e255 'exit 255\n'
mkshell killed 'kill -KILL $$\n'
mkshell dropped 'p=$(ps -o ppid= -p $PPID | tr -d " "); kill -KILL $PPID $p; sleep 5\n'
for how in e255 killed dropped; do
	with_shell "$T/$how"
	rc=0; timeout 60 "$F" -i fleet.ini check --root "$FLEETMARK_ROOT" --json > out 2> err < /dev/null || rc=$?
	[ $rc != 0 ] || fail "T25: $how is taken for success"
	echo "     $how: $(reason): $(outcome | cut -c1-100)"
	outcome > $how.text; reason > $how.reason
done
[ "$(cat e255.reason)" = host-state/shell ] || fail "T25: exit 255 gives $(cat e255.reason)"
[ "$(cut -d/ -f1 < dropped.reason)" = transport ] || fail "T25: a dropped line gives $(cat dropped.reason)"
grep -q 'ended with status 255' e255.text && grep -q 'ended by signal KILL' killed.text || fail "T25: status or signal is not told"
if cmp -s e255.text killed.text || cmp -s e255.text dropped.text; then fail "T25: outcomes cannot be told apart"; fi
with_shell /bin/sh

step "T14: 100 systems with 64 open files: fewer at a time, said once, all asked"
for i in $(seq 100); do system "many_$i"; done > fleet.ini
(ulimit -n 64; check > out 2> err < /dev/null) || true
[ "$(cat out err | grep -c 'hosts at a time instead of 100')" -le 2 ] && grep -q 'hosts at a time instead of 100' out err || { tail err; fail "T14: nothing is said of the limit"; }
[ "$(jq -rs '[.[].system | strings] | unique | length' out)" = 100 ] || fail "T14: not every system was asked"

step "T12: 40 systems behind one sshd with MaxStartups 3:50:6: a drop is no verdict"
for i in $(seq 40); do system "many_$i"; done > fleet.ini
sshd_stop
sed 's/^MaxStartups .*/MaxStartups 3:50:6/' ssh/sshd_config > ssh/few
{ sed -n '/^sshd_start() {/,/^}/p' "$FLEETMARK_ROOT/tests/flow/sshd.bash" | sed "s/'MaxStartups 50'/'MaxStartups 3:50:6'/; s/^sshd_start/sshd_start_few/"; } > few.bash
# shellcheck source=/dev/null
. ./few.bash
sshd_start_few
rc=0; timeout 300 "$F" -i fleet.ini check --root "$FLEETMARK_ROOT" --json > out 2> err < /dev/null || rc=$?
reached=$(jq -rs '[.[] | select(.event == "system" or .event == "check" or .event == "connected") | .system] | unique | length' out)
failed=$(jq -rs '[.[] | select(.event == "error" or .event == "host_failed") | .system] | unique | length' out)
echo "     reached $reached; $failed refused as the same machine, exit $rc"
[ "$reached" = 40 ] || { tail err; fail "T12: only $reached of 40 were reached"; }
step ok
