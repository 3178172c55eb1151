#!/usr/bin/env bash
# Fills the disk under a server and makes its file calls fail; everything acknowledged must be there all the same.
#
#   test/io/run.sh [PART …]      full, nth, storm; all of them if none is named
#   BUILD=build                  the build folder to test
#   TIER=short|nightly           how much of each
#   SEED=N                       repeats a run's random choices (printed by each part)
#   IO_DIR=DIR                   where data folders are made (/dev/shm if there is one); kept if anything fails
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
[ -n "${IO_DIR:-}" ] || { [ -w /dev/shm ] && IO_DIR=/dev/shm || IO_DIR=${TMPDIR:-/tmp}; }
work=$(mktemp -d "$IO_DIR/widerow-io.XXXXXX")
passed=0 failed=0 skipped=0
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(full nth storm)

program=$BUILD/test/io preload=$BUILD/test/io_preload.so
if ! make -s BUILD="$BUILD" SAN="${SAN:-}" "$program" "$preload"; then
    echo "FAILED: the test does not build"
    echo "io: 0 passed, 1 failed, 0 skipped"
    exit 1
fi

# A file system needs a right to mount; a namespace of one's own gives it to many.
launch=()
[ "$(id -u)" = 0 ] || ! unshare -rm true 2>/dev/null || launch=(unshare -rm)

for part in "${parts[@]}"; do
    mkdir "$work/$part"
    args=("$part" --widerowd "$BUILD/widerowd" --preload "$preload" --work "$work/$part")
    [ -z "${SEED:-}" ] || args+=(--seed "$SEED")
    [ "$TIER" != nightly ] || args+=(--nightly)
    start=$SECONDS
    "${launch[@]}" "$program" "${args[@]}" >"$work/$part.out" 2>&1
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
    ! mountpoint -q "$work/$part/disk" || umount "$work/$part/disk"
    [ "$f" -gt 0 ] || rm -rf "${work:?}/$part"
done
if [ $failed -eq 0 ]; then
    rm -rf "$work"
else
    echo "kept for a look: $work"
fi
echo "io: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
