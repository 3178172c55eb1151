#!/usr/bin/env bash
# Tables that are cut into many objects of a Ceph pool, between partition key values and inside of one: by size while two
# servers write, and with the server that cuts killed at every step of it. Nothing that was acknowledged may be missing, nothing may be there twice, and a table that
# a dead server left half cut is cut by another one.
#
#   BUILD=build            the build folder to test
#   TEST_CEPH_CONF=FILE    the cluster, with a pool `data`
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data
run=$$ # namespaces of its own
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local

start() { # start NAME NAMESPACE FLAG…
    export WIDEROW_NAMESPACE=$2-$run
    serve "$1" --engine rados --admin off "${@:3}"
}

rows() { # rows KIND FIRST LAST: a CSV file, each row a partition key value of its own (values), or all of them one (one)
    seq "$2" "$3" | awk -v kind="$1" 'BEGIN { print "g,k,v" } { printf "%d,%d,value-%d-%060d\n", kind == "one" ? 7 : $1, $1, $1, $1 }'
}
create() { "$BUILD/widerow" create t --key g:integer,k:integer --endpoint "${urls[$1]}"; } # create NAME

# load NAME FILE RETRY: through that server, acknowledged keys in FILE.acked
load() {
    "$BUILD/widerow" import "$2" --table t --shuffle --batch 20 --retry "$3" --quiet --acked "$2.acked" \
        --endpoint "${urls[$1]}"
}

partitions() { # partitions NAME: how many
    "$BUILD/widerow" partitions t --endpoint "${urls[$1]}" | awk '/^the table/ { print n } !/^from/ { n++ }' | head -n 1
}

is_cut_into() { # NAME AT_LEAST
    local n
    n=$(partitions "$1")
    echo "$n partitions"
    [ "$n" -ge "$2" ]
}
cut_into() { eventually is_cut_into "$@"; } # it comes to be

# What a walk over the whole table shows, keys and values, in order.
there() { "$BUILD/widerow" scan t --limit 0 --endpoint "${urls[$1]}" >"$work/there.$1"; }

all_there() { # all_there NAME FILE…: each acknowledged key once, in order, with its value
    local name=$1
    shift
    there "$name" || return 1
    grep -oE '"k":[0-9]+' "$work/there.$name" | cut -d: -f2 >"$work/keys"
    sort -n -u "$work/keys" | cmp - "$work/keys" || { echo "a key twice or out of order"; return 1; }
    sort "$work/keys" >"$work/keys.sorted"
    cat "${@/%/.acked}" | cut -d, -f2 | sort -u | comm -23 - "$work/keys.sorted" >"$work/lost"
    [ ! -s "$work/lost" ] || { echo "lost: $(head -n 10 "$work/lost" | tr '\n' ' ')"; return 1; }
    awk -F'"' '{ k = $5; gsub(/[^0-9]/, "", k); if (index($0, "value-" k "-") == 0) { print; bad = 1 } } END { exit bad }' \
        "$work/there.$name"
}

same() { # same A B: both servers tell of the same table
    [ "$("$BUILD/widerow" digest t --endpoint "${urls[$1]}")" = "$("$BUILD/widerow" digest t --endpoint "${urls[$2]}")" ]
}

both_load() { # both_load A FILE_A B FILE_B RETRY_A: true if B's load succeeded
    local one
    load "$1" "$2" "$5" &
    one=$!
    load "$3" "$4" 60
    local code=$?
    wait $one
    [ $code -eq 0 ]
}

# ---- two servers write, and both cut ----

# The list of partitions stands in pages from the third one on.
small=(--set partition_bytes_max=300000 --set map_page_partitions=2)
two_servers() { # two_servers KIND
    rm -f "$work"/*.acked "$work"/*.log
    rows "$1" 1 8000 >"$work/low"
    rows "$1" 5001 13000 >"$work/high"
    start a "$1" "${small[@]}"
    start b "$1" "${small[@]}"
    create a >/dev/null
    check "two servers, $1: loaded" both_load a "$work/low" b "$work/high" 60
    check "two servers, $1: cut" cut_into a 4
    check "two servers, $1: rows" all_there a "$work/low" "$work/high"
    check "two servers, $1: the same rows through the other" all_there b "$work/low" "$work/high"
    check "two servers, $1: digest" same a b
    echo "two servers, $1: $(partitions a) partitions, the longest cut $(grep -ho 'became.*' "$work"/[ab].log | awk '{ if ($4 > m) m = $4 } END { printf "%d ms", m / 1000 }')"
}
two_servers values
stop_all
two_servers one

# ---- one value in several objects: its order, a row that outgrows one, and its parts as one object again ----

bounds_inside() { # each bound names a row
    "$BUILD/widerow" partitions t --endpoint "${urls[b]}" >"$work/parts"
    sed '/^the table/,$d' "$work/parts" | tail -n +3 >"$work/bounds"
    [ -s "$work/bounds" ] && ! grep -vE '^7,[0-9]+ ' "$work/bounds"
}
turned() {
    "$BUILD/widerow" scan t --limit 0 --backward --endpoint "${urls[b]}" | tac | cmp - "$work/there.b"
}
large_cell() {
    head -c 1500000 /dev/urandom >"$work/cell"
    "$BUILD/widerow" cell put t 7 4000 big "$work/cell" --quiet --endpoint "${urls[a]}" &&
        "$BUILD/widerow" cell get t 7 4000 big "$work/cell.back" --quiet --endpoint "${urls[b]}" &&
        cmp "$work/cell" "$work/cell.back"
}
warned() { eventually grep -q "'t' of 'local': partition .* all of one row: it cannot be split" "$work/a.log"; }
merged() { ! is_cut_into a "$1"; } # into less
check "one value: bounds are rows" bounds_inside
check "one value: backward" turned
check "one value: a large cell" large_cell
check "one value: the row that cannot be split is named" warned
check "one value: the cell when its row stands alone" cmp "$work/cell" <("$BUILD/widerow" cell get t 7 4000 big - --quiet --endpoint "${urls[b]}")
before=$(partitions a)
stop_all
sed -i 's/^\(partition_bytes_max =\) .*/\1 1000000000/; s/^\(partition_idle_s =\) .*/\1 1/' "$work/a/settings" # the pool's, too
start a one
check "one value: its parts are merged" eventually merged $((before - 2))
check "one value: rows after" all_there a "$work/low" "$work/high"
stop_all

# ---- the server that cuts dies at each step ----

kind=one
for point in ${POINTS:-repartition_noted repartition_before_engine repartition_made repartition_closed repartition_copied_half repartition_copied repartition_gone repartition_before_store repartition_after_store table_stored}; do
    rm -f "$work"/*.acked "$work"/*.log
    [ $kind = one ] && kind=values || kind=one
    rows $kind 1 8000 >"$work/low"
    rows $kind 5001 13000 >"$work/high"
    # The other server never begins a cut; it only ends what the first one left.
    pass=3 # when the list stands in pages
    [ $point != table_stored ] || pass=7 # the same: the table was made, and each cut is stored twice
    export WR_FAULT=$point:crash:$pass
    start dies "$point" "${small[@]}"
    export WR_FAULT=repartition_begin:error:1+
    start lives "$point" "${small[@]}"
    unset WR_FAULT
    create dies >/dev/null
    check "$point: the other server serves" both_load dies "$work/low" lives "$work/high" 1
    check "$point: the server died" eventually ended "${pids[dies]}" # it may still be about to
    check "$point: rows" all_there lives "$work/low" "$work/high"
    check "$point: cut all the same" cut_into lives 3
    start again "$point" "${small[@]}"
    check "$point: cut" cut_into again 3
    check "$point: goes on" load again "$work/low" 30
    check "$point: rows after" all_there again "$work/low" "$work/high"
    check "$point: digest" same again lives
    stop_all
done
counts splits
