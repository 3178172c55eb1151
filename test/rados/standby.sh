#!/usr/bin/env bash
# A server that nobody uses leaves alone what others use: partitions that are busy through another server are not merged, and
# what others have stored counts, whoever measured it when; what all leave idle is merged.
#
#   BUILD=build            the build folder to test
#   TEST_CEPH_CONF=FILE    the cluster, with a pool `data`
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data WIDEROW_NAMESPACE=standby-$$
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local

# Idle is below a tenth of ten units a second, for ten seconds: a loaded machine may keep the load waiting for some seconds. No merge of what holds more than a quarter of 80,000 bytes.
start() { serve "$1" --engine rados --admin off --set partition_idle_s=10 --set partition_read_cu_max=10 --set partition_write_cu_max=10 \
    --set partition_hot_s=86400 --set partition_bytes_max=80000; }
widerow() { # widerow SERVER ARGUMENT…
    local url=${urls[$1]}
    shift
    "$BUILD/widerow" "$@" --endpoint "$url"
}
user() { printf 'user%020d' "$1"; } # the key of a record of the bench
count() { widerow "$1" partitions "$2" | awk '/^the table/ { print n } !/^from/ { n++ }' | head -n 1; } # SERVER TABLE
are() { [ "$(count "$1" "$2")" = "$3" ] || { echo "$(count "$1" "$2") partitions"; false; }; }

start a
widerow a create busy --key id:string --splits "$(user 1),$(user 2),$(user 3)" >/dev/null
widerow a create stored --key id:string --splits "$(user 25)" >/dev/null
widerow a create idle --key k:integer --splits 100,200,300 >/dev/null
check "eight partitions" test "$(count a busy) $(count a stored)" = "4 2"
# Ten units a second to each partition, through this server.
"$BUILD/widerow" bench write --endpoint "${urls[a]}" --table busy --records 4 --fields 1 --field-bytes 10 --rate 40 --connections 1 --seconds 600 --quiet >/dev/null 2>&1 &
load=$!
"$BUILD/widerow" bench write --endpoint "${urls[a]}" --table stored --records 50 --fields 1 --field-bytes 10 --rate 40 --connections 1 --seconds 600 --quiet >/dev/null 2>&1 &
small=$!
start b
sleep 1 # b has measured: there is hardly anything
kill $small
wait $small 2>/dev/null
widerow a bench write --table stored --records 50 --fields 1 --field-bytes 1000 --ops 1000 --quiet >/dev/null 2>&1 # 25,000 bytes in each partition
check "what all leave idle is merged" eventually are b idle 1
sleep 14
check "what is busy elsewhere is not" are b busy 4
check "nor what others have filled" are b stored 2
kill $load
wait $load 2>/dev/null
check "when that ends it is" eventually are a busy 1
counts standby
