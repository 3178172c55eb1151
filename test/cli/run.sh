#!/usr/bin/env bash
# The command line as a person and a script use it: values round trips, what each command prints in every form, exit codes,
# and one line that says what to do.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export LC_ALL=C.UTF-8
unset WIDEROW_ENDPOINT WIDEROW_INSTANCE WIDEROW_ACCESS_KEY_ID WIDEROW_ACCESS_KEY_SECRET WIDEROW_TABLE PAGER WIDEROW_PAGER
widerow=$PWD/$BUILD/widerow
at=(--dir "$work/data")

run() { "$widerow" "$@" "${at[@]}"; }
prints() { # TEXT COMMAND…: exactly that
    local want=$1
    shift
    [ "$(run "$@" 2>&1)" = "$want" ] || { run "$@"; false; }
}
exits() { # CODE WORDS COMMAND…: with that code, and one line that holds the words
    local code=$1 words=$2 got
    shift 2
    run "$@" >"$work/said" 2>"$work/said.err"
    got=$?
    [ $got = "$code" ] && grep -qE -- "$words" "$work/said.err" && [ "$(grep -vc ^usage: "$work/said.err")" = 1 ] && return
    echo "exit code $got, want $code"
    cat "$work/said.err"
    false
}

# ---- rows, typed ----
check "create" run create t --key k:string,n:int
check "put" run put t a 1 x=1.0 y=9007199254740993 z=true 's=a "text", so' 'b={"base64":"AAEC"}' lab=007 q:string=5
row='{"k":"a","n":1,"b":{"base64":"AAEC"},"lab":"007","q":"5","s":"a \"text\", so","x":1.0,"y":9007199254740993,"z":true}'
check "get prints each value with its type" prints "$row" get t a 1
check "scan prints the same" prints "$row" scan t
check "another table" run create u --key k:string,n:integer
run get t a 1 >"$work/row"
check "what get prints, put takes" run put u --input "$work/row"
check "as the same row" prints "$row" get u a 1
check "an object as a word" run put u "$row"
check "put replaces" run put t a 1 x=2
check "the row" prints '{"k":"a","n":1,"x":2}' get t a 1
check "update leaves the others" run update t a 1 y=5 w=one
check "they are there" prints '{"k":"a","n":1,"w":"one","x":2,"y":5}' get t a 1
check "update adds, and says the sum" prints '{"k":"a","n":1,"y":7}' update t a 1 y+=2
check "update removes" run update t a 1 --remove w --remove y
check "it is gone" prints '{"k":"a","n":1,"x":2}' get t a 1
check "delete" run delete t a 1
check "gone" exits 3 "no such row" get t a 1
check "delete again is no error" run delete t a 1
check "the server's numbers" run create auto --key k:string,n:integer:auto
check "are printed" sh -c '"$1" put auto a auto v=1 --dir "$2" | grep -qE "^\{\"k\":\"a\",\"n\":[0-9]+\}$"' - "$widerow" "$work/data"

# ---- conditions and exit codes ----
check "put for conditions" run put t a 1 x=2 state=paid
check "where-missing" exits 4 "nothing was written: there is such a row" put t a 1 x=3 --where-missing
check "where-exists" exits 4 "nothing was written: there is no such row" update t a 2 x=3 --where-exists
check "where" exits 4 "condition is not true" update t a 1 x=3 --where 'state = "open"'
check "condition" exits 4 "there is no such row" delete t a 2 --condition exist
check "where that is true" run update t a 1 x=3 --where 'state = paid and x < 2.5 and x != 1.5 and x > 1.9'
check "was written" prints '{"k":"a","n":1,"state":"paid","x":3}' get t a 1
check "no table" exits 3 "does not exist" get nothing a 1
check "no table of that name" exits 3 "does not exist: tt; did you mean t\?" get tt a 1
check "no table to scan" exits 3 "does not exist" scan nothing
check "an integer that is none" exits 2 "key column n: 'one' is no integer" get t a one
check "too few keys" exits 2 "k:string, n:int.*: 2 values wanted, 1 given" get t a
check "a cell that is none" exits 2 "COLUMN=VALUE" put t a 1 x
check "too large a number" exits 2 "does not fit into 64 bits" put t a 1 x=9223372036854775808
check "null" exits 2 "null is no value" put t a 1 x=null
check "a key among the cells" exits 2 "is a key column" put t a 1 k=5
check "an increment in a put" exits 2 "widerow update. adds" put t a 1 x+=1
check "a column twice" exits 2 "column x is given twice" put t a 1 x=1 y=2 x=3
check "in an object" exits 2 "column x is given twice" put t '{"k":"a","n":1,"x":1,"x":2}'
check "in --attr" exits 2 "column x is given twice" put t --pk '["a",1]' --attr '[{"c":"x","v":1},{"c":"x","v":2}]'
check "added to and set" exits 2 "column x is given twice" update t a 1 x+=1 x=2
check "set and removed" exits 2 "column x is given twice" update t a 1 x=1 --remove x --at "$(date +%s%3N)"
check "a key column twice" exits 2 "key column n is given twice" put t '{"k":"a","n":1,"n":2}'
check "nothing to change" exits 2 "what is to change" update t a 1
check "a wrong flag" exits 2 "did you mean --columns" get t a 1 --colums x
check "help with a value" exits 2 "--help takes no value" get t a 1 --help=x
check "a wrong form" exits 2 "did you mean table" scan t --format tabel
check "a wrong filter" exits 2 "it is written like" scan t --filter 'x >'
check "another wrong filter" exits 2 "a \) is missing" scan t --filter '(x > 1'
check "a table that is there" exits 4 "exist" create t --key k:string
check "no such command" exits 2 "did you mean put" putt
check "flags in front of a command" exits 2 "the command comes first, its flags behind it: widerow scan --help" --dir "$work/data" scan
at=(--dir "$work/no-such-folder")
for command in "get t a 1" tables "put t a 1 x=1" "export t" "digest"; do
    check "$command of a folder that is not there" exits 3 "there is no data folder .*no-such-folder" $command
done
check "none of them made it" test ! -e "$work/no-such-folder"
at=(--endpoint http://127.0.0.1:1 --key-id a --key-secret b --instance i)
check "nobody there" exits 5 "is widerowd running there" get t a 1
at=(--dir "$work/data")

# ---- scan ----
check "a table without rows" run create empty --key k:string
check "a wrong column of one without rows" exits 2 "Invalid column name: '#'" scan empty --columns '#'
for n in 1 2 3 4 5; do run put s "p$n" "$n" v=$n 2>/dev/null || { run create s --key k:string,n:integer && run put s "p$n" "$n" v=$n; }; done
run put s pé 6 v=6.5
run put s q 7 w=x
keys() { run scan s "$@" --keys-only | sed -E 's/.*"n":([0-9]+).*/\1/' | tr '\n' ' '; }
is() { [ "$(keys "${@:2}")" = "$1" ] || { keys "${@:2}"; false; }; }
check "all" is "1 2 3 4 5 6 7 "
check "limit" is "1 2 " --limit 2
check "reverse" is "7 6 5 " --reverse --limit 3
check "prefix" is "1 2 3 4 5 6 " --prefix p
check "prefix of two bytes" is "6 " --prefix pé
check "prefix, reverse" is "6 5 4 3 2 1 " --prefix p --reverse
check "from, to" is "2 3 4 " --from p2 --to p5
check "from, to, reverse" is "4 3 2 " --from p2 --to p5 --reverse
check "the last column" is "3 " p3 --from 3
check "the last column, reverse" is "3 " p3 --from 3 --to 4 --reverse
check "the last column, above" is "" p3 --to 3 --reverse
check "filter: a number without a point is either type" is "4 5 6 " --filter 'v > 3'
check "filter: no column, no match" is "7 " --filter 'w = x'
check "filter of keys" is "2 3 " --filter 'n >= 2 and n <= 3'
check "filter: or, not, brackets" is "1 5 6 7 " --filter 'not (v > 1 and v < 5)'
check "the filter's column is not printed" prints '{"k":"p5","n":5}' scan s --filter 'v = 5' --columns w
check "some columns" prints '{"k":"p1","n":1,"v":1}' scan s --limit 1 --columns v,w
check "count" prints 7 count s
check "count of a prefix" prints 6 count s --prefix p
check "count of a filter" prints 3 count s --filter 'v > 3'
check "a prefix of an integer" exits 2 "take --from and --to" scan s p1 --prefix 1

# ---- forms ----
check "json is JSON" sh -c '"$1" scan s --format json --dir "$2" | python3 -c "import json,sys; assert len(json.load(sys.stdin)) == 7"' - "$widerow" "$work/data"
check "json of nothing" prints "[]" scan s --prefix none --format json
check "csv" prints $'k:string,n:integer,v:integer\np1,1,1\np2,2,2' scan s --limit 2 --format csv
check "csv of two types" exits 2 "take --format jsonl" scan s --format csv
check "vertical" prints $'-[ 1 ]-\nk  p1\nn  1\nv  1' scan s --limit 1 --format vertical
check "table" prints $'k  n v\np1 1 1\np2 2 2' scan s --limit 2 --format table
check "versions" sh -c '"$1" get s p1 1 --versions 1 --dir "$2" | grep -qE "^\{\"k\":\"p1\",\"n\":1,\"column\":\"v\",\"time\":[0-9]+,\"value\":1\}$"' - "$widerow" "$work/data"
run put s wide 8 "cjk=漢字テスト" long="$(printf 'x%.0s' $(seq 500))"
check "a long value is cut where one says so" sh -c '"$1" get s wide 8 --format vertical --max-width 5 --dir "$2" | grep -qx "long  xxxxx…"' - "$widerow" "$work/data"
check "head ends it quietly" bash -c 'set -o pipefail; "$1" scan s --limit 0 --dir "$2" 2>"$3" | head -n 1 >/dev/null; ! [ -s "$3" ]' - "$widerow" "$work/data" "$work/quiet"
"$widerow" sample campus --records 20000 | run import - --table many --create --key CardID,time,OrderNumber --quiet >"$work/import.out" 2>"$work/import.err"
check "quiet is quiet" test ! -s "$work/import.err"
for command in "scan many --limit 0" "scan many --limit 0 --format csv" "export many --quiet"; do
    check "head ends $command quietly" bash -c 'set -o pipefail; '"$widerow $command --dir $work/data"' 2>'"$work/quiet"' | head -n 1 >/dev/null; code=$?; cat '"$work/quiet"'; [ $code = 0 ] && ! [ -s '"$work/quiet"' ]'
done

for command in tables "describe t" "throughput t" digest "partitions t" "sizes t --now"; do
    for form in json jsonl csv table vertical; do
        # shellcheck disable=SC2086 # several words
        check "$command as $form" sh -c '[ -n "$(cat)" ]' < <(run $command --format $form)
    done
    # shellcheck disable=SC2086
    check "$command is JSON" python3 -c 'import json, sys; assert json.load(sys.stdin)' < <(run $command --format json)
done
check "describe has the key as create takes it" sh -c '"$1" describe t --format jsonl --dir "$2" | grep -qF "\"key\":\"k:string,n:integer\""' - "$widerow" "$work/data"
check "sizes names table and instance in its last line" sh -c '"$1" sizes t --now --dir "$2" | tail -n 1 | grep -qx "table t of instance local, in this process"' - "$widerow" "$work/data"
check "restore of nothing" fails "there is no folder" "$widerow" restore "$work/nosuch" --check

# ---- partly done, interrupted ----
printf 'k,v\n1,1\nx,2\n3,3\n' >"$work/partly.csv"
"$widerow" import "$work/partly.csv" --table partly --create --key k:integer --max-errors 1 --quiet "${at[@]}" >"$work/partly.out" 2>&1
check "an import that leaves out lines is partly done" test $? = 6
mkfifo "$work/feed"
"$widerow" import - --table late --create --key k:integer --quiet "${at[@]}" <"$work/feed" >"$work/late.out" 2>&1 &
pid=$!
exec 9>"$work/feed"
{ echo k,v; for n in $(seq 2000); do echo "$n,$n"; done; } >&9
while kill -INT $pid 2>/dev/null; do sleep 0.2; done
wait $pid
check "an import that is interrupted" test $? = 130
exec 9>&-

# ---- files as they come: delimiters, compression, feeds ----
for form in 'comma:,' 'semicolon:;' 'tab:	' 'bar:|'; do
    name=${form%%:*} d=${form#*:}
    printf 'id%sname%samount\n1%s"a%sb,;"%s1.5\n2%ssecond%s2\n' "$d" "$d" "$d" "$d" "$d" "$d" "$d" >"$work/$name.csv"
    check "import with a $name" run import "$work/$name.csv" --table "$name" --create --key id --quiet
    check "its rows" prints "{\"id\":1,\"amount\":1.5,\"name\":\"a$(printf %s "$d" | sed "s/\t/\\\\u0009/")b,;\"}" get "$name" 1
done
check "the delimiter is said" run import "$work/bar.csv" --delimiter '|' --table said --create --key id --quiet
check "tab by its name" run import "$work/tab.csv" --delimiter tab --table said --key id --quiet
check "no delimiter" exits 2 "one character, or tab" import "$work/bar.csv" --delimiter '||' --table said --key id
check "advice on a file with semicolons" sh -c '"$1" advise "$2" --dir "$3" | grep -q "amount  *double"' - "$widerow" "$work/semicolon.csv" "$work/data"
(head -c 20 "$work/semicolon.csv" | gzip; tail -c +21 "$work/semicolon.csv" | gzip) >"$work/two.gz"
check "gzip, in two pieces" run import "$work/two.gz" --table two --create --key id --quiet
check "its rows" prints 2 count two
python3 -c 'print("id,n"); [print("%d,%d" % (i, i * 7919 % 10007)) for i in range(20000)]' >"$work/packed.csv"
gzip -k "$work/packed.csv"
check "gzip" run import "$work/packed.csv.gz" --table packed --create --key id --quiet
check "all of it" prints 20000 count packed
head -c 30000 "$work/packed.csv.gz" >"$work/cut.gz"
check "gzip that ends in the middle" exits 6 "ends in the middle" import "$work/cut.gz" --table cut --create --key id:integer --columns n:integer --quiet
check "the rows before its end are there" sh -c 'test "$("$1" count cut --dir "$2")" -gt 1000' - "$widerow" "$work/data"
iconv -f UTF-8 -t UTF-16 "$work/comma.csv" >"$work/utf16.csv"
check "UTF-16 is named" exits 2 "is UTF-16; make it UTF-8" import "$work/utf16.csv" --table utf16 --create --key id


# ---- the round trip ----
run scan t --limit 0 >"$work/t.jsonl"
python3 - "$work/odd.jsonl" <<'PYTHON'
import base64, json, random, sys
random.seed(22)
def value():
    kind = random.randrange(5)
    if kind == 0: return str(random.choice([0, -1, 2**63 - 1, -2**63, 2**53 + 1, random.randrange(10**9)]))
    if kind == 1: return repr(random.choice([0.0, -0.0, 1.0, 1e22, 5e-324, 0.1, random.random()]))
    if kind == 2: return random.choice(["true", "false"])
    if kind == 3: return json.dumps("".join(random.choice('a"\\\n\t\u00e9\u6f22\U0001f418 ,{}') for _ in range(random.randrange(8))), ensure_ascii=False)
    return '{"base64":"%s"}' % base64.b64encode(random.randbytes(random.randrange(9))).decode()
with open(sys.argv[1], "w") as out:
    for n in range(1500):
        cells = "".join(',"c%d":%s' % (i, value()) for i in range(6) if random.random() < 0.7)
        out.write('{"k":%d%s}\n' % (n, cells))
PYTHON
check "odd values are imported" run import "$work/odd.jsonl" --table odd --create --key k:integer --quiet
run scan odd --limit 0 >"$work/odd1.jsonl"
check "a scan of them is imported" run import "$work/odd1.jsonl" --table odd2 --create --key k --quiet
run scan odd2 --limit 0 >"$work/odd2.jsonl"
check "and is the same" cmp "$work/odd1.jsonl" "$work/odd2.jsonl"
digest_rows() { run export "$1" --format jsonl --quiet | sha256sum; }
check "so is its export" test "$(digest_rows odd)" = "$(digest_rows odd2)"
check "each value as it was given" python3 - "$work/odd.jsonl" "$work/odd1.jsonl" <<'PYTHON'
import json, sys
def rows(name): return [{k: (type(v), repr(v)) for k, v in json.loads(line).items()} for line in open(name)]
assert rows(sys.argv[1]) == rows(sys.argv[2])
PYTHON

# ---- Tablestore's own words ----
check "--pk and --attr" run put u --pk '["86",6771]' --attr '[{"c":"name","v":"redchen"},{"c":"age","v":32,"isint":true,"ts":'$(date +%s%3N)'},{"c":"bin","v":"AQI=","t":"binary"}]'
check "the row" prints '{"k":"86","n":6771,"age":32,"bin":{"base64":"AQI="},"name":"redchen"}' get u --pk '["86",6771]'
printf '{"PK":{"Values":["87",1]},"Attr":{"Values":[{"C":"age","V":32,"TS":%s,"IsInt":true}]}}' "$(date +%s%3N)" >"$work/put.json"
check "its file" run put u --input "$work/put.json"
check "the row of it" prints '{"k":"87","n":1,"age":32}' get u 87 1
check "bad JSON" exits 2 "array with all values" get u --pk '["87"'
check "alter" run alter u --ttl 86400 --versions 3
check "is altered" sh -c '"$1" describe u --dir "$2" | grep -qx "time to live     86400 s"' - "$widerow" "$work/data"
check "alter of nothing" exits 2 "what is to change" alter u
check "drop, as Tablestore's own has it" run drop -t u -y
check "it is dropped" exits 3 "does not exist" describe u

# ---- help ----
check "help of one" sh -c '"$1" help get | grep -q "^usage: widerow get"' - "$widerow"
check "connection flags once" sh -c '"$1" help connection | grep -q -- --endpoint && ! "$1" help get | grep -q -- --key-id' - "$widerow"
for command in $("$widerow" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
    check "help of $command has an example" sh -c '"$1" help "$2" | grep -A1 "^example:" | grep -q "^  widerow $2"' - "$widerow" "$command"
done

# ---- the server's settings ----
widerowd=$PWD/$BUILD/widerowd
"$widerowd" --print-defaults >"$work/defaults.conf"
check "the defaults as a file are good" sh -c 'sed -nE "s/^# ([a-z0-9_]+ = .+)/\1/p" "$1" | grep -v ^data >"$1.all" && "$2" --config "$1.all" --check-config' - "$work/defaults.conf" "$widerowd"
printf 'http = 127.0.0.1:0   # a free port\n# memory\nmemory = 12Q # large\n' >"$work/bad.conf"
check "a fault names file and line" fails "bad.conf line 3: '12Q' is not a size" "$widerowd" --config "$work/bad.conf" --check-config
printf 'http = 127.0.0.1:port   # none\n' >"$work/bad.conf"
check "so does an address that is none" fails "bad.conf line 1: '127.0.0.1:port' is not ADDRESS:PORT" "$widerowd" --config "$work/bad.conf" --data "$work/none"
printf 'http = 0.0.0.0:0   # a free port\nadmin = 127.0.0.1:0\n' >"$work/open.conf"
check "a comment behind a value is none of it" sh -c '"$1" --config "$2" --check-config | grep -qx "http = 0.0.0.0:0   # $2 line 1"' - "$widerowd" "$work/open.conf"
WIDEROW_MEMRY=1G "$widerowd" --config "$work/open.conf" --data "$work/open" --port-file "$work/open.port" >"$work/open.out" 2>"$work/open.log" &
pids[open]=$!
eventually test -s "$work/open.port" >/dev/null
check "a variable that nobody reads is named" grep -q "WIDEROW_MEMRY is none of ours.*did you mean WIDEROW_MEMORY" "$work/open.log"
check "an open port without TLS is named" grep -q "is open to other machines without TLS" "$work/open.log"
check "a file does not get the secret" sh -c '! grep -q secret "$1" || grep -q "the secret is there" "$1"; ! grep -qF "$(awk "!/^#/ { print \$3 }" "$2/credentials" | head -n 1)" "$1"' - "$work/open.out" "$work/open"
stop_all TERM

# ---- indexes ----
run create o --key order:integer --columns state:string,at:integer,amount:double
for n in $(seq 1 300); do echo "{\"order\":$n,\"state\":\"$([ $((n % 3)) = 0 ] && echo open || echo paid)\",\"at\":$((1000 + n)),\"amount\":$n.5}"; done >"$work/o.jsonl"
run import "$work/o.jsonl" --table o --quiet >/dev/null
plan=$'key           state,at,order\nentries       300, of 300 rows\nbytes         46.0 an entry, at most 46; 13800 in all
a new row     costs 1.00 CU of writing and 1.00 of reading more\nan update     of its key columns 2.00 CU of writing and 1.00 of reading more,
              of covered columns only 1.00 and 1.00,\n              of other columns nothing'
check "index plan" sh -c '[ "$("$1" index plan o state,at --with amount --dir "$2" | head -n 7)" = "$3" ]' - "$widerow" "$work/data" "$plan"
said() { run index plan "${@:2}" | grep -qE "$1"; }
check "index plan: few values" said "few values of state" o state
check "index plan: many" said "about (29[0-9]|30[0-9]) values; the hottest, '[0-9]+', has 0.3 %" o at
check "index plan of a file" sh -c '"$1" index plan at --file "$2" --key order | grep -q "at rises with the time of writing"' - "$widerow" "$work/o.jsonl"
check "index plan of a file, without its key" exits 2 "--key says which" index plan at --file "$work/o.jsonl"
check "index create" run index create o by_state state,at --with amount
check "index list" prints $'by_state\tglobal\ton state,at\twith amount\tcomplete' index list o
check "is read" prints '{"state":"open","at":1003,"order":3,"amount":3.5}' scan by_state --limit 1
check "is exported" sh -c '[ "$("$1" export by_state --quiet --dir "$2" | head -n 2)" = "$3" ]' - "$widerow" "$work/data" $'state:string,at:integer,order:integer,amount:double\nopen,1003,3,3.5'
check "its sizes" sh -c '"$1" sizes by_state --now --dir "$2" | grep -qE "200 +66.67% +\"paid\""' - "$widerow" "$work/data"
check "is judged" sh -c '"$1" advise --table by_state --quiet --dir "$2" | grep -q "^by_state: 300 records"' - "$widerow" "$work/data"
check "is backed up" run backup "$work/backup"
check "and restored" "$widerow" restore "$work/backup" --data "$work/restored"
at=(--dir "$work/restored")
check "as it was" prints $'by_state\tglobal\ton state,at\twith amount\tcomplete' index list o
check "with its entries" prints 300 count by_state
check "which follow their rows" sh -c '"$1" put o 3 state=paid at=1 --dir "$2" && [ "$("$1" count by_state --prefix open --dir "$2")" = 99 ]' - "$widerow" "$work/restored"
at=(--dir "$work/data")
check "index create --new-rows" run index create o later at --new-rows
check "has none of the rows that were there" prints 0 count later
check "a local index" exits 2 "first primary key column" index create o here at --local
check "index create, descending and hashed" run index create o newest state,at:desc --hash 1
check "its key is told" sh -c '"$1" index list o --dir "$2" | grep -q "on state,at desc (the first 1 hashed)"' - "$widerow" "$work/data"
check "the newest first" prints '{"state":"open","at":1300,"order":300}' scan newest --prefix open --limit 1
check "index drop" run index drop o newest
check "index drop of another" run index drop o later
check "is gone" exits 3 "does not exist" index drop o later
check "index of nothing" exits 2 "is none of list, create" index frobnicate o

# ---- streams ----
changes() { run stream tail "$@" --once | sed -E 's/"time":[0-9]+/"time":T/g; s/^[-0-9]+ [0-9:.]+ /T/; s/@[0-9]+/@T/g'; }
tells() { # TEXT WORDS…: exactly these changes
    [ "$(changes "${@:2}")" = "$1" ] || { changes "${@:2}"; false; }
}
check "a table without a stream" run create followed --key k:string,n:integer
check "has none to tail" exits 3 "has no stream; .widerow stream on followed" stream tail followed
check "stream on" run stream on followed --hours 2
check "stream on for too long" exits 2 "hours|expiration" stream on s --hours 1000000
check "stream list" sh -c '"$1" stream list --dir "$2" | grep -qx "followed	followed_[0-9]*"' - "$widerow" "$work/data"
run put followed a 1 x=1 's=a "text"' && run update followed a 1 x+=2 --remove s && run delete followed a 1
check "tail --from start" tells '{"time":T,"action":"put","key":{"k":"a","n":1},"cells":[{"column":"x","value":1,"time":T},{"column":"s","value":"a \"text\"","time":T}]}
{"time":T,"action":"update","key":{"k":"a","n":1},"cells":[{"column":"x","value":3,"time":T},{"column":"s","deleted":"all"}]}
{"time":T,"action":"delete","key":{"k":"a","n":1},"cells":[]}' followed --from start
check "as a table" tells $'T put    "a",1  x=1 s="a \\"text\\""\nT update "a",1  x=3 -s\nT delete "a",1' followed --from start --format table
check "tail --from now" tells "" followed
check "tail --from a minute ago" sh -c '[ "$("$1" stream tail followed --once --from 1d --dir "$2" | wc -l)" = 3 ]' - "$widerow" "$work/data"
last=$(run stream tail followed --once --from start | tail -n 1 | grep -oE '[0-9]{16}')
check "tail --from a record's time" tells '{"time":T,"action":"delete","key":{"k":"a","n":1},"cells":[]}' followed --from "$last"
check "tail --from a date" tells "" followed --from 2999-01-01T00:00:00
check "tail --from nonsense" exits 2 "--from is start, now, or a time" stream tail followed --from yesterday
check "tail --format nonsense" exits 2 "--format is table or jsonl" stream tail followed --format csv
check "tail of nothing" exits 3 "does not exist" stream tail nothing
check "stream of nothing" exits 2 "is none of list, tail" stream frobnicate followed
check "head ends it quietly" bash -c 'set -o pipefail; "$1" stream tail followed --from start --dir "$2" 2>"$3" | head -n 1 >/dev/null; code=$?; cat "$3"; [ $code = 0 ] && ! [ -s "$3" ]' - "$widerow" "$work/data" "$work/quiet"
check "stream off" run stream off followed
check "its records are gone" exits 3 "has no stream" stream tail followed

# A tail of a server: it prints changes as they come, outlives the server's end, and ends by Ctrl-C or when nobody reads on.
serve tailed --admin off
at=(--endpoint "${urls[tailed]}" --data "$work/tailed")
run create t --key k:integer && run stream on t
"$widerow" stream tail t --from start "${at[@]}" >"$work/tail.out" 2>"$work/tail.err" &
tail_pid=$!
came() { [ "$(wc -l <"$work/tail.out")" = "$1" ]; }
run put t 1 v=1
check "a change is printed as it comes" eventually came 1
for v in $(seq 2 9); do run put t "$((v % 3))" "v=$v"; done
check "so are the others" eventually came 9
check "in their order" sh -c '[ "$(grep -oE "\"value\":[0-9]+" "$1" | tr -dc "0-9\n" | tr "\n" " ")" = "1 2 3 4 5 6 7 8 9 " ]' - "$work/tail.out"
kill -KILL "${pids[tailed]}"
wait "${pids[tailed]}" 2>/dev/null
check "the server comes back" serve tailed --admin off --http "${urls[tailed]#http://}"
run put t 10 v=10
check "the tail goes on" eventually came 10
kill -INT $tail_pid
wait $tail_pid
check "Ctrl-C ends it" test $? = 130
check "quietly" test ! -s "$work/tail.err"
mkfifo "$work/pipe"
"$widerow" stream tail t "${at[@]}" >"$work/pipe" 2>"$work/tail.err" &
tail_pid=$!
sleep 0.2 <"$work/pipe"
wait $tail_pid
check "a reader who goes ends it" test $? = 0
check "quietly, too" test ! -s "$work/tail.err"
# A feed that goes on: what has come is not kept back.
mkfifo "$work/slow"
"$widerow" import - --table slow --create --key id:integer --columns n:integer --quiet "${at[@]}" <"$work/slow" >"$work/slow.out" 2>&1 &
exec 7>"$work/slow"
printf 'id,n\n1,1\n2,2\n' >&7
check "rows of a feed that goes on are there" eventually prints 2 count slow
printf '3,3\n' >&7
check "and those behind them" eventually prints 3 count slow
exec 7>&-
wait $!
check "it ends with its feed" test $? = 0
stop_all TERM
at=(--dir "$work/data")

# ---- pages and completion ----
for page in widerow.1 libwiderow.3 widerowd.8 widerow.conf.5; do
    check "$page has no warning" test -z "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$BUILD/man/$page" 2>&1 >/dev/null)"
done
check "every command is in the page" sh -c 'for c in $("$1" --help | sed -nE "s/^  ([a-z]+) .*/\1/p"); do grep -q "^.SS widerow $c " "$2" || { echo "$c"; exit 1; }; done' - "$widerow" "$BUILD/man/widerow.1"
check "every setting is in the page" sh -c 'for s in $(sed -nE "s/^# ([a-z0-9_]+) = .*/\1/p" "$1"); do grep -qx ".B $s" "$2" || { echo "$s"; exit 1; }; done' - "$work/defaults.conf" "$BUILD/man/widerow.conf.5"
run describe t >/dev/null
ln -sf "$widerow" "$work/widerow"
export PATH=$work:$PATH
completes() { # SHELL WORDS WANTED…: what the shell offers behind the words holds the wanted ones
    local shell=$1 words=$2 offered
    shift 2
    case $shell in
    bash) offered=$(bash -c 'source "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _widerow; printf "%s\n" "${COMPREPLY[@]}"' - "$BUILD/completion/widerow.bash" "$words") ;;
    fish) offered=$(fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$BUILD/completion/widerow.fish" "$words" | cut -f 1) ;;
    esac
    for wanted in "$@"; do grep -qxF -- "$wanted" <<<"$offered" || { echo "$shell: $offered"; return 1; }; done
}
for shell in bash $(command -v fish >/dev/null && echo fish); do
    check "$shell: a command" completes $shell "widerow sc" scan
    check "$shell: a flag" completes $shell "widerow get t --col" --columns
    check "$shell: a connection flag" completes $shell "widerow get t --endp" --endpoint
    check "$shell: a value" completes $shell "widerow scan t --format js" json jsonl
done
check "bash: a table" completes bash "widerow get --dir $work/data --table " t s

source test/cli/search.sh
source test/cli/terminal.sh

counts cli
