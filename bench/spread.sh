#!/usr/bin/env bash
# What a key layout gives and takes: a rising key on a table of 16 partitions, each good for PARTITION_CU writes a second,
# written in order at 64 connections; then all rows read in order from both layouts.
#
#   bench/spread.sh          RECORDS, RATE (rows a second offered to each layout), PARTITION_CU, BUILD, WORK
#
# Prints how many partitions' worth of writes each layout took (a partition's first second is free: its burst), and
# the rates of the two ordered reads, which must give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${RECORDS:=120000}" "${RATE:=3000}" "${PARTITION_CU:=150}" "${BUILD:=build}" "${WORK:=/var/tmp}"
work=$(mktemp -d "$WORK/widerow-spread.XXXXXX")
pid=
trap '[ -z "$pid" ] || { kill $pid; wait $pid; } 2>/dev/null; rm -rf "$work"' EXIT

start() {
    rm -f "$work/port"
    "$BUILD/widerowd" --data "$work/data" --http 127.0.0.1:0 --admin off --log-level warn --port-file "$work/port" \
        --set table_ops_per_s_max=0 --set throughput_change_s_min=0 --set partitions_max=16 "$@" >>"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
    WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
    export WIDEROW_ENDPOINT
}

stop() { kill $pid; wait $pid || true; pid=; }

widerow() { "$BUILD/widerow" "$@" --data "$work/data"; }

"$BUILD/widerow" sample campus --records "$RECORDS" --seed 7 >"$work/rows.csv"
start --set enforce_throughput=2 --set partition_write_cu_max="$PARTITION_CU" --set partition_hot_s=86400
begin=$(date +%s%N)
widerow replay "$work/rows.csv" --key OrderNumber:integer,DeviceID:integer --layout plain --layout hash:16 --partitions 16 --workers 64 \
    --rate "$RATE" --look 1000000 --quiet --format json >"$work/replay.json"
took=$((($(date +%s%N) - begin) / 1000000))
stop
python3 - "$work/replay.json" "$took" "$PARTITION_CU" <<'PY'
import json, sys
took, cu = int(sys.argv[2]) / 1000, int(sys.argv[3])
for l in json.load(open(sys.argv[1]))["layouts"]:
    print(f"  {l['layout']:8} {l['units']:8} units taken, {l['refused']:8} refused in {took:.0f} s:"
          f" {l['units'] / took / cu:5.1f} partitions' worth")
PY
columns=CardID:string,SellerID:string,amount:string,time:string
start
for layout in plain hash:16; do
    table=${layout%:*}
    widerow create $table --key OrderNumber:integer,DeviceID:integer --layout $layout >/dev/null
    widerow import "$work/rows.csv" --table $table --key OrderNumber:integer,DeviceID:integer --columns "$columns" --quiet >/dev/null
done
for round in 1 2 3; do
    for table in plain hash; do
        begin=$(date +%s%N)
        widerow export $table --columns "$columns" --quiet >"$work/$table.csv"
        took=$((($(date +%s%N) - begin) / 1000000))
        printf '  ordered read, round %s, %-6s %9d rows/s\n' "$round" "$table" $((RECORDS * 1000 / took))
    done
done
cmp "$work/plain.csv" "$work/hash.csv" && echo "  both reads gave the same $(wc -l <"$work/plain.csv") lines"
