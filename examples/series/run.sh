#!/usr/bin/env bash
# The campus table as a series of months: see README.md.
#
#   examples/series/run.sh [RECORDS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../server.sh"
records=${1:-60000}

start_server --sql off

expect() { # WHAT WANTED FOUND
    [ "$2" = "$3" ] || { echo "$1: $3, where $2 is right" >&2; exit 1; }
}
lines() { grep -c . "$1" || true; }

"$widerow" series create purchases --key CardID:integer,time:string,DeviceID:integer,OrderNumber:integer --by month --column time
"$widerow" sample campus --records "$records" --seed 1 >"$work/all.csv"
"$widerow" import "$work/all.csv" --table purchases --key CardID:integer,time:string,DeviceID:integer,OrderNumber:integer \
    --columns SellerID:string,amount:double --quiet >/dev/null 2>&1

expect "tables that clients see" purchases "$("$widerow" tables)"
expect "records in the series" "$records" "$("$widerow" count purchases)"
expect "periods" 12 "$("$widerow" series status purchases --format jsonl | wc -l)"

# One card's year comes in the order of time, out of twelve tables.
card=$(awk -F, 'NR == 2 { print $1 }' "$work/all.csv")
awk -F, -v card="$card" '$1 == card { print $6 }' "$work/all.csv" | sort >"$work/card.want"
"$widerow" scan purchases "$card" --format jsonl | sed -E 's/.*"time":"([^"]*)".*/\1/' >"$work/card.found"
cmp "$work/card.want" "$work/card.found"
echo "card $card has $(lines "$work/card.found") purchases, in the order of time"

# The three classes: 2025-10 to 12 take writes, 2025-07 to 09 are read, what is older goes, and is in a file before.
"$widerow" series freeze purchases 2025-09 >/dev/null
"$widerow" export purchases --filter 'time < "2025-07"' --output "$work/first-half.csv" --quiet
archived=$(($(wc -l <"$work/first-half.csv") - 1))
"$widerow" series drop purchases 2025-06

left=$("$widerow" count purchases)
expect "records in the table and the file" "$records" "$((left + archived))"
expect "records of the first half" "$(awk -F, 'NR > 1 && $6 < "2025-07"' "$work/all.csv" | wc -l)" "$archived"
if "$widerow" put purchases "$card" 2025-08-01T12:00:00 1 1 amount=1.5 2>"$work/late"; then
    echo "a late record was taken" >&2
    exit 1
fi
cat "$work/late"
"$widerow" put purchases "$card" 2025-12-31T23:59:59 1 999999999 amount=1.5

# What was dropped can be read again from its file, as a table of its own.
"$widerow" import "$work/first-half.csv" --table first_half --create --key CardID,time,DeviceID,OrderNumber --quiet >/dev/null 2>&1
expect "records that came back" "$archived" "$("$widerow" count first_half)"
echo "all $records records are in the series or in the file of the first half ($archived)"
