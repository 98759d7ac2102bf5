#!/bin/bash
# threads.sh: the program under ThreadSanitizer with 32 systems at a time: connected, measured, interrupted, refused; no report
# (T15 of README.md). It builds the program once more, with preset tsan.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/sshd.bash
. "$FLEETMARK_ROOT/tests/flow/sshd.bash"
for tool in cmake ssh-keygen gcc tar jq; do command -v $tool > /dev/null || skip "needs $tool"; done
sshd_find
own_network
step() { printf '%4d s  %s\n' $SECONDS "$*"; }
open_folder
export HOME=$T/user FLEETMARK_HOME=$T/fm
unset FLEETMARK_INVENTORY SSH_AUTH_SOCK
mkdir -p "$HOME"
step "building with ThreadSanitizer"
cmake -S "$FLEETMARK_ROOT" --preset tsan -B "$FLEETMARK_BUILD/tsan" > "$T/cmake" 2>&1 || { tail "$T/cmake"; skip "no ThreadSanitizer here"; }
cmake --build "$FLEETMARK_BUILD/tsan" -j "$(nproc)" --target fleetmark > "$T/make" 2>&1 || { tail "$T/make"; fail "it does not build"; }
F=$FLEETMARK_BUILD/tsan/fleetmark
export TSAN_OPTIONS="log_path=$T/report history_size=4 exitcode=66"
sshd_start
cd "$T"
for i in $(seq 32); do
	printf '%s\n' "[many_$i]" "arch = $(uname -m)" 'address = 127.0.0.1' "port = $PORT" "user = $(id -un)" "identity = $T/ssh/client" \
		"hostkey = $(ssh-keygen -lf ssh/host_key.pub | cut -d' ' -f2)" "workdir = ~/work$i"
done > fleet.ini
clean() { # after each step: nothing was reported
	local r
	for r in report.*; do [ ! -e "$r" ] || { head -n 60 "$r"; fail "a report of ThreadSanitizer"; }; done
	[ "$rc" != 66 ] || fail "ended with the status of a report"
}
interrupted() { # EVENT COMMAND...: Ctrl-C at the first event of that kind
	local event=$1 end=$((SECONDS + 120)); shift
	"$F" -i fleet.ini --root "$FLEETMARK_ROOT" --json "$@" > out 2> err < /dev/null & pid=$!
	until grep -q "\"event\": \"$event\"" out; do [ $SECONDS -lt $end ] || { tail out err; fail "no event $event"; }; sleep 0.02; done
	kill -INT $pid; rc=0; wait $pid || rc=$?; clean
	[ $rc = 130 ] || { tail err; fail "Ctrl-C gave $rc"; }
}
"$F" -i fleet.ini check --reach -l many_1 --root "$FLEETMARK_ROOT" > out 2>&1 || { tail out; fail "the first one is not reached"; }
for i in $(seq 2 32); do mkdir -m 700 "home/work$i"; cp -a home/work1/agent "home/work$i/"; done

step "32 at a time: reached, then checked"
rc=0; "$F" -i fleet.ini check --reach --root "$FLEETMARK_ROOT" --json > out 2> err < /dev/null || rc=$?; clean
[ "$(jq -rs '[.[] | select(.event == "check") | .system] | unique | length' out)" = 32 ] || fail "not all were asked"
rc=0; "$F" -i fleet.ini check -l 'many_?' --root "$FLEETMARK_ROOT" > out 2> err < /dev/null || rc=$?; clean

step "interrupted while 32 connect, and while one of eight measures and the others are refused as the same machine"
interrupted host_check check
rc=0; "$F" -i fleet.ini enrol --yes 'many_[1-8]' --root "$FLEETMARK_ROOT" > out 2> err < /dev/null || rc=$?; clean
[ $rc = 0 ] || { tail err; fail "enrol gave $rc"; }
interrupted connected run threads -l 'many_[1-8]' --profile smoke -c iccs --results results
interrupted cell run threads -l 'many_[1-8]' --profile smoke -c iccs --results results

step "hosts that vanish while they are asked"
"$F" -i fleet.ini check --root "$FLEETMARK_ROOT" > out 2> err < /dev/null & pid=$!
sleep 0.5
sshd_stop
sleep 1
kill -INT $pid 2> /dev/null || true; rc=0; wait $pid || rc=$?; clean
step ok
