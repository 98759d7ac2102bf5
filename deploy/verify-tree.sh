#!/bin/bash
# verify-tree.sh TREE CONTROLLER.pub [NEWER-TRUST] - checks a Fleetmark tree with stock tools and none of Fleetmark's programs.
#
# CONTROLLER.pub: the controller's public line, obtained some other way than with the tree. NEWER-TRUST: a later trust folder of
# the same controller, for keys revoked since. Tools: bash, GNU coreutils, findutils, diffutils, grep and awk, jq, ssh-keygen;
# openssl for the second, independent check of every signature. No network; nothing is written into the tree. Exit 0: all of it
# holds (a line per bundle, then "PASS <campaign> <tree number>"); 1: "FAIL: <where>: <what>"; 2: usage or a missing tool.
# Beside this file belong ossl-verify.sh (signatures), verify-forms.jq (JSON) and verify-bundle.awk (samples). What each check
# is for: protocol/FORMATS.md, and "What a signature proves" in README.md. It does not compute data/ and pages again:
# `fleetmark verify` does.
set -euo pipefail
export LC_ALL=C TZ=UTC

SAID=
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
fail() { SAID=yes; printf 'FAIL: %s: %s\n' "$1" "$2" | tr -dc ' -~\n'; exit 1; }
leave() { # whatever ended the script, it never looks like success
    local rc=$?
    rm -rf "$W"
    [ $rc = 0 ] || [ -n "$SAID" ] || { echo "FAIL: ${B:-tree}: a tool failed (status $rc)"; exit 1; }
}

[ $# -ge 2 ] && [ $# -le 3 ] || usage
for tool in awk jq ssh-keygen sha256sum find grep sort diff cmp stat comm join; do
    command -v "$tool" >/dev/null || { echo "verify-tree: needs $tool" >&2; exit 2; }
done
HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
[ -d "$1" ] && [ -f "$2" ] && [ -d "${3:-.}" ] || { echo "verify-tree: no folder $1, no file $2 or no folder ${3:-}" >&2; exit 2; }
T=$(cd "$1" && pwd -P)
NEWER=${3:+$(cd "$3" && pwd -P)}
W=$(mktemp -d)
trap leave EXIT
tr -d '\000\r' < "$2" | head -c 2000 > "$W/controller.pub"
OPENSSL=
if command -v openssl >/dev/null; then OPENSSL=yes; fi

# ---------------------------------------------------------------- files, manifests, signatures

# V2: types and sizes of everything, before anything is opened (a FIFO would block a reader for ever); writes "size path" lines
list_files() { # FOLDER OUT
    local out
    find "$1" \( -path "$1/incoming" -o -path "$1/rejected" \) -prune -o -mindepth 1 -printf '%y %s %P\n' > "$W/found"
    out=$(awk '
        { path = $0; sub(/^[^ ]* [^ ]* /, "", path) }
        $1 != "f" && $1 != "d" { print path "\tneither a plain file nor a folder"; exit }
        $1 == "d" { next }
        $2 > 67108864 && path ~ /^(bundles|plan|trust)\// { print path "\tlarger than 64 MiB"; exit }
        $2 > 536870912 { print path "\tlarger than 512 MiB"; exit }
        path ~ /\.sig$/ && $2 > 4096 { print path "\tlarger than 4096 bytes"; exit }
        path ~ /^trust\// { if ($2 > 1048576 || (trust += $2) > 16777216) { print path "\ttrust/ is larger than allowed"; exit } }
        path ~ /^plan\// { if ((plan += $2) > 268435456) { print path "\tplan/ is larger than allowed"; exit } }
        path ~ /^bundles\/[^\/]+\/[^\/]+\// {
            split(path, p, "/"); if ((sum[p[2], p[3]] += $2) > 536870912) { print path "\tits bundle is larger than 512 MiB"; exit } }' "$W/found")
    [ -z "$out" ] || fail "${out%%$'\t'*}" "${out#*$'\t'}"
    sed -n 's/^f //p' "$W/found" | sort -k2 > "$2"
}

# V3: the grammar of manifests, in full, before sha256sum sees them; of all folders of a list at once
check_grammar() { # ROOT FILES (from list_files) KIND WHERE < paths below ROOT
    local out max
    case $3 in trust) max=1024;; plan) max=4096;; bundle) max=16384;; *) max=4000000;; esac
    out=$(awk -v root="$1" -v sizes="$2" -v kind="$3" -v max=$max '
        function bad(what) { print path "\tline " n ": " what; exit }
        function check(line,   name, part, parts, i) {
            name = substr(line, 67); parts = split(name, part, "/")
            if (index(line, " ") != 65 || substr(line, 1, 64) ~ /[^0-9a-f]/ || substr(line, 65, 2) != "  ") bad("not <64 lower-case hex digits>  <path>")
            if (length(name) > 400 || parts > 12) bad("a name of more than 400 bytes or 12 parts")
            for (i = 1; i <= parts; i++) if (part[i] !~ /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/ || length(part[i]) > 200) bad("name outside the rule")
            if (n > 1 && !((last "") < (name ""))) bad("not sorted, or a name twice")
            if (tolower(name) in seen) bad("two names that differ only in case")
            seen[tolower(name)] = 1; last = name
            if (part[parts] ~ /^MANIFEST\.sha256(\.sig|\.tsr)?$/ && !(kind == "tree" && name ~ /^(trust|trust\/handover|plan|bundles\/[^\/]+\/[^\/]+)\/MANIFEST/) && !(kind == "trust" && name ~ /^handover\/MANIFEST/)) bad("names a manifest")
            if (kind == "tree" && (part[1] == "incoming" || part[1] == "rejected")) bad("names what is outside the tree")
        }
        BEGIN { while ((getline line < sizes) > 0) { n = index(line, " "); size[substr(line, n + 1)] = substr(line, 1, n - 1) + 0 } }
        {
            path = $0; n = bytes = 0; split("", seen)
            if (!(path in size) || size[path] == 0) { print path "\tempty or missing"; exit }
            if (size[path] > max * 467) { print path "\tlarger than " max " files need"; exit }
            while ((getline line < (root "/" path)) > 0) {
                n++; bytes += length(line) + 1
                if (n > max) bad("more than " max " files")
                check(line)
            }
            close(root "/" path)
            if (bytes != size[path]) { print path "\tdoes not end with LF, or holds a NUL byte"; exit }
        }')
    [ -z "$out" ] || fail "$4${out%%$'\t'*}" "${out#*$'\t'}"
}

# V1, V9, V16: stock ssh-keygen against one pinned key, then the same without OpenSSH's code
check_signature() { # FILE NAMESPACE PRINCIPAL "PUBLIC LINE" WHERE
    printf '%s namespaces="%s" %s\n' "$3" "$2" "$4" > "$W/signer"
    [ -f "$1.sig" ] || fail "$5.sig" "missing"
    ssh-keygen -Y verify -f "$W/signer" -I "$3" -n "$2" -s "$1.sig" < "$1" >/dev/null 2>&1 || fail "$5.sig" "no signature of $3 in $2"
    [ -z "$OPENSSL" ] || "$HERE/ossl-verify.sh" "$1" "$2" "$4" > "$W/ossl" 2>&1 || fail "$5.sig" "$(head -1 "$W/ossl" | sed 's/.*\.sig: //')"
}

# V4 for the sealed folders inside: prefixed, their lines are those of the tree's manifest, which sha256sum has checked
check_inner() { # LIST OF FOLDERS, each with a checked manifest
    awk -v dir="$T" '{ f = dir "/" $0 "/MANIFEST.sha256"; while ((getline line < f) > 0) print substr(line, 1, 66) $0 "/" substr(line, 67); close(f) }' "$1" |
        sort -k2 > "$W/inner"
    awk -v list="$1" 'BEGIN { while ((getline f < list) > 0) folder[f] = 1 }
        { name = substr($0, 67); n = split(name, p, "/"); f = p[1] == "bundles" ? p[1] "/" p[2] "/" p[3] : p[1]; base = substr(name, length(f) + 2) }
        (f in folder) && base != "MANIFEST.sha256" && base != "MANIFEST.sha256.sig" && base != "MANIFEST.sha256.tsr"' "$T/MANIFEST.sha256" > "$W/outer"
    if ! cmp -s "$W/inner" "$W/outer"; then
        fail "$( (diff "$W/inner" "$W/outer" || true) | sed -n 's/^[<>] [0-9a-f]*  //p' | head -1)" "differs from the manifest of its folder, or is missing or not listed there"
    fi
}

# V6: the fixed form (FORMATS.md section 4): spelling of every line, the same bytes from jq -S, fields. What jq prints again is
# compared by the digests of a manifest that was checked before. The lines for the script go to OUT/<n>.tsv, n counting paths.
JSON='^ *("[a-z][a-z0-9_]*": )?("([] !#-[^-~]|\\["\\])*"|0|-?[1-9][0-9]{0,15}|\[\]|\{\}|[][{}]),?$'
check_json() { # ROOT FILES MANIFEST LIST (kind, max, path) OUT WHERE
    local out
    mkdir -p "$5"
    out=$(awk -v sizes="$2" 'BEGIN { while ((getline line < sizes) > 0) { n = index(line, " "); size[substr(line, n + 1)] = substr(line, 1, n - 1) + 0 } }
        !($3 in size) || size[$3] == 0 { print $3 "\tempty or missing"; exit }
        size[$3] > $2 { print $3 "\tlarger than " $2 " bytes"; exit }' "$4")
    [ -z "$out" ] || fail "$6${out%%$'\t'*}" "${out#*$'\t'}"
    cut -d' ' -f3 "$4" > "$5/paths"
    out=$(cd "$1" && xargs -r -a "$5/paths" grep -aHnEv -m1 -- "$JSON" | head -1 | tr -dc ' -~' | cut -c1-300) || true
    [ -z "$out" ] || fail "$6${out%%:*}" "not the fixed form: line ${out#*:}"
    (cd "$1" && xargs -r -a "$5/paths" jq -n -r -S -f "$HERE/verify-forms.jq" 2>/dev/null) > "$5/all" || true
    awk -v out="$5" '
        /^\{/ { if (n > 0) { close(out "/" n ".json"); close(out "/" n ".tsv") } n++; first = 1 }
        /^[{} ]/ { print > (out "/" n ".json"); next }
        { print > (out "/" n ".tsv"); if (first) { split($0, f, "\t"); print n, f[1] > (out "/kinds"); first = 0 } }' "$5/all"
    awk -v manifest="$3" 'BEGIN { while ((getline line < manifest) > 0) if (line ~ /\.json$/) hex[substr(line, 67)] = substr(line, 1, 64) }
        { print hex[$3] "  " NR ".json" }' "$4" > "$5/digests"
    touch "$5/kinds"
    out=$(awk -v list="$4" 'BEGIN { while ((getline line < list) > 0) { split(line, f, " "); kind[++n] = f[1]; path[n] = f[3] } }
        FILENAME == ARGV[1] { split($0, f, " "); got[f[1]] = substr($0, length(f[1]) + 2); next }
        { sub(/\.json: .*/, ""); bad = $0 + 0; exit }
        END {
            for (i = 1; i <= n; i++) {
                if (i == bad) { print path[i] "\tnot the fixed form: differs from jq -S"; exit }
                if (got[i] != kind[i]) { print path[i] "\t" (got[i] ~ /^error / ? substr(got[i], 7) : "not the fixed form, or another schema"); exit }
            }
        }' "$5/kinds" <(cd "$5" && sha256sum -c --strict digests 2>/dev/null | grep -v ': OK$'))
    [ -z "$out" ] || fail "$6${out%%$'\t'*}" "${out#*$'\t'}"
}

# ---------------------------------------------------------------- who may sign

check_anchor() { # V1
    [ "$(grep -c . "$W/controller.pub")" = 1 ] || fail "$1" "more or less than one line"
    ANCHOR=$(cut -d' ' -f1,2 "$W/controller.pub")
    [[ $ANCHOR =~ ^ssh-ed25519\ [A-Za-z0-9+/]{68}$ ]] || fail "$1" "no line 'ssh-ed25519 ...'"
}

check_signers() { # V5: FOLDER OUT WHERE; OUT gets: system after before type public
    local out
    for f in allowed_signers revoked_keys trust.json; do [ -f "$1/$f" ] || fail "$3$f" "missing"; done
    { [ -s "$1/allowed_signers" ] && [ -z "$(tail -c 1 "$1/allowed_signers")" ]; } || fail "$3allowed_signers" "empty, or its last line does not end"
    out=$(awk -v anchor="$ANCHOR" -v keys="$2" '
        function bad(what) { print "line " NR ": " what; exit }
        function stamp(s) { return s ~ /^[0-9]+Z$/ && length(s) == 15 }
        BEGIN { printf "" > keys }
        NR == 1 {
            if ($0 !~ /^controller namespaces="plan\.v1@fleetmark,tree\.v1@fleetmark,trust\.v1@fleetmark",valid-after="[0-9]*Z" ssh-ed25519 [A-Za-z0-9+\/]*$/) bad("not the form of the controller line")
            if ($(NF - 1) " " $NF != anchor) bad("another key than the anchor")
            after = $2; sub(/.*valid-after="/, "", after); sub(/".*/, "", after); if (!stamp(after)) bad("not a stamp")
            seen[$NF] = 1
            next
        }
        {
            if ($1 !~ /^[A-Za-z0-9][A-Za-z0-9._-]*$/ || length($1) > 64 || $1 == "controller") bad("not a system name: " $1)
            if ($0 !~ /^[^ ]+ namespaces="bundle\.v1@fleetmark,enrol\.v1@fleetmark",valid-after="[0-9]*Z"(,valid-before="[0-9]*Z")? ssh-ed25519 [A-Za-z0-9+\/]*$/) bad("not the form of a system line")
            if (length($NF) != 68) bad("not a key")
            if ($NF in seen) bad("a key twice")
            seen[$NF] = 1
            after = $2; sub(/.*valid-after="/, "", after); sub(/".*/, "", after)
            before = "-"; if ($2 ~ /valid-before/) { before = $2; sub(/.*valid-before="/, "", before); sub(/".*/, "", before) }
            if (!stamp(after) || (before != "-" && !stamp(before))) bad("not a stamp")
            if (before != "-" && (before "") < (after "")) bad("a window that ends before it begins")
            for (i = 1; i <= n[$1]; i++)
                if (!((b[$1, i] != "-" && (b[$1, i] "") < (after "")) || (before != "-" && (before "") < (a[$1, i] "")))) bad("two windows of " $1 " overlap")
            i = ++n[$1]; a[$1, i] = after; b[$1, i] = before
            print $1, after, before, $(NF - 1), $NF > keys
        }' "$1/allowed_signers")
    [ -z "$out" ] || fail "$3allowed_signers" "$out"
    [ -z "$(tail -c 1 "$1/revoked_keys")" ] || fail "$3revoked_keys" "its last line does not end"
    out=$(grep -nEv '^ssh-ed25519 [A-Za-z0-9+/]{68}$' "$1/revoked_keys" | head -1 | cut -d: -f1) || true
    [ -z "$out" ] || fail "$3revoked_keys" "line $out is no public line"
    # nothing else lies there but statements of the listed systems
    out=$(awk -v keys="$2" 'BEGIN { while ((getline line < keys) > 0) { split(line, f, " "); ok["enrol/" f[1] ".txt"] = 1 } }
        { name = substr($0, 67); base = name; sub(/(\.prev)?\.sig$/, "", base) }
        name != "allowed_signers" && name != "revoked_keys" && name != "trust.json" && name !~ /^handover\// && !(base in ok) { print name; exit }' "$1/MANIFEST.sha256")
    [ -z "$out" ] || fail "$3$out" "does not belong there"
}

# V5: the statement of each system's last key: signed by that key, for that system and this controller; after a change of keys
# also signed by the one before
check_enrolments() { # FOLDER KEYS WHERE
    local system public f p='ssh-ed25519 [A-Za-z0-9+/]{68}' form
    sort -k1,1 -k2,2 "$2" | awk '$1 != name && NR > 1 { print line } { name = $1; line = $1 " " $4 " " $5 } END { if (NR) print line }' > "$W/last"
    while read -r system public; do
        f=$1/enrol/$system.txt
        [ -f "$f" ] && [ -f "$f.sig" ] || fail "$3enrol/$system.txt" "no enrolment statement"
        printf '%s\n' "$(tr -d '\000' < "$f")" | cmp -s - "$f" || fail "$3enrol/$system.txt" "not the form of a statement"
        form="^fleetmark-enrol 1;system $system;challenge [0-9a-f]{64};controller ($p);key ($p);previous (none|$p);end;\$"
        [[ $(tr '\n' ';' < "$f") =~ $form ]] || fail "$3enrol/$system.txt" "not the form of a statement of $system"
        local controller=${BASH_REMATCH[1]} key=${BASH_REMATCH[2]} previous=${BASH_REMATCH[3]}
        check_signature "$f" enrol.v1@fleetmark "$system" "$key" "$3enrol/$system.txt"
        [ "$controller" = "$ANCHOR" ] || fail "$3enrol/$system.txt" "made for another controller"
        [ "$key" = "$public" ] || fail "$3enrol/$system.txt" "made for another key"
        [ "$previous" != none ] || [ ! -f "$f.prev.sig" ] || fail "$3enrol/$system.txt.prev.sig" "without a previous key"
        if [ "$previous" != none ]; then
            [ -f "$f.prev.sig" ] || fail "$3enrol/$system.txt.prev.sig" "missing: the key before did not sign the statement that follows it"
            cp "$f" "$W/statement"; cp "$f.prev.sig" "$W/statement.sig"
            check_signature "$W/statement" enrol.v1@fleetmark "$system" "$previous" "$3enrol/$system.txt.prev"
        fi
    done < "$W/last"
}

# V5: handover/, if it is there: the last act of the controller's key before this one, which names this one and nothing else.
# Who trusts only that key decides by this folder; here its own line says which key must have sealed it.
check_handover() { # FOLDER FILES PREFIX-OF-PATHS WHERE VERSION
    local h=$1/handover p=$3handover line='controller namespaces="plan\.v1@fleetmark,tree\.v1@fleetmark,trust\.v1@fleetmark",valid-after="[0-9]{14}Z" (ssh-ed25519 [A-Za-z0-9+/]{68})' old
    [ -d "$h" ] || return 0
    check_grammar "${1%"/${3%/}"}" "$2" trust "$4" <<< "$p/MANIFEST.sha256"
    [ "$(cut -c67- "$h/MANIFEST.sha256" | tr '\n' ' ')" = "allowed_signers revoked_keys trust.json " ] || fail "$4$p" "holds something else than allowed_signers, revoked_keys, trust.json"
    [[ $(tr '\n\000' ';?' < "$h/allowed_signers") =~ ^$line\;$line\;$ ]] || fail "$4$p/allowed_signers" "not two lines of the controller"
    old=${BASH_REMATCH[1]}
    [ "${BASH_REMATCH[2]}" = "$ANCHOR" ] && [ "$old" != "$ANCHOR" ] || fail "$4$p/allowed_signers" "names another key than the one that sealed this"
    check_signature "$h/MANIFEST.sha256" trust.v1@fleetmark controller "$old" "$4$p/MANIFEST.sha256"
    (cd "$h" && sha256sum -c --strict --quiet MANIFEST.sha256) >/dev/null 2>&1 || fail "$4$p" "a digest differs"
    sed -n "s#^[0-9]* $p/##p" "$2" | grep -vxE 'MANIFEST\.sha256(\.sig|\.tsr)?|allowed_signers|revoked_keys|trust\.json' > "$W/stray" || true
    [ ! -s "$W/stray" ] || fail "$4$p/$(head -1 "$W/stray")" "is not listed in its MANIFEST.sha256"
    [ -z "$(tail -c 1 "$h/revoked_keys")" ] && ! grep -qEv '^ssh-ed25519 [A-Za-z0-9+/]{68}$' "$h/revoked_keys" || fail "$4$p/revoked_keys" "a line that is no public line"
    echo "trust 65536 trust.json" > "$W/list"
    sed -n "s#^\([0-9]* \)$p/#\1#p" "$2" > "$W/handover_files"
    check_json "$h" "$W/handover_files" "$h/MANIFEST.sha256" "$W/list" "$W/json_handover" "$4$p/"
    [ "$(cut -f2 "$W/json_handover/1.tsv")" -lt "$5" ] || fail "$4$p" "not older than the folder it lies in"
}

# V9: the planned key: it counted when the plan was made and had not ended when the bundle came (in the newer trust folder if
# there is one), and is not revoked
counts() { # KEYS SYSTEM "PUBLIC LINE" RECEIVED
    awk -v s="$2" -v key="$3" -v when="$(tr -d 'T:-' <<< "$ISSUED")" -v came="$(tr -d 'T:-' <<< "$4")" '
        $1 == s && $4 " " $5 == key && ($2 "") <= (when "") && ($3 == "-" || ((when "") <= ($3 "") && (came "") <= ($3 ""))) { ok = 1 } END { exit !ok }' "$1"
}
check_planned_key() { # SYSTEM "PUBLIC LINE" RECEIVED
    if grep -qxF "$2" "$T/trust/revoked_keys" || { [ -n "$NEWER" ] && grep -qxF "$2" "$NEWER/revoked_keys"; }; then
        fail "bundles/$1" "the key of $1 is revoked"
    fi
    counts "$W/keys" "$1" "$2" "$ISSUED" || fail "trust/allowed_signers" "the planned key of $1 was not enrolled at $ISSUED"
    counts "$W/keys_now" "$1" "$2" "$3" || fail "bundles/$1" "the key of $1 did not count any more at $3"
}

check_trust() {
    VERSION=$(cut -f2 "$W/trust")
    check_signers "$T/trust" "$W/keys" trust/
    check_enrolments "$T/trust" "$W/keys" trust/
    check_handover "$T/trust" "$W/there" trust/ "" "$VERSION"
    cp "$W/keys" "$W/keys_now"
    [ -n "$NEWER" ] || return 0
    list_files "$NEWER" "$W/newer"
    check_grammar "$NEWER" "$W/newer" trust "newer trust folder: " <<< MANIFEST.sha256
    check_signature "$NEWER/MANIFEST.sha256" trust.v1@fleetmark controller "$ANCHOR" "newer trust folder: MANIFEST.sha256"
    (cd "$NEWER" && sha256sum -c --strict --quiet MANIFEST.sha256) >/dev/null 2>&1 || fail "newer trust folder" "a digest differs"
    cut -c67- "$NEWER/MANIFEST.sha256" | cmp -s - <(cut -d' ' -f2- "$W/newer" | grep -vxE 'MANIFEST\.sha256(\.sig|\.tsr)?') ||
        fail "newer trust folder" "its files are not those of its manifest"
    echo "trust 65536 trust.json" > "$W/list"
    check_json "$NEWER" "$W/newer" "$NEWER/MANIFEST.sha256" "$W/list" "$W/json_newer" "newer trust folder: "
    check_signers "$NEWER" "$W/newer_keys" "newer trust folder: "
    check_enrolments "$NEWER" "$W/newer_keys" "newer trust folder: "
    check_handover "$NEWER" "$W/newer" "" "newer trust folder: " "$(cut -f2 "$W/json_newer/1.tsv")"
    cp "$W/newer_keys" "$W/keys_now"
    [ "$(cut -f2 "$W/json_newer/1.tsv")" -ge "$VERSION" ] || fail "newer trust folder" "older than the tree's own"
}

# ---------------------------------------------------------------- plan and tree.json

# SOURCES.sha256 and kat.sha256, one file a candidate in $W/sources and $W/kat; vectors with the planned number and digest
check_lists() {
    local out hex mode name candidate instance n
    mkdir "$W/sources" "$W/kat"
    check_grammar "$T" "$W/there" sources "" <<< plan/SOURCES.sha256
    out=$(cd "$W" && awk -F'\t' -v sources="$T/plan/SOURCES.sha256" -v kat="$T/plan/kat.sha256" '
        $1 == "candidate" { c[$2] = 1; printf "" > ("sources/" $2); close("sources/" $2); printf "" > ("kat/" $2); close("kat/" $2) }
        $1 == "instance" { instance[$2 "/" $3] = $4; if ($4 > 0) vectors[$2 "/" $3] = 1 }
        END {
            while ((getline line < sources) > 0) {
                name = substr(line, 67); split(name, p, "/")
                if (!(p[1] in c)) { print "SOURCES.sha256\tnot of a planned candidate: " name; exit }
                if (p[1] != last) { if (last != "") close("sources/" last); last = p[1] }
                print substr(line, 1, 66) substr(name, length(p[1]) + 2) >> ("sources/" last)
            }
            last = ""
            while ((getline line < kat) > 0) {
                n = split(line, f, " ")
                if (n != 3 || length(f[1]) != 64 || f[1] ~ /[^0-9a-f]/ || split(f[3], p, "/") != 3 || !((p[1] "/" p[2]) in instance) ||
                    line != f[1] " " f[2] " " f[3] || p[3] !~ /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/) { print "kat.sha256\tnot a line of a planned instance: " line; exit }
                i = p[1] "/" p[2]
                if (p[3] == "vectors.txt") {
                    if (f[2] != "vectors:" instance[i] || !(i in vectors)) { print "kat.sha256\tnot the vectors of plan.json: " line; exit }
                    delete vectors[i]; print f[1], p[1], p[2], instance[i] > "vectors"
                } else if (f[2] != "strict" || (i in before && !((before[i] "") < (p[3] "")))) { print "kat.sha256\tunknown mode, or out of order: " line; exit }
                else before[i] = p[3]
                if (p[1] != last) { if (last != "") close("kat/" last); last = p[1] }
                print line >> ("kat/" last)
            }
            for (i in vectors) { print "kat.sha256\tno line for the vectors of " i; exit }
        }' plan)
    [ -z "$out" ] || fail "plan/${out%%$'\t'*}" "${out#*$'\t'}"
    awk -F'\t' '$1 == "candidate" { print $3 "  " $2 }' "$W/plan" > "$W/digests"
    out=$(cd "$W/sources" && sha256sum -c --strict --quiet "$W/digests" 2>/dev/null | sed -n 's/: .*//p' | head -1) || true
    [ -z "$out" ] || fail plan/SOURCES.sha256 "the list of $out is not the one plan.json names"
    touch "$W/vectors"
    while read -r hex candidate instance n; do
        name=$T/plan/vectors/$candidate.txt
        [ -f "$name" ] || fail "plan/vectors/$candidate.txt" "missing"
        awk -v p="$instance|" 'index($0, p) == 1' "$name" > "$W/part"
        mode=$(sha256sum < "$W/part")
        [ "${mode%% *}" = "$hex" ] && [ "$(wc -l < "$W/part")" = "$n" ] ||
            fail "plan/vectors/$candidate.txt" "not the lines that plan.json and kat.sha256 name for $instance"
    done < "$W/vectors"
}

declare -A KEY ARCH SOURCE   # of the planned systems and candidates
check_plan() {
    local out system arch key digest candidate
    PLAN_SHA=$(sha256sum < "$T/plan/MANIFEST.sha256" | cut -c1-64)
    IFS=$'\t' read -r _ CAMPAIGN NONCE ISSUED EXPIRES PROFILE PUBLISH AGENT WORLD < "$W/plan"
    [ "$PUBLISH" = 0 ] || [ "$PROFILE" != smoke ] || fail plan/plan.json "publish must be 0 for smoke"
    [[ ! $ISSUED > $EXPIRES ]] || fail plan/plan.json "expires_at lies before issued_at"
    out=$(awk -F'\t' '
        function bad(what) { print what; exit }
        $1 == "system" { if ($2 in sys || $4 in keys || $2 == "controller") bad("system " $2 " or its key stands twice"); sys[$2] = $3; keys[$4] = 1 }
        $1 == "flags" { if (($2, $3) in flags) bad("flags of " $2 ", " $3 " stand twice"); flags[$2, $3] = 1 }
        $1 == "candidate" { if (c != "" && !((c "") < ($2 ""))) bad("candidate " $2 " is out of order"); c = $2 }
        $1 == "instance" { if (($2, $3) in inst) bad("instance " $3 " stands twice"); inst[$2, $3] = 1 }
        $1 == "version" { if (($2, $3, $4) in ver || $5 == 0) bad("version " $4 " of " $3 " stands twice, or has no sources"); ver[$2, $3, $4] = 1 }
        $1 == "cell" {
            n = split($2, p, "/"); bytes = p[5]; sub(/^hash_/, "", bytes)
            if (n != 5 || !(p[1] in sys) || !((p[2], p[3], p[4]) in ver) || !((sys[p[1]], p[4]) in flags) || p[5] !~ /^hash_[1-9][0-9]*$/ || length(bytes) > 8 || bytes + 0 > 16777216) bad("cell " $2 " has parts that are not in the plan")
            if (last != "" && !((last "") < ($2 ""))) bad("cell " $2 " is out of order")
            last = $2
        }' "$W/plan")
    [ -z "$out" ] || fail plan/plan.json "$out"
    check_lists
    awk -F'\t' '$1 == "system" { print $2 "\t" $3 "\t" $4 }' "$W/plan" > "$W/systems"
    while IFS=$'\t' read -r system arch key; do
        KEY[$system]=$key ARCH[$system]=$arch
    done < "$W/systems"
    while read -r digest candidate; do SOURCE[$candidate]=$digest; done < "$W/digests"
}

check_tree() { # V7, V8, V10; splits the cells into $W/cells/<system>/<candidate>
    local out head
    IFS=$'\t' read -r -a head < "$W/tree"
    [ "${head[1]}" = "$CAMPAIGN" ] || fail tree.json "another campaign than the plan's"
    [ "${head[2]}" = "$PLAN_SHA" ] || fail tree.json "plan_sha256 is not the digest of plan/MANIFEST.sha256"
    [ "${head[3]}" = "$PUBLISH" ] || fail tree.json "publish differs from the plan's"
    [ "${head[4]}" = "$VERSION" ] || fail tree.json "trust_version differs from trust.json"
    out=first; [ "${head[6]}" = - ] || out=later
    if [ "${head[5]}" = 1 ]; then [ $out = first ]; else [ $out = later ]; fi || fail tree.json "the first tree of a chain has sequence 1 and no previous one, every other has both"
    { grep ^cell "$W/plan" | cut -f2 | cmp -s - <(grep ^cell "$W/tree" | cut -f2); } || fail tree.json "its cells are not the planned ones in their order"
    out=$(awk -F'\t' -v issued="$ISSUED" -v sealed="${head[7]}" -v expires="$EXPIRES" '
        function bad(what) { print $2 (job ? ", " $3 ", attempt " $4 : "") ": " what; exit }
        function reasons(status, class, reason, text) {
            if (status == "accepted") return class == "-" && reason == "-" && text == "-"
            return class ~ /^[a-z-]+$/ && reason ~ /^[a-z0-9_]+$/ && length(class) < 24 && length(reason) < 24 && class != "-"
        }
        FILENAME == ARGV[1] { if ($1 == "system") { sys[$2] = 1; ns++ } if ($1 == "candidate") { cand[$2] = 1; nc++ } next }
        $1 == "cell" { job = 0; if (!reasons($3, $4, $5, $6)) bad("status " $3 " with class " $4 ", reason " $5); next }
        $1 != "job" { next }
        {
            job = 1; pair = $2 SUBSEP $3; accepted = $9 == "accepted"; issued_one = $4 > 0; received = $7 != "-"
            if (!($2 in sys) || !($3 in cand)) bad("not planned")
            if (s != "" && !((s "") < ($2 "") || (s == $2 && ((c "") < ($3 "") || (c == $3 && n < $4 && n > 0))))) bad("out of order")
            if (s != $2 || c != $3) { pairs++; had = 0 }
            s = $2; c = $3; n = $4 + 0
            if (accepted && had++) bad("accepted twice")
            if (issued_one != ($5 != "-") || issued_one != ($6 != "-") || (received && !issued_one) || received != ($8 != "-") ||
                (accepted && !received) || !reasons($9, $10, $11, $12)) bad("nonce, times, digest, status and reason do not belong together")
            if ($5 != "-") { if ($5 in nonce) bad("its job nonce was used before"); nonce[$5] = 1 }
            end = received ? $7 : $6
            if (issued_one && ((issued "") > ($6 "") || ($6 "") > (end "") || (end "") > (sealed ""))) bad("times out of order")
            if (accepted && ($7 "") > (expires "")) bad("received after the plan expired")
        }
        END { if (pairs != ns * nc) print "a planned system and candidate has no entry in jobs" }' "$W/plan" "$W/tree")
    [ -z "$out" ] || fail tree.json "$(head -1 <<< "$out")"
    # folders in bundles/ are those of the accepted jobs; an accepted cell has one
    awk -F'\t' '$1 == "job" && $9 == "accepted" { print "bundles/" $2 "/" $3 }' "$W/tree" | sort > "$W/accepted"
    cut -c67- "$T/MANIFEST.sha256" | awk -F/ '$1 == "bundles" { print "bundles/" $2 "/" $3 }' | sort -u > "$W/folders"
    out=$(diff "$W/accepted" "$W/folders" | sed -n 's/^[<>] //p' | head -1) || true
    [ -z "$out" ] || fail "$out" "accepted in tree.json without a folder, or a folder of no accepted job"
    awk -F'\t' '$1 == "cell" && $3 == "accepted" { split($2, p, "/"); print "bundles/" p[1] "/" p[2] }' "$W/tree" | sort -u > "$W/need"
    out=$(comm -23 "$W/need" "$W/accepted" | head -1)
    [ -z "$out" ] || fail tree.json "cells of $out are accepted without a bundle"
    (cd "$W" && sed 's,^bundles/,cells/,;s,/[^/]*$,,' accepted | sort -u | xargs -r mkdir -p && sed 's,^cells,files,' <(sed 's,^bundles/,cells/,;s,/[^/]*$,,' accepted) | sort -u | xargs -r mkdir -p
        awk -F'\t' -v accepted=accepted 'BEGIN { while ((getline f < accepted) > 0) ok[f] = 1 }
            $1 == "cell" { split($2, p, "/"); f = p[1] "/" p[2]; if (!(("bundles/" f) in ok)) next; if (f != last) { close("cells/" last); last = f } print $2 "\t" $3 "\t" $4 "\t" $5 > ("cells/" f) }' tree
        awk '{ n = split($2, p, "/"); if (p[1] != "bundles" || n < 4) next; f = p[2] "/" p[3]; if (f != last) { close("files/" last); last = f }
            name = substr($2, length("bundles/" f) + 2); if (name !~ /^MANIFEST\.sha256(\.sig|\.tsr)?$/) print $1 " " name > ("files/" f) }' there)
}

# the messages that were timed: byte i is (131 i + bytes) mod 256
make_messages() {
    local bytes i octal
    grep ^cell "$W/plan" | sed 's/.*hash_//' | sort -un > "$W/sizes"
    while read -r bytes; do
        octal=
        for ((i = 0; i < 256; i++)); do printf -v octal '%s\\%03o' "$octal" $(((131 * i + bytes) % 256)); done
        printf '%b' "${octal//\\/\\0}" > "$W/message"
        while [ "$(stat -c %s "$W/message")" -lt "$bytes" ]; do cat "$W/message" "$W/message" > "$W/twice"; mv "$W/twice" "$W/message"; done
        echo "$bytes $(head -c "$bytes" "$W/message" | sha256sum | cut -c1-64)"
    done < "$W/sizes" > "$W/messages"
}

# ---------------------------------------------------------------- one bundle

declare -A DIGEST   # of the files of the bundles that are compared as a whole
seal_of_bundle() { # V9, V10
    check_planned_key "$SYSTEM" "${KEY[$SYSTEM]}" "$RECEIVED"
    check_signature "$T/$B/MANIFEST.sha256" bundle.v1@fleetmark "$SYSTEM" "${KEY[$SYSTEM]}" "$B/MANIFEST.sha256"
    [ "${DIGEST[$B/MANIFEST.sha256]}" = "$MANIFEST" ] || fail "$B/MANIFEST.sha256" "not the one tree.json names"
}

content_of_bundle() { # V11 to V15
    local got out ev=$W/json_bundles/$((++NUMBER)).tsv
    [ "${DIGEST[$B/build/SOURCES.sha256]-none}" = "${SOURCE[$CANDIDATE]}" ] || fail "$B/build/SOURCES.sha256" "differs from the plan's list"
    printf -v out '%s\t' evidence "$CAMPAIGN" "$SYSTEM" "$CANDIDATE" "$NONCE" "$PLAN_SHA" "$JOB" "$ATTEMPT" "$PROFILE" "${ARCH[$SYSTEM]}" "$AGENT" "$WORLD" "${SOURCE[$CANDIDATE]}"
    read -r got < "$ev"
    [ "$got" = "${out%$'\t'}" ] ||
        fail "$B/evidence.json" "made for something else: $(diff <(tr '\t' '\n' <<< "$got") <(tr '\t' '\n' <<< "${out%$'\t'}") | sed -n 's/^< //p' | head -1)"
    out=$(awk -v host="$SYSTEM" -v candidate="$CANDIDATE" -v dir="$T/$B" -v ev="$ev" -v cells="$W/cells/$SYSTEM/$CANDIDATE" \
        -v kat="$W/kat/$CANDIDATE" -v files="$W/files/$SYSTEM/$CANDIDATE" -v messages="$W/messages" -f "$HERE/verify-bundle.awk")
    [ "${out%%$'\t'*}" = ok ] || fail "${out%%$'\t'*}" "${out#*$'\t'}"
    echo "ok $B: ${out#*$'\t'} cells measured, signed by the planned key of $SYSTEM"
}

each_bundle() { # WHAT
    while IFS=$'\t' read -r _ SYSTEM CANDIDATE ATTEMPT JOB _ RECEIVED MANIFEST status _; do
        B=bundles/$SYSTEM/$CANDIDATE
        [ "$status" != accepted ] || "$1"
    done < <(grep ^job "$W/tree")
}

# ---------------------------------------------------------------- the tree

check_anchor "$2"
list_files "$T" "$W/there"
check_grammar "$T" "$W/there" tree "" <<< MANIFEST.sha256
check_signature "$T/MANIFEST.sha256" tree.v1@fleetmark controller "$ANCHOR" MANIFEST.sha256
for d in trust plan; do
    check_grammar "$T" "$W/there" $d "" <<< $d/MANIFEST.sha256
    check_signature "$T/$d/MANIFEST.sha256" $d.v1@fleetmark controller "$ANCHOR" $d/MANIFEST.sha256
done
(cd "$T" && sha256sum -c --strict --quiet MANIFEST.sha256) > "$W/sums" 2>/dev/null ||
    fail "$(head -1 "$W/sums" | sed 's/: FAILED.*//')" "differs from its line in MANIFEST.sha256, or is missing"
cut -d' ' -f2- "$W/there" | grep -vxE 'MANIFEST\.sha256(\.sig|\.tsr)?' > "$W/names"
extra=$(cut -c67- "$T/MANIFEST.sha256" | comm -13 - "$W/names" | head -1)
[ -z "$extra" ] || fail "$extra" "is not listed in MANIFEST.sha256"
printf 'trust\nplan\n' > "$W/sealed"
check_inner "$W/sealed"
printf '%s\n' 'trust 65536 trust/trust.json' 'plan 67108864 plan/plan.json' 'tree 67108864 tree.json' > "$W/list"
check_json "$T" "$W/there" "$T/MANIFEST.sha256" "$W/list" "$W/json" ""
mv "$W/json/1.tsv" "$W/trust"; mv "$W/json/2.tsv" "$W/plan"; mv "$W/json/3.tsv" "$W/tree"
check_trust
check_plan
check_tree
sed 's,$,/MANIFEST.sha256,' "$W/accepted" | check_grammar "$T" "$W/there" bundle ""
while read -r digest file; do DIGEST[$file]=$digest; done < <(grep -E '^[0-9a-f]*  bundles/[^/]*/[^/]*/(MANIFEST|build/SOURCES)\.sha256$' "$T/MANIFEST.sha256")
each_bundle seal_of_bundle
check_inner "$W/accepted"
awk -F'\t' '$1 == "job" && $9 == "accepted" { print "evidence 4194304 bundles/" $2 "/" $3 "/evidence.json" }' "$W/tree" > "$W/list"
check_json "$T" "$W/there" "$T/MANIFEST.sha256" "$W/list" "$W/json_bundles" ""
make_messages
NUMBER=0
each_bundle content_of_bundle
[ -n "$OPENSSL" ] || echo "note: no openssl here, the second check of the signatures was left out"
note=; [ "$PUBLISH" = 1 ] || note=" (not for publication)"
echo "PASS $CAMPAIGN $(sha256sum < "$T/MANIFEST.sha256" | cut -c1-64)$note"
