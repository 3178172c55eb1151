#!/usr/bin/env bash
# OSDs of 1 GiB under clients that overwrite rows of 1 MB: writes are refused in time, and no OSD ends for want of room. It makes
# a cluster of its own.
#
#   BUILD=build            the build folder to test
#   SECONDS_EACH=40        how long the clients write
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
PATH=$PATH:/usr/sbin:/sbin
cluster=test/rados/cluster.sh small=$(mktemp -d /tmp/wr-room.XXXXXX)
trap 'stop_all; $cluster kill "$small/c"; rm -rf "$work" "$small"' EXIT
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local WIDEROW_NAMESPACE=room WIDEROW_POOL=data

osds_live() { # all three
    local n
    for n in 0 1 2; do
        kill -0 "$(cat "$small/c/run/osd.$n.pid")" || { echo "osd.$n is no more"; return 1; }
    done
}
overwrite() { # some of it is refused
    timeout 300 "$BUILD/widerow" bench cell-write --table big --records 400 --cell-bytes 1048576 --connections 24 \
        --seconds "${SECONDS_EACH:-40}" --quiet --endpoint "${urls[a]}" >"$work/bench" 2>&1
    cat "$work/bench"
    true
}

check "a cluster of small OSDs" env RADOS_OSD_BYTES=1073741824 $cluster start "$small/c" 3
export WIDEROW_CEPH_CONF=$small/c/ceph.conf
check "a server" serve a --engine rados --admin 127.0.0.1:0
check "a table" "$BUILD/widerow" create t --key k:integer --endpoint "${urls[a]}"
printf 'k,v\n1,value\n' >"$work/row.csv"
check "a row" "$BUILD/widerow" import "$work/row.csv" --table t --quiet --endpoint "${urls[a]}"
check "clients overwrite rows" overwrite
check "all OSDs live" osds_live
check "the server saw it coming" grep -q "too little room" "$work/a.log"
check "reads go on" sh -c "'$BUILD/widerow' get t 1 --endpoint '${urls[a]}' | grep -q value"
check "what removes is taken" "$BUILD/widerow" drop big --endpoint "${urls[a]}"

counts room
