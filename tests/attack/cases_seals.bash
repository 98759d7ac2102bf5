# cases_seals.bash - attacks on files, signatures, keys and trust. One case: a line "id | keys held | reason word of fleetmark
# verify | what its line must match | what the line of verify-tree.sh must match | what is done", and a function of that name.
# shellcheck shell=bash disable=SC2154,SC2034,SC2016,SC2329
cases_seals='
A01 | -  | digest    | bundles/x86_1/tiny-1/samples/     | samples/.* differs from its line   | one raw sample changed
A02 | C  | signature | bundles/x86_1/tiny-1              | tiny-1/MANIFEST.*no signature      | sample changed, bundle manifest new, old bundle signature
A03 | -  | form      | extra.txt: is not listed          | extra.txt: is not listed           | extra file in a bundle
A04 | -  | form      | host.txt: is listed .* not there  | host.txt: .*missing                | a listed file removed
A05 | -  | digest    | tiny-1/compare.md: differs        | tiny-1/compare.md: differs         | a page changed
A06 | -  | form      | MANIFEST.sha256.bak: is not       | MANIFEST.sha256.bak: is not        | unlisted MANIFEST.sha256.bak in a bundle
A07 | -  | form      | MANIFEST.sha256.d/x: is not       | MANIFEST.sha256.d/x: is not        | unlisted folder MANIFEST.sha256.d
A08 | -  | form      | neither a plain file              | neither a plain file               | a FIFO in place of a sample file
A09 | HC | signature | bundles/x86_1/tiny-1              | tiny-1/MANIFEST.*no signature      | bundle signed by another system
A10 | H  | signature | tree                              | ^FAIL: MANIFEST.*no signature      | tree signed by a system
A11 | C  | signature | bundles/x86_1/tiny-1              | tiny-1/MANIFEST.*no signature      | bundle signed by the controller
A12 | HC | signature | bundles/x86_1/tiny-1              | tiny-1/MANIFEST.*no signature      | bundle signed for enrol.v1@fleetmark
A13 | o  | signature | tree                              | ^FAIL: MANIFEST.*no signature      | trust, plan and tree sealed by another controller
A14 | C  | signature | bundles/arm_1/tiny-1              | tiny-1/MANIFEST.*no signature      | two bundles of one candidate change places
A15 | C  | revoked   | key of x86_1 is revoked           | key of x86_1 is revoked            | the key of a system is revoked
A16 | C  | signature | trust                             | ^FAIL: trust/MANIFEST.*no signat   | allowed_signers changed, trust manifest new, not signed
A17 | C  | form      | allowed_signers: line 2           | allowed_signers: line 2            | principal * in place of a system
A18 | C  | identity  | allowed_signers: line 3.*same     | allowed_signers: line 3: .*overlap | overlapping windows of one system
A19 | C  | identity  | allowed_signers: .*twice          | allowed_signers: .*twice           | one key for two systems
A20 | C  | signature | trust                             | ^FAIL: trust/MANIFEST.*no signat   | revoked_keys changed, trust manifest new, not signed
A21 | C  | form      | trust: .*revoked_keys             | trust/revoked_keys: missing        | revoked_keys removed
A22 | HC | identity  | enrol/x86_1.txt is for another    | another controller                 | enrolment statement names another controller
A23 | C  | form      | trust: .*enrol/x86_1.txt          | no enrolment statement             | planned system without statement
A55 | C  | signature | bundles/x86_1/tiny-1              | tiny-1/MANIFEST.sha256.sig: the si | scalar S + group order
A56 | C  | signature | bundles/x86_1/tiny-1              | not the one spelling               | reserved field of the signature filled
A57 | C  | form      | bundles/x86_1/tiny-1              | sig: no base64 between the armour  | text behind the armour
A58 | C  | signature | bundles/x86_1/tiny-1              | not the one spelling               | signature version 0, lines of 76
B01 | -  | form      | neither a plain file              | neither a plain file               | a link to an equal file in place of a sample
B02 | C  | form\|size\|signature | bundles/x86_1/tiny-1 | larger than 4096 bytes              | a signature of more than 4 KiB
B03 | C  | form      | stray.txt does not belong         | stray.txt: does not belong         | stray file in trust/
B04 | C  | identity  | controller.s line                 | another key than the anchor        | controller line with another key
B05 | HC | signature | x86_1: .*enrol                    | no signature of x86_1              | enrolment signed by another system
B06 | C  | signature | key of x86_1 was not enrolled     | key of x86_1 was not enrolled      | key enrolled after the plan was made
B07 | C  | form      | stray/MANIFEST.sha256             | names a manifest                   | a name that only seals have
B08 | C  | form      | incoming                          | outside the tree                   | the manifest names a file in incoming/
B09 | C  | form      | bundles/stray/x: belongs          | bundles/stray/x: .*no accepted     | a file in bundles/ of no dispatch
B10 | H  | revoked   | key of x86_1 is revoked           | key of x86_1 is revoked            | the key is revoked in a newer trust folder
B11 | C  | form      | newer trust.*version              | newer trust folder: older          | the newer trust folder is an older one
B12 | -  | signature | newer trust                       | newer trust folder: .*no signature | the newer trust folder of another controller
B13 | C  | form      | prev.sig without a previous       | prev.sig: without a previous       | second signature of a first statement
B14 | HC | signature | x86_1.txt.prev.sig is missing     | x86_1.txt.prev.sig: missing        | the key before did not sign the statement that follows it
B15 | HC | signature | x86_1: .*                         | prev.sig: no signature of x86_1    | another key signed as the key before
B16 | C  | identity  | handover: names another key       | handover/allowed_signers: names an | a handover to another controller
B17 | C  | signature | trust: handover                   | handover/MANIFEST.*no signature    | a handover not sealed by the key it is from
B18 | C  | form      | handover: x does not belong       | handover: holds something else     | a stray file in a handover
B29 | C  | form      | handover: holds more than         | newer trust folder: .*names a mani | a handover inside the handover of a newer trust folder
B19 | C  | form      | a second line of the controller   | line 2: not a system name          | a second line of the controller outside a handover
B27 | C  | form      | handover: is not older            | handover: not older                | a handover that is newer than what follows it
B28 | C  | digest    | handover                          | handover: a digest differs         | a handover with other revoked keys than were sealed
'

A01() { swap "$X/samples/$STEM.ns.txt" '1s/.$/7/;1s/^/1/'; }
A02() { swap "$X/samples/$STEM.ns.txt" '1s/^/1/'; manifest "$X"; name_bundle x86_1 tiny-1; }
A03() { echo x > "$X/extra.txt"; }
A04() { rm "$X/env/host.txt"; }
A05() { echo x >> tree/tiny-1/compare.md; }
A06() { cp "$X/MANIFEST.sha256" "$X/MANIFEST.sha256.bak"; }
A07() { mkdir tree/MANIFEST.sha256.d; echo x > tree/MANIFEST.sha256.d/x; }
A08() { rm "$X/samples/$STEM.ns.txt"; mkfifo "$X/samples/$STEM.ns.txt"; }
A09() { sign_bundle x86_1 tiny-1 bundle.v1@fleetmark hosts/arm_1/key; }
A10() { sign tree tree.v1@fleetmark hosts/x86_1/key; }
A11() { sign_bundle x86_1 tiny-1 bundle.v1@fleetmark home/key; }
A12() { sign_bundle x86_1 tiny-1 enrol.v1@fleetmark; }
A13() { rm home/key; "$B/resign" --new home/key; seal_plan; seal_trust; }
A14() {
    mv "$X" x; mv tree/bundles/arm_1/tiny-1 "$X"; mv x tree/bundles/arm_1/tiny-1
    name_bundle x86_1 tiny-1; name_bundle arm_1 tiny-1
}
A15() { key_line hosts/x86_1/key > tree/trust/revoked_keys; seal_trust; }
A16() { swap tree/trust/allowed_signers '2s/valid-after="2/valid-after="1/'; manifest tree/trust; seal_tree; }
A17() { swap tree/trust/allowed_signers '2s/^[^ ]*/*/'; seal_trust; }
A18() {
    "$B/resign" --new other
    swap tree/trust/allowed_signers "2{p;s,ssh-ed25519 .*,$(key_line other),}"; seal_trust
}
A19() { swap tree/trust/allowed_signers "3s,ssh-ed25519 .*,$(sed -n '2s/.*\(ssh-ed25519 .*\)/\1/p' tree/trust/allowed_signers),"; seal_trust; }
A20() { key_line hosts/x86_1/key > tree/trust/revoked_keys; manifest tree/trust; seal_tree; }
A21() { rm tree/trust/revoked_keys; seal_trust; }
A22() {
    local f=tree/trust/enrol/x86_1.txt
    "$B/resign" --new other
    swap "$f" "s,^controller .*,controller $(key_line other),"
    "$B/resign" hosts/x86_1/key enrol.v1@fleetmark < "$f" > "$f.sig"; seal_trust
}
A23() { rm tree/trust/enrol/x86_1.txt tree/trust/enrol/x86_1.txt.sig; seal_trust; }
respell() { "$B/respell" "$1" < "$X/MANIFEST.sha256.sig" > sig.new; mv sig.new "$X/MANIFEST.sha256.sig"; }
A55() { respell order; seal_tree; }
A56() { respell reserved; seal_tree; }
A57() { respell text; seal_tree; }
A58() { respell version; respell wide; seal_tree; }
B01() { mv "$X/samples/$STEM.ns.txt" ns; ln -s "$PWD/ns" "$X/samples/$STEM.ns.txt"; }
B02() { head -c 5000 /dev/zero | tr '\0' '\n' >> "$X/MANIFEST.sha256.sig"; seal_tree; }
B03() { echo x > tree/trust/stray.txt; seal_trust; }
B04() { "$B/resign" --new other; swap tree/trust/allowed_signers "1s,ssh-ed25519 .*,$(key_line other),"; seal_trust; }
B05() { "$B/resign" hosts/arm_1/key enrol.v1@fleetmark < tree/trust/enrol/x86_1.txt > sig.new; mv sig.new tree/trust/enrol/x86_1.txt.sig; seal_trust; }
B06() { swap tree/trust/allowed_signers '/^x86_1/s/valid-after="[0-9]*Z/valid-after="20980101000000Z/'; seal_trust; }
B07() { mkdir tree/stray; echo x > tree/stray/MANIFEST.sha256; seal_tree; }
B08() {
    mkdir -p tree/incoming; echo x > tree/incoming/x
    { cat tree/MANIFEST.sha256; echo "$(sha tree/incoming/x)  incoming/x"; } | sort -k2 > m; mv m tree/MANIFEST.sha256
    sign tree tree.v1@fleetmark home/key
}
B09() { mkdir tree/bundles/stray; echo x > tree/bundles/stray/x; seal_tree; }
newer_trust() { # a copy of trust/ with a version of its own, sealed by the key file
    cp -r tree/trust newer; edit newer/trust.json ".version = $1"; manifest newer; sign newer trust.v1@fleetmark "$2"; NEWER=newer
}
B10() { key_line hosts/x86_1/key > revoked; newer_trust 9 home/key; mv revoked newer/revoked_keys; manifest newer; sign newer trust.v1@fleetmark home/key; }
B11() { newer_trust 1 home/key; }
B12() { "$B/resign" --new other; newer_trust 9 other; }
rotated() { # SIGNER-OF-BEFORE: the statement of x86_1 follows a key made here
    local f=tree/trust/enrol/x86_1.txt
    "$B/resign" --new before
    swap "$f" "s,^previous .*,previous $(key_line before),"
    "$B/resign" hosts/x86_1/key enrol.v1@fleetmark < "$f" > "$f.sig"
    [ -z "$1" ] || "$B/resign" "$1" enrol.v1@fleetmark < "$f" > "$f.prev.sig"
    seal_trust
}
B14() { rotated ""; }
B15() { rotated hosts/arm_1/key; }
# the key before the anchor says which one follows it: a trust folder of two lines of the controller
handover() { # OLD-KEY NEW-KEY [VERSION]
    local h=tree/trust/handover line
    line=$(sed -n '1s/ssh-ed25519.*//p' tree/trust/allowed_signers)
    mkdir -p $h; cp tree/trust/revoked_keys $h/
    printf '%s\n' "$line$(key_line "$1")" "$line$(key_line "$2")" > $h/allowed_signers
    # the folder it lies in is newer; tree.json names its version
    jq -S ".version = ${3:-1}" tree/trust/trust.json > $h/trust.json
    manifest $h; sign $h trust.v1@fleetmark "$1"
}
handed_over() { "$B/resign" --new old; handover old "${1:-home/key}" "${2-}"; }
newest() { edit tree/trust/trust.json '.version += 20'; edit tree/tree.json '.trust_version += 20'; seal_trust; }
B16() { "$B/resign" --new other; handed_over other; newest; }
B17() { handed_over; sign tree/trust/handover trust.v1@fleetmark home/key; newest; }
B18() { handed_over; sed -n 2p tree/trust/allowed_signers > tree/trust/handover/x; manifest tree/trust/handover; sign tree/trust/handover trust.v1@fleetmark old; newest; }
B29() {
    "$B/resign" --new older; "$B/resign" --new old
    cp -r tree/trust trust
    handover older old 1; cp -r tree/trust/handover nested
    handover old home/key 2; mv nested tree/trust/handover/handover
    manifest tree/trust/handover; sign tree/trust/handover trust.v1@fleetmark old
    newer_trust 9 home/key; rm -r tree/trust; mv trust tree/trust
}
B19() { "$B/resign" --new other; swap tree/trust/allowed_signers "1{p;s,ssh-ed25519 .*,$(key_line other),}"; seal_trust; }
B27() { handed_over home/key 99; newest; }
B28() { handed_over; key_line hosts/x86_1/key > tree/trust/handover/revoked_keys; newest; }
B13() { cp tree/trust/enrol/x86_1.txt.sig tree/trust/enrol/x86_1.txt.prev.sig; seal_trust; }
