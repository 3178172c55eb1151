#!/usr/bin/env bash
# The engine on a Ceph pool against a bare librados program with the same omap operations on the same cluster, in turns
# and with 64 in flight on one object, and throughput with one, two and three servers. Ratios count: all of it shares this
# machine's processors.
#
#   WIDEROW_CEPH_CONF=FILE WIDEROW_POOL=NAME   a cluster (test/rados/cluster.sh start makes one)
#   BUILD=build-release  SECONDS_EACH=6  TURNS=5
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} each=${SECONDS_EACH:-6} turns=${TURNS:-5}
work=$(mktemp -d /tmp/wr-bench.XXXXXX)
servers=() endpoints=()
trap '[ ${#servers[@]} -eq 0 ] || { kill -9 "${servers[@]}"; wait "${servers[@]}"; } 2>/dev/null; rm -rf "$work"' EXIT
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local WIDEROW_NAMESPACE=bench-$$

cc -O2 -o "$work/raw" bench/raw_rados.c -lrados -lpthread || exit 1

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
throughput() { grep -oE '"ops_per_s":[0-9.]+' | awk -F: '{ s += $2 } END { printf "%d", s }'; }
cpu_ms() { awk -v tick="$(getconf CLK_TCK)" '{ print ($14 + $15) * 1000 / tick }' "/proc/$1/stat"; }
share() { # KIND WORKLOAD: the bare program and one server in turns, and the median of the shares
    local turn bare ours before after
    for ((turn = 0; turn < turns; turn++)); do
        bare=$("$work/raw" "$WIDEROW_CEPH_CONF" "$WIDEROW_POOL" "$1" 64 "$each" 1 | awk '{ print $2 }')
        before=$(cpu_ms "${servers[0]}")
        ours=$(bench "$2" 64 "${endpoints[0]}" 2>/dev/null | throughput)
        after=$(cpu_ms "${servers[0]}")
        awk -v kind="$1" -v what="$2" -v bare="$bare" -v ours="$ours" -v ms=$((after - before)) -v s="$each" 'BEGIN {
            printf "bare librados %-5s %6d a second, %-5s %6d a second: %5.1f %%, %d us of the server a request\n", kind, bare,
                what, ours, bare ? 100 * ours / bare : 0, ours ? 1000 * ms / (ours * s) : 0 }'
    done | tee "$work/shares"
    sed 's/.*: *\([0-9.]*\) %.*/\1/' "$work/shares" | sort -n | awk -v what="$2" '{ a[NR] = $1 } END { print what ": median " a[int((NR + 1) / 2)] " %" }'
}
share get read
share set write
share guard write # a comparison waits for the write before it, so bare ones go one after the other
for workload in read write; do
    for n in 1 2 3; do
        pids=()
        for ((i = 0; i < n; i++)); do
            bench $workload $((64 / n)) "${endpoints[i]}" >"$work/out$i" 2>/dev/null &
            pids+=($!)
        done
        wait "${pids[@]}"
        printf '%-6s 64 in flight over %d servers: ' $workload $n
        printf '%s a second\n' "$(for ((i = 0; i < n; i++)); do cat "$work/out$i"; done | throughput)"
    done
done
