#!/bin/bash
# demo.sh - the whole line on one machine: two SSH hosts of two architectures, measured, signed, verified twice, shown.
#
#   sudo deploy/demo.sh
#
# For Debian 12, Debian 13 or Ubuntu 24.04 on x86-64, from a clean checkout. Installs the packages that are missing, builds,
# brings up a lab of two hosts (x86_1: this machine's own architecture; arm_1: AArch64 under QEMU user emulation), runs a
# smoke campaign over every bundled candidate, one host at a time, and ends with one screen that says what came out.
#
# Afterwards: the tree in results/demo, pages of published figures of real machines in results/demo-published, the controller's key and the logs in .demo/, downloads in .cache/lab, the program in
# build/release; all of it ignored by git. Of the lab nothing stays, also after Ctrl-C: no process, mount, binfmt entry or user.
# A tree of an earlier demo moves to .demo/previous.
#
#   LAB_CACHE   where the arm64 userland is kept (.cache/lab)
#   COLUMNS     width of the last screen
# Exit: 0 all good, 1 a step failed (its log is named), 2 this machine cannot run it (by hand: see what is printed), 130 Ctrl-C.
set -euo pipefail

ROOT=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cd "$ROOT"
case ${1:-} in
'') ;;
-h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' deploy/demo.sh; exit 0;;
*) echo "demo: no such option '$1'; --help tells" >&2; exit 2;;
esac

STATE=$ROOT/.demo
TREE=results/demo
PUBLISHED=results/demo-published   # pages of two real machines, from data published elsewhere
PROGRAM=build/release/fleetmark
export FLEETMARK_LAB=$STATE/lab LAB_CACHE=${LAB_CACHE:-$ROOT/.cache/lab}
export FLEETMARK_HOME=$STATE/home

# shellcheck source=packages.sh
. deploy/packages.sh

# ---------------------------------------------------------------- progress: one line a step

T0=$(date +%s%N)
FETCHED=0                       # ns spent on downloads
now_ns() { date +%s%N; }
seconds() { printf '%d.%d' $(($1 / 1000000000)) $(($1 / 100000000 % 10)); }

step() {   # KIND LOG TEXT COMMAND...: KIND is "fetch" or "work"; output goes to the log, shown only when the step fails
    local kind=$1 log=$STATE/log/$2 text=$3 t rc=0; shift 3
    t=$(now_ns)
    [ ! -t 1 ] || printf '     ...  %s' "$text"
    "$@" </dev/null >"$log" 2>&1 || rc=$?
    t=$(($(now_ns) - t))
    [ "$kind" != fetch ] || FETCHED=$((FETCHED + t))
    [ ! -t 1 ] || printf '\r\033[K'
    if [ $rc = 0 ]; then printf '%6s s  %s\n' "$(seconds $t)" "$text"; return 0; fi
    printf '%6s s  FAILED (exit %d): %s\n' "$(seconds $t)" $rc "$text"
    echo "          last lines of ${log#"$ROOT"/}:"
    tail -n 15 "$log" | cat -v | sed 's/^/          /'
    [ $rc = 130 ] || rc=1
    exit $rc
}

watched() {   # LOG TEXT COMMAND...: a long step of the program; on a terminal it shows its own progress
    local log=$STATE/log/$1 text=$2 t rc=0; shift 2
    if [ ! -t 2 ]; then step work "${log##*/}" "$text" "$@"; return; fi
    t=$(now_ns)
    echo "     ...  $text"
    "$@" >"$log" </dev/null || rc=$?
    t=$(($(now_ns) - t))
    printf '%6s s  %s%s\n' "$(seconds $t)" "$([ $rc = 0 ] || echo "FAILED (exit $rc): ")" "$text"
    case $rc in 0) ;; 130) exit 130;; *) exit 1;; esac
}

# ---------------------------------------------------------------- what only people can do

by_hand() {   # REASON
    cat >&2 <<E
demo: $1

By hand, without root:
  1. Have these (Debian's names): ${PKG_BUILD[*]}
     (other distributions: the development files of libssh, libcurl, cJSON, libsodium, inih and libarchive; cmake, gcc)
  2. cmake --preset release && cmake --build --preset release
  3. $PROGRAM try                    measures this machine; no root, no sshd, no lab
     $PROGRAM try USER@HOST          measures one SSH host (deploy/setup-host.sh, run there as root, makes it fit)
  4. $PROGRAM verify results/<name>  and, with stock tools only: deploy/verify-tree.sh results/<name> ~/.config/fleetmark/controller.pub
The two-host demo needs root for its network namespaces and mounts, and apt for an arm64 userland.
E
    exit 2
}

preflight() {
    [ "$(uname -s)" = Linux ] || by_hand "this is $(uname -s); the lab of this demo needs Linux."
    [ "$(uname -m)" = x86_64 ] || by_hand "this is $(uname -m); the demo emulates its second host on x86-64 only."
    [ "$(id -u)" = 0 ] || by_hand "this is not root (sudo deploy/demo.sh does everything)."
    command -v apt-get >/dev/null || by_hand "there is no apt here."
    # what the lab and the inventory take in paths
    case $ROOT in *[!A-Za-z0-9._/+-]*) echo "demo: the path $ROOT has other characters than A-Z a-z 0-9 . _ / + -; put the checkout elsewhere" >&2; exit 2;; esac
    local free; free=$(df -Pm "$ROOT" | awk 'NR == 2 {print $4}')
    [ "$free" -ge 3000 ] || by_hand "only $free MB free here; the packages and the userland take about 2 GB."
}

# ---------------------------------------------------------------- steps

lab() { deploy/lab.sh "$@"; }
fleetmark() { lab ctl env FLEETMARK_HOME="$FLEETMARK_HOME" "$ROOT/$PROGRAM" "$@"; }

tidy() {   # always: end the lab, give the files back to whom the checkout belongs
    local rc=$?
    trap '' INT TERM HUP
    trap - EXIT
    lab down >>"$STATE/log/lab.log" 2>&1 || { echo "demo: the lab did not come down: FLEETMARK_LAB=$FLEETMARK_LAB deploy/lab.sh down" >&2; rc=1; }
    local d
    for d in .demo .cache build results; do [ ! -e "$d" ] || chown -R --no-dereference --reference="$ROOT" "$d"; done
    exit $rc
}

fresh_state() {   # what an earlier demo left: its lab is ended, its tree moved away, its keys (of hosts that are gone) deleted
    mkdir -p "$STATE/log"
    trap tidy EXIT
    trap 'exit 130' INT TERM HUP
    lab down >"$STATE/log/lab.log" 2>&1 || true
    rm -rf "${STATE:?}/home"
    rm -rf "$PUBLISHED"
    if [ -e "$TREE" ]; then
        rm -rf "$STATE/previous"
        mv "$TREE" "$STATE/previous"
        echo "          the tree of an earlier demo is now .demo/previous"
    fi
}

build() { cmake --preset release && cmake --build --preset release; }
lab_deps() { lab check && lab deps arm; }
lab_up() { lab up 1 && lab arm accel 2 && lab inventory x86_1=1 arm_1=2 > "$STATE/inventory.ini"; }
verify_stock() { deploy/verify-tree.sh "$TREE" "$FLEETMARK_HOME/controller.pub"; }
same_number() {   # both verifiers name the tree by the digest of its manifest
    local n; n=$(sha256sum < "$TREE/MANIFEST.sha256" | cut -c1-64)
    grep -F "$n" "$STATE/log/verify.log" && grep -F "$n" "$STATE/log/verify-tree.log"
}
published() { "$PROGRAM" report --data tests/data/published/data -o "$PUBLISHED"; }
flip() { FLEETMARK=$PROGRAM deploy/flip-byte.sh "$TREE" "$FLEETMARK_HOME/controller.pub"; }

steps() {
    local all=("${PKG_BUILD[@]}" "${PKG_VERIFY[@]}" "${PKG_LAB[@]}" "${PKG_LAB_ARM[@]}") missing
    mapfile -t missing < <(pkg_missing "${all[@]}" | sort -u)
    if [ ${#missing[@]} -gt 0 ]; then
        echo "          packages that are missing here: ${missing[*]}"
        step fetch packages.log "${#missing[@]} packages and what they need: downloaded" pkg_preload "${missing[@]}"
        step work packages.log "installed; no service was started" pkg_install "${missing[@]}"
    fi
    step fetch lab-deps.log "what only the two hosts need (sshd, an arm64 userland): downloaded and unpacked" lab_deps
    step work build.log "$PROGRAM built" build
    step work lab.log "two hosts up, host keys pinned in .demo/inventory.ini" lab_up
    step work enrol.log "both enrolled: each made its own signing key" fleetmark -i "$STATE/inventory.ini" enrol --yes x86_1 arm_1
    watched run.log "campaign: push, native builds, known answers, measuring, signed bundles, pages" \
        fleetmark -i "$STATE/inventory.ini" run demo --profile smoke -j 1 --results results
    step work verify.log "tree verified by fleetmark verify" fleetmark verify "$TREE"
    step work verify-tree.log "tree verified by deploy/verify-tree.sh (ssh-keygen, sha256sum, jq)" verify_stock
    step work number.log "both name the same tree number" same_number
    step work published.log "pages of two real machines from published data, beside our own" published
    step work flip.log "one byte flipped in a copy: both refuse it" flip
}

preflight
fresh_state
echo "Fleetmark demo on $(nproc) cores, $(. /etc/os-release && echo "$PRETTY_NAME")"
steps
# shellcheck source=demo_screen.sh
. deploy/demo_screen.sh
screen
