#!/bin/bash
# fanout.sh: how long one trivial command over many hosts takes: fleetmark check --reach (connects, has the agent bring its facts)
# against pdsh, clush and ansible -m raw with `true`, the tools in turn on the same lab hosts, medians of ROUNDS, as ratios; CPU per
# host and memory of the tool and its children. And a bare libssh loop (one thread a host: connect, authenticate, run `true`), which
# is the floor of the task.
#
#   tests/bench/fanout.sh [HOSTS...]     numbers of lab hosts (16 64)       ROUNDS (5)
#   tests/bench/fanout.sh loopback N     N sshds on 127.0.0.1 instead (256)
#
# Root, a lab (deploy/lab.sh check) and a quiet machine. A tool that is not there and cannot be installed is named and left out.
# FLEETMARK_BUILD: a release build (build/release).
set -euo pipefail
ROOT=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
F=$(realpath "${FLEETMARK_BUILD:-$ROOT/build/release}/fleetmark")
ROUNDS=${ROUNDS:-5}
if [ "${1:-}" = loopback ]; then
    export FLEETMARK_BUILD=${FLEETMARK_BUILD:-$ROOT/build/release} FLEETMARK_ROOT=$ROOT
    # shellcheck source=../flow/sshd.bash
    . "$ROOT/tests/flow/sshd.bash"
fi
if [ "${1:-}" = loopback ] && [ -z "${FLOW_NETWORK-}" ]; then      # a network of its own
    sshd_find
    # shellcheck disable=SC2016   # $0 and $@ are those of the inner shell
    FLOW_NETWORK=own exec unshare -n bash -c 'ip link set lo up; exec bash "$0" "$@"' "$0" "$@"
fi
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-bench-XXXXXX")
export FLEETMARK_LAB=$T/net LAB_CACHE=${LAB_CACHE:-$ROOT/.cache/lab} FLEETMARK_HOME=$T/fm LAB_HOME_MB=64
lab() { "$ROOT/deploy/lab.sh" "$@"; }
SSHDS=()
trap 'for p in "${SSHDS[@]}"; do kill "$p" 2> /dev/null || true; done; lab down; rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
# shellcheck source=../../deploy/packages.sh
. "$ROOT/deploy/packages.sh"
pkg_install pdsh clustershell ansible-core 2> /dev/null || true

cat > "$T/bare.c" <<'END'
#include <libssh/libssh.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char *key, *user;
static void *one(void *arg)
{
	ssh_session s = ssh_new();
	ssh_key k = NULL;
	ssh_channel c;
	int off = 0, on = 1, ok = 0;
	char b[16], *colon = strchr(arg, ':');
	unsigned port = colon == NULL ? 22 : (unsigned)atoi(colon + 1);
	if (colon != NULL)
		*colon = 0;
	ssh_options_set(s, SSH_OPTIONS_HOST, arg);
	ssh_options_set(s, SSH_OPTIONS_PORT, &port);
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

# A command's wall and processor time in ms and its peak memory in KiB, with those of its children that it waited for.
cat > "$T/cost.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int n, char **v)
{
	struct timespec a, b;
	struct rusage u;
	int status;
	FILE *f;
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (n < 3)
		return 2;
	if (fork() == 0) {
		execvp(v[2], v + 2);
		_exit(127);
	}
	wait(&status);
	clock_gettime(CLOCK_MONOTONIC, &b);
	getrusage(RUSAGE_CHILDREN, &u);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	f = fopen(v[1], "a");
	if (f != NULL && status <= atoi(getenv("OK") != NULL ? getenv("OK") : "0"))
		fprintf(f, "%ld %ld %ld\n", (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000,
		        (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000, u.ru_maxrss);
	return status;
}
END
gcc -O2 -o "$T/cost" "$T/cost.c"

column() { awk -v k="$2" '{print $k}' "$T/$1.ms" | sort -n; }
median() { awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
timed() {   # NAME COMMAND...: where the controller lives; one line more in $T/NAME.ms
    local name=$1 rc=0; shift
    "${CTL[@]}" env OK="${OK:-0}" "$T/cost" "$T/$name.ms" "$@" > "$T/$name.out" 2>&1 || rc=$?
    [ $rc -le "${OK:-0}" ] || echo "fanout: $name ended with $rc: $(tail -n 1 "$T/$name.out" | cut -c1-200)" >&2
}
ours() { OK=1 timed fleetmark env FLEETMARK_HOME="$FLEETMARK_HOME" "$F" -i "$T/fleet.ini" check --reach --root "$ROOT" --json; }
result() {   # TEXT N
    local tool m base
    base=$(column fleetmark 1 | median)
    echo "$1, medians of $ROUNDS:"
    for tool in fleetmark bare pdsh clush ansible; do
        [ -s "$T/$tool.ms" ] || { echo "  $tool: not measured"; continue; }
        m=$(column $tool 1 | median)
        printf '  %-10s %7d ms (%s to %s), %5.1f ms of CPU a host, %5.1f MB   fleetmark / %s = %s\n' "$tool" "${m%.*}" "$(column $tool 1 | head -1)" \
            "$(column $tool 1 | tail -1)" "$(awk -v a="$(column $tool 2 | median)" -v n="$2" 'BEGIN {print a / n}')" \
            "$(awk -v a="$(column $tool 3 | median)" 'BEGIN {print a / 1024}')" "$tool" "$(awk -v a="$base" -v b="$m" 'BEGIN {printf "%.2f", a / b}')"
    done
}

over_loopback() {   # N: sshds of one account on 127.0.0.1; the host's side is the same for all, so one agent serves them
    local n=$1 i arch
    CTL=(env) PORT=20000 HOME=$T/user
    export HOME
    mkdir -p "$HOME"
    sshd_start
    SSHDS+=("$SSHD_PID")
    arch=$(uname -m) k=$(ssh-keygen -lf "$T/ssh/host_key.pub" | cut -d' ' -f2)
    for ((i = 0; i < n; i++)); do
        printf '%s\n' "[many_$i]" "arch = $arch" 'address = 127.0.0.1' "port = $((20000 + i))" "user = $(id -un)" "identity = $T/ssh/client" "hostkey = $k"
        addresses[i]=127.0.0.1:$((20000 + i))
    done > "$T/fleet.ini"
    "$F" -i "$T/fleet.ini" check --reach -l many_0 --root "$ROOT" > "$T/first.out" 2>&1 || { tail "$T/first.out"; return 1; }
    for ((i = 1; i < n; i++)); do
        sed "s/^Port .*/Port $((20000 + i))/; /^PidFile/d" "$T/ssh/sshd_config" > "$T/ssh/config.$i"
        nsenter -t "$(cat "$T/ssh/pid")" -m -- env LD_LIBRARY_PATH="$(dirname "$(dirname "$(dirname "$SSHD")")")/usr/lib/$arch-linux-gnu" \
            "$SSHD" -D -e -f "$T/ssh/config.$i" 2>> "$T/ssh/log.all" &
        SSHDS+=($!)
    done
    for ((i = 0; i < 600; i++)); do [ "$(ss -Hltn 2>/dev/null | wc -l)" -lt "$n" ] || break; sleep 0.1; done
    for ((r = 0; r < ROUNDS; r++)); do
        ours
        timed bare "$T/bare" "$T/ssh/client" "$(id -un)" "${addresses[@]}"
    done
    result "$n sshds on loopback" "$n"
}
if [ "${1:-}" = loopback ]; then addresses=(); over_loopback "${2:-256}"; exit 0; fi

CTL=(lab ctl)
for hosts in "${@:-16 64}"; do for n in $hosts; do
    lab down
    lab up "$n" > /dev/null
    names=(); list=(); addresses=()
    for ((i = 1; i <= n; i++)); do names+=("x86_$i=$i"); list+=("h$i"); addresses+=("$(sed -n "/^Host h$i\$/,/^Host /s/^ *HostName //p" "$T/net/ssh_config" | head -1)"); done
    lab inventory "${names[@]}" > "$T/fleet.ini"
    key=$(sed -n 's/^identity = //p' "$T/fleet.ini" | head -1)
    lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$F" -i "$T/fleet.ini" check --reach -j 4 --root "$ROOT" -q > "$T/first.out" 2>&1 || true  # builds the agents
    for h in "${list[@]}"; do echo "$h ansible_ssh_common_args='-F $T/net/ssh_config'"; done > "$T/hosts.ansible"
    joined=$(IFS=,; echo "${list[*]}")
    rm -f "$T"/*.ms
    for ((r = 0; r < ROUNDS; r++)); do
        ours
        timed bare "$T/bare" "$key" bench "${addresses[@]}"
        if command -v pdsh > /dev/null; then timed pdsh env PDSH_SSH_ARGS_APPEND="-F $T/net/ssh_config" pdsh -R ssh -f 64 -w "$joined" true; fi
        if command -v clush > /dev/null; then timed clush clush -o "-F $T/net/ssh_config" -f 64 -w "$joined" true; fi
        if command -v ansible > /dev/null; then timed ansible env ANSIBLE_NOCOLOR=1 ansible -i "$T/hosts.ansible" all -f 64 -m raw -a true; fi
    done
    result "$n hosts" "$n"
done; done
