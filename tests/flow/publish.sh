#!/bin/bash
# publish.sh: a tree goes to a real HTTPS server (nginx with WebDAV, a CA of our own), also in two goes, is downloaded again and
# verified with stock tools; credentials are shown nowhere.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
PATH=$PATH:/usr/sbin
toy_alone "$@"
command -v nginx > /dev/null || { echo "skipped: needs nginx (with its WebDAV module)"; exit 77; }
toy_start nginx curl openssl
MKTREE=$FLEETMARK_BUILD/tests/mktree; [ -x "$MKTREE" ] || MKTREE=$FLEETMARK_BUILD/mktree
[ -x "$MKTREE" ] || { echo "skipped: no mktree in $FLEETMARK_BUILD"; exit 77; }
nginx -V 2>&1 | grep -q http_dav_module || { echo "skipped: this nginx has no WebDAV"; exit 77; }

step "a tree, a CA, a server"
"$MKTREE" "$T/world" > number 2> "$T/err" || fail mktree
tree=$T/world/tree
anchor=$T/world/home/controller.pub
mkdir -p "$tree/incoming" "$tree/rejected"
echo private > "$tree/incoming/note"; echo private > "$tree/rejected/reason.txt"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem 2> /dev/null
openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr 2> /dev/null
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out server.pem \
	-extfile <(echo subjectAltName=DNS:localhost,IP:127.0.0.1) 2> /dev/null
export CURL_CA_BUNDLE=$T/ca.pem no_proxy=localhost
unset https_proxy HTTPS_PROXY all_proxy ALL_PROXY
WORD='s3cret-w0rd/never:shown'
printf 'bench:%s\n' "$(openssl passwd -apr1 "$WORD")" > users
mkdir -p www/lie tmp
chmod 755 "$T"
cat > nginx.conf <<END
daemon off; pid $T/nginx.pid; error_log $T/error.log; worker_processes 1; user $(id -un) $(id -gn);
events {}
http {
	access_log $T/access.log; client_body_temp_path $T/tmp; proxy_temp_path $T/tmp; fastcgi_temp_path $T/tmp;
	uwsgi_temp_path $T/tmp; scgi_temp_path $T/tmp; client_max_body_size 70m;
	server {
		listen 127.0.0.1:0443 ssl; server_name localhost;
		ssl_certificate $T/server.pem; ssl_certificate_key $T/server.key;
		root $T/www; dav_methods PUT DELETE MKCOL; create_full_put_path off;
		auth_basic closed; auth_basic_user_file $T/users;
		location = /lie/data/x86_1/build.json { if (\$request_method = GET) { return 200 "other bytes"; } dav_methods PUT; }
		location /moved/ { return 301 https://localhost/other/; }
	}
}
END
port=0; for try in $(seq 20000 20020); do (exec 3<> "/dev/tcp/127.0.0.1/$try") 2> /dev/null || { port=$try; break; }; done
sed -i "s/127.0.0.1:0443/127.0.0.1:$port/" nginx.conf
nginx -e "$T/error.log" -c "$T/nginx.conf" 2>> "$T/err" & SERVER=$!
trap 'kill $SERVER 2>/dev/null || true; toy_end' EXIT
for _ in $(seq 50); do [ -s nginx.pid ] && break; sleep 0.1; done
url=https://localhost:$port
printf 'machine localhost login bench password %s\n' "$WORD" > netrc
chmod 600 netrc
publish() { fm publish --key "$anchor" --yes "$@"; }
count() { grep -cE "\"$1 [^\"]*\" 20[0-9] " access.log || true; }
quiet() { ! grep -qF -e "$WORD" -e w0rd "$T/out" "$T/err" || fail "the password is shown"; }

step "wrong use, and what must not be published"
gives 2 publish "$tree"
gives 2 publish "$tree" "http://localhost:$port/x/"; says "expected https://HOST/FOLDER"
gives 2 publish "$tree" "$url/x?y=1"; says "without ? and #"
gives 2 publish "$tree" "https://bench:${WORD//\//%2F}@local host/x/"; quiet
gives 2 publish --netrc "$T/none" "$tree" "$url/x/"; says "cannot be opened"
chmod 644 netrc; gives 2 publish --netrc netrc "$tree" "$url/x/"; says "chmod 600"; chmod 600 netrc
ln -s netrc link; gives 2 publish --netrc link "$tree" "$url/x/"; says "cannot be opened"
gives 2 fm publish --key "$anchor" --netrc netrc "$tree" "$url/x/"; says "not for publication"
cp -r "$tree" spoiled; printf x >> spoiled/tree.json
gives 4 publish --netrc netrc spoiled "$url/x/"; says "not published"
gives 0 publish --netrc netrc --dry-run "$tree" "$url/x/"; says "would send"
[ "$(count PUT)" = 0 ] || fail "something was sent"
gives 3 publish "$tree" "$url/x/"; says "wants another user or password"
gives 3 publish "$tree" "https://bench:wrong-w0rd@localhost:$port/x/"; says "wants another user"; quiet
gives 3 publish --netrc netrc "$tree" "$url/moved/x/"; says "status 301"
CURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt gives 3 publish --netrc netrc "$tree" "$url/x/"

step "killed on the way: no seal there yet"
# the program itself, not a function: else the shell around it is killed and the program goes on beside the next one
"$F" publish --key "$anchor" --yes --netrc netrc "$tree" "$url/run/" > "$T/out" 2> "$T/err" & pid=$!
for _ in $(seq 600); do [ "$(count PUT)" -ge 10 ] && break; sleep 0.05; done
kill -KILL $pid; wait $pid 2> /dev/null || true
[ ! -e www/run/MANIFEST.sha256.sig ] || fail "the seal was sent first"
first=$(count PUT)
total=$(($(wc -l < "$tree/MANIFEST.sha256") + 2))
step "the same command goes on ($first of $total were sent)"
gives 0 publish --netrc netrc "$tree" "$url/run/"
says "were there already"; says "$url/run/"; quiet
[ "$(count PUT)" -le $((total + 2)) ] || fail "$(count PUT) files sent, the tree has $total"
[ "$first" -lt "$total" ] || fail "it was not killed on the way"

step "what is there is not sent again; what differs is"
before=$(count PUT)
gives 0 publish --netrc netrc "$tree" "$url/run/" --json
says "$total were there already"; quiet
[ "$(count PUT)" = "$before" ] || fail "sent again"
rm www/run/plan/plan.json
tr 0-9 1-90 < www/run/tree.json > other; cat other > www/run/tree.json
gives 0 publish --netrc netrc "$tree" "$url/run/"
says "2 files sent"
[ "$(count PUT)" = $((before + 2)) ] || fail "not two files"

step "a server that gives back other bytes is found out"
gives 4 publish --netrc netrc "$tree" "$url/lie/"
says "data/x86_1/build.json: the server gives back other bytes"
[ ! -e www/lie/MANIFEST.sha256.sig ] || fail "sealed all the same"

step "credentials in the URL: taken, hidden in the list of processes, warned about"
"$F" publish --key "$anchor" --yes "$tree" "https://bench:$(sed 's,/,%2F,g;s,:,%3A,g' <<< "$WORD")@localhost:$port/url/" > "$T/out" 2> "$T/err" & pid=$!
for _ in $(seq 600); do [ -e www/url ] && break; sleep 0.05; done
! tr '\0' ' ' < /proc/$pid/cmdline | grep -q w0rd || fail "the password is in the list of processes"
wait $pid || fail "publishing with credentials in the URL"
says "better: --netrc FILE"; quiet
! grep -rqF "w0rd" access.log || fail "the password is in the server's log"

step "downloaded again, verified with stock tools"
get() { curl -sSf --netrc-file netrc --create-dirs -o "back/$1" "$url/run/$1" || fail "curl $1"; }
for f in MANIFEST.sha256 MANIFEST.sha256.sig; do get $f; done
cut -c67- back/MANIFEST.sha256 | sed "s,.*,url = \"$url/run/&\"\noutput = \"back/&\"," > list
curl -sSf --netrc-file netrc --create-dirs -K list 2> "$T/err" || fail "curl"
gives 0 "$FLEETMARK_ROOT/deploy/verify-tree.sh" back "$anchor"
says "PASS attack $(cat number)"
[ ! -e www/run/incoming ] && [ ! -e www/run/rejected ] || fail "incoming/ or rejected/ was published"
step "ok: $total files"
