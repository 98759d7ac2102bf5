#!/bin/bash
# attacks.sh - spoils a genuine tree in every way of the attack matrix and asks both verifiers.
#
#   attacks.sh [ID...]      default: all cases
#
# A case changes one thing, then repairs whatever the holders of the stated keys could repair (H the system's, C the
# controller's, HC both, o another controller's). `fleetmark verify` must say FAIL with exit 4 and deploy/verify-tree.sh with
# exit 1, each for the stated reason and within the time limit; the P cases must pass both. Prints a table and "N passed, N
# failed". Uses $FLEETMARK_BUILD (fleetmark, mktree, resign, respell) and $FLEETMARK_ROOT.
set -euo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
ROOT=${FLEETMARK_ROOT:-$(cd "$HERE/../.." && pwd)}
B=${FLEETMARK_BUILD:-$ROOT/build/dev}
[ ! -d "$B/tests" ] || [ -x "$B/resign" ] || B=$B/tests
LIMIT=${ATTACK_LIMIT:-60}   # seconds for one verifier and one case
JOBS=${ATTACK_JOBS:-$(nproc)}
for f in fleetmark mktree resign respell; do [ -x "$B/$f" ] || { echo "attacks: no $B/$f" >&2; exit 77; }; done
for t in jq ssh-keygen openssl; do command -v $t >/dev/null || { echo "attacks: needs $t" >&2; exit 77; }; done

# shellcheck source=thief.bash
. "$HERE/thief.bash"
# shellcheck source=cases_seals.bash
. "$HERE/cases_seals.bash"
# shellcheck source=cases_lists.bash
. "$HERE/cases_lists.bash"
# shellcheck source=cases_content.bash
. "$HERE/cases_content.bash"
# shellcheck source=cases_good.bash
. "$HERE/cases_good.bash"

W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
mkdir "$W/base"
"$B/mktree" "$W/base" >/dev/null 2> "$W/mktree.log" || { cat "$W/mktree.log"; echo "attacks: no base tree" >&2; exit 1; }
cp "$W/base/home/controller.pub" "$W/anchor.pub"

judge() { # STATUS WANTED-STATUS FILE PATTERN: ok, or what is wrong
    local line
    line=$(grep -m1 -E '^FAIL|^PASS' "$3" || tail -1 "$3")
    if [ "$1" = 124 ] || [ "$1" = 137 ]; then echo "TIME LIMIT"
    elif [ "$1" = "$2" ] && grep -qE -- "$4" <<< "$line"; then echo ok
    else
        echo "exit $1: ${line//|/ }"
        grep -vE '^(FAIL|PASS|ok) ' "$3" | head -3 >&2 || true
    fi
}

run_case() { # ID REASON PATTERN STOCK-PATTERN; in a copy of the world
    local id=$1 reason=$2 rc_ours=0 rc_stock=0 want_ours=4 want_stock=1 t0 t1 ours stock
    cp -r --reflink=auto "$W/base" "$W/$id"
    cd "$W/$id"
    NEWER=
    if ! (set -e; "$id" > "$W/$id.made" 2>&1; echo "$NEWER" > "$W/$id.newer"); then
        echo "bad|0|the case itself failed: $(tail -1 "$W/$id.made")|" > "$W/$id.result"; return
    fi
    read -r NEWER < "$W/$id.newer" || true
    [ "$reason" != PASS ] || want_ours=0
    case $4 in PASS*) want_stock=0;; esac
    t0=$EPOCHREALTIME
    timeout -k 5 "$LIMIT" "$B/fleetmark" verify --key "$W/anchor.pub" ${NEWER:+--trust "$NEWER"} tree > "$W/$id.ours" 2>&1 || rc_ours=$?
    timeout -k 5 "$LIMIT" "$ROOT/deploy/verify-tree.sh" tree "$W/anchor.pub" ${NEWER:+"$NEWER"} > "$W/$id.stock" 2>&1 || rc_stock=$?
    t1=$EPOCHREALTIME
    if [ "$reason" = PASS ]; then ours="^$3"; else ours="^FAIL: ($reason): .*($3)"; fi
    ours=$(judge $rc_ours $want_ours "$W/$id.ours" "$ours")
    stock=$(judge $rc_stock $want_stock "$W/$id.stock" "$4")
    t0=$(((${t1/./} - ${t0/./}) / 100000))
    printf '%s|%d.%d|%s|%s\n' "$([ "$ours$stock" = okok ] && echo ok || echo bad)" $((t0 / 10)) $((t0 % 10)) "$ours" "$stock" > "$W/$id.result"
    cd "$W"
    rm -rf "${W:?}/$id"
}

field() { sed 's/^ *//;s/ *$//' <<< "$1"; }
printf '%s\n' "$cases_good" "$cases_seals" "$cases_lists" "$cases_content" | grep -v '^ *$' | sed 's/\\|/\x01/g' > "$W/cases"
[ $# = 0 ] || { grep -E "^($(IFS='|'; echo "$*")) " "$W/cases" > "$W/some" || { echo "attacks: no such case" >&2; exit 2; }; mv "$W/some" "$W/cases"; }

n=0
while IFS='|' read -r id keys reason ours stock what; do
    : "$keys" "$what"
    (run_case "$(field "$id")" "$(field "${reason//$'\x01'/|}")" "$(field "${ours//$'\x01'/|}")" "$(field "${stock//$'\x01'/|}")") < /dev/null &
    [ $((++n)) -lt "$JOBS" ] || wait -n || true
done < "$W/cases"
wait

passed=0 failed=0
printf '%-3s | %-2s | %-9s | %-15s | %-14s | %-7s | %s\n' id by expected 'fleetmark verify' verify-tree.sh seconds 'what is done'
while IFS='|' read -r id keys reason _ _ what; do
    id=$(field "$id")
    IFS='|' read -r verdict seconds ours stock < "$W/$id.result" || verdict=bad seconds=- ours='no result' stock=
    printf '%-3s | %-2s | %-9s | %-16s | %-14s | %-7s | %s\n' "$id" "$(field "$keys")" "$(field "${reason//$'\x01'/|}")" "$ours" "$stock" "$seconds" "$(field "$what")"
    if [ "$verdict" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done < "$W/cases"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

# with --json: one line per finding, and a word at the end that cannot be mistaken
json() { rc=0; "$B/fleetmark" verify --json --key anchor.pub base/tree > json || rc=$?; }
cd "$W"
json
[ $rc = 0 ] && jq -es '[.[] | select(.event == "finding" or .event == "refused")] == [] and .[-1].event == "verified" and .[-1].done > 0' json > /dev/null ||
    { cat json; echo "--json of a good tree"; exit 1; }
echo x >> base/tree/tree.json; rm base/tree/index.html; echo x > base/tree/more
json
[ $rc = 4 ] && jq -es '([.[] | select(.event == "finding") | .where + " " + .class + "/" + .reason] | sort) ==
    ["index.html verify/form", "more verify/form", "tree.json verify/digest"] and any(.[]; .event == "refused") and all(.[]; .event != "verified" and .event != "result")' json > /dev/null ||
    { cat json; echo "--json of a spoiled tree"; exit 1; }
