#!/usr/bin/env bash
# Secondary indexes under kills: processes write, create and drop indexes and rekey, and are killed; then each index has
# the entries of the rows and no other.
#
#   test/index/run.sh [ARGUMENT …]   further arguments of build/test/index (--kills N --seed S)
#   BUILD=build                      the build folder to test
#   TIER=short|nightly               12 kills and one crash at each point of a build, or 300 and 10
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
work=$(mktemp -d "${TMPDIR:-/tmp}/widerow-index.XXXXXX")
kills=12 points=1
[ "$TIER" != nightly ] || kills=300 points=10
"$BUILD/test/index" --work "$work/data" --kills $kills --points $points "$@"
code=$?
if [ $code -eq 0 ]; then rm -rf "$work"; else echo "kept: $work"; fi
exit $code
