#!/bin/bash
# test_conventions.sh: the house rules that a script can see. Every rule is first tried on a folder with a planted offender
# and on one without, so a rule that sees nothing does not pass for one that is kept.
# shellcheck disable=SC2317 # rules are called by their names
set -euo pipefail
export LC_ALL=C

ROOT=${FLEETMARK_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
FAILED=0

# Each rule is called in a root folder and prints one line per offender, nothing if there is none.

sources() { # PATTERN...: C files and headers of the programs
	local folders=() d
	for d in protocol orchestrator agent; do
		if [ -d "$d" ]; then folders+=("$d"); fi
	done
	if [ ${#folders[@]} -gt 0 ]; then
		find "${folders[@]}" -type f \( -name '*.c' -o -name '*.h' \) | sort
	fi
}

search() { # REGEX: file:line:text of the sources
	sources | xargs -r grep -nHE -e "$1" || true
}

rule_libraries() { # one library, one place
	local header place
	while read -r header place; do
		search "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$header" | grep -vE "^$place:" || true
	done <<-'END'
		libssh/ orchestrator/transport_ssh(_reach\.c|_key\.c|_parts\.h|\.c)
		curl/ orchestrator/https(_site\.c|_post\.c|_parts\.h|\.c)
		(cjson/)?cJSON orchestrator/jsonr\.c
		archive(_entry)?\.h orchestrator/archive\.c
		ini\.h orchestrator/ini\.c
		sodium protocol/[a-z_]+\.c
	END
}

rule_calls() { # forbidden calls
	search '(^|[^A-Za-z0-9_])(strcpy|strcat|stpcpy|strncpy|strncat|sprintf|vsprintf|gets|system|popen|atoi|atol|atoll|atof|alloca|tmpnam|mktemp|strtok|rand|random)\('
}

# shellcheck disable=SC2016 # $0 is that of awk
rule_comment() { # the first comment says what the file is responsible for
	sources | xargs -r awk 'FNR == 1 {
		name = FILENAME
		sub(/.*\//, "", name)
		if (index($0, "/* " name ": ") != 1 || length($0) <= length(name) + 5)
			print FILENAME ":1: expected /* " name ": <one sentence>"
	}'
}

rule_layers() { # includes from the root, and only what a folder may use
	search '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' | while IFS=: read -r file line text; do
		local name=${text#*\"} allowed
		name=${name%%\"*}
		case $file in
		protocol/*) allowed='protocol/' ;;
		orchestrator/*) allowed='(protocol|orchestrator)/' ;;
		agent/worker/*) allowed='(protocol|agent/worker)/' ;;
		*) allowed='(protocol|agent)/' ;;
		esac
		if ! [[ $name =~ ^$allowed ]]; then
			echo "$file:$line: may not include $name"
		elif [ ! -f "$name" ]; then
			echo "$file:$line: $name is no path from the root"
		fi
	done
}

rule_symbols() { # the compiler's command line defines _GNU_SOURCE, not a file
	search '#[[:space:]]*define[[:space:]]+_(GNU|POSIX_C|DEFAULT)_SOURCE'
}

rule_leftovers() { # nothing unfinished
	search '(^|[^A-Za-z])(TO''DO|FIX''ME|XX''X)([^A-Za-z]|$)'
}

rule_paths() { # no folder of the machine somebody worked on
	grep -rnIE --exclude-dir=.git --exclude-dir=build --exclude-dir=results --exclude-dir=.cache --exclude-dir=.demo \
		-e '/wo''rk/(main|shared)' -e '/Use''rs/[a-z]' -e '/ho''me/(ubuntu|runner|user|dev|admin)/' -e '/tmp/bu''ild-' . || true
}

rule_readme() { # every source file stands in the reading order: by name, or by a pattern with a star
	[ -f README.md ] && grep -qiE '^#+ .*(reading|source)' README.md || return 0
	local file words=() word named
	mapfile -t words < <(grep -oE '[A-Za-z0-9_*./-]+\.[ch]' README.md | sort -u)
	sources | while read -r file; do
		case $file in
		*.h) if [ -f "${file%.h}.c" ]; then continue; fi ;;
		esac
		named=no
		for word in ${words[@]+"${words[@]}"}; do
			# shellcheck disable=SC2053 # the word is a pattern
			if [[ $file == $word || ${file##*/} == $word ]]; then named=yes; fi
		done
		[ "$named" = yes ] || echo "$file: is not in README.md"
	done
}

# Self-test: RULE FILE TEXT: the rule names this file, and nothing once it is gone.
offender() {
	local rule=$1 file=$2 text=$3 found
	rm -rf "$SCRATCH/r"
	mkdir -p "$SCRATCH/r/protocol" "$SCRATCH/r/orchestrator" "$SCRATCH/r/agent/worker"
	cd "$SCRATCH/r"
	printf '/* good.h: nothing. */\n' > protocol/good.h
	printf '/* good.c: nothing. */\n#include "protocol/good.h"\n#include <sodium.h>\n' > protocol/good.c
	printf '# Reading order\n\nprotocol/good.c, bad*.h\n' > README.md
	found=$("$rule")
	if [ -n "$found" ]; then
		echo "FAIL: $rule fires without an offender: $found"
		FAILED=1
	fi
	printf '%b' "$text" > "$file"
	found=$("$rule")
	case $found in
	*"$file"*) ;;
	*)
		echo "FAIL: $rule does not see '$text' in $file: '$found'"
		FAILED=1
		;;
	esac
	cd "$ROOT"
}

offender rule_libraries orchestrator/x.c '#include <libssh/libssh.h>\n'
offender rule_libraries orchestrator/x.c '# include <curl/curl.h>\n'
offender rule_libraries orchestrator/x.c '#include <cjson/cJSON.h>\n'
offender rule_libraries orchestrator/jsonr.h '#include "cJSON.h"\n'
offender rule_libraries orchestrator/x.c '#include <archive_entry.h>\n'
offender rule_libraries orchestrator/x.c '#include <ini.h>\n'
offender rule_libraries agent/x.c '#include <sodium.h>\n'
offender rule_libraries protocol/x.h '#include <sodium.h>\n'
offender rule_calls agent/x.c '\tstrcpy(a, b);\n'
offender rule_calls agent/x.c '\tif (system("x"))\n'
offender rule_calls agent/worker/x.c '\tn = atoi(text);\n'
offender rule_calls protocol/x.h '#define X(a) sprintf(a, "x")\n'
offender rule_comment protocol/x.h '#ifndef X\n'
offender rule_comment protocol/x.c '/* y.c: of another file. */\n'
offender rule_comment protocol/x.c '\n/* x.c: not in the first line. */\n'
offender rule_layers protocol/x.c '#include "orchestrator/y.h"\n'
offender rule_layers agent/x.c '#include "orchestrator/y.h"\n'
offender rule_layers agent/worker/x.c '#include "agent/y.h"\n'
offender rule_layers orchestrator/x.c '#include "agent/y.h"\n'
offender rule_layers orchestrator/x.c '#include "y.h"\n'
offender rule_layers orchestrator/x.c '#include "protocol/none.h"\n'
offender rule_symbols agent/x.c '#define _GNU_SOURCE\n'
offender rule_leftovers agent/x.c '/* TO''DO: later */\n'
offender rule_paths README.md 'see /wo''rk/main/x\n'
offender rule_paths agent/x.sh 'cd /ho''me/ubuntu/x\n'
offender rule_readme protocol/new.c ''
offender rule_readme orchestrator/lone.h ''

cd "$ROOT"
for rule in $(declare -F | sed -n 's/^declare -f \(rule_.*\)/\1/p'); do
	found=$("$rule")
	if [ -n "$found" ]; then
		echo "FAIL: $rule:"
		printf '    %s\n' "${found//$'\n'/$'\n'    }"
		FAILED=1
	fi
done
if [ ! -f README.md ] || ! grep -qiE '^#+ .*(reading|source)' README.md; then
	echo "note: README.md has no reading order yet, so it is not compared"
fi
exit $FAILED
