#!/usr/bin/env bash
# `widerow export`: what it writes, `widerow import` takes back to the same rows; the month-tables example, which lives
# on it; and `widerow advise` of a table.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
widerow=$BUILD/widerow

run() { # COMMAND...: on a data folder in this process
    "$widerow" "$@" --dir "$work/data"
}

refuses() { fails "$1" run "${@:2}"; } # WORDS COMMAND…

# Values that a careless writer would spoil: quotes, commas, line ends, NUL, no text at all, numbers that are texts,
# whole doubles, and cells that are not there.
printf 'id,text,raw,real,flag,label\n' >"$work/odd.csv"
printf '3,"a ""quoted"", text",plain,1.5,true,007\n' >>"$work/odd.csv"
printf '1,"",\xff\xfe,2,false,12\n' >>"$work/odd.csv"
printf '2,,"two\nlines, and a \r",-0.1,,\n' >>"$work/odd.csv"
printf '4,\xc3\xa9,"a\x00b",1e300,true,"x "\n' >>"$work/odd.csv"
check "import of odd values" run import "$work/odd.csv" --table odd --create --key id:integer --quiet \
    --columns text:string,raw:binary,real:double,flag:boolean,label:string
check "export" run export odd --output "$work/odd1.csv" --quiet
check "a header with types" grep -qxF 'id:integer,flag:boolean,label:string,raw:binary,real:double,text:string' "$work/odd1.csv"
check "import of the export, types from its header" run import "$work/odd1.csv" --table odd2 --create --key id --quiet
check "the same again" run export odd2 --output "$work/odd2.csv" --quiet
check "CSV is the same" cmp "$work/odd1.csv" "$work/odd2.csv"
check "JSON Lines of both" run export odd --format jsonl --output "$work/odd1.jsonl" --quiet
check "JSON Lines of both" run export odd2 --format jsonl --output "$work/odd2.jsonl" --quiet
check "JSON Lines is the same, types included" cmp "$work/odd1.jsonl" "$work/odd2.jsonl"
check "a whole double stays one" grep -qF '"real":2.0' "$work/odd1.jsonl"
check "binaries in base64" grep -qF '"raw":{"base64":"YQBi"}' "$work/odd1.jsonl"
check "an empty text" grep -qF '"text":""' "$work/odd1.jsonl"
check "no cell, no member" sh -c 'sed -n 2p "$1" | grep -v label | grep -qv text' - "$work/odd1.jsonl"
check "JSON Lines is JSON" python3 -c 'import json, sys; assert [json.loads(l)["id"] for l in open(sys.argv[1])] == [1, 2, 3, 4]' "$work/odd1.jsonl"
check "JSON Lines is taken back, on another layout" run import "$work/odd1.jsonl" --table odd3 --create --key id:integer \
    --layout hash:16 --quiet
check "JSON Lines of that" run export odd3 --format jsonl --output "$work/odd3.jsonl" --quiet
check "to the same rows" cmp "$work/odd1.jsonl" "$work/odd3.jsonl"
check "in sixteen partitions" sh -c '"$1" describe odd3 --dir "$2" | tee "$3" | grep -qx "partitions       16" && grep -qx "layout           hash:16" "$3"' \
    - "$widerow" "$work/data" "$work/describe"
check "a table that is there keeps its layout" refuses "widerow rekey odd3 --layout plain" import "$work/odd1.jsonl" \
    --table odd3 --create --key id:integer --layout plain --quiet
check "a layout for a table that is not made" refuses "--layout is for a new table" import "$work/odd1.jsonl" --table odd3 --layout plain
check "no such layout" refuses "\[1, 256\]" import "$work/odd1.jsonl" --table odd4 --create --key id:integer --layout hash:257
check "a layout on a column that is not there" refuses "nothere" import "$work/odd1.jsonl" --table odd4 --create --key id:integer --layout time:nothere/10:4
check "and no table of it" refuses "does not exist" describe odd4

# What scan prints is taken back to the same row and types: one writer of values, so that also its text is the same.
"$widerow" scan odd --dir "$work/data" --limit 0 >"$work/scan1.jsonl"
check "scan prints a whole double as one" grep -qF '"real":2.0' "$work/scan1.jsonl"
check "get does" sh -c '"$1" get odd 1 --dir "$2" | grep -qF "\"real\":2.0"' - "$widerow" "$work/data"
check "scan and export print the same values" python3 - "$work/scan1.jsonl" "$work/odd1.jsonl" <<'PYTHON'
import json, sys
scan, export = ([json.loads(l, parse_float=lambda t: ("double", t), parse_int=lambda t: ("integer", t)) for l in open(f)] for f in sys.argv[1:])
assert scan == export, (scan, export)
PYTHON
check "a scan is taken back" run import "$work/scan1.jsonl" --table odd9 --create --key id:integer --quiet
check "export of that" run export odd9 --format jsonl --output "$work/odd9.jsonl" --quiet
check "the same rows and types" cmp "$work/odd1.jsonl" "$work/odd9.jsonl"
for value in 1.0 -0.0 1e+22 0.1 12345678901234567.0 1e-05 -3.0; do
    printf '{"id":1,"v":%s}\n' "$value" >"$work/one.jsonl"
    "$widerow" drop one --dir "$work/data" >/dev/null 2>&1
    check "import of $value" run import "$work/one.jsonl" --table one --create --key id --quiet
    check "scan of $value" sh -c '"$1" scan one --dir "$2" | tee "$3.1" | "$1" import - --table one2 --create --key id --quiet --dir "$2.x"; "$1" scan one2 --dir "$2.x" | cmp - "$3.1"' - \
        "$widerow" "$work/data" "$work/one"
    check "is a double still" sh -c '"$1" export one2 --dir "$2.x" --quiet | head -n 1 | grep -qx id:integer,v:double' - "$widerow" "$work/data"
done
# A column of several types, in one file: each value keeps its own.
printf '%s\n' '{"id":1,"v":"5"}' '{"id":2,"v":5}' '{"id":3,"v":5.0}' '{"id":4,"v":true}' '{"id":5,"v":{"base64":"BQ=="}}' '{"id":6}' '{"id":7,"v":"true"}' >"$work/any.jsonl"
check "import of several types" run import "$work/any.jsonl" --table any --create --key id --quiet
check "scan of several types" sh -c '"$1" scan any --dir "$2" | cmp - "$3"' - "$widerow" "$work/data" "$work/any.jsonl"

printf '%s\n' '{"id":1,"v":{"binary":"0aff"}}' >"$work/hex.jsonl"
check "import of an older release's binaries" run import "$work/hex.jsonl" --table hex --create --key id --quiet
check "as base64" sh -c '"$1" get hex 1 --dir "$2" | grep -qF "{\"base64\":\"Cv8=\"}"' - "$widerow" "$work/data"

# A table that is cut from the beginning.
check "cut at two values, in each bucket" run create cuts --key id:integer --splits 10,20 --layout hash:4
check "into twelve" sh -c '"$1" describe cuts --dir "$2" | grep -qx "partitions       12"' - "$widerow" "$work/data"
check "cut at what is no value" refuses "'x' is no value of key column 'id' \(integer\)" create uncut --key id:integer --splits 10,x
check "cut out of order" refuses "ascending order" create uncut --key id:integer --splits 20,10
check "and no table of it" refuses "does not exist" describe uncut

# Lines that are no rows: each is named, counted, and left out, and the first beyond --max-errors ends the import.
printf '%s\n' '{"id":1,"a":1}' '{"id":"one","a":1}' '' '{"a":5}' '{"id":2,"a":"b"' 'id,a' '{"id":3,"a":[1]}' '{"id":null}' >"$work/bad.jsonl"
for n in $(seq 1500); do echo "{\"id\":$((n + 10)),\"a\":$n}"; done >>"$work/bad.jsonl"
printf '%s\n' '{"id":7,"late":1}' '{"id":8,"late":null}' >>"$work/bad.jsonl"
check "bad lines beyond --max-errors" refuses "--max-errors" import "$work/bad.jsonl" --table bad --create --key id:integer --max-errors 5 --quiet
check "bad lines" sh -c '! "$1" import "$2" --table bad --create --key id:integer --columns a:integer --max-errors 9 --quiet --dir "$3" >"$4" 2>&1' \
    - "$widerow" "$work/bad.jsonl" "$work/data" "$work/bad"
for line in "line 2: column id: 'one' is no integer" "line 4: key column id: there is no value" "line 5: " "line 6: not an object" \
    "line 7: column a: '\[1\]' is no integer" "line 8: key column id" "6 lines not loaded"; do
    check "it says: $line" grep -q "$line" "$work/bad"
done
check "a column that comes late" sh -c '! cat "$2" | "$1" import - --table bad --key id:integer --max-errors 9 --quiet --dir "$3" >"$4" 2>&1; grep -q "line 1509: column late is in no line of the sample" "$4"' \
    - "$widerow" "$work/bad.jsonl" "$work/data" "$work/bad"
check "that was named" sh -c '"$1" import "$2" --table bad --key id:integer --columns late:integer,a:string --max-errors 9 --quiet --dir "$3" >"$4" 2>&1; grep -q "5 lines not loaded" "$4"' \
    - "$widerow" "$work/bad.jsonl" "$work/data" "$work/bad"
check "is loaded" sh -c '"$1" get bad 7 --dir "$2" | grep -qF "\"late\":1"' - "$widerow" "$work/data"
check "names alone" sh -c '"$1" export odd --plain-header --quiet --dir "$2" | head -n 1 | grep -qx id,flag,label,raw,real,text' - "$widerow" "$work/data"
check "some columns" sh -c '"$1" export odd --columns real:double --quiet --dir "$2" | head -n 2 | tail -n 1 | grep -qx 1,2.0' - "$widerow" "$work/data"

# A part of a table: of its rows, and of their columns.
printf '%s\n' '{"user":"ann","at":1,"n":5,"m":"x"}' '{"user":"ann","at":2,"n":6}' '{"user":"ann","at":3,"n":7,"m":"z"}' '{"user":"bob","at":1,"n":8,"m":true}' >"$work/part.jsonl"
check "import of a table with two key columns" run import "$work/part.jsonl" --table part --create --key user:string,at:integer --quiet
exports() { # WHAT… WANTED-LINES: of the export
    local wanted=${*: -1}
    run export part "${@:1:$#-1}" --quiet >"$work/part.out" 2>&1 || { cat "$work/part.out"; return 1; }
    [ "$(cat "$work/part.out")" = "$(printf '%b' "$wanted")" ] || { cat "$work/part.out"; return 1; }
}
check "of one user" exports bob --format jsonl '{"user":"bob","at":1,"m":true,"n":8}'
check "between two keys" exports ann --from 2 --to 3 --format jsonl '{"user":"ann","at":2,"n":6}'
check "with a prefix" exports --prefix b --format jsonl '{"user":"bob","at":1,"m":true,"n":8}'
check "of one type, so CSV can say it" exports ann 'user:string,at:integer,m:string,n:integer\nann,1,x,5\nann,2,,6\nann,3,z,7'
check "some columns, and rows without them" exports ann --columns m --format jsonl '{"user":"ann","at":1,"m":"x"}\n{"user":"ann","at":2}\n{"user":"ann","at":3,"m":"z"}'
check "columns without types" exports ann --columns n 'user:string,at:integer,n:integer\nann,1,5\nann,2,6\nann,3,7'
check "a filter on a column that is not shown" exports --filter 'n > 6' --columns m --format jsonl '{"user":"ann","at":3,"m":"z"}\n{"user":"bob","at":1,"m":true}'
check "in CSV" exports ann --filter 'n > 6' --columns m:string 'user:string,at:integer,m:string\nann,3,z'
check "a key that is none" refuses "at" export part ann x
check "a filter that is none" refuses "a value is missing" export part --filter 'n >'

# Parquet, which a reader of its own takes apart: the same rows as JSON Lines have, whatever the types.
parquet() { run export "$1" --format parquet --output "$work/$1.parquet" --quiet "${@:2}"; }
same_rows() { # TABLE, exported before
    run export "$1" --format jsonl --output "$work/$1.rows.jsonl" --quiet && python3 test/export/parquet.py "$work/$1.parquet" >"$work/$1.read" &&
        python3 -c '
import json, sys
read, rows = ([json.loads(l) for l in open(f)] for f in sys.argv[1:])
assert rows and read == rows and [[type(v) for v in r.values()] for r in read] == [[type(v) for v in r.values()] for r in rows], (read[:3], rows[:3])' \
            "$work/$1.read" "$work/$1.rows.jsonl"
}
check "Parquet of odd values" parquet odd
check "the same rows" same_rows odd
check "its key is noted" sh -c 'python3 test/export/parquet.py --facts "$1" | grep -qx "4 1 7 7 id:integer"' - "$work/odd.parquet"
check "of a part of a table" sh -c '"$1" export part ann --columns m --format parquet --quiet --dir "$2" >"$3" && python3 test/export/parquet.py "$3" | grep -c ann | grep -qx 3' - \
    "$widerow" "$work/data" "$work/part.parquet"
check "what one column cannot hold stands beside it" run export part --format parquet --output "$work/mixed.parquet" --quiet
check "and comes back" run import "$work/mixed.parquet" --table part2 --create --quiet
check "the same rows" sh -c '"$1" export part --format jsonl --quiet --dir "$2" >"$3.1"; "$1" export part2 --format jsonl --quiet --dir "$2" | cmp - "$3.1"' - "$widerow" "$work/data" "$work/part.rows"
check "with --columns it has no place" refuses "export it with --format jsonl" export part --format parquet --columns m,n --output "$work/mixed.parquet" --quiet
run create barren --key id:binary >/dev/null
check "Parquet of no rows" parquet barren
check "is a file all the same" sh -c 'python3 test/export/parquet.py --facts "$1" | grep -qx "0 0 0 2 id:binary"' - "$work/barren.parquet"
# More than a page of one column, more than one row group, and cells larger than a page.
python3 -c '
import json
for i in range(12000):
    row = {"id": i, "pad": "%06x" % (i * 1397) * 700, "flag": i % 3 == 0}
    if i % 2: row["d"] = i / 8
    if i % 5000 == 0: row["big"] = "y" * 1500000
    if i > 11990: row["late"] = "2025-01-%02d" % (i - 11980)
    print(json.dumps(row))' >"$work/large.jsonl"
check "import of a table of some row groups" run import "$work/large.jsonl" --table groups --create --key id --quiet
check "Parquet of it" parquet groups
check "several groups, more pages" sh -c 'set -- $(python3 test/export/parquet.py --facts "$1") && [ "$1" = 12000 ] && [ "$2" -gt 2 ] && [ "$3" -gt 60 ]' - "$work/groups.parquet"
check "the same rows, a column that comes late among them" same_rows groups
check "JSON Lines by one connection" run export groups --format jsonl --workers 1 --output "$work/one.jsonl" --quiet
check "the same bytes as by four" cmp "$work/one.jsonl" "$work/groups.rows.jsonl"
check "a reader that has seen enough ends the export" sh -c '"$1" export groups --format jsonl --quiet --dir "$2" | head -c 1000000 | wc -c | grep -qx 1000000' - "$widerow" "$work/data"
check "no room for five" sh -c '! "$1" export groups --workers 5 --dir "$2" >/dev/full 2>"$3"; grep -q "No space" "$3"' - "$widerow" "$work/data" "$work/err"
check "no room for Parquet" sh -c '! "$1" export groups --format parquet --dir "$2" >/dev/full 2>"$3"; grep -q "No space" "$3"' - "$widerow" "$work/data" "$work/err"
# Records without their key: errors of their lines, never rows under an empty key.
{ echo user,n; for n in $(seq 3000); do [ $((n % 10)) -lt 3 ] && echo ",$n" || echo "u$n,$n"; done; } >"$work/empty.csv"
check "a first import of empty keys makes no table" refuses "300 of the first 1000 lines cannot be loaded" \
    import "$work/empty.csv" --table empty --create --key user --quiet
check "the line and the reason" grep -q "^line 2: key column user: there is no value" "$work/said"
check "there is none" refuses "does not exist" describe empty
check "as many as --max-errors allows are left out" refuses "900 lines not loaded" \
    import "$work/empty.csv" --table empty --create --key user --max-errors 900 --quiet
check "each with its line" test "$(grep -c '^line [0-9]*: key column user: there is no value' "$work/said")" = 900
check "and the others are there" sh -c '"$1" scan empty --count --dir "$2" | grep -qx 2100' - "$widerow" "$work/data"
check "no row under the empty key" refuses "no such row" get empty ""
printf 'user,n\n"",1\n' >"$work/quoted.csv"
check "an empty text in quotes is a key" run import "$work/quoted.csv" --table empty --key user:string --quiet
printf '"user","n"\n"a","1"\n"","2"\n' >"$work/allquoted.csv"
check "in a file that quotes all it is none" refuses "line 3: key column user: there is no value" \
    import "$work/allquoted.csv" --table empty --key user:string --quiet
{ echo k,v; for n in $(seq 1500); do echo "$n,$n"; done; echo x,1; } >"$work/late.csv"
check "a bad line behind the first ones stops the import" refuses "stopped at the first bad line" \
    import "$work/late.csv" --table late --create --key k --quiet --workers 1 --window 100 --batch 10
check "the rows that were acknowledged stay" run describe late
{ echo k,v; for n in $(seq 3); do printf '%s,"%*s"\n' "$n" 3000000 x; done; } >"$work/large.csv"
check "an import that the server refuses" refuses "No row was loaded: the new table large is gone again" \
    import "$work/large.csv" --table large --create --key k --quiet
check "leaves no table" refuses "does not exist" describe large

# A column with two types.
printf 'id,text\n9,42\n' >"$work/mixed.csv"
check "another type in the same column" run import "$work/mixed.csv" --table odd --columns text:integer --quiet
check "CSV says that it cannot" refuses "export it with --format jsonl" export odd --quiet
check "CSV says so with --columns, too" refuses "cannot keep apart" export odd --columns text:string --quiet
check "JSON Lines can" sh -c '"$1" export odd --format jsonl --quiet --dir "$2" | grep -qF "\"text\":42" ' - "$widerow" "$work/data"
# A file is written beside its name until it is whole.
echo before >"$work/two.csv"
exec {writer}>"$work/two.csv.new"
flock "$writer"
check "a file that another export is writing" refuses "another export is writing .*two.csv" export odd2 --output "$work/two.csv" --quiet
check "is as it was" grep -qx before "$work/two.csv"
check "and so is what the other one writes" test -e "$work/two.csv.new"
exec {writer}>&-
seq 1000 >"$work/two.csv.new"
check "what a killed export has left is in nobody's way" run export odd2 --output "$work/two.csv" --quiet
check "nor in the file" cmp "$work/odd2.csv" "$work/two.csv"
check "and is gone" test ! -e "$work/two.csv.new"
# It is on the disk before it takes its name, and so is the name then: test/crash/preload/record.h tells what was done in which order.
# A library in front of a sanitizer's own does not go.
if [ -z "${SAN:-}" ]; then
    mkdir "$work/synced"
    check "an export whose syncs are recorded" env LD_PRELOAD="$BUILD/test/crash_preload.so" CRASH_RECORD="$work/synced.record" \
        CRASH_RECORD_DIR="$work/synced" "$widerow" export odd2 --output "$work/synced/two.csv" --quiet --dir "$work/data"
    check "is on the disk before it has its name, and its name after that" python3 - "$work/synced.record" "$work/synced" <<'PYTHON'
import struct, sys
record, folder = open(sys.argv[1], "rb").read(), sys.argv[2]
OPEN, SYNC_END, RENAME = 1, 5, 6
paths, done, at = {}, [], 0
while at < len(record):
    magic, kind, handle, offset, size = struct.unpack_from("<IIQQQ", record, at)
    data = record[at + 32:at + 32 + size].decode()
    at += 32 + size
    if kind == OPEN:
        paths[handle] = data
    if kind == SYNC_END:
        done.append(("sync", paths[handle]))
    if kind == RENAME:
        done.append(("rename", data.split("\0")[1]))
assert done == [("sync", folder + "/two.csv.new"), ("rename", folder + "/two.csv"), ("sync", folder)], done
PYTHON
fi
check "no such table" refuses "does not exist" export nothing
check "no such format" refuses "csv, jsonl or parquet" export odd --format xml
check "no such type" refuses "is not NAME:type" export odd --columns text:varchar
check "no room" sh -c '! "$1" export odd2 --dir "$2" >/dev/full 2>"$3"; grep -q "No space" "$3"' - "$widerow" "$work/data" "$work/err"

# More rows than one page, in order.
"$widerow" sample campus --records 30000 >"$work/campus.csv"
check "import of many" run import "$work/campus.csv" --table many --create --key CardID,time,OrderNumber --quiet
check "export of many" run export many --output "$work/many.csv" --quiet
check "all rows" test "$(wc -l <"$work/many.csv")" = 30001
check "in order" sh -c 'tail -n +2 "$1" | sort -C -t, -k1,1n -k2,2 -k3,3n' - "$work/many.csv"
check "advice on a table" sh -c '"$1" advise --table many --format json --quiet --dir "$2" >"$3"' - "$widerow" "$work/data" "$work/advice.json"
check "is that on its records" python3 - "$work/advice.json" <<'PYTHON'
import json, sys
advice = json.load(open(sys.argv[1]))
verdicts = {(" ".join(c["columns"]), c["layout"]): c["verdict"] for c in advice["candidates"]}
assert advice["records"] == 30000
assert verdicts["CardID", "plain"] == "good" and verdicts["SellerID", "plain"] == "bad", verdicts
assert verdicts["OrderNumber", "plain"] == "bad", verdicts
assert not any("(written)" in c["key"] for c in advice["candidates"])
PYTHON
check "advice on no table" refuses "does not exist" advise --table nothing
check "advice on both" refuses "not both" advise "$work/campus.csv" --table many

check "the month-tables example" sh -c 'examples/month-tables/run.sh 12000 3 >"$1"' - "$work/months"
check "which counts what it saved" grep -qx 'saved_share            0.60' "$work/months"
check "and rows that expired" grep -qE '^rows_dropped +(8[5-9]|9[0-4])[0-9][0-9]$' "$work/months"

# Over HTTP rows come as matrices of whatever columns they have, or, where these are too many for that, as plain buffers.
python3 -c '
import json, random
random.seed(7)
for i in range(9000):
    names = random.sample(range(4 if i < 5000 else 90), 3)
    print(json.dumps({"id": i, **{"c%d" % n: [i, "text of %d" % i, i / 2, i % 2 == 0][random.randrange(4)] for n in names}}))' >"$work/sparse.jsonl"
check "import of a sparse table" run import "$work/sparse.jsonl" --table sparse --create --key id:integer --quiet
for table in sparse odd; do
    check "$table in this process" run export $table --format jsonl --output "$work/$table.here" --quiet
    check "its versions" run export $table --format jsonl --versions --output "$work/$table.versions" --quiet
done
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
"$BUILD/widerowd" --data "$work/data" --instance local --http 127.0.0.1:0 --admin off --port-file "$work/port" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 300); do [ -s "$work/port" ] && break; sleep 0.1; done
export WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
for table in sparse odd; do
    check "$table over HTTP" sh -c '"$1" export "$3" --format jsonl --quiet | cmp - "$2/$3.here"' - "$widerow" "$work" $table
    check "its versions" sh -c '"$1" export "$3" --format jsonl --versions --quiet | cmp - "$2/$3.versions"' - "$widerow" "$work" $table
    check "$table as Parquet over HTTP" "$widerow" export $table --format parquet --output "$work/$table.http" --quiet
    check "and back" "$widerow" import "$work/$table.http" --table ${table}_back --create --quiet
    check "the same rows" sh -c '"$1" export "${3}_back" --format jsonl --quiet | cmp - "$2/$3.here"' - "$widerow" "$work" $table
done

# A server that stands still in the middle of a walk, for longer than a request may take: its rows are asked for again, and of one that
# does not come back the walk says so. The export is held by a pipe that nobody reads until the server is stopped.
cat >"$work/pause.py" <<'PYTHON'
import os, signal, subprocess, sys, threading
widerow, server, seconds, to = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
env = dict(os.environ, WR_FAULT="client_impatient:error:1+")
export = subprocess.Popen([widerow, "export", "sparse", "--format", "jsonl", "--workers", "1", "--quiet"], stdout=subprocess.PIPE, env=env)
first = os.read(export.stdout.fileno(), 1)
os.kill(server, signal.SIGSTOP)
if seconds:
    threading.Timer(seconds, os.kill, (server, signal.SIGCONT)).start()
with open(to, "wb") as out:
    out.write(first + export.stdout.read())
sys.exit(export.wait())
PYTHON
check "a server that stands still for a while" python3 "$work/pause.py" "$widerow" $server 1.2 "$work/paused"
check "no row is lost or doubled" cmp "$work/paused" "$work/sparse.here"
check "one that does not come back" fails "no answer from .* \(asked 5 times for the same rows\)" python3 "$work/pause.py" "$widerow" $server 0 "$work/paused"
kill -CONT $server
kill $server
wait $server

counts export
