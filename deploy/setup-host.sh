#!/bin/sh
# setup-host.sh - makes a machine fit to be measured: sshd, tar, gcc and libsodium's development files. Run it there, as root.
#
#   setup-host.sh [--bench-run] [--dry-run]
#
#   --bench-run   also the user bench-run, without login or home, for running measured code apart from the agent's key
#   --dry-run     says what it would do
#
# Looks first and installs only what is missing, so it can be run again. Knows apt, dnf, zypper and apk. Changes nothing
# else: no governor, no turbo, no firewall, no account but bench-run. Needs nothing of the project: one file, any sh.
# Exit: 0 the machine is fit, 1 it is not (with the reason), 2 usage.
set -eu

dry='' bench_run=''
for arg; do
    case $arg in
    --bench-run) bench_run=1;;
    --dry-run) dry=1;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; exit 0;;
    *) echo "setup-host: unknown option '$arg'; --help tells" >&2; exit 2;;
    esac
done

say() { echo "setup-host: $*"; }
die() { echo "setup-host: $*" >&2; exit 1; }
run() {   # COMMAND...: its output only when it fails
    if [ -n "$dry" ]; then say "would run: $*"; return 0; fi
    say "running: $*"
    out=$("$@" 2>&1) || { printf '%s\n' "$out" >&2; die "that failed"; }
}
have() { command -v "$1" >/dev/null 2>&1; }

PATH=$PATH:/usr/sbin:/sbin
[ -n "$dry" ] || [ "$(id -u)" = 0 ] || die "needs root (sudo $0 $*)"

have_sshd() { have sshd; }
have_sodium() { printf '#include <sodium.h>\nint main(void) { return sodium_init() < 0; }\n' | gcc -x c -o /dev/null - -lsodium 2>/dev/null; }
have_libc() { printf '#include <stdio.h>\nint main(void) { return 0; }\n' | gcc -x c -o /dev/null - 2>/dev/null; }

missing() {   # the words of what is not there
    have_sshd || echo sshd
    have tar || echo tar
    if have gcc && have_libc; then have_sodium || echo libsodium; else echo gcc; have_sodium || echo libsodium; fi
}

packages() {   # MANAGER WORD...: what that distribution calls it
    manager=$1; shift
    for word; do
        case $manager:$word in
        *:tar) echo tar;;
        zypper:sshd | apk:sshd) echo openssh;;
        *:sshd) echo openssh-server;;
        apt-get:gcc) echo gcc libc6-dev;;
        apk:gcc) echo gcc musl-dev;;
        *:gcc) echo gcc glibc-devel;;
        apt-get:libsodium | apk:libsodium) echo libsodium-dev;;
        *:libsodium) echo libsodium-devel;;
        esac
    done
}

install() {   # WORD...
    for manager in apt-get dnf zypper apk none; do have $manager && break; done
    names=$(packages "$manager" "$@" | tr '\n' ' ')
    # shellcheck disable=SC2086   # several names
    case $manager in
    apt-get) export DEBIAN_FRONTEND=noninteractive
             run apt-get -qq update; run apt-get -qq -y install --no-install-recommends $names;;
    dnf)     # the rebuilds of RHEL keep libsodium in EPEL
             case $names in *libsodium*) dnf -q list libsodium-devel >/dev/null 2>&1 || run dnf -q -y install epel-release;; esac
             run dnf -q -y install $names;;
    zypper)  run zypper -q --non-interactive install --no-recommends $names;;
    apk)     run apk add -q $names;;
    none)    die "missing: $*; no apt, dnf, zypper or apk here: install them by hand and run this again";;
    esac
}

start_sshd() {   # some distributions install it switched off
    if [ -d /run/systemd/system ]; then
        for unit in ssh.service sshd.service; do
            systemctl cat $unit >/dev/null 2>&1 || continue
            if systemctl -q is-active $unit || systemctl -q is-active "${unit%.service}.socket"; then say "sshd runs"; else run systemctl enable --now $unit; fi
            return 0
        done
    elif have rc-service; then
        if rc-service -q sshd status >/dev/null 2>&1; then say "sshd runs"; else run rc-update add sshd default; run rc-service sshd start; fi
    else
        say "no systemd and no OpenRC here: see to it yourself that sshd runs"
    fi
}

add_bench_run() {
    if id bench-run >/dev/null 2>&1; then say "user bench-run: there"; return 0; fi
    shell=/usr/sbin/nologin; [ -x $shell ] || shell=/sbin/nologin
    if have useradd; then run useradd --system --no-create-home --home-dir /nonexistent --shell $shell bench-run
    else run adduser -S -D -H -h /nonexistent -s $shell bench-run; fi
}

fit() {   # what the project asks of a host, after all that
    ok=0
    v=$(gcc -dumpfullversion 2>/dev/null || echo 0)
    case $v in
    [0-7].* | 8.[0-4]* | 0) say "NOT FIT: gcc $v; 8.5 or newer is needed"; ok=1;;
    *) say "gcc $v";;
    esac
    have_sodium || { say "NOT FIT: a program with <sodium.h> and -lsodium does not build"; ok=1; }
    have_sshd || { say "NOT FIT: no sshd"; ok=1; }
    have tar || { say "NOT FIT: no tar"; ok=1; }
    say "$(uname -m), Linux $(uname -r), $( (getconf GNU_LIBC_VERSION || echo 'a libc that is not glibc') 2>/dev/null)"
    return $ok
}

what=$(missing | tr '\n' ' ')
if [ -z "$what" ]; then say "sshd, tar, gcc and libsodium: there"; else
    say "missing: $what"
    # shellcheck disable=SC2086
    install $what
fi
start_sshd
[ -z "$bench_run" ] || add_bench_run
if [ -n "$dry" ]; then say "nothing was changed"; elif fit; then say "fit; now, on the controller: fleetmark try USER@$(uname -n)"; else exit 1; fi
