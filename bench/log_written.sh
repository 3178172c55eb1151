#!/usr/bin/env bash
# What a log file of blocks that were written before would give: PutRow by widerowd itself, with log files as they are, with
# log files that begin as zeros (log_written_preload.c), and with RocksDB's own recycling, which it allows only without recovery
# to a point in time. Turns take part one after the other; the machine has to be quiet. Rates and microseconds (p50) of each turn.
#
#   bench/log_written.sh
#
#   TURNS (5) SECONDS_EACH (5) RECORDS (100000) CONNECTIONS (1 64)
#   WORK, BUILD     a folder on the disk to measure; build-release
set -u
cd "$(dirname "$0")/.."
: "${TURNS:=5}" "${SECONDS_EACH:=5}" "${RECORDS:=100000}" "${CONNECTIONS:=1 64}" "${WORK:=/var/tmp}" "${BUILD:=build-release}"
build=$PWD/$BUILD work=$(mktemp -d "$WORK/widerow-log.XXXXXX") server=
trap 'kill $server 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
for so in log_written rocks_options; do
    gcc -std=c11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/$so.so" bench/${so}_preload.c -ldl || exit 1
done
export WIDEROW_ACCESS_KEY_ID=bench WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=bench
LOG_MIB=160 # more than a log takes before the next one begins

# pool FILES: files of zeros.
pool() {
    mkdir -p "$work/pool"
    for ((i = 0; i < $1; i++)); do dd if=/dev/zero of="$work/pool/$i" bs=1M count=$LOG_MIB status=none || exit 1; done
    sync
}

start() { # ENVIRONMENT...
    rm -rf "$work/data" "$work/port"
    env "$@" "$build/widerowd" --data "$work/data" --http 127.0.0.1:0 --admin off --memory 1G --port-file "$work/port" >"$work/log" 2>&1 &
    server=$!
    until [ -s "$work/port" ]; do kill -0 $server || { cat "$work/log" >&2; exit 1; }; sleep 0.1; done
    export WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
    "$build/widerow" bench load --records "$RECORDS" --quiet >/dev/null || exit 1
    sync
}

stop() {
    kill -9 $server
    wait $server 2>/dev/null
    server=
    rm -rf "$work/pool"
}

# measure NAME ENVIRONMENT...
measure() {
    local name=$1 n json
    shift
    start "$@"
    for n in $CONNECTIONS; do
        json=$("$build/widerow" bench write --records "$RECORDS" --connections "$n" --seconds "$SECONDS_EACH" --json --quiet) || exit 1
        printf '%-10s %3d connections  %s\n' "$name" "$n" "$(sed -E 's/.*"(ops_per_s|rate)":([0-9.]+).*"p50":([0-9.]+).*/\2 \/s  p50 \3/' <<<"$json")"
    done
    stop
}

for ((turn = 1; turn <= TURNS; turn++)); do
    measure as_it_is
    pool 12
    measure written LD_PRELOAD="$work/log_written.so" LOG_POOL="$work/pool"
    measure recycled LD_PRELOAD="$work/rocks_options.so" ROCKS_OPTIONS='wal_recovery_mode=kTolerateCorruptedTailRecords;recycle_log_file_num=4;track_and_verify_wals_in_manifest=false'
done
