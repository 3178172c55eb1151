#!/usr/bin/env bash
# Secondary indexes under kills: processes write, create and drop indexes and rekey, and are killed; then each index has
# the entries of the rows and no other.
#
#   test/index/run.sh [ARGUMENT …]   further arguments of build/test/index (--kills N --seed S)
#   BUILD=build                      the build folder to test
#   TIER=short|nightly               12 kills, or 300
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
work=$(mktemp -d "${TMPDIR:-/tmp}/widerow-index.XXXXXX")
kills=12
[ "$TIER" != nightly ] || kills=300
"$BUILD/test/index" --work "$work/data" --kills $kills "$@"
code=$?
if [ $code -eq 0 ]; then rm -rf "$work"; else echo "kept: $work"; fi
exit $code
