#!/usr/bin/env bash
# A long run of everything at once against one server, judged by a model (soak.h).
#
#   test/soak/run.sh [SECONDS]   how long; else 7200 with TIER=soak, 60
#   BUILD=build                  the build folder to test
#   SEED=N                       repeats a run's random choices (printed at its beginning)
#   STEADY=1                     the clock does not step: to tell what is to blame
#   SOAK_DIR=DIR                 where the data folder is made; kept if anything fails
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
seconds=${1:-$([ "$TIER" = soak ] && echo 7200 || echo 60)}
# The server runs with a preloaded library, which then comes before the sanitizer's.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
work=$(mktemp -d "${SOAK_DIR:-${TMPDIR:-/tmp}}/widerow-soak.XXXXXX")
# Copies: it runs for hours, and somebody may build meanwhile.
mkdir "$work/bin" && cp "$BUILD/widerowd" "$BUILD/widerow" "$BUILD/test/soak" "$BUILD/test/crash_preload.so" "$work/bin"
args=(--widerowd "$work/bin/widerowd" --widerow "$work/bin/widerow" --preload "$work/bin/crash_preload.so" --work "$work"
    --seconds "$seconds")
[ -z "${STEADY:-}" ] || args+=(--steps 0)
[ -z "${SEED:-}" ] || args+=(--seed "$SEED")
"$work/bin/soak" "${args[@]}"
code=$?
if [ $code -eq 0 ]; then rm -rf "$work"; else echo "kept for a look: $work"; fi
exit $code
