#!/bin/bash
# sshd_loopback.sh: one real sshd on 127.0.0.1: host key decisions, authentication, enrolment, a campaign interrupted and killed
# and finished, two names for one machine, redo, a host that went away.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
F=$FLEETMARK_BUILD/fleetmark
[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
for tool in jq gcc ssh-keygen ssh-keyscan unshare; do command -v $tool >/dev/null || { echo "skipped: needs $tool"; exit 77; }; done
# shellcheck source=tests/flow/sshd.bash
. "$FLEETMARK_ROOT/tests/flow/sshd.bash"
sshd_find
own_network
open_folder
unset FLEETMARK_INVENTORY SSH_AUTH_SOCK
sshd_start
export FLEETMARK_HOME=$T/fm
cd "$T"
me=$(id -un)
arch=$(uname -m)
print=$(ssh-keygen -lf "$T/ssh/host_key.pub" | cut -d' ' -f2)
key=$(cut -d' ' -f1,2 "$T/ssh/host_key.pub")

FM=("$F" -i "$T/fleet.ini" --root "$FLEETMARK_ROOT")
fm() { "${FM[@]}" "$@"; }
# fleet [LINE...]: an inventory of x86_1 (whatever the machine is) with more lines
fleet() {
	printf '%s\n' '[host_1]' "arch = $arch" 'address = 127.0.0.1' "port = $PORT" "user = $me" > "$T/fleet.ini"
	printf '%s\n' "$@" >> "$T/fleet.ini"
}
# gives STATUS COMMAND...: ends with that status; output in $T/out and $T/err
gives() {
	local want=$1 rc=0; shift
	"$@" > "$T/out" 2> "$T/err" || rc=$?
	[ $rc = "$want" ] || { tail -n 30 "$T/out" "$T/err" >&2; fail "'$*' ended with $rc, not $want"; }
}
says() { grep -qF -e "$1" "$T/out" "$T/err" || { cat "$T/out" "$T/err" >&2; fail "'$1' is not said"; }; }
# refused REASON: check fails, and the event says why
refused() {
	gives 3 fm check --json
	jq -e -s --arg r "$1" 'any(.[]; .event == "error" and .class + "/" + .reason == $r)' "$T/out" >/dev/null ||
		{ cat "$T/out" >&2; fail "not $1"; }
}
step() { printf '%4d s  %s\n' $SECONDS "$*"; }

step "host key unknown, then vouched for"
fleet "identity = $T/ssh/client"
gives 2 fm enrol host_1
says "offers host key $print"
says "enrol --fingerprint $print host_1"
gives 3 fm enrol --fingerprint "SHA256:$(printf '%043d' 0)" --yes host_1
says "not SHA256:000"
gives 0 fm enrol --fingerprint "$print" --yes host_1
says "host_1: enrolled, key SHA256:"
grep -qxF "[127.0.0.1]:$PORT $key" "$FLEETMARK_HOME/known_hosts" || fail "known_hosts"
gives 0 fm enrol --yes host_1
says "enrolled already"

step "the twelve shapes of known_hosts"
store=$FLEETMARK_HOME/known_hosts
other=$(cut -d' ' -f1,2 "$T/ssh/other.pub")
ssh-keygen -q -t rsa -b 2048 -N '' -f "$T/ssh/rsa"
rsa=$(cut -d' ' -f1,2 "$T/ssh/rsa.pub")
good() { gives 0 fm check; }
echo "[127.0.0.1]:$PORT $key" > "$store"; good                                          # 1
ssh-keygen -q -H -f "$store" >/dev/null 2>&1; rm -f "$store.old"; grep -q '^|1|' "$store" || fail "not hashed"; good   # 2
echo "[127.0.0.*]:$PORT $key" > "$store"; good                                          # 3
printf '%s\n' "[127.0.0.1]:$PORT $other" "[127.0.0.1]:$PORT $key" > "$store"; good      # 4
printf '%s\n' "what is this" "[127.0.0.1]:$PORT $key" > "$store"; good; says "line 1 cannot be read"   # 5
echo "127.0.0.1 $key" > "$store"; refused hostkey/unknown; says "without a port"        # 6
printf '%s\r\n' "[127.0.0.1]:$PORT $key" > "$store"; refused hostkey/unknown; says "carriage return"   # 7
: > "$store"; refused hostkey/unknown; says "is empty"                                  # 8
rm "$store"; refused hostkey/unknown; says "there is no "                               # 9
echo "@revoked * $key" > "$store"; refused hostkey/revoked                              # 10
printf '%s\n' "[127.0.0.1]:$PORT $key" "@revoked elsewhere $key" > "$store"; refused hostkey/revoked
echo "[127.0.0.1]:$PORT $rsa" > "$store"; refused hostkey/other_type   # 11
echo "[127.0.0.1]:$PORT $other" > "$store"; refused hostkey/changed                     # 12
says "$(ssh-keygen -lf "$T/ssh/other.pub" | cut -d' ' -f2)"
fleet "identity = $T/ssh/client" "hostkey = $print"; good                               # a pin decides alone
fleet "identity = $T/ssh/client" "hostkey = SHA256:$(printf '%043d' 0)"
echo "[127.0.0.1]:$PORT $key" > "$store"; refused hostkey/pin

step "authentication"
fleet "identity = $T/ssh/other" "hostkey = $print"; refused auth/refused
fleet "identity = $T/ssh/nothere" "hostkey = $print"; gives 3 fm check; says "cannot be read"
eval "$(ssh-agent -s)" >/dev/null
ssh-add -q "$T/ssh/client"
mkdir "$T/pub"; cp "$T/ssh/client.pub" "$T/pub/k.pub"; printf 'no key\n' > "$T/pub/k"
fleet "identity = $T/pub/k" "hostkey = $print"; good; says "key of the ssh-agent"
for i in 1 2 3 4 5 6 7 8; do ssh-keygen -q -t ed25519 -N '' -f "$T/pub/more$i"; ssh-add -q "$T/pub/more$i"; done
good; says "key of the ssh-agent"   # nine keys in the agent, MaxAuthTries 6: only the one named is offered
kill "$SSH_AGENT_PID"; unset SSH_AUTH_SOCK SSH_AGENT_PID

step "the user's ssh_config: alias, host key alias, jump host, proxy command"
mkdir "$T/bin"
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$T/ssh/config" > "$T/bin/ssh"
chmod 755 "$T/bin/ssh"
config() {   # [LINE...]: lines for the host `target`
	printf '%s\n' 'Host gate' 'HostName 127.0.0.1' "Port $PORT" "User $me" "IdentityFile $T/ssh/client" 'Host target' \
		'HostName 127.0.0.1' "Port $PORT" "User $me" "IdentityFile $T/ssh/client" "$@" > "$T/ssh/config"
}
printf '%s\n' '[host_1]' "arch = $arch" 'address = target' > "$T/fleet.ini"
config; PATH=$T/bin:$PATH good
config 'HostKeyAlias box'; PATH=$T/bin:$PATH refused hostkey/unknown
echo "box $key" >> "$store"; PATH=$T/bin:$PATH good
config 'ProxyJump gate'; PATH=$T/bin:$PATH good; says "through gate"
config "ProxyCommand ssh -o UserKnownHostsFile=$store -W %h:%p gate"; PATH=$T/bin:$PATH good
rm "$store"; config "UserKnownHostsFile $T/ssh/known_hosts"   # what the user trusts already, enrol takes over
PATH=$T/bin:$PATH refused hostkey/unknown
PATH=$T/bin:$PATH gives 0 fm enrol --yes host_1; says "is now in"; PATH=$T/bin:$PATH good
config 'ProxyCommand exit 1'; PATH=$T/bin:$PATH refused transport/dropped
config 'NoSuchKeyword yes'; PATH=$T/bin:$PATH gives 3 fm check; says "nosuchkeyword"
for p in $(pgrep -f "W 127.0.0.1:$PORT"); do fail "a proxy is left: $p"; done

step "the architecture must be the one of the programs there"
fleet "identity = $T/ssh/client" "hostkey = $print"
sed -i "s/^arch = .*/arch = $([ "$arch" = x86_64 ] && echo aarch64 || echo x86_64)/" fleet.ini; refused host-state/arch

step "a campaign: interrupted twice, killed once, finished"
fleet "identity = $T/ssh/client" "hostkey = $print"
ours() { pgrep -f "$T/home/.fleetmark/agent/.*job" >/dev/null; }
for delay in 2 7; do
	"${FM[@]}" run --profile smoke -c hash-31,iccs > "$T/out" 2> "$T/err" & pid=$!
	sleep $delay
	kill -INT $pid
	began=$(date +%s%N); rc=0; wait $pid || rc=$?
	[ $rc = 130 ] || { cat "$T/err" >&2; fail "Ctrl-C gave $rc"; }
	[ $(($(date +%s%N) - began)) -lt 5000000000 ] || fail "Ctrl-C took more than 5 s"
	! ours || fail "a job is left on the host"
done
"${FM[@]}" run --profile smoke > "$T/out" 2> "$T/err" & pid=$!
for ((i = 0; i < 100; i++)); do ours && break; sleep 0.1; done
sleep 1
kill -KILL $pid; wait $pid 2>/dev/null || true
ours || fail "the job did not outlive its controller"
gives 0 fm run --profile smoke
says "adopted"
says "136 of 136 cells accepted"
[ "$(grep -c ' issued ' results/fleet-smoke/incoming/journal)" = 2 ] || fail "more than one dispatch each"
gives 0 fm verify results/fleet-smoke

step "a finished one is followed by .2; redo repeats one candidate"
gives 0 fm run --profile smoke -c iccs
[ -s results/fleet-smoke.2/index.html ] || fail "no .2"
gives 0 fm redo measure -c iccs fleet-smoke.2
says "done again by the next run"
gives 0 fm run fleet-smoke.2 --profile smoke
says "resuming"
[ -d results/fleet-smoke.2/incoming/superseded/host_1-iccs.1 ] || fail "the old bundle is gone"
gives 0 fm verify results/fleet-smoke.2
gives 0 fm status fleet-smoke.2
says "1 of 1 bundles accepted, sealed"

step "edited sources do not go into a campaign that was planned"
cp -r "$FLEETMARK_ROOT" "$T/root" 2>/dev/null || true
gives 0 fm redo measure -c iccs fleet-smoke.2
echo '/* edited */' >> "$T/root/algos/iccs/sm3.c"
gives 2 "$F" -i "$T/fleet.ini" --root "$T/root" run fleet-smoke.2 --profile smoke
says "iccs"

step "two names for one machine: the second is refused, the first is measured"
printf '%s\n' '[host_2]' "arch = $arch" 'address = localhost' "port = $PORT" "user = $me" "identity = $T/ssh/client" \
	"hostkey = $print" 'workdir = ~/.second' >> fleet.ini
gives 0 fm enrol --yes host_2
gives 1 fm run twins --profile smoke -c iccs -j 1
says "same boot-id"
says "host_1: 88 of 88 cells accepted"
gives 0 fm status twins
says "host-state/same_machine"

step "a host that went away costs only itself"
sshd_stop
"${FM[@]}" run away --profile smoke -c iccs -l host_1 > "$T/out" 2> "$T/err" & pid=$!
sleep 4
kill -INT $pid; rc=0; wait $pid || rc=$?
[ $rc = 130 ] || fail "interrupting the back-off gave $rc"
says "Connection refused; again in"
step ok
