#!/usr/bin/env bash
# Big cells while other servers over the same pool sweep: uploads that take longer than the sweepers' grace, readers of a cell
# that was replaced through another server, servers that die or are paused in the midst of either, and chunks that are missing.
#
#   test/rados/cells.sh [POINT…]   with fault points: only sweepers that die at them
#
#   BUILD=build            the build folder to test
#   TIER=short|nightly     the grace is 4 s, by a fault point of the build; or 60 s, as in the field
#   TEST_CEPH_CONF=FILE    the cluster, with a pool `data`
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
TIER=${TIER:-short}
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data WIDEROW_NAMESPACE=cells-$$
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
trap 'stop_all; kill $links 2>/dev/null; rm -rf "$work"' EXIT
links=
bytes=12000000 # in three batches of chunks
if [ "$TIER" = nightly ]; then grace=60 faults=; else grace=4 faults=garbage_grace_short:error:1+; fi
rate=$((bytes / (2 * grace + 12))) # an upload takes two graces and two sweeps

start() { # start NAME [FAULTS]
    WR_FAULT=$faults${2:+${faults:+,}$2} serve "$1" --engine rados --admin off
}
link() { # link NAME SERVER: a narrow way to the server
    rm -f "$work/$1.port"
    test/rados/narrow.py "${urls[$2]#http://}" "$rate" "$work/$1.port" &
    links="$links $!"
    eventually test -s "$work/$1.port"
    urls[$1]=http://127.0.0.1:$(cat "$work/$1.port")
}
put() { "$BUILD/widerow" cell put t "$2" c "$work/$3" --quiet --endpoint "${urls[$1]}"; } # put SERVER ROW FILE
get() { # get SERVER ROW FILE: the row's cell is it
    "$BUILD/widerow" cell get t "$2" c "$work/got.$1.$2" --quiet --endpoint "${urls[$1]}" && cmp "$work/got.$1.$2" "$work/$3"
}
count() { test/rados/stored.py "$WIDEROW_NAMESPACE" count "$1"; } # KIND: 3 chunks, 5 garbage records
has_chunks() { # AT_LEAST
    local c
    c=$(count 3)
    echo "$c chunks"
    [ "$c" -ge "$1" ]
}
some_chunks() { eventually has_chunks "$1"; } # AT_LEAST: waits for them
is_at() { # CHUNKS RECORDS
    local c r
    c=$(count 3) r=$(count 5)
    echo "$c chunks, $r records"
    [ "$c" = "$1" ] && [ "$r" = "$2" ]
}
comes_to() { # CHUNKS RECORDS: once the sweepers were there; long graces take several times as long as `eventually` waits
    eventually is_at "$@" || { [ "$TIER" = nightly ] && { eventually is_at "$@" || eventually is_at "$@"; }; }
}
ends_with() { # PID CODE
    wait "$1"
    local code=$?
    [ $code -eq "$2" ] || { echo "ended with $code"; false; }
}

head -c $bytes /dev/urandom >"$work/one"
head -c $bytes /dev/urandom >"$work/two"
chunks=$(((bytes + 524287) / 524288))

# A sweeper that dies between two of its steps leaves the rest to others.
for point; do
    stop_all
    export WIDEROW_NAMESPACE=cells-$$-$point # where nobody is missed
    check "$point: a server that will die" start dies $point:crash:1
    check "$point: a table" "$BUILD/widerow" create t --key k:integer --endpoint "${urls[dies]}"
    check "$point: a value" put dies 2 one
    check "$point: is replaced" put dies 2 two
    check "$point: it sweeps, and dies of it" eventually ended "${pids[dies]}"
    check "$point: a record is left" test "$(count 5)" = 1
    check "$point: another server" start b
    check "$point: ends it" comes_to $chunks 0
    check "$point: the value is whole" get b 2 two
done
[ $# -eq 0 ] || { counts cells; exit; }

check "a server" start a
check "another one" start b
check "a table" "$BUILD/widerow" create t --key k:integer --endpoint "${urls[a]}"
check "the first value of row 2" put a 2 one
link to_a a
link to_b b

# An upload that takes longer than a grace, and a reader of what was replaced meanwhile.
put to_a 1 one >"$work/slow_put" 2>&1 &
upload=$!
get to_b 2 one >"$work/slow_get" 2>&1 &
reader=$!
sleep 1
check "row 2 gets another value through a" put a 2 two
check "the slow upload ends well" ends_with $upload 0
check "and is there, through a" get a 1 one
check "and through b" get b 1 one
check "the slow reader of b has the value as it was" ends_with $reader 0
check "row 2 has the new one" get b 2 two
check "what was replaced goes" comes_to $((2 * chunks)) 0

# A server that is paused in the midst of an upload, for longer than a grace, finds that it is lost. The old value stays.
put to_a 2 one >"$work/paused_put" 2>&1 &
upload=$!
check "an upload has begun" some_chunks $((2 * chunks + 1))
kill -STOP "${pids[a]}"
check "b removes what belongs to nobody" comes_to $((2 * chunks)) 0
kill -CONT "${pids[a]}"
check "the upload is refused" ends_with $upload 5
check "to be sent again" grep -qE "Send it again|OTSServerUnavailable" "$work/paused_put"
check "the value stays" get b 2 two
check "nothing is left behind" comes_to $((2 * chunks)) 0

# One that dies in the midst of an upload.
put to_a 3 one >"$work/dead_put" 2>&1 &
upload=$!
check "another upload has begun" some_chunks $((2 * chunks + 1))
sleep $((grace / 2)) # it was renewed meanwhile
kill -9 "${pids[a]}"
wait $upload
check "nothing is left of a dead server's upload" comes_to $((2 * chunks)) 0
check "row 1 is whole" get b 1 one

# A chunk is missing: an error, never a short success.
check "the first chunk of row 1 is removed" test/rados/stored.py "$WIDEROW_NAMESPACE" remove 3 0
status() { # ROW: HTTP status and bytes of a GetCell whose answer nobody checks
    "$BUILD/widerow" cell get t "$1" c "$work/part" --quiet --endpoint "${urls[b]}"
}
check "a cell without it is an error" fails "damaged chunk 0" status 1

counts cells
