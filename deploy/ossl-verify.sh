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

hex() { local h; printf -v h '%08x' "$1"; REPLY="\\x${h:0:2}\\x${h:2:2}\\x${h:4:2}\\x${h:6:2}"; }  # uint32, for printf %b
string() { hex ${#1}; REPLY=$REPLY$1; }                                                       # of plain text
string ssh-ed25519; type=$REPLY
string "$NAMESPACE"; namespace=$REPLY
string sha512; sha512=$REPLY
hex 0; empty=$REPLY

# what the armour holds: 64 signature bytes at the end of the blob
mapfile -t lines < "$FILE.sig"
n=${#lines[@]}
[ "$n" -gt 2 ] && printf '%s' "${lines[@]:1:n-2}" | base64 -d > "$W/blob" 2>/dev/null || bad "no base64 between the armour lines"
tail -c 64 "$W/blob" > "$W/sig"
[ "$(stat -c %s "$W/sig")" = 64 ] || bad "too short"
base64 -d <<< "${PUBLIC#ssh-ed25519 }" | tail -c 32 > "$W/key"

# the blob as it must be: magic, version 1, string (string type, string key), string namespace, empty string, string sha512,
# string (string type, string signature)
hex 1; version=$REPLY
hex 51; wire=$REPLY
hex 32; key=$REPLY
hex 83; inner=$REPLY
hex 64; sig=$REPLY
{
    echo '-----BEGIN SSH SIGNATURE-----'
    { printf '%b' "SSHSIG$version$wire$type$key"; cat "$W/key"; printf '%b' "$namespace$empty$sha512$inner$type$sig"; cat "$W/sig"; } | base64 -w 70
    echo '-----END SSH SIGNATURE-----'
} > "$W/armour"
cmp -s "$W/armour" "$FILE.sig" || bad "not the one spelling of a signature by this key in this namespace"

# the bytes that are signed, and the key in the form openssl reads
{ printf '%b' "SSHSIG$namespace$empty$sha512$sig"; openssl dgst -sha512 -binary "$FILE"; } > "$W/signed"
{ printf '\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00'; cat "$W/key"; } > "$W/key.der"
openssl pkeyutl -verify -pubin -keyform DER -inkey "$W/key.der" -rawin -in "$W/signed" -sigfile "$W/sig" >/dev/null 2>&1 ||
    bad "the signature does not hold"
