#!/usr/bin/env bash
# `widerow copy`: tables from one server to another and back, over the door that clients use.
#
#   COPY_OTHER="FLAGS"   how the other server keeps its tables (default --engine mem); the suite `rados` gives a pool
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
widerow=$BUILD/widerow
unset WIDEROW_CEPH_CONF WIDEROW_POOL WIDEROW_NAMESPACE # the other server alone is told of a pool

# start NAME FLAG…: a server; its address goes to the variable NAME.
start() {
    WIDEROW_ACCESS_KEY_ID=id-$1 WIDEROW_ACCESS_KEY_SECRET=secret-$1 WIDEROW_INSTANCE=$1 serve "$1" --admin off \
        --set ttl_seconds_min=1 --set table_ops_per_s_max=0 "${@:2}"
    printf -v "$1" %s "${urls[$1]}"
}

on() { # SIDE COMMAND…: `widerow` there
    local side=$1
    shift
    WIDEROW_ACCESS_KEY_ID=id-$side WIDEROW_ACCESS_KEY_SECRET=secret-$side WIDEROW_INSTANCE=$side "$widerow" "$@" --endpoint "${!side}"
}

copy_flags() { # FROM TO ARGUMENT…: to the array `flags`
    flags=(copy --from "${!1}" --from-instance "$1" --from-key-id "id-$1" --from-key-secret "secret-$1"
        --to "${!2}" --to-instance "$2" --to-key-id "id-$2" --to-key-secret "secret-$2" --quiet "${@:3}")
}

copy() { # FROM TO ARGUMENT…
    copy_flags "$@"
    "$widerow" "${flags[@]}"
}

start_copy() { # FROM TO ARGUMENT…: in the background, as the process `copier`; what it prints is in $work/copier
    copy_flags "$@"
    "$widerow" "${flags[@]}" >"$work/copier" 2>&1 &
    copier=$!
}

kill_copy() {
    kill -KILL $copier 2>/dev/null
    wait $copier 2>/dev/null
}

# What `describe` says, without what two tables cannot share.
described() { on "$1" describe "$2" | grep -vE '^ *(created|stream id|last)'; }
same_description() { diff <(described "$1" "$3") <(described "$2" "$3"); }
same_content() { # and another number for it than the digest of all
    [ "$(on "$1" digest --content --versions "$3")" = "$(on "$2" digest --content --versions "$3")" ] &&
        [ "$(on "$1" digest --content "$3" | cut -c1-64)" != "$(on "$2" digest "$3" | cut -c1-64)" ]
}
same_digest() { [ "$(on "$1" digest "$3")" = "$(on "$2" digest "$3")" ]; }

start one --engine rocks
# shellcheck disable=SC2086
start two ${COPY_OTHER:---engine mem}
start three --engine mem

# Every kind of value, versions with timestamps of long ago, a row without cells, a generated number, cells and rows
# too large for one request, another layout; TTL and versions.
seq 1 20000 | awk 'BEGIN { print "id,name,amount" } { printf "%d,name-%d,%.2f\n", $1, $1 % 97, $1 / 7 }' >"$work/many.csv"
check "rows" on one import "$work/many.csv" --table many --create --key id:integer --columns name:string,amount:double --quiet
check "spread" on one create spread --key card:string,at:integer --layout hash:16 --versions 3 --ttl 86400000
check "spread rows" sh -c 'seq 1 3000 | awk "BEGIN { print \"card,at,text\" } { printf \"card-%d,%d,text %d\\n\", \$1 % 50, \$1, \$1 }" >"$0"' "$work/spread.csv"
check "spread rows" on one import "$work/spread.csv" --table spread --columns text:string --quiet
check "odd rows" on one create odd --key id:integer --versions 5
check "an empty table" on one create empty --key id:binary
head -c 9000000 /dev/urandom >"$work/large"
check "a large cell" on one cell put odd 7 blob "$work/large" --quiet

check "copy of everything" copy one two
check "says so" grep -qE '^many: 20000 rows, 40000 cells, 20000 rows written, same on both sides: [0-9a-f]{64}$' "$work/before"
for table in many spread odd empty; do
    check "$table is described alike" same_description one two $table
    check "$table has the same digest" same_digest one two $table
    check "$table has the same content" same_content one two $table
done
check "the large cell" on two cell get odd 7 blob "$work/back" --quiet
check "is the same" cmp "$work/large" "$work/back"

check "again: refused" fails "many has rows at" copy one two many
check "no such table" fails "does not exist" copy one two nothing
check "onto itself" fails "same instance of the same server" copy one one
check "from nowhere" fails "say which servers" "$widerow" copy --to "$two"
check "with a wrong secret" fails "OTSAuthFailed" copy one two many --to-key-secret wrong
check "another key" on one create clash --key id:integer
check "another key" on two create clash --key id:string
check "another key: refused" fails "with another key" copy one two clash
check "dropped" on two drop clash
check "another layout" on two create clash --key id:integer --layout hash:4
check "another layout: refused" fails "with layout hash:4 instead of plain" copy one two clash
check "an empty one of the same form" on two drop clash
check "an empty one of the same form" on two create clash --key id:integer
check "is filled" copy one two clash

# Rows that are there are not written again; one that differs is; one too many is told of.
printf 'id,name\n5,other\n' >"$work/one.csv"
check "a change" on one import "$work/one.csv" --table many --columns name:string --quiet
check "resume" copy one two many --resume
check "writes one row" grep -qE '^many: 20000 rows, [0-9]+ cells, 1 rows written, same' "$work/before"
printf 'id,name\n70000,other\n' >"$work/one.csv"
check "a row too many" on two import "$work/one.csv" --table many --columns name:string --quiet
check "is found" fails "many differs: 20000 rows" copy one two many --resume

# A copy that is killed leaves a table that --resume completes.
start_copy one three many --workers 1
sleep 0.3
kill_copy
check "and gone on with" copy one three many --resume
check "to the same" same_digest one three many
check "and the same options" same_description one three many

# Back from the other engine.
check "back" copy two three spread odd clash
for table in spread odd clash; do
    check "$table came back" same_digest one three $table
    check "$table is what it was" same_description one three $table
done

# A table with an index: the index is made anew of the rows, and its table is not copied by itself.
check "a table to index" on one create indexed --key id:integer --columns name:string,amount:double
check "its rows" on one import "$work/many.csv" --table indexed --columns name:string,amount:double --quiet
check "its index" python3 test/copy/index.py "${one#http://}" one id-one secret-one indexed by_name name amount
built() { on "$1" describe indexed | grep -q 'by_name global key name covers amount$'; }
check "is built" eventually built one
check "an index as SQL makes it" python3 test/copy/index.py "${one#http://}" one id-one secret-one indexed by_amount amount name scalar
check "copy of it" copy one three indexed
check "its index is there" built three
check "with the same entries" same_digest one three by_name
built_scalar() { on "$1" describe indexed | grep -q 'by_amount global key amount covers name$'; }
check "and an index of a type that SQL alone has in keys" built_scalar three
check "copied anew over what is there" copy one three indexed --resume
check "its index is there again" same_digest one three by_name
digest_of() { on "$1" digest "${@:2}" | sed 's/.*  //'; }
check "an instance's digest is that of its base tables" sh -c '[ "$0" = "$1" ]' \
    "$(digest_of one)" "$(digest_of one $(on one tables | grep -v '^by_'))"

# A row that one request cannot hold, between others: every command reads it in pieces.
start small --engine rocks --set request_memory_max=4194304
at_small=(--endpoint "$small" --instance small --key-id id-small --key-secret secret-small)
check "a table for a very wide row" on small create vast --key k:string
printf '{"k":"a","v":1}\n{"k":"c","v":3}\n' >"$work/vast.jsonl"
check "rows beside it" on small import "$work/vast.jsonl" --table vast --key k:string --quiet
check "a very wide row" python3 test/copy/wide.py "${small#http://}" small id-small secret-small vast b 30000
check "scan" sh -c '"$@" >"$0"' "$work/vast.scan" "$widerow" scan vast --limit 0 "${at_small[@]}"
check "export" on small export vast --format jsonl --output "$work/vast.export" --quiet
check "they have it whole" python3 - "$work/vast.scan" "$work/vast.export" <<'PYTHON'
import json, sys
want = [{"k": "a", "v": 1}, {"k": "b", **{f"c{i:06}": "x" for i in range(30000)}}, {"k": "c", "v": 3}]
for path in sys.argv[1:]:
    assert [json.loads(line) for line in open(path)] == want, path
PYTHON
check "backward" sh -c '"$@" | cut -c1-8 >"$0"; printf "{\"k\":\"c\"\n{\"k\":\"b\"\n{\"k\":\"a\"\n" | cmp - "$0"' "$work/vast.back" \
    "$widerow" scan vast --backward "${at_small[@]}"
check "copy" copy small two vast
check "all of it" grep -qE '^vast: 3 rows, 30002 cells, 3 rows written, same' "$work/before"
on small digest vast >"$work/vast.digest"
on small digest --content vast >"$work/vast.content"
check "digest" grep -q '3 rows, 30002 cells' "$work/vast.digest"
check "rekey" on small rekey vast --layout hash:4
check "the same in another layout" sh -c '"$@" | cmp - "$0"' "$work/vast.digest" "$widerow" digest vast "${at_small[@]}"
check "the same content in another layout" sh -c '"$@" | cmp - "$0"' "$work/vast.content" "$widerow" digest --content vast --workers 1 "${at_small[@]}"
check "--versions is for --content" fails "is for --content" "$widerow" digest --versions vast "${at_small[@]}"
check "as records" sh -c '"$@" | grep -qE "^.\"digest\":\"[0-9a-f]{64}\",\"table\":\"vast\",\"rows\":3,\"cells\":30002.$"' - "$widerow" digest --content vast --format jsonl "${at_small[@]}"

# A table that is written to all the while: the copy follows, is killed and gone on with, and what there is when the
# writers have stopped is the same on both sides, values included that are too large for a record of a change.
check "a table to follow" on one create live --key k:string --versions 3
check "without a stream" fails "has no stream" copy one three live --follow
check "its stream" on one stream on live
if [[ ${COPY_OTHER:-} == *rados* ]]; then
    check "to a pool, with its stream" copy one two live
    streams() { on two stream list | grep -qw live; }
    check "which is made there" streams
    check "and again" copy one two live --resume
fi
seq 3000 | awk '{ printf "{\"k\":\"row-%d\",\"a\":\"first\"}\n", $1 }' >"$work/live.jsonl"
check "its rows" on one import "$work/live.jsonl" --table live --quiet
writers=()
for seed in 1 2; do
    python3 test/copy/writers.py "${one#http://}" one id-one secret-one live $seed "$work/writers.stop" >"$work/writer.$seed" 2>&1 &
    writers+=($!)
done
up_to_date() { grep -q "^the copy is up to date" "$work/copier"; }
for again in "" --resume --resume; do
    start_copy one three live --follow --workers 2 $again
    [ -z "$again" ] || sleep 1
    sleep 0.2
    kill_copy
    on one delete live row-7
    on one cell put live "row-${#again}" blob "$work/large" --quiet
done
start_copy one three live --follow --resume
check "a copy that follows is up to date once" eventually up_to_date
on one cell put live row-99 blob "$work/large" --quiet
on one update live row-7 v:int=1
on one update live row-7 v+=5 --remove a
touch "$work/writers.stop"
wait "${writers[@]}"
check "the writers wrote" awk '{ n += $1 } END { exit !(n > 100) }' "$work/writer.1" "$work/writer.2"
kill -INT $copier
wait $copier
check "the copy ends when it is told that they have stopped" test $? = 0
check "and says so" grep -qE '^live: [0-9]+ rows, .* same on both sides' "$work/copier"
check "the same digest" same_digest one three live
check "the same options" same_description one three live

counts copy
