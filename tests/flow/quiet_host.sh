#!/bin/bash
# quiet_host.sh - time to the same quality on a made-up quiet host, all 48 cells of hash-31: see tests/unit/test_mt_quiet_flow.c.
set -euo pipefail
: "${FLEETMARK_BUILD:?}" "${FLEETMARK_ROOT:?}"
# shellcheck source=tests/flow/toy.bash
. "$FLEETMARK_ROOT/tests/flow/toy.bash"
toy_alone "$@"
command -v ip >/dev/null && ip link set lo up
[ -x "$FLEETMARK_BUILD/test_mt_quiet_flow" ] || { echo "skipped: no test_mt_quiet_flow"; exit 77; }
QUIET_INSTANCES=6 exec "$FLEETMARK_BUILD/test_mt_quiet_flow"
