#!/bin/bash
# ossl-verify.sh FILE NAMESPACE "PUBLIC LINE" - checks FILE.sig over FILE without any code of OpenSSH.
#
# Builds the expected SSHSIG blob itself, compares blob and armour with FILE.sig byte by byte (all but the 64 signature
# bytes), so that a signature has one spelling, and lets openssl check the Ed25519 signature. Exit 0 good, 1 bad with a
# line that says why, 2 usage or a missing tool. Validity windows and revocation it cannot see: the caller passes the one key.
set -euo pipefail
export LC_ALL=C

die() { echo "ossl-verify: $*" >&2; exit 2; }
bad() { echo "ossl-verify: $FILE.sig: $*"; exit 1; }

[ $# = 3 ] || die "usage: ossl-verify.sh FILE NAMESPACE \"ssh-ed25519 AAAA...\""
for t in openssl base64 od cmp stat; do command -v "$t" >/dev/null || die "needs $t"; done
FILE=$1 NAMESPACE=$2 PUBLIC=$3
[ -f "$FILE" ] && [ -f "$FILE.sig" ] || die "no plain files $FILE and $FILE.sig"
[[ $PUBLIC =~ ^ssh-ed25519\ [A-Za-z0-9+/]{68}$ ]] || die "not a public line: $PUBLIC"
[ "$(stat -c %s "$FILE.sig")" -le 4096 ] || bad "larger than 4096 bytes"

W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT

u32() { local h; printf -v h '%08x' "$1"; printf '%b' "\\x${h:0:2}\\x${h:2:2}\\x${h:4:2}\\x${h:6:2}"; }
string() { u32 ${#1}; printf '%s' "$1"; }        # of text
string_of() { u32 "$(stat -c %s "$1")"; cat "$1"; } # of a file's bytes

# what the armour holds: 64 signature bytes at the end of the blob
{ sed '1d;$d' "$FILE.sig" | tr -d '\n' | base64 -d > "$W/blob"; } 2>/dev/null || bad "no base64 between the armour lines"
[ "$(stat -c %s "$W/blob")" -gt 64 ] || bad "too short"
tail -c 64 "$W/blob" > "$W/sig"

printf '%s' "${PUBLIC#ssh-ed25519 }" | base64 -d > "$W/wire"   # string "ssh-ed25519", string key
tail -c 32 "$W/wire" > "$W/key"
{ string ssh-ed25519; u32 64; cat "$W/sig"; } > "$W/inner"
{
    printf SSHSIG; u32 1; string_of "$W/wire"; string "$NAMESPACE"; string ''; string sha512; string_of "$W/inner"
} > "$W/expected"
{
    echo '-----BEGIN SSH SIGNATURE-----'
    base64 -w 70 "$W/expected"
    echo '-----END SSH SIGNATURE-----'
} > "$W/armour"
cmp -s "$W/armour" "$FILE.sig" || bad "not the one spelling of a signature by this key in this namespace"

openssl dgst -sha512 -binary "$FILE" > "$W/digest"
{ printf SSHSIG; string "$NAMESPACE"; string ''; string sha512; string_of "$W/digest"; } > "$W/signed"
{ printf '\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00'; cat "$W/key"; } > "$W/key.der"
openssl pkeyutl -verify -pubin -keyform DER -inkey "$W/key.der" -rawin -in "$W/signed" -sigfile "$W/sig" >/dev/null 2>&1 ||
    bad "the signature does not hold"
