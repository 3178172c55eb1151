#!/usr/bin/env bash
# The engine on a Ceph pool against a bare librados program with the same omap operations on the same cluster, and
# throughput with one, two and three servers. Ratios count: all of it shares this machine's processors.
#
#   WIDEROW_CEPH_CONF=FILE WIDEROW_POOL=NAME   a cluster (test/rados/cluster.sh start makes one)
#   BUILD=build-release  SECONDS_EACH=6
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} each=${SECONDS_EACH:-6}
work=$(mktemp -d /tmp/wr-bench.XXXXXX)
servers=() endpoints=()
trap '[ ${#servers[@]} -eq 0 ] || { kill -9 "${servers[@]}"; wait "${servers[@]}"; } 2>/dev/null; rm -rf "$work"' EXIT
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local WIDEROW_NAMESPACE=bench-$$

cc -O2 -o "$work/raw" bench/raw_rados.c -lrados -lpthread || exit 1
for kind in get set guard; do
    printf 'bare librados %-6s 64 in flight, 1 object: ' $kind
    "$work/raw" "$WIDEROW_CEPH_CONF" "$WIDEROW_POOL" $kind 64 "$each" 1
done

for i in 1 2 3; do
    "$BUILD/widerowd" --engine rados --data "$work/data$i" --http 127.0.0.1:0 --admin off --port-file "$work/port$i" \
        --set size_watch_bytes_per_s_max=0 >"$work/log$i" 2>&1 &
    servers+=($!)
    for _ in $(seq 300); do
        [ -s "$work/port$i" ] && break
        sleep 0.1
    done
    endpoints+=("http://$(sed -n 's/^http=//p' "$work/port$i")")
done
bench() { # WORKLOAD CONNECTIONS ENDPOINT: requests a second
    "$BUILD/widerow" bench "$1" --records 5000 --seconds "$each" --connections "$2" --json --quiet --endpoint "$3"
}
bench read 1 "${endpoints[0]}" >/dev/null 2>&1 # loads
for workload in read write; do
    for n in 1 2 3; do
        pids=()
        for ((i = 0; i < n; i++)); do
            bench $workload $((64 / n)) "${endpoints[i]}" >"$work/out$i" 2>/dev/null &
            pids+=($!)
        done
        wait "${pids[@]}"
        printf '%-6s 64 in flight over %d servers: ' $workload $n
        for ((i = 0; i < n; i++)); do cat "$work/out$i"; done | grep -oE '"(ops_per_s|per_second|throughput)":[0-9.]+' |
            awk -F: '{ s += $2 } END { printf "%d a second\n", s }'
    done
done
