#!/bin/bash
# sudo.sh - tune as a login without rights: sudo gives them, wants a password, wants a terminal, never answers, or is not there.
# Each ends within its time, and what is left to do is printed for the administrator. The settings are files of a made-up /sys,
# the sudo is the real one with rules of its own, all inside a mount namespace.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
[ "$(id -u)" = 0 ] && [ -x /usr/bin/sudo ] || { echo "skipped: needs root and sudo"; exit 77; }
if [ -z "${TUNE_MOUNTS-}" ]; then
	unshare -m true 2>/dev/null || { echo "skipped: needs a mount namespace of its own"; exit 77; }
	TUNE_MOUNTS=yes exec unshare -m bash "$0" "$@"
fi
toy_alone "$@"
toy_start gcc setpriv
USERID=65534     # nobody: exists everywhere
CPU=$(nproc --all); CPU=$((CPU - 1))
S=$T/cpu
mkdir -p "$S/cpu$CPU/cpufreq" "$S/cpu$CPU/topology" "$S/intel_pstate"
cp -r --no-preserve=mode /sys/devices/system/cpu/online /sys/devices/system/cpu/possible /sys/devices/system/cpu/present "$S/"
echo 0 > "$S/intel_pstate/no_turbo"
echo powersave > "$S/cpu$CPU/cpufreq/scaling_governor"
chmod -R go+rX "$S"
mount --bind "$S" /sys/devices/system/cpu || { echo "skipped: no bind mount over /sys"; exit 77; }
printf 'cpu = %s\n' "$CPU" >> "$T/fleet.ini"
chown -R $USERID "$T/home" "$T/root" "$T/fleet.ini"
mkdir -p "$T/fm"; chown $USERID "$T/fm"; chown $USERID "$T"
chown -R 0 "$S"
login() { setpriv --reuid=$USERID --regid=$USERID --clear-groups "$F" "$@" -i "$T/fleet.ini" --root "$T/root"; }
rules() { printf 'root ALL=(ALL:ALL) ALL\n%s\n' "$@" > "$T/sudoers"; chmod 440 "$T/sudoers"; chown 0:0 "$T/sudoers"; }
governor() { cat "$S/cpu$CPU/cpufreq/scaling_governor"; }
# refused SECONDS WORDS: tune writes nothing, says why and what the administrator types, in that time
refused() {
	local begin=$SECONDS
	gives 1 login tune --yes
	[ $((SECONDS - begin)) -le $(($1 + 4)) ] || fail "took $((SECONDS - begin)) s"
	says "toy_1: host-state/privilege: sudo -n: $2"
	says "echo performance | sudo tee /sys/devices/system/cpu/cpu$CPU/cpufreq/scaling_governor"
	[ "$(governor)" = powersave ] || fail "something was written"
}
rules ''
mount --bind "$T/sudoers" /etc/sudoers

step "wants a password"
refused 10 "sudo: a password is required"
gives 1 login tune --yes --json
jq -es 'any(.[]; .event == "failed" and .class == "host-state" and .reason == "privilege")' out >/dev/null || fail "no class and reason in JSON"

step "wants a terminal"
rules 'Defaults requiretty' '#65534 ALL=(root) NOPASSWD: ALL'
refused 10 "sudo: sorry, you must have a tty to run sudo"

step "gives the right: set, and put back"
rules '#65534 ALL=(root) NOPASSWD: /usr/bin/tee'
gives 0 login tune --yes
says "scaling_governor: powersave -> performance: set"
[ "$(governor)" = performance ] || fail "not written"
gives 0 login tune --restore
[ "$(governor)" = powersave ] || fail "not put back"

step "never answers"
printf '#!/bin/sh\nexec sleep 600\n' > "$T/slow"; chmod 755 "$T/slow"
mount --bind "$T/slow" /usr/bin/sudo
refused 10 "did not end within 10 s"
! pgrep -f '^sleep 600$' >/dev/null || fail "the silent sudo was left behind"

step "is not there"
printf '#!/no/such/file\n' > "$T/slow"
refused 10 "/usr/bin/sudo: No such file or directory"
step "passed"
