#!/usr/bin/env bash
# Records what 32 clients see and checks that some order of single steps explains it; then plants bugs and checks that
# the checker finds each.
#
#   test/linear/run.sh [PART-OF-A-NAME]   all scenarios and bugs, or only those with this in their names
#   BUILD=build                           the build folder to test
#   TIER=short|nightly                    some 460,000 operations, or 2,000,000
#   SEED=N                                repeats a run's choices (printed at its beginning; threads are not repeatable)
#   LINEAR_SHOW_BUGS=1                    print the history by which each planted bug was found
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
args=(--widerowd "$BUILD/widerowd")
[ "$TIER" != nightly ] || args+=(--rounds 6)
[ -z "${SEED:-}" ] || args+=(--seed "$SEED")
[ $# -eq 0 ] || args+=(--only "$1")
exec "$BUILD/test/linear" "${args[@]}"
