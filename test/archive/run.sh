#!/usr/bin/env bash
# The archive of series: periods that became read-only are written to a store that speaks S3 (npm's s3rver, and Ceph's radosgw),
# read back, and only then dropped; `widerow archive` lists, verifies and restores them. Servers are killed meanwhile at random
# moments: each row is in the series or in the archive, and what is dropped is whole in the archive.
#
#   test/archive/run.sh     BUILD=build  TIER=short|nightly  KILLS=8
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
source test/s3/stores.sh
source test/python.sh
export LC_ALL=C.UTF-8
unset WIDEROW_ENDPOINT WIDEROW_INSTANCE WIDEROW_TABLE "${!AWS_@}"
check "pyarrow and DuckDB" python_packages archive test/archive/requirements.txt
export HOME=$work AWS_REGION=us-east-1
export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
widerow=$BUILD/widerow
TIER=${TIER:-short}
kills=${KILLS:-$([ "$TIER" = nightly ] && echo 50 || echo 6)}

start() { serve one --sql off --admin 127.0.0.1:0 --memory 64M --archive s3://test/archives "$@" && export WIDEROW_ENDPOINT=${urls[one]}; }
run() { "$widerow" "$@"; }
refuses() { fails "$1" run "${@:2}"; }
says() { run series status "$1" | grep -qE -- "$2"; } # SERIES WORDS
at() { echo "s3://test/archives/test/$1"; }
create() { # SERIES [FLAG…]
    run series create "$1" --key card:integer,time:string --by month --column time --archive s3://test/archives "${@:2}"
}
same() { run scan "$1" --limit 0 --format jsonl >"$work/a.rows" && run scan "$2" --limit 0 --format jsonl >"$work/b.rows" && [ -s "$work/a.rows" ] && cmp "$work/a.rows" "$work/b.rows"; }
archived() { says "$1" "archive .*periods up to $2"; }

# Rows of three months, with all types, and cells that are not in all of them.
python3 - "$work/rows.jsonl" <<'PYTHON'
import json, random, sys
rnd = random.Random(7)
with open(sys.argv[1], "w") as out:
    for i in range(6000):
        row = {"card": rnd.randrange(500), "time": "2025-%02d-%02d %06d" % (1 + i % 3, 1 + rnd.randrange(28), i), "amount": rnd.random() * 100,
               "where": rnd.choice(["canteen", "shop", "łódź"]), "paid": rnd.random() < 0.5}
        if i % 7 == 0:
            row["c%d" % rnd.randrange(40)] = rnd.choice([i, str(i), {"base64": "AAH/"}])
        out.write(json.dumps(row) + "\n")
PYTHON

life() { # STORE
    check "$1: a server" start
    check "$1: a series" create cards
    check "$1: rows" run import "$work/rows.jsonl" --table cards --quiet
    check "$1: a period is read by its name" sh -c "[ \"\$($widerow count cards@2025-01)\" = 2000 ]"
    check "$1: and not written by it" refuses "Invalid table name" put cards@2025-01 1 2025-01-01 a=1
    check "$1: nor is it listed" sh -c "[ \"\$($widerow tables)\" = cards ]"
    check "$1: nothing is dropped before" refuses "still takes writes" series drop cards 2025-01
    run scan cards --limit 0 --format jsonl >"$work/all.rows"
    check "$1: freeze" run series freeze cards 2025-02
    check "$1: a late row is refused by name" refuses "Period 2025-01 of series 'cards' is read-only" put cards 1 2025-01-05 a=1
    check "$1: both are archived" eventually archived cards 2025-02
    check "$1: status says so" says cards '^2025-01  archived'
    check "$1: nothing is lost of it" sh -c "$widerow scan cards --limit 0 --format jsonl | cmp - $work/all.rows"
    check "$1: the list" sh -c "[ \"\$($widerow archive list s3://test/archives --format jsonl | grep -c '\"rows\":2000')\" = 2 ]"
    check "$1: they are whole" run archive verify s3://test/archives
    check "$1: the task is told of" eventually sh -c "curl -s '${admins[one]}/readyz?tasks' | grep -q 'task archive: idle'"
    check "$1: and counted" sh -c "curl -s '${admins[one]}/metrics' | grep -q 'widerow_task_state{task=\"archive\"}'"
    check "$1: one comes back" run archive restore "$(at cards/2025-01)" --table back
    check "$1: as it was" same cards@2025-01 back
    check "$1: not over a table" refuses "already exist" archive restore "$(at cards/2025-01)" --table back
    check "$1: drop" run series drop cards 2025-01
    check "$1: what is dropped is in the archive, what is not in the series" sh -c "($widerow scan back --limit 0 --format jsonl && $widerow scan cards --limit 0 --format jsonl) | sort >$work/both; sort $work/all.rows | cmp - $work/both"
    check "$1: the file is one for import, too" run import "$(at cards/2025-02)/rows.parquet" --table plain --create --key card:integer,time:string --quiet
    check "$1: import reads it" same cards@2025-02 plain
    run scan cards@2025-02 --limit 0 --format jsonl >"$work/month.rows"
    check "$1: pyarrow and DuckDB read it from the store" "$python" test/archive/read.py test/archives/test/cards/2025-02/rows.parquet "$work/month.rows"
    # What cannot be.
    check "$1: below the server's archive" run series create lost --key card:integer,time:string --by month --column time --archive s3://test/archives/deep
    check "$1: outside of the server's archive" run series create out --key card:integer,time:string --by month --column time --archive s3://other/archives
    check "$1: no place" refuses "archive of a series is s3://" series create none --key card:integer,time:string --by month --column time --archive /tmp/x
    check "$1: a row each" sh -c "$widerow put out 1 2025-01-01 a=1 && $widerow put lost 1 2025-01-01 a=1 && $widerow series freeze out 2025-01 && $widerow series freeze lost 2025-01"
    check "$1: the one fails, and says why" eventually says out 'not where this server writes archives: its setting archive says s3://test/archives'
    check "$1: the other goes on" eventually archived lost 2025-01
    check "$1: what is not archived stays" refuses "Period 2025-01 of series 'out' is not in the archive yet" series drop out 2025-01
    check "$1: readyz names it" sh -c "curl -s '${admins[one]}/readyz' | grep -q 'archive fails: out@2025-01'"
    check "$1: another place" run series archive out --archive s3://test/archives/out
    check "$1: takes it" eventually archived out 2025-01
    check "$1: a series anew" sh -c "$widerow drop lost && $widerow series create lost --key card:integer,time:string --by month --column time --archive s3://test/archives/deep && $widerow put lost 2 2025-01-01 a=1 && $widerow series freeze lost 2025-01"
    check "$1: does not go over the old one's" eventually says lost 'holds a period of another series'
    check "$1: nor does it take it off" run archive verify s3://test/archives
    check "$1: without an archive it goes for good" sh -c "$widerow series archive lost && $widerow series drop lost 2025-01"
    stop_all TERM
}

# ---- kills ----
# Period n of 10 days a period: rows are put, the one before is frozen, and the one before that dropped once it is archived.
day() { date -u -d "2020-01-01 +$1 days" +%Y-%m-%d; }
dropped() { run series status life | sed -n 's/^dropped up to //p'; }
keep_killing() { # by its pid, until the file goes; new ones are started by the loop below
    local n=0
    while [ $n -lt "$kills" ]; do
        sleep "$(python3 -c 'import random; print(random.uniform(0.05, 2.5))')"
        kill -KILL "${pids[one]}" 2>/dev/null
        wait "${pids[one]}" 2>/dev/null
        n=$((n + 1))
        start || return 1
        step $n || return 1
    done
    echo "$n kills"
}
put_day() { # N: its 200 rows
    python3 -c '
import json, sys
n, day = int(sys.argv[1]), sys.argv[2]
for i in range(200):
    print(json.dumps({"card": i, "time": day, "v": "x" * 500 + str(n)}))' "$1" "$(day "$1")" >"$work/day.jsonl"
    run import "$work/day.jsonl" --table life --quiet >/dev/null
}
step() { # N: what the killed server may have begun is asked for once more
    put_day "$1" || return 1
    [ "$1" -lt 2 ] || run series freeze life "$(day $(($1 - 1)))" >/dev/null || return 1
    [ "$1" -lt 3 ] || run series drop life "$(day $(($1 - 2)))" >"$work/drop" 2>&1 || grep -q "not in the archive yet" "$work/drop"
}
settled() { archived life "$(day $((kills - 1)))"; }
each_row_once() {
    local n=1 gone place count in_series=0 in_archive=0
    gone=$(dropped)
    while [ $n -le "$kills" ]; do
        place=$(day $n)
        count=$(run scan "life@$place" --limit 0 --format jsonl 2>/dev/null | wc -l)
        if [ -n "$gone" ] && ! [[ $place > $gone ]]; then
            [ "$count" = 0 ] || { echo "$place is dropped, and has $count rows"; return 1; }
            run archive list "$(at life/$place)" --format jsonl | grep -q '"rows":200,' || { echo "$place is in neither place"; return 1; }
            in_archive=$((in_archive + 1))
        else
            [ "$count" = 200 ] || { echo "$place has $count rows"; return 1; }
            in_series=$((in_series + 1))
        fi
        n=$((n + 1))
    done
    [ "$(run count life)" = $((200 * in_series)) ] || { echo "the series has $(run count life) rows"; return 1; }
    echo "$in_series periods in the series, $in_archive dropped, all archived ones whole"
}
killed() { # STORE
    check "$1: a server to kill" start
    check "$1: its series" run series create life --key card:integer,time:string --by day --column time --archive s3://test/archives
    check "$1: $kills kills" keep_killing
    cat "$work/out"
    check "$1: all frozen ones are archived" eventually settled
    check "$1: each row is in one place" each_row_once
    cat "$work/out"
    check "$1: each archive is whole" run archive verify "$(at life)"
    check "$1: the last drop" run series drop life "$(day $((kills - 1)))"
    check "$1: and again" each_row_once
    stop_all TERM
    rm -rf "$work/one"
}

check "s3rver" packages
check "s3rver starts" start_s3rver
life s3rver
file=$(find "$work/s3rver" -path '*cards*' -name '*rows.parquet*object' | head -n 1)
check "a flipped byte" sh -c "printf X | dd of='$file' bs=1 seek=300 conv=notrunc status=none"
check "is found" fails "SHA-256|1 of" "$widerow" archive verify "$(at cards)"
check "no archive there" fails "there is no archive of a series" "$widerow" archive list s3://test/nowhere
check "an archive that is none" fails "like s3://BUCKET/PREFIX" "$BUILD/widerowd" --data "$work/x" --http 127.0.0.1:0 --archive nowhere
rm -rf "$work/one"
killed s3rver
if [ "$TIER" = nightly ]; then
    check "Ceph with its gateway starts" start_radosgw
    life radosgw
    rm -rf "$work/one"
    killed radosgw
fi
counts archive
