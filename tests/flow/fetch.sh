#!/bin/bash
# fetch.sh: official packages over a real https server and from a file at hand: fetched whole or not at all, resumed after a
# cut, unpacked, built, checked against the known answers and measured; and packages never seen before, adopted and measured.
set -euo pipefail
fm=${FLEETMARK_BUILD:?}/fleetmark
: "${FLEETMARK_ROOT:?}"
skip() { echo "skipped: $*"; exit 77; }
[ -x "$fm" ] || skip "no $fm"
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-fetch-XXXXXX")
NGINX_PID=
# shellcheck disable=SC2317,SC2329   # called by trap
ended() {
	[ -z "$NGINX_PID" ] || kill "$NGINX_PID" 2>/dev/null || true
	rm -rf "$T"
}
trap ended EXIT
failed=0
fail() { echo "FAIL: $*"; failed=1; }

# tool NAME PACKAGE: the path of a program, fetched (files only) where it is not installed
tool() {
	local cache=$FLEETMARK_BUILD/flow-$2 at
	for at in "$(command -v "$1" || true)" "/usr/sbin/$1" "$cache/usr/sbin/$1" "$cache/usr/bin/$1"; do
		if [ -n "$at" ] && [ -x "$at" ]; then echo "$at"; return; fi
	done
	command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 1
	# shellcheck source=/dev/null
	. "$FLEETMARK_ROOT/deploy/packages.sh"
	pkg_fetch "$cache" "$2" >/dev/null 2>&1 || return 1
	for at in "$cache/usr/sbin/$1" "$cache/usr/bin/$1"; do
		if [ -x "$at" ]; then echo "$at"; return; fi
	done
	return 1
}
BSDTAR=$(tool bsdtar libarchive-tools) || skip "no bsdtar"
NGINX=$(tool nginx nginx-light) || skip "no nginx"
command -v openssl >/dev/null || skip "no openssl"
# shellcheck source=tests/flow/packages.bash
. "$FLEETMARK_ROOT/tests/flow/packages.bash"
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY FLEETMARK_INVENTORY XDG_CACHE_HOME
export FLEETMARK_HOME=$T/home
cd "$T"

# ---- an https server with a certificate of the test's own authority, and a plain one that must see nobody ----

server_make() {
	PORT=$((20000 + RANDOM % 20000))
	PLAIN=$((PORT + 1))
	mkdir -p www tmp
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=test authority" -keyout ca.key -out ca.pem 2>/dev/null
	openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout srv.key -out srv.csr 2>/dev/null
	openssl x509 -req -in srv.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out srv.pem \
		-extfile <(echo "subjectAltName = DNS:localhost,IP:127.0.0.1") 2>/dev/null
	cat > nginx.conf <<-END
		daemon off; master_process off; pid $T/nginx.pid; error_log $T/error.log;
		events { }
		http {
			client_body_temp_path $T/tmp/b; proxy_temp_path $T/tmp/p; fastcgi_temp_path $T/tmp/f;
			uwsgi_temp_path $T/tmp/u; scgi_temp_path $T/tmp/s;
			log_format short '\$status \$request \$http_range';
			server {
				listen 127.0.0.1:$PORT ssl; ssl_certificate $T/srv.pem; ssl_certificate_key $T/srv.key;
				access_log $T/access.log short; root $T/www; error_page 404 /404.html;
				location /slow/ { alias $T/www/; limit_rate 400k; }
				location /whole/ { alias $T/www/; max_ranges 0; }
				location /to-http/ { return 302 http://127.0.0.1:$PLAIN\$request_uri; }
				location /to-https/ { rewrite ^/to-https/(.*) https://localhost:$PORT/\$1 redirect; }
				location /loop/ { return 302 https://localhost:$PORT/loop/; }
			}
			server { listen 127.0.0.1:$PLAIN; access_log $T/plain.log short; root $T/www; }
		}
	END
	echo '<html>not here</html>' > www/404.html
	echo '<html>Please log in</html>' > www/page.zip
	URL=https://localhost:$PORT
	export CURL_CA_BUNDLE=$T/ca.pem
}

server_start() {
	"$NGINX" -p "$T" -c "$T/nginx.conf" 2>>error.log &
	NGINX_PID=$!
	for _ in $(seq 100); do
		if curl -s -o /dev/null --cacert ca.pem "$URL/404.html" 2>/dev/null || openssl s_client -connect "localhost:$PORT" </dev/null >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	skip "nginx does not start: $(tail -3 error.log)"
}

server_stop() {
	kill "$NGINX_PID"
	wait "$NGINX_PID" 2>/dev/null || true
	NGINX_PID=
}

# expect STATUS 'WORDS' ARGUMENTS...
expect() {
	local want=$1 words=$2 got=0
	shift 2
	[ "$1" = adopt ] || set -- "$@" --root "$T/root"
	"$fm" "$@" >out 2>err </dev/null || got=$?
	[ "$got" = "$want" ] || fail "$*: exit $got, expected $want: $(head -c 400 err)"
	grep -qF -- "$words" out err || fail "$*: no '$words' in: $(head -c 400 out) $(head -c 400 err)"
}

cached() { find home/cache/packages -type f -printf '%f %s\n' 2>/dev/null | sort; }

arch=$(uname -m)
case $arch in x86_64 | aarch64) ;; *) skip "no architecture of ours" ;; esac
printf '[here_1]\narch = %s\ntransport = local\nworkdir = %s/work\n' "$arch" "$T" > fleet.ini

server_make
server_start
pkg_root root
for id in hash-07 hash-09 hash-29 hash-31; do pkg_make $id "$T/www/$id.zip"; done
size=$(stat -c %s www/hash-09.zip)
sum=$(sha256sum www/hash-09.zip) sum=${sum%% *}

# ---- refusals leave nothing behind ----

recipe() { pkg_recipe root hash-09 www/hash-09.zip "$@"; }
refused() { # STATUS WORDS URL: and nothing is kept, not even a part
	recipe "$3"
	expect "$1" "$2" fetch hash-09
	[ -z "$(cached)" ] || [ "$(cached)" = "$sum.part 0" ] || fail "$3 left: $(cached)"
}

recipe "$URL/hash-09.zip"
expect 2 'hash-09-archive: the official package is not on this machine; fleetmark fetch' plan -c hash-09-archive -i fleet.ini
expect 2 'no such candidate' fetch hash-99
refused 3 '404' "$URL/none.zip"
refused 4 "begins with '<html>Please log in" "$URL/page.zip"
refused 3 'only https is followed' "$URL/to-http/hash-09.zip"
[ ! -s plain.log ] || fail "the plain http server was asked: $(cat plain.log)"
refused 3 'redirects' "$URL/loop/"
(unset CURL_CA_BUNDLE; refused 3 'certificate' "$URL/hash-09.zip"; exit $failed) || failed=1
(export https_proxy=http://127.0.0.1:9; refused 3 '127.0.0.1' "$URL/hash-09.zip"; exit $failed) || failed=1
recipe "$URL/hash-09.zip" 1000
expect 4 'hash-09.zip' fetch hash-09
[ -z "$(cached)" ] || fail "a package larger than the recipe says left: $(cached)"
expect 4 'is not the package of the recipe' fetch hash-09 --archive www/hash-29.zip
expect 2 'No such file' fetch hash-09 --archive none.zip
[ -z "$(cached)" ] || fail "files at hand that are not it left: $(cached)"

# ---- a cut, then on from there ----

recipe "$URL/slow/hash-09.zip"
"$fm" fetch hash-09 --root root >out 2>err &
FETCH=$!
for _ in $(seq 100); do
	[ "$(cached | cut -d' ' -f2)" -gt 100000 ] 2>/dev/null && break
	sleep 0.1
done
server_stop
if wait $FETCH; then fail "a cut transfer passed for a whole one"; fi
grep -q 'goes on there' err || fail "the cut: $(cat err)"
part=$(cached | cut -d' ' -f2)
{ [ "$part" -gt 100000 ] && [ "$part" -lt "$size" ]; } || fail "the part has $part of $size bytes"
server_start
recipe "$URL/to-https/hash-09.zip"
expect 0 'went on behind what an earlier try had left' fetch hash-09
grep -q "^206 .*bytes=$part-" access.log || fail "no range was asked for: $(tail -3 access.log)"
[ "$(cached)" = "$sum $size" ] || fail "kept: $(cached)"
expect 0 'was here already' fetch hash-09-archive

# a server without ranges, and a part of something else
rm -rf home/cache
mkdir -p home/cache/packages
head -c 5000 /dev/zero > "home/cache/packages/$sum.part"
recipe "$URL/whole/hash-09.zip"
expect 0 'fetched' fetch hash-09
[ "$(cached)" = "$sum $size" ] || fail "without ranges: $(cached)"
rm -rf home/cache
mkdir -p home/cache/packages
head -c 5000 /dev/zero > "home/cache/packages/$sum.part"
recipe "$URL/hash-09.zip"
expect 0 'another file; once more' fetch hash-09
[ "$(cached)" = "$sum $size" ] || fail "behind a wrong part: $(cached)"
# whole, but the process had ended before it could say so: nobody is asked
mv "home/cache/packages/$sum" "home/cache/packages/$sum.part"
recipe "$URL/none.zip"
expect 0 'fetched' fetch hash-09
[ "$(cached)" = "$sum $size" ] || fail "a whole part: $(cached)"
recipe "$URL/hash-09.zip"

# ---- from a file at hand; then build, known answers, measure ----

for id in hash-07 hash-29 hash-31; do
	pkg_recipe root $id www/$id.zip "$URL/$id.zip"
	expect 0 "$id-archive" fetch $id --archive www/$id.zip
done
[ ! -e owned ] || fail "something of a package was run"
if find home/cache/sources -name 'KAT_*' -o -name Makefile -o -name '*.so' -o -name 'run*' | grep .; then fail "more than sources was unpacked"; fi
grep -q $'\r$' "$(find home/cache/sources -name eijen_ref.c | head -1)" || fail "CR LF was lost"

# adopt: the same packages as if nobody had seen them; the recipe it proposes is then fetched and measured with the others
while read -r id count; do
	cp "www/$id.zip" "Seen $id.zip"
	expect 0 "proposal: adopt-Seen-$id" adopt "Seen $id.zip"
	[ "$(grep -c '^instance ' out)" = "$count" ] || fail "adopt $id: $(cat out)"
	grep -q 'binaries (ignored' out || fail "adopt $id names no binaries"
	if grep -E '^sources = .*(KAT_|drng|run)' "adopt-Seen-$id/algos/seen-$id-archive/candidate.ini"; then fail "adopt $id takes drivers"; fi
	cp -r "adopt-Seen-$id/algos/seen-$id-archive" root/algos/
	expect 0 "seen-$id-archive" fetch "seen-$id-archive" --archive "Seen $id.zip"
done <<-'END'
	hash-07 6
	hash-09 5
	hash-29 3
	hash-31 6
END
expect 2 'the proposal goes into a new folder' adopt "Seen hash-07.zip"
expect 4 'Unrecognized archive format' adopt www/page.zip
grep -q 'undecided: Dragon-512 is in the package more than once: .*Dragon-x86.* is taken, not .*Dragon-ARM' <("$fm" adopt "Seen hash-07.zip" -o again 2>/dev/null) ||
	fail "adopt does not say which of two trees it takes"

got=0
"$fm" run -i fleet.ini -c 'hash-*-archive,seen-hash-31-archive' --profile smoke --root root --results "$T/results" >out 2>err </dev/null || got=$?
[ $got = 0 ] || fail "run: exit $got: $(tail -5 err)"
grep -q . "$(find results -name tree.json | head -1)" || fail "no tree"
passed=$(find results -path '*/bundles/*/kat/*' -name '*.log' -exec grep -l '^RESULT .* PASS $' {} + | grep -c . || true)
[ "$passed" = 20 ] || fail "$passed of 20 instances passed"
# what was adopted has no known answers here: measured, and says so
passed=$(find results -path '*/bundles/*/seen-hash-31-archive/kat/*' -name '*.log' -exec grep -l '^RESULT .* NOKAT $' {} + | grep -c . || true)
[ "$passed" = 6 ] || fail "$passed of 6 adopted instances were built and run"
[ ! -e owned ] || fail "something of a package was run"

exit $failed
