#!/usr/bin/env bash
# Series of tables over time: a year and more under load with the wall clock turned (libfaketime), kills at each step of
# their life, and the command line.
#
#   test/series/run.sh     BUILD=build  TIER=short|nightly
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export LC_ALL=C.UTF-8
unset WIDEROW_ENDPOINT WIDEROW_INSTANCE WIDEROW_ACCESS_KEY_ID WIDEROW_ACCESS_KEY_SECRET WIDEROW_TABLE
nightly=$([ "${TIER:-short}" = nightly ] && echo yes)
program=$BUILD/test/series widerow=$BUILD/widerow

# ---- the command line, on a folder ----
run() { "$widerow" "$@" --dir "$work/data"; }
prints() { # TEXT COMMAND…
    local want=$1
    shift
    [ "$(run "$@" 2>&1)" = "$want" ] || { run "$@"; false; }
}
check "create" run series create cards --key card:integer,time:string --by month --column time
check "a row" run put cards 1 2025-01-31 a=1
check "a row of the next month" run put cards 1 2025-02-01 a=2
check "it is one table" prints cards tables
check "with both rows" prints 2 count cards
check "and two periods" prints '{"period":"2025-01","state":"hot","bytes":0}
{"period":"2025-02","state":"hot","bytes":0}' series status cards --format jsonl
check "freeze" run series freeze cards 2025-01
check "a late row is refused by name" fails "Period 2025-01 of series 'cards' is read-only" run put cards 1 2025-01-05 a=1
check "drop" run series drop cards 2025-01
check "one row is left" prints '{"card":1,"time":"2025-02-01","a":2}' scan cards
check "ages" run series age cards --hot 1000 --warm 100
check "are told" sh -c "$widerow series status cards --dir $work/data | grep -q '1000 take writes, 100 more are kept'"
check "a wrong period" fails "'2025' is no period" run series freeze cards 2025
check "no --by" fails "--by says" run series create c --key card:integer --column time
check "digest" run digest cards
run scan cards >"$work/before.rows"
check "export" run export cards --output "$work/cards.csv" --quiet
check "as a plain table again" run import "$work/cards.csv" --table plain --create --key card,time --quiet
check "the same rows" sh -c "$widerow scan plain --dir $work/data | cmp - $work/before.rows"
check "drop it all" run drop cards
check "nothing is left of it" prints plain tables

# ---- a server ----
export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
check "a server" serve over --sql 127.0.0.1:0 --admin 127.0.0.1:0 --memory 64M
export WIDEROW_ENDPOINT=${urls[over]}
sql=$(sed -n 's/^sql=//p' "$work/over.port")
check "a series over HTTP" "$widerow" series create cards --key card:integer,time:string --by week --column time --hot 2
check "refuses a row of long ago" fails "is read-only: it takes no writes" "$widerow" put cards 1 2001-01-31 a=1
today=$(date -u +%Y-%m-%d)
check "takes one of today" "$widerow" put cards 1 "$today" a=1
check "SQL sees one table" sh -c "$widerow sql 'SELECT a FROM cards WHERE card = 1' --sql $sql --format csv | grep -qx 1"
check "and lists it" sh -c "[ \"\$($widerow sql 'SHOW TABLES' --sql $sql --format csv | tail -n 1)\" = cards ]"
check "the task is told of" sh -c "curl -s '${admins[over]}/readyz?tasks' | grep -q series"
check "and counted" sh -c "curl -s '${admins[over]}/metrics' | grep -q 'widerow_task_state{task=\"series\"}'"

check "the example" examples/series/run.sh 6000

# ---- kills ----
mkdir "$work/kill"
check "kills at each step" "$program" kill "$work/kill" "$([ "$nightly" ] && echo 12 || echo 3)" "$([ "$nightly" ] && echo 50 || echo 6)"
cat "$work/out"

# ---- a year ----
faketime=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -n 1)
if grep -q fsanitize "$BUILD/gen/flags" 2>/dev/null; then
    echo "the year is not lived with sanitizers, before which nothing may be loaded"
elif [ -z "$faketime" ]; then
    check "libfaketime is installed" false
else
    mkdir "$work/year"
    echo +0 >"$work/clock"
    check "fourteen months under load" env FAKETIME_TIMESTAMP_FILE="$work/clock" FAKETIME_CACHE_DURATION=1 \
        FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 LD_PRELOAD="$faketime" "$program" year "$work/year" "$([ "$nightly" ] && echo 20000 || echo 500)"
    cat "$work/out"
fi
counts series
