#!/usr/bin/env bash
# The same load on two key layouts, and the heat maps it makes.
#
#   examples/heat/run.sh [MINUTES [FOLDER]]     how long the load runs (default 24), where the pictures go
#
# Orders are numbered one after the other. In a plain table every new order goes to the end of the key range: the map
# shows a diagonal, and at each moment one partition takes all the writes. With the layout hash:16 the same orders go to
# sixteen buckets at once: the map shows an even field. Clients write and read the same keys in both.
set -eu
cd "$(dirname "$0")/../.."
minutes=${1:-24} out=${2:-doc}
build=${BUILD:-build}
work=$(mktemp -d)
server= loads=
finish() {
    for pid in $loads $server; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap finish EXIT

"$build/widerowd" --data "$work/data" --http 127.0.0.1:0 --sql off --admin off --port-file "$work/port" >"$work/log" 2>&1 &
server=$!
until [ -s "$work/port" ]; do
    kill -0 $server 2>/dev/null || { cat "$work/log"; exit 1; }
    sleep 0.1
done
WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
export WIDEROW_ENDPOINT

# 40 orders a second, in order.
orders() {
    echo OrderNumber,CardID,Amount
    awk -v n=$((minutes * 60)) 'BEGIN {
        for (s = 0; s < n; s++) {
            for (i = 0; i < 40; i++)
                printf "%d,%d,%.2f\n", s * 40 + i, (s * 40 + i) * 7919 % 20000, (s + i) % 900 / 10
            fflush()
            system("sleep 1")
        }
    }'
}

for layout in plain hash:16; do
    table=orders_${layout%%:*}
    "$build/widerow" create "$table" --data "$work/data" --key OrderNumber:integer --layout "$layout"
    orders | "$build/widerow" import - --data "$work/data" --table "$table" --workers 1 --batch 20 --quiet &
    loads="$loads $!"
done
for pid in $loads; do wait "$pid"; done
loads=

for table in orders_plain orders_hash; do
    rows=$([ $table = orders_hash ] && echo 16 || echo 64)
    "$build/widerow" heat $table --data "$work/data" --minutes "$minutes" --metric writes --rows "$rows" --svg "$out/heat_$table.svg"
    "$build/widerow" heat $table --data "$work/data" --minutes "$minutes" --metric writes --rows 16
done
