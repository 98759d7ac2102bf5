#!/bin/bash
# tune.sh - check names every condition worst first with its cure; tune lists, asks, changes, puts back, over a real agent. The
# settings are files of a made-up /sys and /proc/sys, bound over the machine's own in a mount namespace.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
if [ -z "${TUNE_MOUNTS-}" ]; then
	unshare -m true 2>/dev/null || { echo "skipped: needs a mount namespace of its own"; exit 77; }
	TUNE_MOUNTS=yes exec unshare -m bash "$0" "$@"
fi
toy_alone "$@"
toy_start gcc

CPU=$(nproc --all); CPU=$((CPU - 1))
S=$T/cpu
mkdir -p "$S/intel_pstate"
cp -r --no-preserve=mode /sys/devices/system/cpu/online /sys/devices/system/cpu/possible /sys/devices/system/cpu/present "$S/"
for n in $(seq 0 $((CPU + 1))); do mkdir -p "$S/cpu$n/cpufreq" "$S/cpu$n/topology"; echo 1 > "$S/cpu$n/online"; done
echo 0 > "$S/intel_pstate/no_turbo"
echo powersave > "$S/cpu$CPU/cpufreq/scaling_governor"
echo 2100000 > "$S/cpu$CPU/cpufreq/base_frequency"
echo 800000 > "$S/cpu$CPU/cpufreq/scaling_min_freq"
echo 4900000 > "$S/cpu$CPU/cpufreq/scaling_max_freq"
echo "$CPU,$((CPU + 1))" > "$S/cpu$CPU/topology/thread_siblings_list"
mount --bind "$S" /sys/devices/system/cpu || { echo "skipped: no bind mount over /sys"; exit 77; }
echo 4 > "$T/paranoid"; echo 1 > "$T/watchdog"
mount --bind "$T/paranoid" /proc/sys/kernel/perf_event_paranoid || { echo "skipped: no bind mount over /proc/sys"; exit 77; }
[ ! -e /proc/sys/kernel/nmi_watchdog ] || mount --bind "$T/watchdog" /proc/sys/kernel/nmi_watchdog
printf 'cpu = %s\n' "$CPU" >> "$T/fleet.ini"
tune() { fm tune -i "$T/fleet.ini" --root "$T/root" "$@"; }
state() { (cd "$S" && grep -r . intel_pstate "cpu$CPU" "cpu$((CPU + 1))"; cat "$T/paranoid" "$T/watchdog") | sort; }
state > before

step "check: worst first, each with value, source and cure"
gives 0 fm check -i "$T/fleet.ini" --root "$T/root"
says "mark    governor: powersave, 800000 to 4900000 kHz, /sys/devices/system/cpu/cpu$CPU/cpufreq/scaling_governor; cure: fleetmark tune"
says "note    perf_event_paranoid: 4"
grep -nE '^  (REFUSE|mark|unknown|note|ok) ' out | awk '{print $2}' | awk '{r["REFUSE"]=1;r["mark"]=2;r["unknown"]=3;r["note"]=4;r["ok"]=5; if (r[$1] < last) exit 1; last=r[$1]}' || fail "not worst first"
gives 1 fm check --strict -i "$T/fleet.ini" --root "$T/root"
gives 0 fm check --json -i "$T/fleet.ini" --root "$T/root"
grep -q '"stage":"governor".*cure: fleetmark tune' out || grep -q 'cure: fleetmark tune' out || fail "no cure in JSON"

step "tune without a word changes nothing, lists all"
gives 2 tune
says "scaling_governor: powersave -> performance: would be set"
says "cpu$((CPU + 1))/online: 1 -> 0: would be set"
says "nothing changed; to change these: fleetmark tune --yes -l toy_1"
gives 0 tune --dry-run
state | cmp - before || fail "listing changed something"

step "tune --yes, again, restore"
gives 0 tune --yes
says "scaling_governor: powersave -> performance: set"
[ "$(cat "$S/cpu$CPU/cpufreq/scaling_min_freq" "$S/cpu$CPU/cpufreq/scaling_max_freq" | tr '\n' ' ')" = "2100000 2100000 " ] || fail "frequencies"
[ "$(cat "$T/paranoid")" = 2 ] || fail "perf_event_paranoid"
gives 0 tune --yes
says "tuned as far as this host can be, nothing to do"
gives 0 fm check -i "$T/fleet.ini" --root "$T/root"
says "ok      tuned: yes"
gives 0 tune --restore
says "scaling_governor: performance -> powersave: restored"
state | cmp - before || fail "restore left something"
gives 0 tune --restore
says "nothing was tuned here"

step "somebody else's change is left alone; after a reboot nothing is written"
gives 0 tune --yes
echo ondemand > "$S/cpu$CPU/cpufreq/scaling_governor"
gives 1 tune --restore
says "was powersave, tuned to performance, is ondemand: left alone"
[ "$(cat "$S/cpu$CPU/cpufreq/scaling_governor")" = ondemand ] || fail "wrote over somebody's value"
gives 0 tune --yes
sed -i 's/^boot .*/boot 3333333333333333333333333333333333333333333333333333333333333333/' "$HOME/.fleetmark/tune.state"
state > tuned
gives 0 tune --restore
says "nothing written: the kernel has set it anew since the reboot"
state | cmp - tuned || fail "wrote after a reboot"
step "passed"
