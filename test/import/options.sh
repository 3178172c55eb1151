#!/usr/bin/env bash
# `widerow import`: what it does with lines that are no rows, what it writes nothing for, and how fast it may go.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
widerow=$BUILD/widerow

run() { "$widerow" "$@" --dir "$work/data"; } # COMMAND...: on a data folder in this process
refuses() { fails "$1" run "${@:2}"; }        # WORDS COMMAND…
prints() { [ "$(run "${@:2}" | tee "$work/printed")" = "$1" ] || { cat "$work/printed"; false; }; }
says() { run "${@:2}" >"$work/told" 2>&1; grep -qE -- "$1" "$work/told" || { cat "$work/told"; false; }; } # WORDS COMMAND…

# ---- nothing by another name ----
printf 'id,n,text\n1,NULL,NULL\n2,7,"NULL"\n3,,x\n' >"$work/null.csv"
check "--null" run import "$work/null.csv" --table nulls --create --key id --null NULL --quiet
check "gives no cell" prints '{"id":1}' get nulls 1
check "in quotes it is a text, and a number's column is still of integers" prints '{"id":2,"n":7,"text":"NULL"}' get nulls 2
check "an empty field gives none either" prints '{"id":3,"text":"x"}' get nulls 3
printf '"id","n"\n"1","\\N"\n"2","5"\n' >"$work/null2.csv"
check "in a file that quotes all, quotes are none" run import "$work/null2.csv" --table nulls2 --create --key id --null '\N' --quiet
check "there neither" prints '{"id":1}' get nulls2 1
printf 'id,n\nNULL,1\n' >"$work/null3.csv"
check "a key of nothing" refuses "line 2: key column id: there is no value" import "$work/null3.csv" --table nulls --null NULL --columns n:integer --quiet
echo '{"id":1}' >"$work/null.jsonl"
check "--null is for CSV" refuses "JSON has a null of its own" import "$work/null.jsonl" --table nulls --null NULL --quiet

# ---- types that the table defines ----
check "a table with defined columns" run create defined --key id:integer --columns n:double,text:string,flag:boolean
printf 'id,n,text,flag,free\n1,5,007,true,7\n2,2.5,x,false,8\n' >"$work/defined.csv"
check "rows for it" run import "$work/defined.csv" --table defined --quiet
check "have the types that it defines, others are guessed" prints '{"id":1,"flag":true,"free":7,"n":5.0,"text":"007"}' get defined 1
printf 'id,n\n3,abc\n' >"$work/defined2.csv"
check "what does not fit is said" refuses "line 2: column n: 'abc' is no double" import "$work/defined2.csv" --table defined
check "and not loaded" prints 2 count defined
check "words come first" run import "$work/defined2.csv" --table defined --columns n:string --quiet
check "as given" prints '{"id":3,"n":"abc"}' get defined 3
printf 'id,n:integer\n4,5\n' >"$work/defined3.csv"
check "then the header" run import "$work/defined3.csv" --table defined --quiet
check "as it says" prints '{"id":4,"n":5}' get defined 4
echo '{"id":5,"n":5,"text":7}' >"$work/defined.jsonl"
check "JSON Lines say types by themselves" run import "$work/defined.jsonl" --table defined --quiet
check "as written" prints '{"id":5,"n":5,"text":7}' get defined 5
check "a new table without a key is a mistake in flags" sh -c '"$1" import "$2" --table nokey --create --dir "$3" 2>/dev/null; [ $? = 2 ]' - "$widerow" "$work/defined.csv" "$work/data"

# ---- rejects ----
{ echo id,n; for n in $(seq 30); do echo "$n,$n"; done; echo 'x,"a ""b"""'; echo '32,1,2'; printf '\xff,1\n33,33\n'; } >"$work/rejects.csv"
load_rejects() { run import "$work/rejects.csv" --table "$1" --create --key id:integer --columns n:string --rejects "$work/rejects.jsonl" --quiet "${@:2}"; }
check "rejected lines do not end the import" fails "some lines were not loaded" load_rejects rejects
check "it says where they are" grep -q '3 lines not loaded (.*rejects.jsonl)' "$work/said"
check "the others are loaded" prints 31 count rejects
check "each with line, reason and record" python3 - "$work/rejects.jsonl" <<'PYTHON'
import base64, json, sys
rows = sorted((json.loads(l) for l in open(sys.argv[1])), key=lambda r: r["line"])
assert [r["line"] for r in rows] == [32, 33, 34], rows
assert rows[0]["reason"] == "column id: 'x' is no integer" and rows[0]["record"] == 'x,"a ""b"""', rows[0]
assert rows[1]["reason"] == "3 fields, the header has 2" and rows[1]["record"] == "32,1,2", rows[1]
assert base64.b64decode(rows[2]["record"]["base64"]) == b"\xff,1", rows[2]
PYTHON
check "no more than are allowed" fails "max-errors" load_rejects rejects2 --max-errors 2
check "the next import begins the file anew" test "$(wc -l <"$work/rejects.jsonl")" -le 3
check "never over the input" refuses "would write over the file that is read" import "$work/rejects.csv" --table rejects --rejects "$work/rejects.csv" --quiet
check "which is as it was" test "$(wc -l <"$work/rejects.csv")" = 35
printf '%s\n' '{"id":1,"a":"\u00e9"}' '{"id":"b","a":"\u00e9"}' '{"id":' >"$work/rejects0.jsonl"
check "of JSON Lines" refuses "some lines were not loaded" import "$work/rejects0.jsonl" --table rejects3 --create --key id:integer --rejects "$work/r3.jsonl" --quiet
check "as they are written, escapes too" python3 -c '
import json, sys
rows = [json.loads(l)["record"] for l in open(sys.argv[1])]
assert rows == open(sys.argv[2]).read().splitlines()[1:], rows' "$work/r3.jsonl" "$work/rejects0.jsonl"
{ echo k,v; echo 1,a; printf '2,"%*s"\n' 3000000 x; } >"$work/refused.csv"
check "what the server refuses, too" refuses "some lines were not loaded" import "$work/refused.csv" --table refused --create --key k:integer --columns v:string \
    --rejects "$work/r4.jsonl" --quiet
check "with its whole record" python3 -c '
import json, sys
row = json.loads(open(sys.argv[1]).read())
assert row["line"] == 3 and len(row["record"]) == 3000004 and row["reason"], row["reason"]' "$work/r4.jsonl"
check "no room for rejects" refuses "cannot write the --rejects file" import "$work/rejects.csv" --table rejects --columns n:string --rejects /dev/full --quiet

# ---- nothing is written ----
check "a dry run" refuses "some lines would not be loaded" import "$work/rejects.csv" --table dry --create --key id:integer --columns n:string --dry-run --quiet
check "tells how many lines" grep -qx 'dry: 31 lines would be loaded, 3 would not; nothing was written' "$work/said"
check "and which are bad" grep -q "^line 32: column id: 'x' is no integer" "$work/said"
check "and makes no table" refuses "does not exist" describe dry
"$widerow" sample campus --records 20000 >"$work/campus.csv"
check "says what would be made" says '^New table dry' import "$work/campus.csv" --table dry --create --key CardID,time,OrderNumber --dry-run
check "with the advisor's verdict" grep -q '^The key CardID with layout plain: good' "$work/told"
check "of a bad key" says '^The key SellerID with layout plain: (bad|fair), ' import "$work/campus.csv" --table dry --create --key SellerID,time,OrderNumber --dry-run --quiet
check "and a better one" grep -q '^Better: widerow create dry --key' "$work/told"
run create there --key id:integer >/dev/null
check "into a table that is there" says '^there: 31 lines would be loaded, 0 would not; nothing was written' import <(head -31 "$work/rejects.csv"; echo 34,1) --table there --columns n:string --dry-run --quiet
check "nothing is" prints 0 count there
check "of a table that is not there" refuses "there is no table" import "$work/campus.csv" --table nothere --dry-run --quiet
check "and no --resume" refuses "nothing to --resume" import "$work/campus.csv" --table there --dry-run --resume

# ---- a sample from all over the file ----
# Texts in quotes that look like records, on both sides of where a piece of the sample may begin.
python3 - "$work/late.csv" "$work/late.jsonl" <<'PYTHON'
import json, sys
with open(sys.argv[1], "w") as f, open(sys.argv[2], "w") as g:
    f.write("id,n,text\n")
    for i in range(60000):
        n = "x%d" % i if 40000 <= i < 45000 else i
        f.write('%d,%s,"%d,%d,a\n%s,7,b"\n' % (i, n, i, i, "yz"))
        g.write(json.dumps(dict(id=i, n=n, **({"late": i} if i >= 30000 else {}))) + "\n")
PYTHON
check "types are those of the whole file" says 'columns: n string .guessed., text string .guessed.' import "$work/late.csv" --table late --create --key id --dry-run
check "of the key, too" grep -q 'key:     id integer (guessed)' "$work/told"
check "all lines" grep -q '^late: 60,000 lines would be loaded, 0 would not' "$work/told"
check "a feed has its first lines only" sh -c 'cat "$3" | "$1" import - --table late --create --key id --dry-run --dir "$2" 2>&1 | grep -q "columns: n integer (guessed)"' - "$widerow" "$work/data" "$work/late.csv"
check "columns that come late in JSON Lines" says 'columns: n any \(guessed\), late integer \(guessed\)' import "$work/late.jsonl" --table late --create --key id --dry-run

# ---- split before it is filled ----
check "partitions of a new table" run import "$work/campus.csv" --table split --create --key CardID,time,OrderNumber --partitions 8 --quiet
check "it has them" says '^partitions +8$' describe split
check "with about as many rows each" sh -c '
    bounds=$("$1" partitions split --json --dir "$2" | python3 -c "
import json, sys
print(*[json.loads(l).get(\"begin\") for l in sys.stdin][1:8])") && [ "$(echo $bounds | wc -w)" = 7 ]' - "$widerow" "$work/data"
check "no more than there are values" run import "$work/null.csv" --table few --create --key id --null NULL --partitions 200 --quiet
check "three" says '^partitions +3$' describe few
check "a table that is there is split as it grows" refuses "is for a new table" import "$work/campus.csv" --table split --partitions 8 --create --key CardID,time,OrderNumber --quiet
check "other layouts spread keys themselves" run import "$work/null.csv" --table hashed --create --key id --null NULL --layout hash:4 --partitions 200 --quiet
check "as many as the layout says" says '^partitions +4$' describe hashed
{ head -1 "$work/campus.csv"; tail -n +2 "$work/campus.csv" | sort -t, -k1,1n; } >"$work/sorted.csv"
check "a file in the order of the key is told" says 'all writes go to the same partition at a time' import "$work/sorted.csv" --table sorted --create --key CardID,time,OrderNumber
check "others are not" sh -c '! "$1" import "$2" --table unsorted --create --key CardID,time,OrderNumber --dir "$3" 2>&1 | grep "same partition"' - "$widerow" "$work/campus.csv" "$work/data"

# ---- what DynamoDB exports ----
cat >"$work/dynamo.json" <<'END'
{"Item":{"id":{"N":"1"},"name":{"S":"caf\u00e9"},"price":{"N":"1.5"},"raw":{"B":"AAEC"},"ok":{"BOOL":true},"none":{"NULL":true}}}
{"Item":{"price":{"N":"12"},"id":{"N":"2"},"tags":{"SS":["a","b"]},"more":{"M":{"x":{"N":"1"}}},"list":{"L":[{"S":"\"q\""}]},"raw":{"B":""}}}
END
check "an export of DynamoDB" run import "$work/dynamo.json" --table dynamo --create --key id --quiet
check "texts, numbers, binaries, booleans" prints '{"id":1,"name":"café","ok":true,"price":1.5,"raw":{"base64":"AAEC"}}' get dynamo 1
check "lists, maps and sets as texts" prints '{"id":2,"list":"{\"L\":[{\"S\":\"\\\"q\\\"\"}]}","more":"{\"M\":{\"x\":{\"N\":\"1\"}}}","price":12,"raw":{"base64":""},"tags":"{\"SS\":[\"a\",\"b\"]}"}' get dynamo 2
gzip -k "$work/dynamo.json"
check "compressed, as they come" run import "$work/dynamo.json.gz" --table dynamo2 --create --key id --quiet
check "the same rows" sh -c '"$1" scan dynamo --dir "$2" >"$3" && "$1" scan dynamo2 --dir "$2" | cmp - "$3"' - "$widerow" "$work/data" "$work/scanned"
printf '%s\n' '{"Item":{"id":{"N":"1"}}}' '{"Item":{"id":{"X":"1"}}}' '{"Keys":{"id":{"N":"1"}}}' '{"Item":{"id":{"N":"1","S":"2"}}}' '{"Item":{"id":7}}' '{"Item":{"id":{"B":"%%"}}}' '{"Item":{"id":{"N":"3"}},"x":1}' >"$work/bad.json"
check "lines that are none" refuses "some lines were not loaded" import "$work/bad.json" --table dynamo3 --create --key id:integer --quiet --max-errors 9
for words in "line 2: not a value as DynamoDB exports it" "line 3: .*only full exports" "line 4: .*more than one member" "line 5: .*one member is the type" "line 6: " "line 7: text behind the item"; do
    check "it says: $words" grep -q "^$words" "$work/said"
done
echo '{"Item":{"S":"x"},"id":1}' >"$work/item.jsonl"
check "JSON Lines with an Item are JSON Lines" run import "$work/item.jsonl" --table item --create --key id --quiet
check "as they are" prints '{"id":1,"Item":"{\"S\":\"x\"}"}' get item 1
check "no such input" refuses "csv, jsonl or dynamodb" import "$work/item.jsonl" --table item --input json

# ---- a rate ----
for rate in 0 x 5x -1 5cux ''; do check "no rate: '$rate'" refuses "is neither" import "$work/campus.csv" --table there --rate "$rate"; done
{ echo id,n; for n in $(seq 40); do echo "$n,$n"; done; } >"$work/slow.csv"
since=$(date +%s%N)
check "at most so many rows a second" run import "$work/slow.csv" --table slow --create --key id --rate 20 --quiet
check "take their time" test $(($(date +%s%N) - since)) -ge 900000000
check "all are loaded" prints 40 count slow
since=$(date +%s%N)
check "capacity units, too" run import "$work/slow.csv" --table slow --rate 20cu --batch 20 --workers 1 --quiet
check "take theirs" test $(($(date +%s%N) - since)) -ge 900000000

# ---- a table that nobody wants ----
{ echo k,v; for n in $(seq 3); do printf '%s,"%*s"\n' "$n" 3000000 x; done; } >"$work/large.csv"
check "an import that loads nothing" refuses "the new table gone is gone again" import "$work/large.csv" --table gone --create --key k --quiet
check "leaves no table" refuses "does not exist" describe gone
serve one --admin off
at=(--endpoint "${urls[one]}" --data "$work/one")
mkfifo "$work/feed"
"$widerow" import - --table shared --create --key k:integer --columns v:integer --quiet "${at[@]}" <"$work/feed" >"$work/shared.out" 2>"$work/shared.err" &
pid=$!
exec 9>"$work/feed"
echo k,v >&9
check "an import that waits for its first row makes its table" eventually "$widerow" describe shared "${at[@]}"
check "somebody else puts a row" "$widerow" put shared 7 v=7 "${at[@]}"
kill -INT $pid
wait $pid
check "the import is interrupted" test $? = 130
exec 9>&-
check "it says why the table stays" grep -q 'the new table shared stays: there are rows in it' "$work/shared.err"
check "the row is there" test "$("$widerow" count shared "${at[@]}")" = 1

# What an import must not do to its own input, nor silently.
printf 'id,n\n1,1\n2,2\n' >"$work/own.csv"
check "--acked would write into the input" refuses "--acked would write into the file that is read" import "$work/own.csv" --table own --create --key id --acked "$work/own.csv" --quiet
check "which is as it was" sh -c 'printf "id,n\n1,1\n2,2\n" | cmp - "$1"' - "$work/own.csv"
check "--resume of a file as standard input" sh -c '! "$1" import - --table own --create --key id --resume --quiet --dir "$2" <"$3" 2>"$4" && grep -q "give FILE its name" "$4"' - "$widerow" "$work/data" "$work/own.csv" "$work/said"
printf 'id,n\r1,1\r2,2\r' >"$work/cr.csv"
check "lines that end with CR alone" refuses "end with CR alone; make it LF" import "$work/cr.csv" --table cr --create --key id --quiet
check "no table of them" refuses "does not exist" describe cr
python3 -c 'print("id,n\n1,1\n2," + "x" * 17000000 + "\n3,3")' >"$work/long.csv"
check "a record without end is told by its line" refuses "record that begins in line 3 has more than" import "$work/long.csv" --table long --create --key id --quiet
# A full disk is no fault of a line, and what was there before is there.
python3 -c '
print("id,n")
for i in range(100000): print("%d,%032x" % (i, i * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128))' >"$work/many.csv"
check "many rows" run import "$work/many.csv" --table many --create --key id:integer --quiet
mkdir "$work/small"
trap 'umount "$work/small" 2>/dev/null; stop_all; rm -rf "$work"' EXIT
if mount -t tmpfs -o size=24m tmpfs "$work/small" 2>/dev/null; then
    check "no room for all of them" fails "disk is full" "$widerow" import "$work/many.csv" --table many --create --key id:integer --max-errors 1000000 --quiet --dir "$work/small/data"
    check "no line is at fault" sh -c '! grep -q "^line [0-9]" "$1"' - "$work/said"
    umount "$work/small" && mount -t tmpfs -o size=1m tmpfs "$work/small"
    check "a small export" run export rejects --output "$work/small/out.csv" --quiet
    cp "$work/small/out.csv" "$work/out.before"
    check "no room for a larger one" refuses "No space left" export many --output "$work/small/out.csv" --quiet
    check "what was there is there" cmp "$work/small/out.csv" "$work/out.before"
    check "and nothing else" sh -c '[ "$(ls "$1")" = out.csv ]' - "$work/small"
    umount "$work/small"
fi
counts import-options
