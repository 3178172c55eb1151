#!/usr/bin/env bash
# Servers over one pool agree on the tables, their settings and what is shared, soon after any of them died or lost its link in
# the middle of a change: each change that was stored is known to all within seconds, whether or not anybody was told of it.
# And what waits for a server that died: nothing but a change of a table's settings.
#
#   BUILD=build            the build folder to test; PRELOAD the folder of rados_preload.so, if another one
#   TEST_CEPH_CONF=FILE    the cluster, with a pool `data`
#   TIER=short             leaves out the link cut for longer than a lease
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
preload=$PWD/${PRELOAD:-$BUILD}/test/rados_preload.so

start() { # start NAME FLAG…: beside the others, in the namespace of this run
    WIDEROW_NAMESPACE=agree-$$ serve "$1" --engine rados --admin off --set table_ops_per_s_max=0 --set throughput_change_s_min=0 "${@:2}"
}
env_start() { WR_FAULT=$2 start "$1"; } # NAME FAULTS
widerow() { # widerow SERVER ARGUMENT…
    local url=${urls[$1]}
    shift
    timeout 120 "$BUILD/widerow" "$@" --endpoint "$url"
}
dead() { # dead NAME: it dies
    eventually ended "${pids[$1]}" || return 1
    wait "${pids[$1]}" 2>/dev/null
    unset "pids[$1]"
}
reserved() { widerow "$1" throughput "$2" | grep -q "^$2: $3 read"; } # SERVER TABLE READS
lists() { widerow "$1" tables | grep -qw "$2"; }
lists_not() { widerow "$1" tables >"$work/tables" && ! grep -qw "$2" "$work/tables"; }
lasts() { # lasts MOST COMMAND…: seconds. 15 is less than what waits for the lease of a server that hangs (18)
    local from=$EPOCHREALTIME
    "${@:2}" || return 1
    awk -v from="$from" -v to="$EPOCHREALTIME" -v most="$1" 'BEGIN { print to - from " s"; exit !(to - from <= most) }'
}

# doomed N COMMAND…: by a server that dies before it tells the others for the Nth time
doomed() {
    LD_PRELOAD=$preload RADOS_TELL_KILL=$1 start dies || return 1
    widerow dies "${@:2}" >"$work/doomed" 2>&1
    dead dies
}

# ---- a server dies between storing and telling ----

start a
start b
check "a table" widerow a create old --key k:integer
check "another one" widerow a create gone --key k:integer
check "CreateTable: its server dies" doomed 1 create new --key k:integer
for s in a b; do check "CreateTable: $s knows the table" eventually lists $s new; done
check "UpdateTable: its server dies" doomed 1 throughput old --read 77 --write 7
for s in a b; do check "UpdateTable: $s knows" eventually reserved $s old 77; done
check "DeleteTable: its server dies" doomed 1 drop gone
for s in a b; do check "DeleteTable: $s knows" eventually lists_not $s gone; done
check "DeleteTable: the name is free" widerow b create gone --key k:integer

shared() { grep -qx "ttl_seconds_min = 7" "$work/$1/settings"; }
publish() { # a doomed server publishes its settings
    LD_PRELOAD=$preload RADOS_TELL_KILL=1 start dies || return 1
    sed -i 's/^ttl_seconds_min = .*/ttl_seconds_min = 7/' "$work/dies/settings"
    kill -HUP "${pids[dies]}"
    dead dies
}
check "settings: their server dies" publish
for s in a b; do check "settings: $s takes them" eventually shared $s; done

# ---- and at every step of each operation ----

# crashes POINT COMMAND…: by a server that dies there
crashes() {
    WR_FAULT=$1:crash:1 start dies || return 1
    widerow dies "${@:2}" >"$work/doomed" 2>&1
    dead dies
}
both() { "$1" a "${@:2}" && "$1" b "${@:2}"; }
publish_crash() {
    WR_FAULT=text_stored:crash:1 start dies || return 1
    sed -i 's/^ttl_seconds_min = .*/ttl_seconds_min = 8/' "$work/dies/settings"
    kill -HUP "${pids[dies]}"
    dead dies
}
shared_8() { grep -qx "ttl_seconds_min = 8" "$work/$1/settings"; }
points="table_stored"
[ "${TIER:-short}" = short ] || points="table_before_store table_stored table_before_notify"
n=100
for point in $points; do
    n=$((n + 1))
    is=lists was=lists_not units=$n
    [ $point != table_before_store ] || { is=lists_not; was=lists; units=0; }
    check "$point: tables" widerow a create "drop$n" --key k:integer
    check "$point: and another" widerow b create "units$n" --key k:integer
    check "$point: CreateTable" crashes $point create "make$n" --key k:integer
    check "$point: UpdateTable" crashes $point throughput "units$n" --read $n --write 7
    check "$point: DeleteTable" crashes $point drop "drop$n"
    check "$point: all know what was made" eventually both $is "make$n"
    check "$point: and changed" eventually both reserved "units$n" $units
    check "$point: and dropped" eventually both $was "drop$n"
done
check "text_stored: settings" publish_crash
check "text_stored: all take them" eventually both shared_8

# ---- a server that has not heard what the others did: it changes and refuses by what is stored ----

is_made() { widerow "$1" create "$2" --key k:integer; } # SERVER TABLE
late=catalog_deaf:error:1+,catalog_late:error:1+ # and knows that it has not
for s in deaf late; do
    for t in gone changed; do check "$s: a table" is_made a "$t$s"; done
    check "$s: a server" env_start "$s" "${!s:-catalog_deaf:error:1+}"
    check "$s: a table is made" is_made a "new$s"
    check "$s: one is dropped" widerow a drop "gone$s"
    check "$s: one is changed" widerow a throughput "changed$s" --read 5
    [ $s = deaf ] || check "$s: it lists what there is" lists $s "new$s"
    [ $s = deaf ] || check "$s: and nothing else" lists_not $s "gone$s"
    check "$s: what is there is not made" fails "already exists" is_made $s "new$s"
    check "$s: it is dropped" widerow $s drop "new$s"
    check "$s: what is gone is not dropped" fails "does not exist" widerow $s drop "new$s"
    check "$s: and is made again" is_made $s "gone$s"
    check "$s: what was changed is changed" widerow $s throughput "changed$s" --write 3
    check "$s: above that change" reserved a "changed$s" 5
    kill -9 "${pids[$s]}"
    wait "${pids[$s]}" 2>/dev/null
    unset "pids[$s]"
done

# ---- a server hangs, as one that has just died: it is in nobody's way but a change of a table's settings, for a while ----

head -c 100000 /dev/urandom >"$work/cell"
start c
check "a table for large cells" widerow a create large --key k:integer
kill -STOP "${pids[c]}"
widerow a throughput old --read 78 --write 7 >"$work/slow" 2>&1 & # is answered when the lease of c has run out
slow=$!
check "hangs: a table is made meanwhile" lasts 15 widerow a create meanwhile --key k:integer
check "hangs: the first large cell of a table" lasts 15 widerow a cell put large 1 v "$work/cell" --quiet
# The first one waited for the others to be told: 4 s. Those after it do not. Any one of them may last longer on a loaded machine, so
# one is enough: a server that still waited would wait with each of them, and none would last less.
one_is_short() {
    local row
    for row in 2 3 4 5 6; do lasts 3 widerow a cell put large $row v "$work/cell" --quiet && return 0; done
    return 1
}
check "hangs: the next one" one_is_short
check "hangs: a table is dropped" lasts 15 widerow a drop gone
wait $slow
check "hangs: the change is answered" grep -q "78 read" "$work/slow"
kill -CONT "${pids[c]}"
check "awake: it knows what was changed" eventually reserved c old 78
check "awake: and made" eventually lists c meanwhile
check "awake: and dropped" eventually lists_not c gone
check "awake: and what is large" widerow c cell get large 1 v "$work/cell.back" --quiet
check "awake: byte by byte" cmp "$work/cell" "$work/cell.back"

# ---- a server that was paused, and is slow to follow what was done meanwhile, does not say that it is not so ----

start_lags() { LD_PRELOAD=$preload RADOS_TABLES_LATE=1500 start lags; }
made_anew() { widerow a drop "$1" && is_made a "$1"; }
asked_at_once() { # TABLE COMMAND…: it makes the table. Who has not heard of it says "not now", or has by then, but not that there is none
    kill -STOP "${pids[lags]}"
    lasts 20 "${@:2}" || return 1
    kill -CONT "${pids[lags]}"
    for _ in $(seq 20); do
        widerow lags get "$1" 1 >"$work/said" 2>&1
        ! grep -i "table.*not exist" "$work/said" || return 1
        sleep 0.05
    done
}
check "lags: a server" start_lags
check "lags: paused while a table is made" asked_at_once lags1 is_made a lags1
check "lags: it comes to know it" eventually widerow lags put lags1 1 v=value
check "lags: paused while it is dropped and made anew" asked_at_once lags1 made_anew lags1
check "lags: it comes to know that one" eventually widerow lags put lags1 1 v=value
check "lags: and no other" fails "no such row" widerow a get lags1 2
kill -9 "${pids[lags]}"
wait "${pids[lags]}" 2>/dev/null
unset "pids[lags]"

# ---- a server that publishes, and waits for one that hangs, ends at once ----

stops() { # SIGHUP, and SIGTERM when it waits
    kill -HUP "${pids[a]}"
    sleep 1
    kill "${pids[a]}" && wait "${pids[a]}"
}
kill -STOP "${pids[c]}"
check "stops while it publishes" lasts 15 stops
unset "pids[a]"

# ---- a table of a newer program: it alone is refused ----

# Behind the servers' backs the description of that table gets a version that is to come.
newer() { # newer TABLE
    rados -c "$TEST_CEPH_CONF" -p data -N agree-$$ listomapkeys p0000000000000000 | LC_ALL=C grep -a "local.*$1" | head -n 1 >"$work/key"
    printf 'v\143 what is to come' >"$work/value"
    [ -s "$work/key" ] && rados -c "$TEST_CEPH_CONF" -p data -N agree-$$ --input-file "$work/value" setomapval p0000000000000000 "$(cat "$work/key")"
}
check "newer: a table is changed" newer large
check "newer: a server starts" start d
check "newer: others are served" widerow d describe old
check "newer: it is refused by name" fails "description has version 99" widerow d describe large
check "newer: and not made again" fails "description has version 99" widerow d create large --key k:integer
check "newer: a server that ran before goes on" lists b old

# ---- the link between a server and the cluster is cut ----

if [ "${TIER:-short}" = nightly ]; then
    stop_all
    mkdir "$work/link"
    sleep 1000 | test/rados/link.py "$work/link" &
    for _ in $(seq 50); do [ -s "$work/link/port" ] && break; sleep 0.1; done
    behind() { LD_PRELOAD=$preload RADOS_LINK=$(cat "$work/link/port") start linked; }
    check "a server behind a link" behind
    start b
    check "link: both know the table" reserved linked old 78
    touch "$work/link/cut"
    check "link cut: the change has no answer" fails "OTSTimeout|may have been|not answer" widerow linked throughput old --read 79 --write 7
    rm "$work/link/cut"
    sleep 4
    check "link back: serves again" eventually lists linked old
    alike() { [ "$(widerow linked throughput old)" = "$(widerow b throughput old)" ]; }
    check "link back: both agree" eventually alike
    sleep 6
    check "link back: and go on so" alike
    cat "$work/out"
fi
counts agree
