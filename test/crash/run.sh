#!/usr/bin/env bash
# Kills servers and damages their files; everything acknowledged must be there all the same.
#
#   test/crash/run.sh [PART …]   import, kill, points, damage, power, recovery; all of them if none is named
#   BUILD=build                  the build folder to test
#   TIER=short|nightly           how much of each
#   SEED=N                       repeats a run's random choices (printed by each part)
#   CRASH_DIR=DIR                where data folders are made; kept if anything fails
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
# Some servers run with a preloaded library, which then comes before the sanitizer's.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
work=$(mktemp -d "${CRASH_DIR:-${TMPDIR:-/tmp}}/widerow-crash.XXXXXX")
passed=0 failed=0 skipped=0
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(import kill points damage power recovery)
for part in "${parts[@]}"; do
    mkdir "$work/$part"
    args=("$part" --widerowd "$BUILD/widerowd" --widerow "$BUILD/widerow" --preload "$BUILD/test/crash_preload.so"
        --work "$work/$part")
    [ -z "${SEED:-}" ] || args+=(--seed "$SEED")
    [ "$TIER" != nightly ] || args+=(--nightly)
    start=$SECONDS
    "$BUILD/test/crash" "${args[@]}" >"$work/$part.out"
    code=$?
    cat "$work/$part.out"
    line=$(grep -E '^[a-z]+: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/$part.out" | tail -n 1)
    if [ -n "$line" ]; then
        read -r p f s < <(sed -E 's/.*: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped/\1 \2 \3/' <<<"$line")
        [ $code -eq 0 ] || [ "$f" -gt 0 ] || f=1
    else
        echo "FAILED: $part ended with code $code and no counts"
        p=0 f=1 s=0
    fi
    echo "$part took $((SECONDS - start)) s"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ "$f" -gt 0 ] || rm -rf "${work:?}/$part"
done
if [ $failed -eq 0 ]; then
    rm -rf "$work"
else
    echo "kept for a look: $work"
fi
echo "crash: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
