#!/usr/bin/env bash
# site.sh: the pages as their readers meet them: Chromium opens the site from a folder and from a plain HTTP server, goes from the
# index to a comparison, a candidate, the raw samples and the signature and back, with no failed and no external request; every
# link resolves, every page is valid HTML (html-validate) and passes axe-core, light and dark, wide and narrow.
#
#   site.sh                 a tree of the tests, and the pages of the published data set
#   site.sh TREE [PAGES]    any finished tree (results/CAMPAIGN), and any folder that `report --data` wrote
#   SHOTS=DIR               keep screenshots at 1280 and 390 pixels, light and dark, and the print view there
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
skip() { echo "skipped: $*"; exit 77; }
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
[ -n "$CHROMIUM" ] || skip "no Chromium"
command -v npm >/dev/null && command -v node >/dev/null || skip "no node and npm"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=$FLEETMARK_BUILD/browser-tools
mkdir -p "$tools"
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
if [ ! -d "$tools/node_modules/axe-core" ]; then
	npm install --prefix "$tools" --no-audit --no-fund --no-save --loglevel=error \
		playwright-core@1 axe-core@4 html-validate@10 > "$work/npm.log" 2>&1 || skip "npm: $(tail -n 1 "$work/npm.log")"
fi

tree=${1:-$work/world/tree}
[ $# -gt 0 ] || FLEETMARK_HOME=$work/none "$FLEETMARK_BUILD/mktree" "$work/world" 2 2 2 3 guide > /dev/null 2> "$work/err" || { cat "$work/err"; exit 1; }
published=${2:-$work/published}
[ $# -gt 1 ] || "$FLEETMARK_BUILD/fleetmark" report --data "$FLEETMARK_ROOT/tests/data/published/data" -o "$published"
for folder in "$tree" "$published"; do [ -f "$folder/index.html" ] || { echo "FAILED: $folder has no index.html" >&2; exit 1; }; done
pages=$(find "$tree" "$published" -name '*.html' | wc -l)
CHROMIUM=$CHROMIUM NODE_PATH=$tools/node_modules node "$FLEETMARK_ROOT/tests/browser/site.js" "$(realpath "$tree")" "$(realpath "$published")"

cat > "$work/htmlvalidate.json" <<'J'
{"root": true, "extends": ["html-validate:recommended"], "rules": {"no-inline-style": "off", "long-title": "off", "void-style": "off",
	"require-sri": "off", "no-trailing-whitespace": "off", "tel-non-breaking": "off", "unique-landmark": "off"}}
J
find "$tree" "$published" -name '*.html' -print0 |
	xargs -0 "$tools/node_modules/.bin/html-validate" --config "$work/htmlvalidate.json" || { echo "FAILED: not valid HTML"; exit 1; }
echo "site: $pages pages valid by html-validate"
