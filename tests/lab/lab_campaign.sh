#!/bin/bash
# The main line: one campaign over two SSH hosts of two architectures, from enrolment to a tree that both verifiers accept and
# that is refused once a byte of it is another one.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname "$0")/common.bash"
begin program
TREE=$WORK/results/line
PUB=$FLEETMARK_HOME/controller.pub

small_root 2
check "x86_1 is up" lab up 1
check "arm_1 is up" lab arm accel 2
lab inventory x86_1=1 arm_1=2 > "$INV"

plan_contacts_nobody() {
    lab fault 1 down && lab fault 2 down
    gives 0 fleetmark -i "$INV" plan --profile smoke --root "$WORK/root" && says 'x86_1' && says 'arm_1'
    lab fault 1 up && lab fault 2 up
}
tree_number() { sha256sum < "$TREE/MANIFEST.sha256" | cut -c1-64; }
verifies() { gives 0 fleetmark verify "$TREE" && says "$(tree_number)"; }
verifies_stock() { gives 0 "$FLEETMARK_ROOT/deploy/verify-tree.sh" "$TREE" "$PUB" && says "PASS line $(tree_number)"; }
by_hand() {   # one bundle with ssh-keygen and sha256sum alone
    local b=$TREE/bundles/arm_1/hash-31
    ssh-keygen -Y verify -f "$TREE/trust/allowed_signers" -I arm_1 -n bundle.v1@fleetmark -s "$b/MANIFEST.sha256.sig" < "$b/MANIFEST.sha256" &&
        (cd "$b" && sha256sum -c --strict --quiet MANIFEST.sha256)
}
kat_passes() {   # on both: every instance PASS, 2 of its files and some vectors
    jq -e '[.kat[]] | length == 2 and all(.status == "PASS" and .passed == 2 and .vectors > 0)' "$TREE"/bundles/{x86_1,arm_1}/hash-31/evidence.json
}
emulation_is_marked() {
    jq -e '.host.emulator != ""' "$TREE/bundles/arm_1/hash-31/evidence.json" && jq -e '.host.emulator == ""' "$TREE/bundles/x86_1/hash-31/evidence.json" &&
        ! grep -q core_cycles <<< "$(jq -r .measure.counter.label "$TREE"/bundles/arm_1/hash-31/evidence.json)"
}
pages() {
    local f
    for f in index.html compare.md summary_x86_1.md summary_arm_1.md hash-31/perf_x86_1.md hash-31/perf_arm_1.md; do
        [ -s "$TREE/$f" ] || { echo "no $f"; return 1; }
    done
    grep -qi 'not for publication' "$TREE/hash-31/perf_x86_1.md" && grep -qi emulated "$TREE/hash-31/perf_arm_1.md"
}
report_is_stable() { cp -a "$TREE" "$WORK/copy" && gives 0 fleetmark report "$WORK/copy" && diff -r "$TREE" "$WORK/copy"; }
a_changed_tree_gets_no_pages() {
    local f
    f=$(find "$WORK/copy/bundles" -name '*.tsv' -type f -print -quit)
    printf 'x' >> "$f"
    gives 4 fleetmark report "$WORK/copy" -o "$WORK/nopages" && [ ! -e "$WORK/nopages" ] && gives 4 fleetmark report "$WORK/copy"
}
flip() { FLEETMARK=$FLEETMARK_BUILD/fleetmark "$FLEETMARK_ROOT/deploy/flip-byte.sh" "$TREE" "$PUB" "$@"; }

check "plan contacts nobody and names both" plan_contacts_nobody
check "both systems enrol" enrol x86_1 arm_1
check "the campaign ends with exit 0" gives 0 campaign line -j 1
check "every cell of x86_1 is accepted" all_accepted "$TREE" x86_1
check "every cell of arm_1 is accepted" all_accepted "$TREE" arm_1
check "the known answers passed on both" kat_passes
check "the emulated host says so and counts no core cycles" emulation_is_marked
check "fleetmark verify accepts the tree and prints its number" verifies
check "verify-tree.sh accepts it and prints the same number" verifies_stock
check "one bundle by hand with ssh-keygen and sha256sum" by_hand
check "the pages are there and say what they are" pages
check "the pages come out again byte for byte" report_is_stable
check "a tree with a changed sample gets no pages" a_changed_tree_gets_no_pages
check "a changed sample is refused by both and named" flip
check "a changed page is refused by both and named" flip summary_x86_1.md
check "a changed evidence file is refused by both and named" flip bundles/arm_1/hash-31/evidence.json
