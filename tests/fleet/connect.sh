#!/bin/bash
# connect.sh: names and keys: a name whose first address is a black hole, a resolver that takes seconds or never answers, a server with host keys of two
# types, an agent full of keys (T03, T08, T10 of README.md).
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
F=$FLEETMARK_BUILD/fleetmark
[ -x "$F" ] || { echo "skipped: no program $F"; exit 77; }
# shellcheck source=tests/flow/sshd.bash
. "$FLEETMARK_ROOT/tests/flow/sshd.bash"
[ "$(id -u)" = 0 ] || skip "needs root, for addresses and a resolver of its own"
for tool in ssh-keygen ssh-agent gcc tar jq ip; do command -v $tool > /dev/null || skip "needs $tool"; done
sshd_find
own_network
[ "${FLOW_NETWORK-}" = own ] || skip "needs a network namespace of its own"
if [ -z "${FLOW_MOUNTS-}" ]; then FLOW_MOUNTS=own exec unshare -m bash "$0"; fi
step() { printf '%4d s  %s\n' $SECONDS "$*"; }
open_folder
export HOME=$T/user FLEETMARK_HOME=$T/fm
unset FLEETMARK_INVENTORY SSH_AUTH_SOCK
mkdir -p "$HOME" "$FLEETMARK_HOME"
cd "$T"
mkdir ssh; chmod 700 ssh
ssh-keygen -q -t rsa -b 3072 -N '' -f ssh/rsa
SSHD_MORE="HostKey $T/ssh/rsa"
sshd_start
print=$(ssh-keygen -lf ssh/host_key.pub | cut -d' ' -f2)
system() { # NAME [LINE...]
	local name=$1; shift
	printf '%s\n' "[$name]" "arch = $(uname -m)" "port = $PORT" "user = $(id -un)" "$@"
}
trusted=("identity = $T/ssh/client" "hostkey = $print")
reach() { rc=0; timeout 120 "$F" -i "$T/fleet.ini" check --reach --root "$FLEETMARK_ROOT" --json > out 2> err < /dev/null || rc=$?; }
reached() { jq -es --arg s "$1" 'any(.[]; .event == "check" and .system == $s and .text == "reached")' out > /dev/null; }
# the name of the system that was reached, and nothing but that
good() { reach; [ $rc = 0 ] && reached "$1" || { tail -n 5 out err; fail "$2: not reached"; }; }

step "the agent is built once"
system x86_1 'address = 127.0.0.1' "${trusted[@]}" > fleet.ini
good x86_1 "plain address"

step "T08: the store knows only the RSA key of a server that has both: RSA is negotiated"
system x86_1 'address = 127.0.0.1' "identity = $T/ssh/client" > fleet.ini
echo "[127.0.0.1]:$PORT $(cut -d' ' -f1,2 ssh/rsa.pub)" > fm/known_hosts
good x86_1 "T08"
echo "[127.0.0.1]:$PORT $(cut -d' ' -f1,2 ssh/host_key.pub)" > fm/known_hosts
good x86_1 "T08, the other way round"

step "T10: eight keys in the agent, MaxAuthTries 6: the named one first; a wrong one is class auth, after one connection"
eval "$(ssh-agent -s)" > /dev/null
trap 'kill $SSH_AGENT_PID 2>/dev/null || true; sshd_end' EXIT
mkdir keys
for i in 1 2 3 4 5 6 7; do ssh-keygen -q -t ed25519 -N '' -f keys/$i; ssh-add -q keys/$i; done
ssh-add -q ssh/client
cp ssh/client.pub keys/client.pub; echo 'only its public half is here' > keys/client
system x86_1 'address = 127.0.0.1' "identity = $T/keys/client" "hostkey = $print" > fleet.ini
good x86_1 "T10"
before=$(grep -c 'Connection closed\|Disconnected\|Connection reset' ssh/log || true)
system x86_1 'address = 127.0.0.1' "identity = $T/keys/3" "hostkey = $print" > fleet.ini
reach
[ "$(jq -rs '[.[] | select(.event == "error")][0] | .class' out)" = auth ] || { cat out err; fail "T10: a wrong key is not of class auth"; }
sleep 0.5
after=$(grep -c 'Connection closed\|Disconnected\|Connection reset' ssh/log || true)
[ $((after - before)) = 1 ] || { tail ssh/log; fail "T10: $((after - before)) connections with a wrong key"; }
kill "$SSH_AGENT_PID"; unset SSH_AUTH_SOCK SSH_AGENT_PID
trap sshd_end EXIT

step "T03: the first address of a name swallows every packet; a second host is not delayed"
ip link add hole type veth peer name bottom
ip addr add 192.0.2.1/24 dev hole
ip link set hole up
ip link set bottom up
ip neigh add 192.0.2.77 lladdr 02:00:00:00:00:01 nud permanent dev hole
{ cat /etc/hosts; echo '192.0.2.77 two.test'; echo '127.0.0.1 two.test'; } > hosts
printf '%s\n' 'scopev4 ::ffff:192.0.2.0/120 1' 'scopev4 ::ffff:127.0.0.0/104 14' 'scopev4 ::ffff:0.0.0.0/96 14' > gai.conf
printf 'hosts: files dns\n' > nsswitch.conf
printf 'nameserver 127.0.0.1\noptions timeout:30 attempts:1\n' > resolv.conf
touch /etc/gai.conf 2> /dev/null || true
for file in hosts gai.conf nsswitch.conf resolv.conf; do mount --bind $file "$(readlink -f /etc/$file)" || skip "/etc/$file cannot be replaced"; done
[ "$(getent ahostsv4 two.test | awk 'NR == 1 {print $1}')" = 192.0.2.77 ] || skip "the resolver here sorts the dead address behind the live one"
{ system dead 'address = two.test' "${trusted[@]}"; system fast 'address = 127.0.0.1' "${trusted[@]}"; } > fleet.ini
measured() { rc=0; t=$SECONDS; timeout 120 "$F" -i "$T/fleet.ini" check --root "$FLEETMARK_ROOT" --json > out 2> err < /dev/null || rc=$?; t=$((SECONDS - t)); }
apart() { # NAME LEAST MOST: both came, the slow one in that time, the other well before
	local s; s=$(jq -rs --arg s "$1" '([.[] | select(.event == "counter" and .system == $s)][0].mono_ns | tonumber) as $a | ([.[] | select(.event == "counter" and .system == "fast")][0].mono_ns | tonumber) as $b | ($a - $b) / 1e9 | floor' out) || { cat out err; fail "$1 or fast: no counters"; }
	echo "     $1: $s s behind the other host, $t s in all"
	[ "$s" -ge "$2" ] && [ "$t" -le "$3" ] || { cat err; fail "$1: $s s behind the other, $t s in all"; }
}
measured
apart dead 5 40

step "T03: a resolver that answers after 4 s delays only its own host"
cat > slowdns.c << 'END'
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) /* with an argument: no answer at all */
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(53)}, from;
	unsigned char m[600];
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	(void)argv;
	a.sin_addr.s_addr = htonl(0x7f000001);
	if (bind(s, (struct sockaddr *)&a, sizeof a) != 0)
		return 1;
	for (;;) {
		socklen_t len = sizeof from;
		long n = recvfrom(s, m, 512, 0, (struct sockaddr *)&from, &len);

		if (n < 17 || argc > 1 || fork() != 0)
			continue;
		sleep(4);
		m[2] |= 0x80;
		m[8] = m[9] = m[10] = m[11] = 0; /* no EDNS */
		n = 12;
		while (m[n] != 0)
			n += m[n] + 1;
		n += 5;
		if (m[n - 3] == 1) { /* type A: the name again, class IN, 60 s, 127.0.0.1 */
			m[7] = 1;
			memcpy(m + n, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1", 16);
			n += 16;
		}
		sendto(s, m, (size_t)n, 0, (struct sockaddr *)&from, len);
		_exit(0);
	}
}
END
gcc -o slowdns slowdns.c
./slowdns & DNS=$!
trap 'kill $DNS 2>/dev/null || true; sshd_end' EXIT
sleep 0.2
kill -0 $DNS || fail "the slow resolver does not run"
{ system late 'address = late.test' "${trusted[@]}"; system fast 'address = 127.0.0.1' "${trusted[@]}"; } > fleet.ini
measured
apart late 2 40
kill $DNS

step "T03: a resolver that never answers is transport/resolve at the deadline; the other host is reached"
printf 'nameserver 127.0.0.1\noptions timeout:30 attempts:5\n' > resolv.conf   # some 150 s of its own
sleep 5   # its last answers hold the port
./slowdns mute & DNS=$!
sleep 0.2
kill -0 $DNS || fail "the mute resolver does not run"
{ system mute 'address = mute.test' "${trusted[@]}"; system fast 'address = 127.0.0.1' "${trusted[@]}"; } > fleet.ini
measured
[ "$(jq -rs '[.[] | select(.event == "error" and .system == "mute")][0] | .class + "/" + .reason' out)" = transport/resolve ] || { cat out err; fail "a mute resolver is not transport/resolve"; }
jq -es 'any(.[]; .event == "counter" and .system == "fast")' out > /dev/null || { cat out err; fail "the other host was not reached"; }
grep -q 'the resolver does not answer' out || { cat out err; fail "a mute resolver is not told by name"; }
echo "     $t s in all"
[ "$t" -le 50 ] || fail "a mute resolver took $t s"
kill $DNS
step ok
