# shellcheck shell=bash
# sshd.bash: an sshd of the test's own on 127.0.0.1, for the scripts of this folder, which source it.
#
# As root it runs in a mount namespace of its own with a passwd that has the user sshd wants; nothing of the machine
# changes. Where no sshd is installed its package is fetched (files only) below $FLEETMARK_BUILD. Sets T (a folder that goes
# at the end), PORT, and makes $T/ssh with host_key, client, other, known_hosts. SSHD_MORE: more lines of its configuration.

# As root the whole test runs in a network of its own: no other job of this machine holds the host lock there (it is a
# socket name), and nothing leads out.
own_network() {
	[ "$(id -u)" = 0 ] && [ -z "${FLOW_NETWORK-}" ] && command -v unshare >/dev/null && command -v ip >/dev/null || return 0
	unshare -n true 2>/dev/null || return 0
	# shellcheck disable=SC2016   # $0 is that of the inner shell
	FLOW_NETWORK=own exec unshare -n bash -c 'ip link set lo up; exec bash "$0"' "$0"
}

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# open_folder: T, which goes at the end with everything that runs from it
open_folder() { T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-flow-XXXXXX"); SSHD_PID=; trap sshd_end EXIT; }
# shellcheck disable=SC2317,SC2329   # called by trap
sshd_end() {
	[ -z "$SSHD_PID" ] || kill "$SSHD_PID" 2>/dev/null || true
	for p in $(pgrep -f "$T/home/.fleetmark/agent" 2>/dev/null || true); do kill "$p" 2>/dev/null || true; done
	rm -rf "$T"
}

sshd_find() {
	local cache=$FLEETMARK_BUILD/flow-sshd
	SSHD=$(command -v sshd || true)
	[ -n "$SSHD" ] || [ ! -x /usr/sbin/sshd ] || SSHD=/usr/sbin/sshd
	[ -n "$SSHD" ] || [ ! -x "$cache/usr/sbin/sshd" ] || SSHD=$cache/usr/sbin/sshd
	[ -n "$SSHD" ] && return 0
	command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || skip "no sshd here"
	# shellcheck source=/dev/null
	. "$FLEETMARK_ROOT/deploy/packages.sh"
	pkg_fetch "$cache" openssh-server >/dev/null 2>&1 || skip "no sshd here and none to be had"
	SSHD=$cache/usr/sbin/sshd
}

# sshd_start: writes configuration and keys (once), starts it, waits until it answers
sshd_start() {
	local i libs
	sshd_find
	mkdir -p "$T/ssh" "$T/home"
	chmod 700 "$T/ssh" "$T/home"
	: "${PORT:=$((20000 + RANDOM % 20000))}"
	if [ ! -e "$T/ssh/host_key" ]; then
		ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/host_key"
		ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/client"
		ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/other"
		cp "$T/ssh/client.pub" "$T/ssh/authorized"
		echo "[127.0.0.1]:$PORT $(cut -d' ' -f1,2 "$T/ssh/host_key.pub")" > "$T/ssh/known_hosts"
	fi
	# The account's home is the test's: its own agent, its own work folder.
	printf '%s\n' "Port $PORT" 'ListenAddress 127.0.0.1' "HostKey $T/ssh/host_key" "PidFile $T/ssh/pid" \
		"AuthorizedKeysFile $T/ssh/authorized" 'StrictModes no' 'UsePAM no' 'PasswordAuthentication no' \
		'KbdInteractiveAuthentication no' 'PermitRootLogin yes' 'MaxStartups 50' 'MaxAuthTries 6' \
		"SetEnv HOME=$T/home" > "$T/ssh/sshd_config"
	[ -z "${SSHD_MORE-}" ] || printf '%s\n' "$SSHD_MORE" >> "$T/ssh/sshd_config"
	libs=$(dirname "$(dirname "$(dirname "$SSHD")")")/usr/lib/$(uname -m)-linux-gnu
	if [ "$(id -u)" = 0 ]; then
		{ sed "s|^root:\([^:]*:[^:]*:[^:]*:[^:]*\):.*|root:\1:$T/home:${LOGIN_SHELL:-/bin/sh}|" /etc/passwd | grep -v '^sshd:'
			echo 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin'; } > "$T/ssh/passwd"
		LD_LIBRARY_PATH=$libs unshare -m sh -c "mount --bind '$T/ssh/passwd' /etc/passwd &&
			mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec '$SSHD' -D -e -f '$T/ssh/sshd_config'" \
			2> "$T/ssh/log" &
	else
		LD_LIBRARY_PATH=$libs "$SSHD" -D -e -f "$T/ssh/sshd_config" 2> "$T/ssh/log" &
	fi
	SSHD_PID=$!
	for ((i = 0; i < 100; i++)); do
		ssh-keyscan -T 1 -p "$PORT" 127.0.0.1 2>/dev/null | grep -q ssh-ed25519 && return 0
		kill -0 "$SSHD_PID" 2>/dev/null || { cat "$T/ssh/log"; skip "sshd does not run here"; }
		sleep 0.1
	done
	cat "$T/ssh/log"
	skip "sshd does not answer"
}

sshd_stop() {
	kill "$SSHD_PID" 2>/dev/null || true
	wait "$SSHD_PID" 2>/dev/null || true
	SSHD_PID=
}
