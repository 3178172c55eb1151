#!/usr/bin/env bash
# `widerow import` of Parquet files that pyarrow and DuckDB have written: the same rows, or what is wrong with them; and
# `export --format parquet`, which gives back the same rows.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
source test/python.sh
widerow=$BUILD/widerow
run() { "$widerow" "$@" --dir "$work/data"; }
refuses() { fails "$1" run "${@:2}"; }
prints() { [ "$(run "${@:2}" | tee "$work/printed")" = "$1" ] || { cat "$work/printed"; false; }; }
tables=0
# loads FILE WANT FLAG…: into a table of its own, and out again; its rows are those of WANT
loads() {
    tables=$((tables + 1))
    run import "$1" --table "t$tables" --create --key id --quiet "${@:3}" && run export "t$tables" --format jsonl --output "$work/got.jsonl" --quiet &&
        python3 test/import/parquet_files.py --same "$2" "$work/got.jsonl"
}
files=$work/files
mkdir "$files"
check "pyarrow, DuckDB and DataFusion" python_packages parquet test/import/requirements.txt
check "their files" "$python" test/import/parquet_files.py "$files"
for file in "$files"/arrow-* "$files"/duck-*; do
    check "$(basename "$file")" loads "$file" "$files/want.jsonl"
done
check "several workers and a window" loads "$files/arrow-snappy-1.0.parquet" "$files/want.jsonl" --shuffle --window 500 --workers 4
check "dates and times as texts" loads "$files/duck-snappy-v1.parquet" "$files/texts.jsonl" \
    --columns b,d,day:string,dec,f,fix,i32,i64,i8,long,raw,s,ts:string,u32,nul
sed 's/, "ts": \([-0-9]*\)/, "ts": \1000/' "$files/int96.jsonl" >"$files/int96ns.jsonl"
check "timestamps of 96 bits" loads "$files/int96.parquet" "$files/int96ns.jsonl"
check "by standard input that is a file" sh -c '"$1" import - --table stdin --create --key id --quiet --dir "$2" <"$3"' - "$widerow" "$work/data" "$files/duck-zstd-v2.parquet"
check "all of it" prints 3000 count stdin
check "not out of a pipe" sh -c '! cat "$3" | "$1" import - --table pipe --create --key id --quiet --dir "$2" 2>"$4"; grep -q "is Parquet, which is read from its end" "$4"' - \
    "$widerow" "$work/data" "$files/duck-zstd-v2.parquet" "$work/err"
check "some columns" run import "$files/duck-zstd-v2.parquet" --table some --create --key id --columns s --quiet
check "and no others" sh -c '"$1" export some --dir "$2" --quiet | head -n 1 | grep -qx id:integer,s:string' - "$widerow" "$work/data"
check "a number as a text, a whole one as a double" run import "$files/duck-zstd-v2.parquet" --table some2 --create --key id:string --columns i64:double,i8:string --quiet
check "so they are" sh -c '"$1" export some2 --dir "$2" --quiet | head -n 1 | grep -qx id:string,i64:double,i8:string' - "$widerow" "$work/data"
check "a list" refuses "column list is nested" import "$files/list.parquet" --table bad --create --key id
check "a struct" refuses "column place is nested" import "$files/struct.parquet" --table bad --create --key id
check "another codec" refuses "column id is compressed with brotli" import "$files/brotli.parquet" --table bad --create --key id
check "an unsigned number that is too large" refuses "line 2: column u: its value is beyond" import "$files/unsigned.parquet" --table bad --create --key id
check "is a line that may fail" fails "1 line not loaded" run import "$files/unsigned.parquet" --table unsigned --create --key id --max-errors 1 --rejects "$work/rejects"
check "and is kept" grep -q '"line":2,.*"record":"{\\"id\\":2' "$work/rejects"
check "the others are there" prints 2 count unsigned
check "a row without its key" refuses "line 2: key column id: there is no value" import "$files/nokey.parquet" --table bad --create --key id
check "no table of all these" refuses "does not exist" describe bad
check "no rows" run import "$files/empty.parquet" --table empty --create --key id --quiet
check "a table all the same" prints 0 count empty
head -c 20000 "$files/duck-zstd-v2.parquet" >"$work/cut.parquet"
check "half a file" refuses "does not end as Parquet does" import "$work/cut.parquet" --table bad --create --key id
check "what is none" refuses "is not Parquet" import test/import/parquet.sh --input parquet --table bad --create --key id
python3 - "$files/arrow-snappy-1.0.parquet" "$work/flipped.parquet" <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 16
open(sys.argv[2], "wb").write(data)
PYTHON
check "a bit that has flipped, which a checksum tells" refuses "column .* is damaged" import "$work/flipped.parquet" --table flipped --create --key id --quiet
check "row groups split a new table" run import "$files/groups.parquet" --table split --create --key id --partitions 4 --quiet
check "in four" sh -c '"$1" describe split --dir "$2" | grep -qx "partitions       4"' - "$widerow" "$work/data"
check "with all rows" prints 60000 count split
check "--dry-run" run import "$files/groups.parquet" --table dry --create --key id --dry-run
check "says so" grep -q '^dry: 60,000 lines would be loaded, 0 would not' "$work/before"

# Stopped and gone on with.
check "an import that a bad row ends" refuses "the same command goes on there" import "$files/late.parquet" --table resumed --create --key id --resume --quiet \
    --workers 1 --window 1000
check "goes on" fails "1 line not loaded" run import "$files/late.parquet" --table resumed --key id --resume --max-errors 1
check "not from the beginning" grep -q 'Going on at line [0-9][0-9][0-9]' "$work/said"
check "to all rows" prints 59999 count resumed

# Out and in again, and by the readers of others.
check "export of what came in" run export t1 --format parquet --output "$work/out.parquet" --quiet
check "import of it, with the key that it names" run import "$work/out.parquet" --table again --create --quiet
check "the same rows" sh -c '"$1" export again --format jsonl --output "$3" --quiet --dir "$2" && python3 test/import/parquet_files.py --same "$4" "$3"' - \
    "$widerow" "$work/data" "$work/again.jsonl" "$files/want.jsonl"
check "pyarrow and DuckDB read it" "$python" - "$work/out.parquet" <<'PYTHON'
import sys
import duckdb
import pyarrow.parquet as pq
t = pq.read_table(sys.argv[1])
assert t.num_rows == 3000 and sorted(t["id"].to_pylist()) == list(range(3000))
rows = duckdb.sql("SELECT count(*), count(s), sum(i64::HUGEINT) FROM '%s'" % sys.argv[1]).fetchall()[0]
assert rows == (3000, 3000 - t["s"].null_count, sum(v for v in t["i64"].to_pylist() if v is not None)), rows
PYTHON
# A few rows of many: by the bounds of row groups, and by those of pages, which only DataFusion skips.
python3 -c '
for i in range(400000): print("{\"id\":%d,\"s\":\"%032d\",\"d\":%d.5}" % (i, i * 7919 % 400009, i // 4))' >"$work/many.jsonl"
check "many rows" run import "$work/many.jsonl" --table many --create --key id:integer --quiet
check "their file" run export many --format parquet --output "$work/many.parquet" --quiet
check "is read with a filter, of which its indexes are used" "$python" test/import/parquet_filter.py "$work/many.parquet"
cat "$work/out"
counts import-parquet
