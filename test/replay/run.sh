#!/usr/bin/env bash
# `widerow replay` against a server that refuses what is too much for a partition: a key that rises is refused on a plain
# table and served with buckets.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
trap 'stop_all TERM; rm -rf "$work"' EXIT

refuses() { fails "$1" "$BUILD/widerow" replay "${@:2}" --quiet; } # WORDS ARGUMENT…

export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
serve data --sql off --admin off --set table_ops_per_s_max=0 --set enforce_throughput=2 --set partition_write_cu_max=100
export WIDEROW_ENDPOINT=${urls[data]}

# The number rises; 400 rows a second are four times what one partition may take, and half of what eight may.
{
    echo "number,amount"
    seq -f '%.0f,1.5' 70000000 70003199
} >"$work/rising.csv"
check "a replay" sh -c '"$1" replay "$2" --key number --layout plain --layout hash:8 --rate 400 --look 400 \
    --format json --quiet >"$3"' - "$BUILD/widerow" "$work/rising.csv" "$work/replay.json"
check "says what came of each layout" python3 - "$work/replay.json" <<'PYTHON'
import json, sys
plain, hashed = json.load(open(sys.argv[1]))["layouts"]
print(plain, hashed)
for side in plain, hashed:
    assert side["writes"]["count"] + side["refused"] + side["failed"] == 3200
    assert side["units"] == side["writes"]["count"]
    assert side["partitions"] == 8 and side["touched"] == 8
    assert 0 < side["writes"]["p50_us"] <= side["writes"]["p99_us"]
assert plain["refused"] > 1000, "one partition at a time takes everything"
assert hashed["refused"] < plain["refused"] / 10
assert plain["peak_to_mean"] > 5 and hashed["peak_to_mean"] < 2
PYTHON
head -n 300 "$work/rising.csv" >"$work/few.csv"
check "as text" sh -c '"$1" replay "$2" --key number --layout reverse:4 --reads 50 --quiet | grep -q "^reverse:4  *4[0-9][0-9] "' \
    - "$BUILD/widerow" "$work/few.csv"
check "the tables are gone" sh -c '! "$1" tables | grep -q replay' - "$BUILD/widerow"
check "--keep" "$BUILD/widerow" replay "$work/few.csv" --key number --layout plain --keep --quiet
check "keeps them" sh -c '"$1" tables | grep -qx replay_plain' - "$BUILD/widerow"
check "a layout that is none" refuses "Invalid key layout" "$work/few.csv" --key number --layout plain --layout nope:4
check "and nothing is left" sh -c '! "$1" tables | grep -q nope' - "$BUILD/widerow"
check "a column that is none" refuses "has no column 'count'" "$work/few.csv" --key count --layout plain
check "not a file" refuses "twice" /dev/stdin --key number --layout plain
check "no key" refuses "which key" "$work/few.csv" --layout plain
check "no layout" refuses "which layouts" "$work/few.csv" --key number
printf 'number,amount\n1,2\nx,3\n' >"$work/bad.csv"
check "a bad line" refuses "line 3" "$work/bad.csv" --key number:integer --layout plain
check "--max-errors" "$BUILD/widerow" replay "$work/bad.csv" --key number:integer --layout plain --max-errors 1 --quiet

counts replay
