#!/bin/bash
# cli.sh: help, usage errors and the preview: exit 2 with a clear line, nothing contacted, nothing written.
set -u
fm=${FLEETMARK_BUILD:?}/fleetmark
root=${FLEETMARK_ROOT:?}
[ -x "$fm" ] || { echo "no $fm"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export FLEETMARK_HOME=$work/home
unset FLEETMARK_INVENTORY
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

# expect STATUS 'WORDS' ARGUMENTS...: exit status, and the words in what was said
expect() {
	local want=$1 words=$2 got
	shift 2
	"$fm" "$@" >out 2>err </dev/null
	got=$?
	[ "$got" = "$want" ] || fail "$* : exit $got, expected $want: $(head -c 300 err)"
	grep -qF -- "$words" out err || fail "$* : no '$words' in: $(head -c 300 out err)"
}

cat >fleet.ini <<'EOF'
[x86_1]
arch = x86_64
address = 192.0.2.1
hostkey = SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
[arm_1]
arch = aarch64
address = 192.0.2.2
about = no such machine
EOF
ls -A >before

# help and version
expect 0 'verify TREE' help
expect 0 'Exit status: 0 all good' --help
expect 0 'usage: fleetmark run [NAME]' help run
expect 0 'usage: fleetmark run [NAME]' run --help
expect 0 'libsodium' --version
expect 2 'usage: fleetmark COMMAND'
for command in try check run status cancel verify plan keygen enrol trust publish report redo; do
	expect 0 "usage: fleetmark $command" help "$command"
	[ "$(wc -l <out)" -ge 6 ] || fail "help $command is too short"
done

# usage
expect 2 "unknown command 'launch'" launch
expect 2 "unknown command 'launch'" help launch
expect 2 "unknown option '--profil'" plan --profil smoke
expect 2 '--inventory needs a value' plan -i
expect 2 "--jobs: read 'x'" plan -j x
expect 2 'plan takes no --layout' plan --layout site
expect 2 "'b' is too much" plan a b
expect 2 "campaign: read '../a'" plan ../a -i fleet.ini
expect 2 'usage: fleetmark verify TREE' verify
expect 2 'no inventory' plan
expect 2 'No such file' plan -i none.ini
expect 2 "--limit: 'x86_9' matches no system; fleet.ini has: x86_1, arm_1" plan -i fleet.ini -l x86_9
expect 2 "'nope' matches no candidate; there are: " plan -i fleet.ini -c nope
expect 2 "--profile: read 'fast', allowed: smoke" plan -i fleet.ini --profile fast
expect 2 "read 'quick', allowed: smoke" plan -i fleet.ini --profile quick
expect 2 "--kat: read 'some'" plan -i fleet.ini --kat some
expect 2 "--versions: read 'x'" plan -i fleet.ini --versions x
expect 2 '--root must name' plan -i fleet.ini --root "$work/nothing"

# with --json every outcome is NDJSON on stdout, usage errors too
expect 2 '"event": "error"' launch --json
expect 2 '"class": "usage", "reason": "usage"' plan --json --nope
expect 0 '"event": "planned", "system": "arm_1"' plan --json -i fleet.ini -c hash-31
if command -v jq >/dev/null; then
	jq -e -s 'length == 3 and (map(.seq) == [1, 2, 3]) and .[2].total == 96' out >/dev/null || fail "plan --json: $(cat out)"
fi

# what people write: file, line, what was read, what is allowed
bad() {
	printf '%b' "$1" >bad.ini
	expect 2 "$2" plan -i bad.ini
	rm -f bad.ini
}
bad '[x86_1]\narch = x86_64\nadress = h\n' "fleetmark: bad.ini:3: unknown key 'adress' in [x86_1]; allowed: arch, transport, address"
bad '[x86_1]\narch = x86_64\n[x86_1]\n' 'bad.ini:3: section [x86_1] stands already in line 1'
bad '[x86_1]\narch = x86_64\narch = x86_64\n' "bad.ini:3: key 'arch' stands already in line 2"
bad '[x86/1]\narch = x86_64\n' "bad.ini:1: system 'x86/1': names are 1 to 64"
bad '[-x]\narch = x86_64\n' "bad.ini:1: system '-x'"
bad '[controller]\narch = x86_64\n' "not 'controller'"
bad '[x86_1]\narch = vax\n' "bad.ini:2: arch: read 'vax', allowed: x86_64, aarch64"
bad '[x86_1]\nport = 22x\n' "bad.ini:2: port: read '22x', allowed are whole numbers from 1 to 65535"
# shellcheck disable=SC2016 # meant literally
bad '[x86_1]\naddress = -oProxyCommand=touch${IFS}pwned\n' "bad.ini:2: address: read"
# shellcheck disable=SC2016
bad '[x86_1]\naddress = $(touch pwned)\n' "bad.ini:2: address: read"
bad '[x86_1]\nabout = \033[2Jgone\n' 'bad.ini:2: control bytes'
bad '[x86_1]\n' "bad.ini:1: system 'x86_1' needs arch"
bad '' 'no system in it'
[ ! -e pwned ] || fail 'an address reached a shell'

# a copy of one candidate, spoiled in turn
mkdir -p root
cp -r "$root/agent" "$root/protocol" root/
mkdir -p root/algos root/kat
cp -r "$root/algos/hash-31" "$root/algos/flags.ini" root/algos/
cp -r "$root/kat/hash-31" root/kat/
spoil() {
	cp "$1" saved
	sed -i "$2" "$1"
	expect 2 "$3" plan -i fleet.ini --root root
	cp saved "$1"
	rm -f saved
}
ini=root/algos/hash-31/candidate.ini
expect 0 'systems 2, cells 96' plan -i fleet.ini --root root
spoil $ini 's/^digest_bits = 512/digest_bits = many/' "candidate.ini:12: digest_bits: read 'many'"
spoil $ini 's/^id = hash-31/id = hash-32/' "id: read 'hash-32', allowed: hash-31"
spoil $ini 's/zcdmc.c zud1280.c/..\/x.c/' "sources: read '../x.c'"
spoil $ini 's/zcdmc.c zud1280.c/gone.c/' "source 'gone.c' is not there"
spoil $ini 's/^header = /heder = /' "unknown key 'heder' in [instance ZC-DMC-1280-512]"
spoil root/kat/hash-31/kat.sha256 '1s/strict/loose/' "kat.sha256:1: mode 'loose'"
spoil root/kat/hash-31/vectors.txt '2s/^ZC/ZD/' 'vectors.txt:2: read'
spoil root/algos/flags.ini 's/^\[additions\]/[addition]/' 'unknown section [addition]'
touch 'root/algos/hash-31/a b.c'
expect 2 'a b.c' plan -i fleet.ini --root root
rm 'root/algos/hash-31/a b.c'
ln -s /etc/passwd root/algos/hash-31/leak.c
expect 2 'leak.c' plan -i fleet.ini --root root
rm -rf root

# campaign file
printf '[campaign]\nname = winter\ninventory = fleet.ini\nsystems = arm_1\ncandidates = iccs\nprofile = smoke\n' >c.ini
expect 0 'campaign winter, profile smoke' plan --campaign c.ini
expect 0 'not for publication' plan --campaign c.ini
printf '[campaign]\nnam = winter\n' >c.ini
expect 2 "c.ini:2: unknown key 'nam' in [campaign]; allowed: name, inventory" plan --campaign c.ini
rm -f c.ini

# the preview: equal input gives equal bytes, also as a dry run
"$fm" plan -i fleet.ini >one 2>&1 || fail 'plan'
"$fm" plan -i fleet.ini >two 2>&1
"$fm" run --dry-run -i fleet.ini >three 2>&1 || fail 'run --dry-run'
cmp one two && cmp one three || fail 'two previews differ'
grep -q 'nothing was contacted, nothing was written' one || fail 'no last line'
FLEETMARK_INVENTORY=fleet.ini "$fm" plan >two 2>&1
cmp one two || fail 'FLEETMARK_INVENTORY'
cp fleet.ini fleetmark.ini
expect 0 'campaign fleetmark-guide' plan
rm -f fleetmark.ini one two three out err

# nothing contacted, nothing written
if command -v strace >/dev/null && strace -f -qq -e trace=network -o trace "$fm" plan -i fleet.ini >/dev/null 2>&1; then
	if grep -E 'connect|sendto|sendmsg' trace; then fail 'plan touched the network'; fi
fi
rm -f trace
ls -A >after 2>/dev/null
sed -i '/^after$/d' after
rm -f before.sorted
diff <(sed '/^before$/d' before) <(sed '/^before$/d' after) || fail 'files were left'
[ ! -e "$FLEETMARK_HOME" ] || fail 'a home was made'

# keygen makes the key once and shows it again
"$fm" keygen >key1 2>err || fail "keygen: $(cat err)"
grep -q "made the controller's key" err || fail 'keygen says nothing'
"$fm" keygen >key2 2>err || fail 'keygen again'
cmp key1 key2 || fail 'another key'
cmp key1 "$FLEETMARK_HOME/controller.pub" || fail 'controller.pub'
[ "$(stat -c %a "$FLEETMARK_HOME/key")" = 600 ] || fail 'mode of the key'
[ "$(stat -c %a "$FLEETMARK_HOME")" = 700 ] || fail 'mode of the home'
chmod 644 "$FLEETMARK_HOME/key"
expect 2 'allowed is 0600' keygen
chmod 600 "$FLEETMARK_HOME/key"
if command -v ssh-keygen >/dev/null; then
	ssh-keygen -Y verify -f <(sed 's/^/controller namespaces="trust.v1@fleetmark" /' key1) -I controller -n trust.v1@fleetmark \
		-s "$FLEETMARK_HOME/trust/MANIFEST.sha256.sig" <"$FLEETMARK_HOME/trust/MANIFEST.sha256" >/dev/null || fail 'seal of trust'
	(cd "$FLEETMARK_HOME/trust" && sha256sum -c --strict --quiet MANIFEST.sha256) || fail 'digests of trust'
fi

[ "$failed" = 0 ] && echo 'cli: all good'
exit "$failed"
