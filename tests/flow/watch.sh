#!/bin/bash
# watch.sh: what the operator sees: the table on a real terminal, plain lines and NDJSON elsewhere, watch, status and list from
# another process, the log of the host, the notification, and edited sources under an unfinished campaign.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
PATH=$PATH:/usr/sbin
toy_alone "$@"
toy_start script setsid
export TERM=xterm
unset FLEETMARK_NOTIFY
journal() { echo "$T/results/$1/incoming/journal"; }
within() { local end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || fail "never: $*"; sleep 0.05; done; }
issued() { grep -qs ' issued ' "$(journal "$1")"; }

step "nothing there"
gives 0 fm list; says "no campaign in results"
gives 2 fm watch none; says "no campaign none"

step "a table on a terminal of 100 columns; watch, status and list beside it"
script -q -e -c "stty cols 100 rows 20; '$F' run table -i '$T/fleet.ini' --root '$T/root' --profile smoke" typescript > /dev/null < /dev/null & pid=$!
within 60 issued table
gives 2 run table; says "another controller works on this campaign: pid"
gives 0 fm status table; says "a controller works on it: pid"; says "system  stage"
gives 0 fm list; says "running, pid"
fm watch --json table > watch.json 2> watch.err & watch=$!
wait $pid || fail "run ended with $?"
wait $watch || fail "watch ended with $?"
grep -qF 'system  stage     cell' typescript || fail "no table"
grep -qF $'\033[3A' typescript || fail "the table was not redrawn in place"
grep -aqE 'toy_1 +(build|kat|measure) .* [0-9]+/[0-9]+' typescript || fail "no row with stage and count"
grep -aqE 'table: [0-9]+/[0-9]+ cells, .*hosts: 1 at work' typescript || fail "no line of the campaign"
grep -aqE 'toy_1 +done' typescript || fail "the last table does not say done"
awk '{ gsub(/\033\[[0-9]*[A-Za-z]/, ""); gsub(/\r/, ""); if (!/^Script/ && !/ note / && / stage |^toy_1 +[a-z]+ |cells, /) if (length($0) > 99) { print; exit 1 } }' typescript ||
	fail "a row is wider than the terminal"
jq -es 'map(.event) | contains(["stage", "finished"])' watch.json > /dev/null || fail "watch --json misses events"
gives 0 fm watch table; says "table: finished"
gives 0 fm status table; says "no controller works on it now"; says "sealed as tree"
gives 0 fm list; says "finished"; says "1/1 bundles"
gives 0 fm list --json; jq -e '.event == "campaign_listed" and .state == "finished"' "$T/out" > /dev/null || fail "list --json"
[ -s results/table/incoming/logs/toy_1.log ] || fail "no log of the host"

step "elsewhere: lines without escape codes, one JSON object a line"
gives 0 run plain
if grep -q $'\033' "$T/out" "$T/err"; then fail "escape codes without a terminal"; fi
grep -qE '^toy_1 +measure' "$T/err" || fail "no line of a stage"
gives 0 run json --json
jq -es 'map(.event) | contains(["campaign", "queued", "connected", "stage", "cells", "accepted", "host_done", "finished"])' "$T/out" > /dev/null || fail "events are missing"
jq -es 'map(.seq) == [range(1; length + 1)]' "$T/out" > /dev/null || fail "seq"

step "sources edited under an unfinished campaign: what changed, and the command for a new one"
"$F" run edited -i "$T/fleet.ini" --root "$T/root" --profile smoke > first.out 2> first.err < /dev/null & pid=$!
within 60 issued edited
kill -KILL $pid; wait $pid 2> /dev/null || true
gives 0 fm watch edited; says "no controller works on edited now"
gives 2 fm run -i "$T/fleet.ini" --root "$T/root" --profile guide edited; says "was planned without --profile guide"
gives 2 run edited -c nosuch; says "chooses nothing of campaign edited"
cp root/algos/toy/toy.c saved.c
echo '/* edited */' >> root/algos/toy/toy.c
echo 'int more;' > root/algos/toy/more.c
gives 2 run edited
says "changed: toy.c"; says "new: more.c"; says "to start anew with what is there now: fleetmark run edited-2 -i $T/fleet.ini"
gives 0 run edited-2
rm root/algos/toy/more.c; cp saved.c root/algos/toy/toy.c
gives 0 run edited; says "resuming"

command -v nginx > /dev/null || { step "ok, without notifications: no nginx"; exit 0; }
step "notifications: posted over https, the token shown nowhere"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout server.key -out server.pem 2> /dev/null
export CURL_CA_BUNDLE=$T/server.pem no_proxy=localhost
unset https_proxy HTTPS_PROXY all_proxy ALL_PROXY
mkdir -p tmp; chmod 755 "$T"
cat > nginx.conf <<END
daemon off; pid $T/nginx.pid; error_log $T/error.log; worker_processes 1; user $(id -un) $(id -gn);
events {}
http {
	log_format body escape=none '\$request_body';
	access_log $T/bodies body; client_body_temp_path $T/tmp; proxy_temp_path $T/tmp; fastcgi_temp_path $T/tmp;
	uwsgi_temp_path $T/tmp; scgi_temp_path $T/tmp;
	server { listen 127.0.0.1:8443 ssl; ssl_certificate $T/server.pem; ssl_certificate_key $T/server.key;
		location /hook { proxy_pass http://127.0.0.1:8080/; } location /broken { return 500; } }
	server { listen 127.0.0.1:8080; access_log off; location / { return 204; } }
}
END
nginx -e "$T/error.log" -c "$T/nginx.conf" 2>> "$T/err" & SERVER=$!
trap 'kill $SERVER 2>/dev/null || true; toy_end' EXIT
within 10 test -s nginx.pid
gives 2 run told --notify http://localhost:8443/hook; says "expected https://HOST"
gives 0 run told --notify "https://localhost:8443/hook/T0KEN"
jq -e '.event == "ended" and .campaign == "told" and .status == 0' bodies > /dev/null || fail "notification: $(cat bodies)"
FLEETMARK_NOTIFY=https://localhost:8443/broken/T0KEN gives 0 run told2; says "the notification was not delivered: localhost:8443: the server answered with status 500"
if grep -q T0KEN "$T/out" "$T/err" -r results; then fail "the token is shown"; fi
: > bodies
sed "s/^arch = .*/arch = $([ "$(uname -m)" = x86_64 ] && echo aarch64 || echo x86_64)/" fleet.ini > other.ini
gives 3 fm run told3 -i other.ini --root "$T/root" --profile smoke --notify https://localhost:8443/hook
jq -es '.[0].event == "needs_someone" and .[0].system == "toy_1" and .[0].class == "host-state"' bodies > /dev/null || fail "notification: $(cat bodies)"
step ok
