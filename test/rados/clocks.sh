#!/usr/bin/env bash
# Time that goes wrong over one pool: one lock taken by conditional updates through two processes, one of which is paused,
# or has a clock that is behind, or the OSDs stand still; two servers whose wall clocks are apart, which they say; and rows
# that expire, or not.
#
#   test/rados/clocks.sh [CLUSTER_DIR]   with the folder of the cluster: only what makes its OSDs stand still
#   BUILD=build            the build folder to test
#   TIER=short|nightly     a few rounds, or many and longer pauses
#   TEST_CEPH_CONF=FILE    the cluster, with a pool `data`
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
dir=${1:-} TIER=${TIER:-short}
preload=$PWD/$BUILD/test/rados_preload.so
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local

lock() { # lock MODE ROUNDS
    local osds=
    [ -z "$dir" ] || osds=$(cat "$dir"/run/osd.*.pid)
    # shellcheck disable=SC2086
    WIDEROW_NAMESPACE=lock-$1-$$-$RANDOM timeout 400 "$BUILD/test/rados" "$1" "$2" $osds
}

rounds=$([ "$TIER" = nightly ] && echo 12 || echo 2)
if [ -n "$dir" ]; then
    check "lock, OSDs stand still" lock frozen "$rounds"
    check "transactions, OSDs stand still" env TEST_OSD_PIDS="$(cat "$dir"/run/osd.*.pid)" timeout 400 "$BUILD/test/table/txn/txn_slow_test"
    # It waits for the lease of the process that is stopped: 20 s.
    [ "$TIER" != nightly ] || check "puts that a pause made old" lock old 2
    counts clocks
    exit
fi
check "lock, its server paused" lock pause "$rounds"
check "lock, its server's clock behind" lock behind "$rounds"
check "a row that others change all the time" lock crowd 1
if [ "$TIER" = nightly ]; then
    for ms in 1000 4000 12000 30000; do
        check "lock, its server paused for $ms ms" env LOCK_PAUSE_MS=$ms bash -c "$(declare -f lock); dir= BUILD=$BUILD; lock pause 2"
    done
fi
export WIDEROW_NAMESPACE=clocks-$$
ready() { # ready SERVER CODE WORDS: /readyz comes to say that
    eventually says_ready "$@"
}
says_ready() {
    local code
    code=$(curl -s -m 5 -o "$work/ready" -w '%{http_code}' "${admins[$1]}/readyz")
    echo "/readyz of $1 says $code: $(cat "$work/ready")"
    [ "$code" = "$2" ] && grep -q "$3" "$work/ready"
}
logged() { grep -q "$2" "$work/$1.log"; }

check "a" serve a --engine rados --admin 127.0.0.1:0
export LD_PRELOAD=$preload RADOS_CLOCK_MS=-3000
check "b, 3 s behind" serve b --engine rados --admin 127.0.0.1:0
unset LD_PRELOAD RADOS_CLOCK_MS
check "a is told" ready a 503 "wall clock is [23]... ms apart"
check "b is told" ready b 503 "wall clock is [23]... ms apart"
check "the log says it" logged a "E clock: another server's wall clock"
kill "${pids[b]}"
wait "${pids[b]}"
check "b, with the right time" serve b --engine rados --admin 127.0.0.1:0
check "a is ready" ready a 200 '^ready$'
check "b is ready" ready b 200 '^ready$'

# Auto-increment keys rise, whichever server numbers them: each put begins when the one before has been answered.
widerow() { # widerow SERVER ARGUMENT…
    local url=${urls[$1]}
    shift
    "$BUILD/widerow" "$@" --endpoint "$url"
}
export LD_PRELOAD=$preload RADOS_CLOCK_MS=-900
check "d, 0.9 s behind" serve d --engine rados --admin off
unset LD_PRELOAD RADOS_CLOCK_MS
check "a table with auto-increment keys" widerow a create numbered --key k:integer,n:integer:auto
by_turns() {
    local i
    for i in $(seq 1 10); do
        widerow a put numbered 1 auto v=$((2 * i - 1)) && widerow d put numbered 1 auto v=$((2 * i)) || return 1
    done
}
check "rows through both by turns" by_turns
in_order() {
    widerow a scan numbered | grep -oE '"v":[0-9]+' | cut -d: -f2 | tee "$work/order"
    cmp "$work/order" <(seq 1 20)
}
check "they lie in the order in which they came" in_order

# One that is started with a clock of the day after tomorrow removes no row that lives for the others.
there() { "$BUILD/widerow" get t 1 --endpoint "${urls[a]}" | grep -q value; }
check "a table with a time to live" "$BUILD/widerow" create t --key k:integer --ttl 86400 --endpoint "${urls[a]}"
printf 'k,v\n1,value\n' >"$work/row.csv"
check "a row" "$BUILD/widerow" import "$work/row.csv" --table t --quiet --endpoint "${urls[a]}"
export LD_PRELOAD=$preload RADOS_CLOCK_MS=172800000
check "c, two days ahead" serve c --engine rados --admin 127.0.0.1:0
unset LD_PRELOAD RADOS_CLOCK_MS
check "c is told" ready c 503 "wall clock is 172[78]..... ms apart"
sleep 11 # two sweeps
check "the row is there" there

# A sweeper that stands still just before it removes a row, while the table is told to keep its rows longer, leaves that row alone.
stop_all
export WIDEROW_NAMESPACE=clocks-$$-sweep # settings are a pool's
own=(--engine rados --admin off --set ttl_seconds_min=1 --set table_ops_per_s_max=0)
kept() { widerow "$1" get t 1 | grep -q value; } # SERVER
stands() { [ "$(sed 's/.*) //' "/proc/${pids[sweeps]}/stat" | cut -c1)" = T ]; }
export WR_FAULT=sweep_row:stop:1
check "a sweeper that will stand still" serve sweeps "${own[@]}"
unset WR_FAULT
check "a table whose rows live for a second" widerow sweeps create t --key k:integer --ttl 1
check "a row" widerow sweeps put t 1 v=value
check "the sweeper stands still before it" eventually stands
check "another server" serve lives "${own[@]}"
check "whose rows live for a day from now on" widerow lives alter t --ttl 86400
check "so the row is there again" kept lives
kill -CONT "${pids[sweeps]}"
check "the sweeper's server goes on" eventually kept sweeps
sleep 11 # two sweeps
check "and has removed nothing" kept lives
counts clocks
