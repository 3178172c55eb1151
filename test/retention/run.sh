#!/usr/bin/env bash
# What it costs to keep a stream's records for a time and no longer, and whether old ones are read as fast as new ones: hours
# and days simulated by a turned clock.
#
#   test/retention/run.sh     BUILD=build  TIER=short (8 hours at 20 changes a second) or nightly (7 days; and hours at 1,000)
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
work=$(mktemp -d "${TMPDIR:-/tmp}/widerow-retention.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
lives() { # RATE KEEP HOURS
    local line
    "$BUILD/test/retention" --work "$work/data" --rate "$1" --keep "$2" --hours "$3" >"$work/out"
    cat "$work/out"
    line=$(sed -nE 's/^retention: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$work/out")
    [ -n "$line" ] || line="0 1" # it ended before it could count
    passed=$((passed + ${line% *})) failed=$((failed + ${line#* }))
    rm -rf "$work/data"
}
if [ "$TIER" = nightly ]; then
    lives 1000 2 6
    lives 20 168 178
else
    lives 20 2 5
fi
echo "retention: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
