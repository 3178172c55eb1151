#!/usr/bin/env bash
# What one cut costs in the map of a table with many partitions on a Ceph pool: all of them listed in the table's
# description (map_page_partitions=65536) beside a list in pages (256). One server merges idle neighbours, another one only
# follows. Bytes are keys and values sent to the pool by the first and read from it by the second, by the counters of
# /metrics; the partitions are empty, so all of it is the catalog. The time is that of `longest_cut_us`, a mean, and the
# memory what the second server has grown by since before the table was made, the least that was seen while cuts went on.
#
#   WIDEROW_CEPH_CONF=FILE WIDEROW_POOL=NAME   a cluster (test/rados/cluster.sh start makes one)
#   BUILD=build     with fault points (not RELEASE=1), one of which keeps the second server from cutting
#   PARTITIONS="1000 10000 65536"   multiples of 250 or 256, at most 256 times that
#   CUTS=20         counted in each case
set -u
cd "$(dirname "$0")/.."
source test/check.sh
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local

metric() { curl -s "${admins[$1]}/metrics" | awk -v name="widerow_storage_$2_bytes_total" '$1 == name { print $2 }'; }
resident() { awk '/^VmRSS/ { print $2 * 1024 }' "/proc/${pids[follows]}/status"; }
cut_times() { grep -oE "became [0-9]+ in [0-9]+ us" "$work/cuts.log" | awk '{ print $4 }'; }

# Waits until so many cuts were made, and for the pause of the server's balancer in which all is read; prints how many.
cuts_reach() {
    local n
    for _ in $(seq 3000); do
        n=$(cut_times | wc -l)
        if [ "$n" -ge "$1" ]; then
            sleep 0.15
            echo "$n"
            return 0
        fi
        resident >>"$work/resident"
        sleep 0.02
    done
    return 1
}

measure() { # PARTITIONS PAGE
    local buckets=$(($1 % 256 == 0 ? 256 : 250)) before after first last written bytes_read
    local flags=(--engine rados --admin 127.0.0.1:0 --op-timeout 300 --set size_watch_bytes_per_s_max=0 --set table_ops_per_s_max=0
        --set partitions_max=256 --set partition_idle_s=1 --set map_page_partitions="$2")
    export WIDEROW_NAMESPACE=map-$$-$1-$2
    rm -rf "$work"/cuts* "$work"/follows*
    serve cuts "${flags[@]}" || return 1
    WR_FAULT=repartition_begin:error:1+ serve follows "${flags[@]}" || return 1
    before=$(resident)
    # Answered when the other server knows of it. One that takes longer than the client waits goes on all the same.
    "$BUILD/widerow" create t --key k:integer --layout hash:$buckets --splits "$(seq -s, 1 $(($1 / buckets - 1)))" \
        --endpoint "${urls[cuts]}" >"$work/said" 2>&1
    for _ in $(seq 600); do
        "$BUILD/widerow" tables --endpoint "${urls[follows]}" 2>/dev/null | grep -qx t && break
        sleep 0.2
    done
    first=$(cuts_reach 2) || return 1
    rm -f "$work/resident"
    written=$(metric cuts written) bytes_read=$(metric follows read)
    last=$(cuts_reach $((first + ${CUTS:-20}))) || return 1
    written=$(($(metric cuts written) - written)) bytes_read=$(($(metric follows read) - bytes_read))
    after=$(sort -n "$work/resident" | head -n 1)
    cut_times | sed -n "$((first + 1)),${last}p" | awk -v partitions="$1" -v page="$2" -v n=$((last - first)) -v written=$written \
        -v bytes_read=$bytes_read -v memory=$((after - before)) '{ us += $1 } END {
            printf "%10d %-15s %14d %14d %10.1f %14d\n", partitions, page == 256 ? "pages" : "one list", written / n, bytes_read / n,
                us / n / 1000, memory / partitions }'
}

printf '%10s %-15s %14s %14s %10s %14s\n' partitions map "bytes written" "bytes followed" "ms" "B a partition"
for n in ${PARTITIONS:-1000 10000 65536}; do
    for page in 65536 256; do
        measure "$n" $page || { echo "$n partitions, pages of $page: not measured"; cat "$work/said"; tail -n 3 "$work"/*.log; }
        stop_all
    done
done 2>&1
