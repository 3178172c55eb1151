#!/usr/bin/env bash
# `widerow import --embedded`: the same rows as by requests, all at once or none: what it refuses, and an importer that is killed at
# random moments.
#
#   TIER=short|nightly     5 kills, or 50; SEED=N repeats a run's moments
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
widerow=$BUILD/widerow
case ${TIER:-short} in
nightly) kills=50 rows=400000 ;;
*) kills=5 rows=60000 ;;
esac
RANDOM=${SEED:-$((SECONDS + $$))}
echo "seed ${SEED:-$((SECONDS + $$))}"

run() { "$widerow" "$@" --dir "$work/data"; } # COMMAND...: on a data folder in this process
refuses() { fails "$1" run "${@:2}"; }        # WORDS COMMAND…
rows_of() { "$widerow" export "$1" --format jsonl --quiet --dir "$2" | md5sum; }

# In no order, a key several times, texts and cells that are not there.
python3 - "$rows" >"$work/rows.csv" <<'PYTHON'
import random, sys
random.seed(5)
n = int(sys.argv[1])
print("user,at,name,amount,flag")
for i in range(n):
    print("u%d,%d,%s,%s,%s" % (random.randrange(n // 20), random.randrange(40) - 20, random.choice(["", '"a ""b"""', "x" * random.randrange(30)]),
                               random.choice(["", "%.2f" % random.uniform(-9, 9)]), random.choice(["", "true", "false"])))
PYTHON
load() { "$widerow" import "$work/rows.csv" --table "$1" --create --key user:string,at:integer --columns name:string,amount:double,flag:boolean --quiet "${@:2}"; }
check "import by requests" load sent --workers 1 --dir "$work/data"
check "embedded" load past --embedded --dir "$work/data"
want=$(rows_of sent "$work/data")
check "the same rows, of a key the last line" test "$(rows_of past "$work/data")" = "$want"
check "on another layout" load hashed --layout hash:8 --embedded --dir "$work/data"
check "the same rows" test "$(rows_of hashed "$work/data")" = "$want"
check "a table that is there and has no rows" run create empty --key user:string,at:integer
check "takes them" load empty --embedded --dir "$work/data"
check "the same rows" test "$(rows_of empty "$work/data")" = "$want"
check "rows are written over" run put past u1 3 name=new
check "and read" sh -c '"$1" get past u1 3 --dir "$2" | grep -qF "\"name\":\"new\""' - "$widerow" "$work/data"
check "a row is removed" run delete past u1 3
check "and gone" refuses "no such row" get past u1 3

# ---- what it refuses
check "a table with rows" refuses "Table sent has rows" import "$work/rows.csv" --table sent --embedded --quiet
check "a table whose rows were removed" run create was --key user:string,at:integer
run put was u1 1 name=x >/dev/null && run delete was u1 1 >/dev/null
was() { load was --embedded --dir "$work/data" >"$work/was" 2>&1 && [ "$(rows_of was "$work/data")" = "$want" ] || [ "$(run count was)" = 0 ]; }
check "takes them all or none" was
run create streamed --key user:string,at:integer >"$work/said"
run stream on streamed >"$work/said" 2>&1 || cat "$work/said"
check "a stream" refuses "Table streamed has a stream" import "$work/rows.csv" --table streamed --embedded --quiet
run create indexed --key user:string,at:integer --columns name:string >"$work/said"
run index create indexed by_name name >"$work/said" 2>&1 || cat "$work/said"
check "indexes" refuses "Table indexed has secondary indexes" import "$work/rows.csv" --table indexed --columns name:string --embedded --quiet
run create joined --key user:string,at:integer --transactions >"$work/said" 2>&1 || cat "$work/said"
check "transactions" refuses "Table joined has local transactions" import "$work/rows.csv" --table joined --embedded --quiet
check "no folder" fails "give --dir" "$widerow" import "$work/rows.csv" --table x --embedded --engine mem --quiet
check "rows that are noted" refuses "all rows at once or none" import "$work/rows.csv" --table x --create --key user --embedded --resume --quiet

# ---- bad lines
{ head -3000 "$work/rows.csv"; echo 'u,notanumber,,,'; echo ',1,,,'; } >"$work/bad.csv"
load_bad() { run import "$work/bad.csv" --table bad --create --key user:string,at:integer --columns name:string,amount:double,flag:boolean --embedded --quiet "$@"; }
check "a bad line ends it" fails "stopped at the first bad line" load_bad
check "and no table is left" refuses "does not exist" describe bad
check "as many as are allowed are left out" fails "some lines were not loaded" load_bad --max-errors 2
check "and the others are there" test "$(run count bad)" -gt 1000
{ echo 'user,at,name'; echo "u,1,$(head -c 300000 /dev/zero | tr '\0' x)"; echo u,2,y; } >"$work/wide.csv"
check "a row that lies in pieces is refused" refuses "write it in a batch" import "$work/wide.csv" --table wide --create --key user:string,at:integer --embedded --quiet
check "no room" fails "No space|cannot|Cannot" sh -c 'ulimit -f 200; trap "" XFSZ; "$1" import "$2" --table full --create --key user:string,at:integer --embedded --quiet --dir "$3"' - \
    "$widerow" "$work/rows.csv" "$work/full"

# ---- kills: none of the rows is there, or all, and the same command goes on
start=$(date +%s%N)
check "a whole run" load timed --embedded --dir "$work/timed"
whole_ms=$((($(date +%s%N) - start) / 1000000))
none=0 all=0
for kill in $(seq $kills); do
    rm -rf "$work/killed"
    # Not by the function: the kill is for the command, not for a shell around it.
    "$widerow" import "$work/rows.csv" --table killed --create --key user:string,at:integer \
        --columns name:string,amount:double,flag:boolean --quiet --embedded --dir "$work/killed" >/dev/null 2>&1 &
    pid=$!
    sleep "$(awk -v ms=$((RANDOM % (whole_ms + 1))) 'BEGIN { print ms / 1000 }')"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    count=$("$widerow" count killed --dir "$work/killed" 2>/dev/null || echo 0)
    if [ "${count:-0}" = 0 ]; then
        none=$((none + 1))
        check "kill $kill: the same command goes on" load killed --embedded --dir "$work/killed"
    else
        all=$((all + 1))
    fi
    check "kill $kill: exactly the rows" test "$(rows_of killed "$work/killed")" = "$want"
done
# Around the step at which they become visible, and with storage that refuses it.
rm -rf "$work/point"
fails "." env WR_FAULT=bulk_before_ingest:crash:1 "$widerow" import "$work/rows.csv" --table point --create --key user:string,at:integer --embedded --quiet --dir "$work/point"
check "killed in front of it: no row" test "$("$widerow" count point --dir "$work/point")" = 0
check "storage that refuses" fails "A fault was asked for" env WR_FAULT=bulk_before_ingest:error:1 "$widerow" import "$work/rows.csv" --table point \
    --columns name:string,amount:double,flag:boolean --embedded --quiet --dir "$work/point"
check "no row" test "$("$widerow" count point --dir "$work/point")" = 0
fails "." env WR_FAULT=bulk_after_ingest:crash:1 "$widerow" import "$work/rows.csv" --table point \
    --columns name:string,amount:double,flag:boolean --embedded --quiet --dir "$work/point"
check "killed behind it: all rows" test "$(rows_of point "$work/point")" = "$want"
check "nothing else is left in the folder" test "$(find "$work/point" -name 'load.sort*' -o -path '*/bulk/*' | wc -l)" = 0
echo "$kills kills: $none left no row, $all came when all were there"

counts import-embedded
