#!/usr/bin/env bash
# The same load on two key layouts, and the heat maps it makes.
#
#   examples/heat/run.sh [MINUTES [FOLDER]]     how long the load runs (default 24), where the pictures go
#
# Orders are numbered one after the other. In a plain table every new order goes to the end of the key range: the map
# shows a diagonal, and at each moment one partition takes all the writes. With the layout hash:16 the same orders go to
# sixteen buckets at once: the map shows an even field. Clients write and read the same keys in both.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../server.sh"
minutes=${1:-24} out=${2:-$here/../../doc}

start_server --sql off

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
    "$widerow" create "$table" --key OrderNumber:integer --layout "$layout"
    orders | "$widerow" import - --table "$table" --workers 1 --batch 20 --quiet &
    loads="$loads $!"
done
for pid in $loads; do wait "$pid"; done
loads=

for table in orders_plain orders_hash; do
    rows=$([ $table = orders_hash ] && echo 16 || echo 64)
    "$widerow" heat $table --minutes "$minutes" --metric writes --rows "$rows" --svg "$out/heat_$table.svg"
    "$widerow" heat $table --minutes "$minutes" --metric writes --rows 16
done
