#!/usr/bin/env bash
# What can be wrong with a pool: each is told clearly, no write is acknowledged that was none, /readyz says no, and all is
# well again when it is.
#
#   test/rados/bad.sh DIR   the cluster's folder (cluster.sh); it is whole again at the end
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
cluster=test/rados/cluster.sh dir=$1
PATH=$PATH:/usr/sbin:/sbin
trap 'stop_all; osds CONT; rm -rf "$work"' EXIT
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local WIDEROW_NAMESPACE=bad-$$
unset WIDEROW_CEPH_CONF WIDEROW_POOL

osds() { kill -"$1" $(cat "$dir"/run/osd.*.pid) 2>/dev/null; }

refuses() { # WORDS FLAG…: the server does not start and says so
    fails "$1" timeout 120 "$BUILD/widerowd" --engine rados --data "$work/none" --http 127.0.0.1:0 --admin off "${@:2}"
}

ready() { eventually says_ready "$1"; } # CODE: /readyz comes to say it
says_ready() {
    local code
    code=$(curl -s -m 5 -o "$work/ready" -w '%{http_code}' "$admin/readyz")
    echo "$code: $(cat "$work/ready")"
    [ "$code" = "$1" ]
}

put() { # N: a row
    printf 'k,v\n%s,value\n' "$1" >"$work/row.csv"
    "$BUILD/widerow" import "$work/row.csv" --table t --retry "${2:-120}" --quiet --endpoint "$endpoint"
}
there() { "$BUILD/widerow" get t "$1" --endpoint "$endpoint" | grep -q '"v":"value"'; }

sed 's/^\( *mon host *=\).*/\1 127.0.0.1:1/' "$dir/ceph.conf" >"$work/nowhere.conf"
check "no configuration" refuses "cannot be read" --ceph-conf "$work/none.conf" --pool data
check "no such pool" refuses "has no pool 'nothing'" --ceph-conf "$dir/ceph.conf" --pool nothing
check "no monitor" refuses "No monitor" --ceph-conf "$work/nowhere.conf" --pool data

serve data --engine rados --ceph-conf "$dir/ceph.conf" --pool data --admin 127.0.0.1:0
endpoint=${urls[data]} admin=${admins[data]}
check "a table" "$BUILD/widerow" create t --key k:integer --endpoint "$endpoint"
check "a row" put 1
check "another table" "$BUILD/widerow" create t2 --key k:integer --endpoint "$endpoint"
check "ready" ready 200

# A pool marked full takes no new objects, but changes of those that are there: whatever is acknowledged is kept. Servers
# find out in seconds, whether or not anybody asks them, and take only what removes.
ratios() { # NEARFULL BACKFILLFULL FULL: the first two bound the third
    local what
    for what in nearfull backfillfull full; do
        timeout 100 ceph -c "$dir/ceph.conf" --connect-timeout 90 osd set-$what-ratio "$1" || return 1
        shift
    done
}
pool_is() { # full|free
    timeout 60 ceph -c "$dir/ceph.conf" --connect-timeout 50 osd dump 2>/dev/null | grep -E "^pool .*'data'" >"$work/pool"
    cat "$work/pool"
    if [ "$1" = full ]; then grep -qE 'flags [a-z,]*full' "$work/pool"; else grep -qv full "$work/pool"; fi
}
check "full" ratios 0.00001 0.00002 0.00003
check "is full" eventually pool_is full
check "reads from a full pool" there 1
# The server may not know of it yet: then the OSDs keep the write until there is room, and its client's time runs out.
if put 2 1 >"$work/said" 2>&1; then
    check "a write into a full pool that was acknowledged" there 2
else
    check "a write into a full pool" grep -qE "OTSServerBusy|OTSServerUnavailable|OTSTimeout|may have been applied|full|space" "$work/said"
fi
check "full: not ready" ready 503
check "and says why" eventually bash -c "curl -s -m 5 '$admin/readyz' | grep -q 'the pool is full'"
check "a row is refused" fails "OTSServerBusy|full" put 2 1
# It tries for half a minute.
"$BUILD/widerow" create another --key k:integer --splits 10,20,30 --endpoint "$endpoint" >"$work/create" 2>&1 &
creating=$!
sleep 16 # longer than a server's lease
check "reads go on" there 1
check "a table that goes makes room" "$BUILD/widerow" drop t2 --endpoint "$endpoint"
is_refused() { ! wait $creating && { cat "$work/create"; grep -qE "full|space|OTSServerBusy|OTSServerUnavailable" "$work/create"; }; }
check "a table in a full pool is refused" is_refused
check "room again" ratios 0.85 0.9 0.95
check "is free" eventually pool_is free
check "a writer that tries again gets through" put 3 120
check "ready" ready 200
check "writes go on" put 3
check "and are there" there 3
check "a table" "$BUILD/widerow" create another --key k:integer --splits 10,20,30 --endpoint "$endpoint"

# All OSDs hang: what is asked has no answer, and after that all is as before.
osds STOP
check "silent: not ready" ready 503
check "a write has no good answer" fails "may have been applied|not answer|not available|OTSServerUnavailable" put 4 1
osds CONT
check "back: ready" ready 200
check "back: writes" put 5
check "back: reads" there 5

# Without a monitor I/O goes on, as nothing about the cluster changes.
check "monitor killed" kill -9 "$(cat "$dir/run/mon.a.pid")"
check "writes without a monitor" put 6
check "reads without a monitor" there 6
check "monitor back" "$cluster" start "$dir"
check "writes after it" put 7
check "acknowledged rows" sh -c "for k in 1 3 5 6 7; do '$BUILD/widerow' get t \$k --endpoint '$endpoint' | grep -q value || exit 1; done"

counts bad
