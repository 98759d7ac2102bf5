# shellcheck shell=bash
# demo_screen.sh - the last screen of demo.sh, which sources it: what came out, read from the verified tree itself.
: "${ROOT:?sourced by demo.sh}" "${TREE:?}" "${PUBLISHED:?}" "${PROGRAM:?}" "${STATE:?}" "${T0:?}" "${FETCHED:?}"

ev() { jq -r "$2" "$TREE/bundles/$1"/*/evidence.json | sort -u; }   # SYSTEM FILTER: over all its bundles

cells_line() {   # SYSTEM: "accepted of planned, and what became of the others"
    jq -r --arg s "$1/" '[.cells[] | select(.cell | startswith($s)) | .status] as $all
        | ([$all[] | select(. == "accepted")] | length) as $ok
        | "\($ok) of \($all | length) cells accepted" + ([$all[] | select(. != "accepted")] | group_by(.) | map(", \(length) \(.[0])") | add // "")' "$TREE/tree.json"
}

kat_line() {   # SYSTEM: one line a candidate
    jq -r '.candidate as $c | [.kat[]] as $k | ([$k[] | select(.status == "PASS")] | length) as $pass
        | ([$k[] | .passed] | add // 0) as $p | ([$k[] | .files] | add // 0) as $n | ([$k[] | .vectors] | add // 0) as $v
        | "KAT \($c): PASS \($pass) of \($k | length) instances"
          + (if $p > 0 then ", \($p) of \($n) files" else "" end) + (if $v > 0 then ", \($v) vectors" else "" end)' \
        "$TREE/bundles/$1"/*/evidence.json
}

count_lines() {   # SYSTEM: what the numbers are, and why they are not core cycles
    local label why
    label=$(ev "$1" '.measure.counter // empty | "\(.label) (\(.source)\(if .hz > 0 then ", \(.hz) Hz" else "" end)), with ns beside them"' | sed -n 1p)
    echo "counts: ${label:-none}"
    case $label in core_cycles*) return 0;; esac
    ev "$1" '.measure.counter.rejected[]?' | sed -n 1,3p | while IFS= read -r why; do echo "no core cycles: $why"; done
}

emulated() {   # SYSTEM
    local what; what=$(ev "$1" '.host.emulator' | sed -n 1p)
    [ -z "$what" ] || echo "EMULATED: times not comparable ($what; marked in every cell, never ranked)"
}

system() {   # SYSTEM
    printf '%s  %s, %s\n' "$1" "$(ev "$1" '.host.arch' | sed -n 1p)" "$(cells_line "$1")"
    { emulated "$1"; kat_line "$1"; count_lines "$1"; } | cut -c "1-$((${COLUMNS:-120} - 7))" | sed 's/^/       /'
}

screen() {
    local took number s; took=$(($(now_ns) - T0))
    number=$(sha256sum < "$TREE/MANIFEST.sha256" | cut -c1-64)
    echo
    echo "Campaign demo, profile smoke: not for publication"
    for s in x86_1 arm_1; do system "$s"; done
    cat <<E
tree   $number
       verified twice: fleetmark verify, and deploy/verify-tree.sh with stock tools; the same number
refuse one flipped byte (exit 4), again:  deploy/flip-byte.sh $TREE .demo/home/controller.pub
pages  $TREE/index.html
       $(find "$TREE" -maxdepth 2 -name '*.md' | wc -l) pages as Markdown, each as HTML too; both architectures: $TREE/compare.md
real   $PUBLISHED/compare.html: the same candidates on a real x86-64 and a real AArch64 machine, with the places that
       swap; published elsewhere, unsigned
left   $TREE, $PUBLISHED, .demo (keys, logs, inventory), .cache/lab (downloads), build/release; the lab is down
time   $(seconds $took) s, without downloads $(seconds $((took - FETCHED))) s

Next, with two machines of your own:
  on each, as root      deploy/setup-host.sh            (one file, any Linux)
  here                  cp inventory/example.ini fleetmark.ini, put in their addresses
                        $PROGRAM check && $PROGRAM enrol x86_1 arm_1 && $PROGRAM run
  or only this machine  $PROGRAM try
E
}
