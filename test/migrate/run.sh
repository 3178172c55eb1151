#!/usr/bin/env bash
# `widerow migrate`: tables with all they have from one server to another, killed anywhere, and the servers with it.
#
#   KILLS=3   kills of the migration and of both servers, in the last part; the nightly tier has 20
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
widerow=$BUILD/widerow
kills=${KILLS:-$([ "${TIER:-short}" = nightly ] && echo 20 || echo 3)}
unset WIDEROW_CEPH_CONF WIDEROW_POOL WIDEROW_NAMESPACE

declare -A flags=() # of each server
start() { # NAME FLAG…: a server; its address goes to the variable NAME
    flags[$1]=${*:2}
    WIDEROW_ACCESS_KEY_ID=id-$1 WIDEROW_ACCESS_KEY_SECRET=secret-$1 WIDEROW_INSTANCE=$1 serve "$1" --admin off \
        --set ttl_seconds_min=1 --set table_ops_per_s_max=0 --set tables_per_instance_max=2000 "${@:2}"
    printf -v "$1" %s "${urls[$1]}"
}

# again NAME: killed, and started at the same address
again() {
    kill -KILL "${pids[$1]}"
    wait "${pids[$1]}" 2>/dev/null
    # shellcheck disable=SC2086
    start "$1" ${flags[$1]} --http "${!1#http://}"
}

on() { # SIDE COMMAND…: `widerow` there
    local side=$1
    shift
    WIDEROW_ACCESS_KEY_ID=id-$side WIDEROW_ACCESS_KEY_SECRET=secret-$side WIDEROW_INSTANCE=$side "$widerow" "$@" --endpoint "${!side}"
}

migrate_words() { # FROM TO ARGUMENT…: to the array `words`
    words=(migrate --from "${!1}" --from-instance "$1" --from-key-id "id-$1" --from-key-secret "secret-$1"
        --to "${!2}" --to-instance "$2" --to-key-id "id-$2" --to-key-secret "secret-$2" --notes "$work/$1-$2.notes" "${@:3}")
}

migrate() { # FROM TO ARGUMENT…
    migrate_words "$@"
    "$widerow" "${words[@]}" --quiet
}

start_migrate() { # FROM TO ARGUMENT…: in the background, as the process `mover`; what it prints is in $work/mover
    migrate_words "$@"
    "$widerow" "${words[@]}" --quiet >"$work/mover" 2>&1 &
    mover=$!
}

kill_migrate() {
    kill -KILL $mover 2>/dev/null
    wait $mover 2>/dev/null
}

described() { on "$1" describe "$2" | grep -vE '^ *(created|stream id|last)'; }
same_description() { diff <(described "$1" "$3") <(described "$2" "$3"); }
contents() { on "$1" digest --content --versions "${@:2}" 2>&1 | sort -k2; }
same_content() { diff <(contents "$1" "${@:3}") <(contents "$2" "${@:3}"); }

start one --engine rocks
start two --engine mem
start three --engine rocks

# Every kind of value, versions with times of long ago, a row without cells, cells and rows too large for one request,
# another layout, TTL, a stream, indexes of each kind.
seq 1 20000 | awk 'BEGIN { print "id,name,amount" } { printf "%d,name-%d,%.2f\n", $1, $1 % 97, $1 / 7 }' >"$work/many.csv"
check "rows" on one import "$work/many.csv" --table many --create --key id:integer --columns name:string,amount:double --quiet
check "spread" on one create spread --key card:string,at:integer --layout hash:16 --versions 3 --ttl 86400000
check "spread rows" sh -c 'seq 1 3000 | awk "BEGIN { print \"card,at,text\" } { printf \"card-%d,%d,text %d\\n\", \$1 % 50, \$1, \$1 }" >"$0"' "$work/spread.csv"
check "spread rows" on one import "$work/spread.csv" --table spread --columns text:string --quiet
python3 test/export/round.py versions 1 300 >"$work/odd.jsonl"
check "odd rows" on one import "$work/odd.jsonl" --table odd --create --key a:string,b:integer,c:binary --max-versions 9 --quiet
check "an empty table" on one create empty --key id:binary
check "a table with a stream" on one create live --key k:string --versions 3
check "its stream" on one stream on live
check "a table with indexes" on one create indexed --key id:integer --columns name:string,amount:double
check "its rows" on one import "$work/many.csv" --table indexed --columns name:string,amount:double --quiet
check "an index" on one index create indexed by_name name --with amount
printf '{"fields":[{"name":"name","type":"keyword"},{"name":"amount","type":"double"}]}\n' >"$work/search.json"
check "a search index" on one search create indexed found "$work/search.json"

tables=(many spread odd empty live indexed)
check "all of it" migrate one two
check "says so" grep -qE '^many: 20000 rows, 40000 cells, 20000 rows written, 0 deleted, same on both sides: [0-9a-f]{64}$' "$work/before"
for table in "${tables[@]}"; do
    check "$table is described alike" same_description one two "$table"
done
check "all have the same content" same_content one two "${tables[@]}"
check "so has the index" same_content one two by_name
check "the search index is there" sh -c '[ "$0" = "$1" ]' "$(on one search describe indexed found --schema)" "$(on two search describe indexed found --schema)"
check "again: nothing to do" migrate one two
check "says so" grep -qE '^many: 20000 rows, 40000 cells, 0 rows written' "$work/before"


# Refusals, which change nothing.
check "onto itself" fails "same instance of the same server" migrate one one
migrate_words one two
check "onto itself by another name" fails "lead to the same instance" "$widerow" migrate --from "$one" --from-instance one --from-key-id id-one \
    --from-key-secret secret-one --to "${one/127.0.0.1/localhost}" --to-instance one --to-key-id id-one --to-key-secret secret-one --notes "$work/self.notes" --quiet
check "from nowhere" fails "say which servers" "$widerow" migrate --to "$two"
check "with a wrong secret" fails "OTSAuthFailed" migrate one three --to-key-secret wrong
check "a server that is not there" fails "cannot reach" migrate one three --from http://127.0.0.1:9
check "no such table" fails "does not exist" migrate one three --tables nothing
check "an index" fails "by_name is an index: it is made anew with the table" migrate one three --tables by_name
check "a table twice" fails "names many twice" migrate one three --tables many,many
check "a name that is none" fails "has no name" migrate one three --tables many,,live
check "no stream to follow" fails "many has no stream, so nobody could follow it; nothing was changed" migrate one three --tables live,many --follow
check "no such rate" fails "is neither" migrate one three --rate fast
check "no such lag" fails "until-lag is" migrate one three --follow --until-lag soon
check "notes of other servers" fails "is of a migration between other servers" migrate one three --notes "$work/one-two.notes"
check "notes that are none" sh -c 'echo something else >"$0"' "$work/bad.notes"
check "are refused" fails "is of a migration between other servers" migrate one three --notes "$work/bad.notes"
check "notes with a damaged line" sh -c '{ head -n 4 "$1"; echo table x y z; } >"$0"' "$work/bad.notes" "$work/one-two.notes"
check "are refused" fails "is damaged at 'table x y z'" migrate one two --notes "$work/bad.notes"
check "notes in a folder that is not there" fails "cannot write" migrate one three --notes "$work/none/x"
check "none has left a table" test -z "$(on three tables)"
check "another key there" on three create many --key id:string
check "is refused" fails "many is at .* already, with another key; nothing was changed" migrate one three --tables live,many
check "so nothing was made" test "$(on three tables | cut -f1)" = many
check "dropped" on three drop many
check "other defined columns there" on three create many --key id:integer --columns name:integer
check "are refused" fails "with other defined columns" migrate one three --tables many
check "dropped" on three drop many
printf '{"id":7,"mine":1}\n' >"$work/mine.jsonl"
check "rows of somebody else" on three import "$work/mine.jsonl" --table many --create --key id:integer --quiet
check "are refused" fails "many has rows at .* already, and .* tells of none; nothing was changed" migrate one three --tables many
check "and are still there" on three get many 7
check "dropped" on three drop many

# Killed half-way at a low rate, changed at the source meanwhile, and run again: exactly the source's rows.
on one create part --key id:integer --columns name:string,amount:double >/dev/null
on one import "$work/many.csv" --table part --columns name:string,amount:double --quiet >/dev/null
start_migrate one three --tables part,odd --rate 20000
some() { [ "$(on three count part 2>/dev/null)" -ge 1000 ]; }
check "some rows are there" eventually some
check "a second one with the same notes" fails "another migration is under way" migrate one three --tables part
kill_migrate
check "not all" sh -c '[ "$0" -lt 20000 ]' "$(on three count part)"
printf '{"id":50000,"mine":1}\n{"id":-5,"mine":1}\n{"id":3,"mine":1}\n' >"$work/mine.jsonl"
check "rows that only the target has" on three import "$work/mine.jsonl" --table part --columns mine:integer --quiet
on one delete part 17
on one put part 18 name=other
check "goes on" migrate one three --tables part,odd
check "deletes what is not at the source" grep -qE '^part: 19999 rows, .* ([2-9]|[0-9]{2,}) deleted, same' "$work/before"
check "the same" same_content one three part odd
check "the same options" same_description one three part
echo half a li | tr -d '\n' >>"$work/one-three.notes"
check "half a line of the notes is no matter" migrate one three --tables part
on three drop part >/dev/null
check "dropped there, it is made anew" migrate one three --tables part
check "the same" same_content one three part
on three drop part >/dev/null
on three import "$work/mine.jsonl" --table part --create --key id:integer --columns mine:integer --quiet >/dev/null
on one delete part 19
check "made anew by somebody else" fails "part (has rows at .* since the table was made anew|is at .* other defined columns)" migrate one three --tables part
check "the notes are lost" rm "$work/one-two.notes"
check "and the rows are not taken for ours" fails "many has rows at .* and .* tells of none" migrate one two --tables many
check "but with --resume" migrate one two --tables many --resume
check "the same" same_content one two many

# Written to without a stream: told, and mended by the next run.
python3 test/copy/writers.py "${one#http://}" one id-one secret-one live 7 "$work/writers.stop" >"$work/writer.7" 2>&1 &
writer=$!
check "a table with a stream is written to meanwhile" migrate one three --tables live --no-verify
touch "$work/writers.stop"
wait $writer
check "the writers have stopped: the rest by its stream" migrate one three --tables live
check "the same" same_content one three live

# Numbers that count up, time to live, large cells and wide rows, a table that is dropped under it.
check "numbers" on one create counted --key k:string,n:integer:auto
for k in a b c; do on one put counted $k auto v:int=1 >/dev/null; done
check "short lives" on one create short --key id:integer --ttl 3 --columns v:integer
seq 2000 | awk '{ printf "{\"id\":%d,\"v\":1}\n", $1 }' >"$work/short.jsonl"
check "wide rows" on one create wide --key k:string
check "one of them" python3 test/copy/wide.py "${one#http://}" one id-one secret-one wide row 3000
head -c 4194304 /dev/urandom >"$work/large"
for n in 1 2 3; do on one cell put wide "large-$n" blob "$work/large" --quiet; done
on one import "$work/short.jsonl" --table short --columns v:integer --quiet >/dev/null
check "all of them" migrate one three --tables counted,wide,short
check "the same" same_content one three counted wide
check "with the same options" same_description one three short
check "by capacity units" migrate one two --tables odd --resume --rate 100000cu --workers 1

# Many small tables, one of which goes while the others are moved.
small=()
for n in $(seq "${SMALL:-60}"); do small+=("small$n"); done
python3 - "${one#http://}" "${small[@]}" <<'PYTHON'
import os, sys
sys.path.insert(0, os.path.join("test", "security"))
from client import IGNORE, Connection, Key, field, row
connection, key = Connection(sys.argv[1]), Key("one", "id-one", "secret-one")
for table in sys.argv[2:]:
    meta = field(1, table) + field(2, field(1, "k") + field(2, 2))
    answer = connection.call(key, "CreateTable", field(1, meta) + field(2, field(1, field(1, 0) + field(2, 0))) + field(3, field(1, 2**64 - 1) + field(2, 1)))
    assert answer.status == 200, answer.error()
    for n in range(3):
        answer = connection.call(key, "PutRow", field(1, table) + field(2, row("row-%d" % n, [("c", table)])) + field(3, IGNORE))
        assert answer.status == 200, answer.error()
PYTHON
check "many small tables are there" test "$(on one tables | grep -c '^small')" = ${#small[@]}
start_migrate one two --tables "$(IFS=,; echo "${small[*]}")" --rate 40
half() { [ "$(on two tables | grep -c '^small')" -ge 10 ]; }
check "some are made" eventually half
on one drop "${small[-1]}" >/dev/null
wait $mover
check "a table that is dropped does not end the others" grep -qE "^widerow migrate: .*${small[-1]}" "$work/mover"
unset 'small[-1]'
check "which are the same" same_content one two "${small[@]}"

# Followed while two writers write: the lag is told, --until-lag ends with the rest noted, and the last run finishes from
# there; and one that is told by a signal that the writers have stopped.
follow() { # TARGET
    local target=$1 seed
    rm -f "$work/writers.stop"
    writers=()
    for seed in 1 2; do
        python3 test/copy/writers.py "${one#http://}" one id-one secret-one live $seed "$work/writers.stop" >"$work/writer.$seed" 2>&1 &
        writers+=($!)
    done
    start_migrate one "$target" --tables live --follow "${@:2}"
}
stop_writers() {
    touch "$work/writers.stop"
    wait "${writers[@]}"
}
up_to_date() { grep -q "^up to date" "$work/mover"; }
follow two --resume
check "followed, it is up to date once" eventually up_to_date
on one delete live row-7
on one cell put live row-99 blob "$work/large" --quiet
stop_writers
kill -INT $mover
wait $mover
check "and ends when the writers have stopped" test $? = 0
check "says so" grep -qE '^live: .* same on both sides' "$work/mover"
check "the same" same_content one two live
check "the same options" same_description one two live
follow three --until-lag 5
wait $mover
check "--until-lag ends by itself" grep -q "no more than 5 s are missing" "$work/mover"
stop_writers
check "the run that finishes" migrate one three --tables live
check "needs its stream alone" sh -c '[ "$(sed -nE "s/^live: ([0-9]+) rows, .* ([0-9]+) rows written.*/\2/p" "$0")" -gt 0 ]' "$work/before"
check "the same" same_content one three live

# Killed again and again, and both servers with it, while it fills and follows, and once it is made anew.
on one delete many 5 # a table without a stream goes beside it
rm -f "$work/writers.stop"
writers=()
for seed in 3 4; do
    python3 test/migrate/writer.py "${one#http://}" one id-one secret-one live $seed "$work/writers.stop" >"$work/writer.$seed" 2>&1 &
    writers+=($!)
done
go() { start_migrate one three --tables live --follow --workers 2; }
check "dropped, to be filled anew" on three drop live
go
for n in $(seq "$kills"); do
    sleep "0.$((RANDOM % 9 + 1))"
    case $((n % 3)) in
    0) again one ;;
    1) kill_migrate ;;
    2) again three ;;
    esac
    ended $mover || continue
    # A kill of a server may end a migration, too, that had not reached it before.
    grep -qE 'cannot reach|no answer' "$work/mover" || [ $((n % 3)) = 1 ] || sed "s/^/after kill $n: /" "$work/mover"
    go
done
sleep 1
stop_writers
check "the writers wrote" awk '{ n += $1 } END { exit !(n > 100) }' "$work/writer.3" "$work/writer.4"
! ended $mover || go
check "after $kills kills it is up to date" eventually up_to_date
kill -INT $mover
wait $mover
check "and ends" test $? = 0
check "the same on both sides" grep -qE '^live: .* same on both sides' "$work/mover"
check "exactly" same_content one three live
check "the same options" same_description one three live
# Without a stream, and with an index: the same kills, then a run that ends.
for n in $(seq "$kills"); do
    start_migrate one three --tables indexed,many --workers 2 --rate 30000
    sleep "0.$((RANDOM % 9 + 1))"
    case $((n % 3)) in
    0) again one ;;
    2) again three ;;
    esac
    sleep "0.$((RANDOM % 5))"
    kill_migrate
done
check "after $kills more, a run that ends" migrate one three --tables indexed,many
check "exactly" same_content one three indexed many by_name
check "the same options" same_description one three indexed

counts migrate
