#!/usr/bin/env bash
# Secondary indexes and a stream under kills: processes write, create and drop indexes and rekey, and are killed; then each
# index has the entries of the rows and no other, and the stream's records make the rows. The same without kills on mem, and
# with a planted bug, which has to be found.
#
#   test/index/run.sh [ARGUMENT …]   further arguments of build/test/index (--kills N --seed S)
#   BUILD=build                      the build folder to test
#   TIER=short|nightly               12 kills, one crash at each point of a build and 10,000 writes on mem, or 300, 10 and 1,000,000
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
work=$(mktemp -d "${TMPDIR:-/tmp}/widerow-index.XXXXXX")
kills=12 points=1 ops=10000
[ "$TIER" != nightly ] || kills=300 points=10 ops=1000000
{
    "$BUILD/test/index" --work "$work/data" --kills $kills --points $points "$@"
    "$BUILD/test/index" --ops $ops
    "$BUILD/test/index" --ops 10000 --plant yes
} | tee "$work/log"
if awk '/^index: / { p += $2; f += $4; n++ } END { f += 3 - n; print "index: " p + 0 " passed, " f " failed, 0 skipped"; exit f > 0 }' "$work/log"; then
    rm -rf "$work"
else
    echo "kept: $work"
    exit 1
fi
