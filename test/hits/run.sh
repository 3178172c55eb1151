#!/usr/bin/env bash
# A search index under kills: processes write and search, and are killed, at random moments and at each point of a store; then
# the index finds what the rows say. Then bits of its files are flipped, and it is made again.
#
#   test/hits/run.sh [ARGUMENT …]   further arguments of build/test/hits (--kills N --points N --flips N --rows N --memory MIB --seed S)
#   BUILD=build                       the build folder to test
#   TIER=short|nightly                6 kills and one crash at each point, or 100 and 10
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
work=$(mktemp -d "${TMPDIR:-/tmp}/widerow-hits.XXXXXX")
kills=6 points=1 flips=1 rows=60000
[ "$TIER" != nightly ] || kills=100 points=10 flips=10 rows=200000
"$BUILD/test/hits" --work "$work/data" --kills $kills --points $points --flips $flips --rows $rows "$@"
code=$?
if [ $code -eq 0 ]; then rm -rf "$work"; else echo "kept: $work"; fi
exit $code
