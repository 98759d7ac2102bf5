#!/bin/bash
# test.sh - builds the tests and runs them.
#
#   deploy/test.sh [--all] [LABEL...]
#
#   LABEL   which tests (default: unit flow lab fuzz-smoke)
#             unit        functions and formats, under AddressSanitizer and UBSan
#             flow        the whole program on this machine: transport local, stages, attacks on evidence
#             lab         real sshd on hosts of two architectures in network namespaces (root; skipped with the reason otherwise)
#             fuzz-smoke  each fuzz target for some seconds
#             long        flows of minutes each: the zoo, kills, trust, publish, fetch, isolation, full KAT
#             fleet       many hosts; long (two of them, connect and workdir, belong to flow as well)
#   --all   the default ones, long and fleet
#
# As root on Debian or Ubuntu it installs the packages that are missing; elsewhere it says which are. The build goes to
# build/dev, downloads of the lab to .cache/lab (LAB_CACHE), logs to build/dev/Testing. Exit: that of ctest; 2 usage.
set -euo pipefail

ROOT=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cd "$ROOT"
BUILD=build/dev
export LAB_CACHE=${LAB_CACHE:-$ROOT/.cache/lab}
# shellcheck source=packages.sh
. deploy/packages.sh

labels=()
for arg; do
    case $arg in
    --all) labels+=(unit flow lab fuzz-smoke long fleet);;
    unit | flow | lab | fuzz-smoke | long | fleet) labels+=("$arg");;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' deploy/test.sh; exit 0;;
    *) echo "test: unknown '$arg'; labels are unit, flow, lab, fuzz-smoke, long, fleet" >&2; exit 2;;
    esac
done
[ ${#labels[@]} -gt 0 ] || labels=(unit flow lab fuzz-smoke)
wanted() { printf '%s\n' "${labels[@]}" | grep -qxE "$1"; }

end_labs() {   # a test that ran out of time was killed and could not take its lab down
    local d
    for d in "$BUILD"/lab/*/net; do
        [ ! -d "$d" ] || FLEETMARK_LAB=$ROOT/$d deploy/lab.sh down || true
    done
}

packages() {
    local want=("${PKG_BUILD[@]}" "${PKG_VERIFY[@]}" "${PKG_TEST[@]}")
    if wanted 'lab|fleet'; then want+=("${PKG_LAB[@]}" "${PKG_LAB_ARM[@]}"); fi
    if wanted long; then want+=("${PKG_LONG[@]}"); fi
    if wanted long && [ "$(. /etc/os-release && echo "$ID")" = debian ]; then want+=("${PKG_BROWSER[@]}"); fi   # Ubuntu's is a snap
    command -v dpkg-query >/dev/null || return 0       # another distribution: cmake names what it misses
    pkg_install "${want[@]}"
}

lab_ready() {   # downloads here, so that no test's time limit covers them
    [ "$(id -u)" = 0 ] || { echo "test: not root: the lab tests will be skipped"; return 0; }
    deploy/lab.sh check || { echo "test: no lab on this machine (see above): its tests will be skipped"; return 0; }
    deploy/lab.sh deps arm
}

t=$SECONDS
packages
cmake --preset dev
cmake --build --preset dev
echo "test: packages and build took $((SECONDS - t)) s"
if wanted 'lab|fleet'; then
    t=$SECONDS
    lab_ready
    echo "test: preparing the lab took $((SECONDS - t)) s"
    trap end_labs EXIT
    trap 'exit 130' INT TERM HUP
    end_labs
fi
regex=$(IFS='|'; echo "^(${labels[*]})\$")
ctest --test-dir "$BUILD" -L "$regex" --no-tests=error --output-on-failure -j "$(nproc)" </dev/null
