#!/usr/bin/env bash
# A table a month: see README.md.
#
#   examples/month-tables/run.sh [RECORDS] [MONTHS_KEPT]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../server.sh"
records=${1:-120000}
kept=${2:-3}
archive=${ARCHIVE:-$work/archive}
prefix=purchases_
key="CardID:integer,time:string,DeviceID:integer,OrderNumber:integer"

# What a month's table reserves while it is the current one, and afterwards.
current_read=2000 current_write=2000 past_read=200 past_write=0

count() { # TABLE: its rows
    "$widerow" scan "$1" --count
}

# The new month's table, with much reserved.
begin_month() { # TABLE
    "$widerow" drop "$1" --if-exists
    "$widerow" create "$1" --key "$key"
    "$widerow" throughput "$1" --read $current_read --write $current_write >/dev/null
}

# A month has ended: it is only read from now on.
end_month() { # TABLE
    "$widerow" throughput "$1" --read $past_read --write $past_write >/dev/null
}

# The archive must be whole before the table goes.
expire_month() { # TABLE
    local file="$archive/$1.csv" rows start
    rows=$(count "$1")
    "$widerow" export "$1" --output "$file.part" --quiet
    [ "$(($(wc -l <"$file.part") - 1))" = "$rows" ] || { echo "the export of $1 is not whole" >&2; exit 1; }
    sync "$file.part"
    mv "$file.part" "$file"
    start=$(date +%s%N)
    "$widerow" drop "$1"
    drop_ns=$((drop_ns + $(date +%s%N) - start))
    rows_dropped=$((rows_dropped + rows))
}

mkdir -p "$archive"
[ -n "${WIDEROW_ENDPOINT:-}" ] || start_server --sql off --set throughput_change_s_min=0 --set table_ops_per_s_max=0

# One file a month, in the order of time.
"$widerow" sample campus --records "$records" --seed 1 | awk -F, -v dir="$work" '
    NR == 1 { header = $0; next }
    { month = substr($6, 1, 4) "_" substr($6, 6, 2); file = dir "/" month ".csv" }
    !(month in seen) { seen[month] = 1; print header > file }
    { print > file }'

rows_dropped=0 drop_ns=0 reserved=0 one_table=0
tables=() # that are there, oldest first
printf '%-8s %7s  %-22s %12s %9s\n' month rows "current table" "past tables" archived
for file in "$work"/20*.csv; do
    month=$(basename "$file" .csv)
    table=$prefix$month
    [ ${#tables[@]} -eq 0 ] || end_month "${tables[-1]}"
    begin_month "$table"
    tables+=("$table")
    "$widerow" import "$file" --table "$table" --key CardID:integer,time:string,DeviceID:integer,OrderNumber:integer \
        --columns SellerID:string,amount:double --quiet >/dev/null 2>&1
    if [ ${#tables[@]} -gt "$kept" ]; then
        expire_month "${tables[0]}"
        tables=("${tables[@]:1}")
    fi
    past=$((${#tables[@]} - 1))
    reserved=$((reserved + current_read + current_write + past * (past_read + past_write)))
    one_table=$((one_table + (past + 1) * (current_read + current_write)))
    printf '%-8s %7d  %4d r / %4d w CU/s     %12d %9d\n' "$month" "$(($(wc -l <"$file") - 1))" \
        $current_read $current_write $past "$(find "$archive" -name "$prefix*.csv" | wc -l)"
done

echo
echo "reserved_unit_months   $reserved"
echo "one_table_unit_months  $one_table"
echo "saved_share            $(awk -v a=$reserved -v b=$one_table 'BEGIN { printf "%.2f", 1 - a / b }')"
echo "rows_dropped           $rows_dropped"
echo "delete_units_saved     $rows_dropped"
echo "drop_seconds           $(awk -v ns=$drop_ns 'BEGIN { printf "%.3f", ns / 1e9 }')"

# Nothing may be missing, and an archive must be as good as the table was.
total=$rows_dropped
for table in "${tables[@]}"; do total=$((total + $(count "$table"))); done
[ "$total" = "$records" ] || { echo "of $records records $total are left" >&2; exit 1; }
old=$(find "$archive" -name "$prefix*.csv" | sort | head -n 1)
if [ -n "$old" ]; then
    table=$(basename "$old" .csv)
    "$widerow" import "$old" --table "$table" --create --key CardID,time,DeviceID,OrderNumber --quiet >/dev/null 2>&1
    "$widerow" export "$table" --quiet | cmp - "$old"
    "$widerow" drop "$table"
fi
echo "all $records records are in a table or an archive, and an archive can be taken back"
