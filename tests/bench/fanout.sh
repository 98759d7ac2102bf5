#!/bin/bash
# fanout.sh: how long one trivial command over many hosts takes: fleetmark check (connects, starts the agent, brings its facts)
# against pdsh, clush and ansible -m raw with `true`, the tools in turn on the same lab hosts, medians of ROUNDS, as ratios.
# And a bare libssh loop (one thread a host: connect, authenticate, run `true`), which is the floor of the task.
#
#   tests/bench/fanout.sh [HOSTS...]     numbers of lab hosts (16 64)       ROUNDS (5)
#
# Root, a lab (deploy/lab.sh check) and a quiet machine. apt-get install pdsh clustershell ansible-core; a tool that is not there is
# named and left out. FLEETMARK_BUILD: a release build (build/release).
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
F=$(realpath "${FLEETMARK_BUILD:-$ROOT/build/release}/fleetmark")
ROUNDS=${ROUNDS:-5}
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-bench-XXXXXX")
export FLEETMARK_LAB=$T/net LAB_CACHE=${LAB_CACHE:-$ROOT/.cache/lab} FLEETMARK_HOME=$T/fm LAB_HOME_MB=64
lab() { "$ROOT/deploy/lab.sh" "$@"; }
trap 'lab down; rm -rf "$T"' EXIT
trap 'exit 130' INT TERM

cat > "$T/bare.c" <<'END'
#include <libssh/libssh.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static const char *key, *user;
static void *one(void *arg)
{
	ssh_session s = ssh_new();
	ssh_key k = NULL;
	ssh_channel c;
	int off = 0, on = 1, ok = 0;
	char b[16];
	ssh_options_set(s, SSH_OPTIONS_HOST, arg);
	ssh_options_set(s, SSH_OPTIONS_USER, user);
	ssh_options_set(s, SSH_OPTIONS_PROCESS_CONFIG, &off);
	ssh_options_set(s, SSH_OPTIONS_NODELAY, &on);
	if (ssh_connect(s) == SSH_OK && ssh_pki_import_privkey_file(key, NULL, NULL, NULL, &k) == SSH_OK &&
	        ssh_userauth_publickey(s, NULL, k) == SSH_AUTH_SUCCESS && (c = ssh_channel_new(s)) != NULL &&
	        ssh_channel_open_session(c) == SSH_OK && ssh_channel_request_exec(c, "true") == SSH_OK) {
		while (ssh_channel_read(c, b, sizeof b, 0) > 0)
			;
		ok = 1;
	}
	ssh_disconnect(s);
	return ok ? arg : NULL;
}
int main(int n, char **v)
{
	pthread_t t[256];
	void *r;
	int good = 0;
	key = v[1], user = v[2];
	for (int i = 3; i < n; i++)
		pthread_create(&t[i - 3], NULL, one, v[i]);
	for (int i = 3; i < n; i++) {
		pthread_join(t[i - 3], &r);
		good += r != NULL;
	}
	printf("%d\n", good);
	return good == n - 3 ? 0 : 1;
}
END
gcc -O2 -o "$T/bare" "$T/bare.c" -lssh -lpthread

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
# timed NAME COMMAND...: appends milliseconds to $T/NAME.ms
timed() {
    local name=$1 t rc=0; shift
    t=$(ms)
    "$@" > "$T/$name.out" 2>&1 || rc=$?
    t=$(($(ms) - t))
    if [ $rc -gt "${OK:-0}" ]; then echo "fanout: $name ended with $rc: $(tail -n 1 "$T/$name.out" | cut -c1-200)" >&2; return 0; fi
    echo $t >> "$T/$name.ms"
}

for hosts in "${@:-16 64}"; do for n in $hosts; do
    lab down
    lab up "$n" > /dev/null
    names=(); list=(); addresses=()
    for ((i = 1; i <= n; i++)); do names+=("x86_$i=$i"); list+=("h$i"); addresses+=("$(sed -n "/^Host h$i\$/,/^Host /s/^ *HostName //p" "$T/net/ssh_config" | head -1)"); done
    lab inventory "${names[@]}" > "$T/fleet.ini"
    key=$(sed -n 's/^identity = //p' "$T/fleet.ini" | head -1)
    lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$F" -i "$T/fleet.ini" check --root "$ROOT" -q > "$T/first.out" 2>&1 || true  # builds the agents
    for h in "${list[@]}"; do echo "$h ansible_ssh_common_args='-F $T/net/ssh_config'"; done > "$T/hosts.ansible"
    joined=$(IFS=,; echo "${list[*]}")
    rm -f "$T"/*.ms
    for ((r = 0; r < ROUNDS; r++)); do
        OK=1 timed fleetmark lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$F" -i "$T/fleet.ini" check --root "$ROOT" --json
        timed bare lab ctl "$T/bare" "$key" bench "${addresses[@]}"
        if command -v pdsh > /dev/null; then timed pdsh lab ctl env PDSH_SSH_ARGS_APPEND="-F $T/net/ssh_config" pdsh -R ssh -f 64 -w "$joined" true; fi
        if command -v clush > /dev/null; then timed clush lab ctl clush -o "-F $T/net/ssh_config" -f 64 -w "$joined" true; fi
        if command -v ansible > /dev/null; then timed ansible lab ctl env ANSIBLE_NOCOLOR=1 ansible -i "$T/hosts.ansible" all -f 64 -m raw -a true; fi
    done
    base=$(median < "$T/fleetmark.ms")
    echo "$n hosts, medians of $ROUNDS:"
    for tool in fleetmark bare pdsh clush ansible; do
        [ -s "$T/$tool.ms" ] || { echo "  $tool: not measured"; continue; }
        m=$(median < "$T/$tool.ms")
        printf '  %-10s %7d ms (%s to %s)   fleetmark / %s = %s\n' "$tool" "${m%.*}" "$(sort -n "$T/$tool.ms" | head -1)" "$(sort -n "$T/$tool.ms" | tail -1)" "$tool" "$(awk -v a="$base" -v b="$m" 'BEGIN {printf "%.2f", a / b}')"
    done
done; done
