#!/usr/bin/env bash
# A thousand bad clients against a server: do the good ones notice, and do the bad ones get what they deserve?
#
#   test/hostile/run.sh [--seconds N]     BUILD=build  TIER=short|nightly
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
seconds=$([ "$TIER" = nightly ] && echo 75 || echo 6)
[ "${1:-}" != --seconds ] || seconds=$2
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT
passed=0 failed=0

# start FLAG…: a server on a free port; sets pid and address.
start() {
    local few= sql=(--sql off)
    [ "${1:-}" != --few-files ] || { few="prlimit --nofile=128:128"; shift; }
    [ "${1:-}" != --sql ] || sql=()
    rm -f "$work/port"
    WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test $few "$BUILD/widerowd" \
        --data "$work/data" --http 127.0.0.1:0 "${sql[@]}" --admin off --port-file "$work/port" "$@" >"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 2400); do
        [ -s "$work/port" ] && break
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05
    done
    address=$(sed -n 's/^http=//p' "$work/port")
    [ -n "$address" ] || cat "$work/log"
}

stop() {
    kill -TERM "$pid"
    wait "$pid"
    local code=$?
    pid=
    if [ $code -eq 0 ] && ! grep -aE 'ERROR: (Address|Leak)Sanitizer|runtime error' "$work/log"; then
        passed=$((passed + 1))
    else
        echo "FAILED the server ended with $code"
        tail -n 20 "$work/log"
        failed=$((failed + 1))
    fi
}

# hostile ARG…: runs the program and adds its counts up.
hostile() {
    local p=0 f=1
    "$BUILD/test/hostile" "$address" "$pid" "$@" | tee "$work/out" | grep -v '^counts:'
    read -r p f < <(sed -nE 's/^counts: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$work/out")
    passed=$((passed + p)) failed=$((failed + f))
}

if ! make -s BUILD="$BUILD" SAN="${SAN:-}" "$BUILD/test/hostile" >"$work/make" 2>&1; then
    tail -n 20 "$work/make"
    echo "hostile: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
start --request-timeout 3
hostile 3 --seconds "$seconds" --rss "$([ -n "${SAN:-}" ] && echo 9999 || echo 352)"
stop
if [ "$TIER" = nightly ]; then
    start --request-timeout 3
    hostile 3 --cost 10
    stop
fi
start --request-timeout 3
hostile 3 --holder "$([ "$TIER" = nightly ] && echo 60 || echo 4)"
stop
start --request-timeout 3 --connections 32
hostile 3 --limit 32
stop

# Those who hold something: memory (with answers they read slowly, uploads, large cells), places, open files.
export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
rss=$([ -n "${SAN:-}" ] && echo 9999 || echo 352) # --memory and 96 MiB; sanitizers keep what was freed
hold=$([ "$TIER" = nightly ] && echo 40 || echo 3)
# put_cell BYTES: into the row that `--hold cells` reads.
put_cell() {
    head -c "$1" /dev/urandom >"$work/cell"
    if ! "$BUILD/widerow" cell put hostile 100001 c "$work/cell" --endpoint "http://$address" --quiet >"$work/out" 2>&1; then
        echo "FAILED a cell of $1 bytes is put: $(tail -n 1 "$work/out")"
        failed=$((failed + 1))
    fi
}
start --memory 256M
hostile 30 --hold answers --count 200 --seconds "$hold" --rss "$rss"
put_cell 67000000
hostile 30 --hold cells --count 24 --seconds "$hold" --rss "$rss"
hostile 30 --hold uploads --count 800 --seconds "$hold" --rss "$rss"
stop
small=$([ -n "${SAN:-}" ] && echo 9999 || echo 160)
start --memory 64M
hostile 30 --hold answers --count 200 --seconds "$hold" --rss "$small"
put_cell 16000000
hostile 30 --hold cells --count 12 --seconds "$hold" --rss "$small"
put_cell 32000000 # more than a request may take: refused, at no cost
hostile 30 --hold cells --count 12 --seconds "$hold" --rss "$small"
hostile 30 --hold uploads --count 800 --seconds "$hold" --rss "$small"
hostile 30 --hold transactions --count 400 --seconds "$hold" --rss "$small"
stop
start --connections 500
hostile 30 --hold places --count 700 --seconds "$hold" --rss "$rss"
stop
start --few-files
hostile 30 --hold files --count 300 --seconds "$hold" --rss "$rss"
stop
# The SQL port shares those files with the HTTP port: 90 connections to it leave storage its own.
start --few-files --sql 127.0.0.1:0
sql=$(sed -n 's/^sql=//p' "$work/port") held=()
for _ in $(seq 90); do
    { exec {fd}<>"/dev/tcp/${sql%:*}/${sql#*:}"; } 2>/dev/null && held+=("$fd")
done
# Each is greeted or refused, and one that is refused has the place of the oldest one freed for the next.
refused=0
for fd in "${held[@]}"; do
    [[ $(timeout 20 head -c 60 <&"$fd" | tr -d '\0') != *"Too many connections (current limit: 16)"* ]] || refused=$((refused + 1))
done
files=$(find "/proc/$pid/fd" -mindepth 1 | wc -l)
if [ "${#held[@]}" -eq 90 ] && [ "$refused" -ge 30 ] && [ "$files" -le 88 ]; then
    passed=$((passed + 1))
else
    echo "FAILED 90 connections to the SQL port (${#held[@]} held) of a server with 128 files: $files files are open, $refused were refused"
    failed=$((failed + 1))
fi
for fd in "${held[@]}"; do exec {fd}>&-; done
stop
echo "hostile: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
