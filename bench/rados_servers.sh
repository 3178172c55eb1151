#!/usr/bin/env bash
# What a request costs with 1, 2 and 3 servers over one pool, on one partition and on many: the RADOS operations that the
# servers send (their /metrics), and the processor time of all servers and of all OSDs (/proc/PID/stat). The same number of
# requests is under way in all, spread evenly over the servers, on rows chosen uniformly.
#
#   bench/rados_servers.sh              on a cluster of three OSDs of its own, which is stopped at the end; about 3 minutes
#   WIDEROW_CEPH_CONF=FILE WIDEROW_POOL=NAME   on this cluster; its OSDs must run on this machine
#   BUILD=build       the servers' build; the client is CLIENT (build/widerow), so that builds can be compared
#   SECONDS_EACH=5    of each of the 24 runs
#   SERVERS="1 2 3"  PARTITIONS="1 16"  WORKLOADS="read write increment"  IN_FLIGHT=64  RECORDS=8000
#
# Operations a request hardly depend on what else the machine does; processor time does, so compare on a quiet one. A load
# spread over several servers gathers less, as a server joins its own requests alone: the last two lines of each request show
# what a front is worth that sends each table to one server.
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} CLIENT=${CLIENT:-build/widerow} each=${SECONDS_EACH:-5} in_flight=${IN_FLIGHT:-64} records=${RECORDS:-8000}
read -ra counts <<<"${SERVERS:-1 2 3}"
work=$(mktemp -d /tmp/wr-bench.XXXXXX)
servers=() admins=() endpoints=() own=
finish() {
    [ ${#servers[@]} -eq 0 ] || { kill -9 "${servers[@]}"; wait "${servers[@]}"; } 2>/dev/null
    [ -z "$own" ] || test/rados/cluster.sh kill "$work/c" >/dev/null
    rm -rf "$work"
}
trap finish EXIT
if [ -z "${WIDEROW_CEPH_CONF:-}" ]; then
    own=1
    test/rados/cluster.sh start "$work/c" 3 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    export WIDEROW_CEPH_CONF=$work/c/ceph.conf WIDEROW_POOL=data
fi
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local WIDEROW_NAMESPACE=servers-$$-$RANDOM
# The OSDs of this cluster, by their configuration in their command lines.
osds=()
for pid in $(pgrep -x ceph-osd); do
    tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qxF "$WIDEROW_CEPH_CONF" && osds+=("$pid")
done
[ ${#osds[@]} -gt 0 ] || { echo "no ceph-osd runs here with $WIDEROW_CEPH_CONF"; exit 1; }

start_server() { # NUMBER: partitions stay as they are made, and nothing is measured in between
    "$BUILD/widerowd" --engine rados --data "$work/data$1" --http 127.0.0.1:0 --admin 127.0.0.1:0 --port-file "$work/port$1" \
        --set size_watch_bytes_per_s_max=0 --set partition_hot_s=86400 --set partition_idle_s=86400 --set partitions_max=1000 </dev/null >"$work/log$1" 2>&1 &
    servers+=($!)
    for _ in $(seq 300); do
        [ -s "$work/port$1" ] && break
        sleep 0.1
    done
    endpoints+=("http://$(sed -n 's/^http=//p' "$work/port$1")")
    admins+=("http://$(sed -n 's/^admin=//p' "$work/port$1")")
}

load() { # TABLE PARTITIONS: a table of that many, with all records
    local splits
    splits=$(for ((i = 1; i < $2; i++)); do printf 'user%020d,' $((i * records / $2)); done)
    "$CLIENT" create "$1" --key id:string ${splits:+--splits "${splits%,}"} --endpoint "${endpoints[0]}" >/dev/null &&
        "$CLIENT" bench load --table "$1" --records "$records" --quiet --endpoint "${endpoints[0]}" >/dev/null 2>"$work/out" ||
        { cat "$work/out"; exit 1; }
}

cpu_us() { # PID…: of all of them
    local pid sum=0 fields
    for pid in "$@"; do
        read -ra fields <<<"$(sed 's/.*) //' "/proc/$pid/stat")"
        sum=$((sum + fields[11] + fields[12]))
    done
    echo $((sum * 1000000 / $(getconf CLK_TCK)))
}
state() { # WIRE-NAME: reads, writes, requests of all servers, and processor time of the servers and of the OSDs
    local admin
    for admin in "${admins[@]}"; do curl -s "$admin/metrics"; done | awk -v op="widerow_requests_total{op=\"$1\"}" '
        $1 == "widerow_storage_reads_total" { r += $2 } $1 == "widerow_storage_writes_total" { w += $2 } $1 == op { n += $2 }
        END { printf "%d %d %d ", r, w, n }'
    echo "$(cpu_us "${servers[@]}") $(cpu_us "${osds[@]}")"
}

# cost WORKLOAD TEXT SERVERS PAIRS: runs the workload through pairs "table/server", all of them at a time, with an equal share
# of what is under way.
cost() {
    local op=PutRow before after pids=() pair pairs
    read -ra pairs <<<"$4"
    [ "$1" = read ] && op=GetRow
    [ "$1" = increment ] && op=UpdateRow
    before=$(state $op)
    for pair in "${pairs[@]}"; do
        "$CLIENT" bench "$1" --table "${pair%/*}" --records "$records" --seconds "$each" --quiet \
            --connections $((in_flight / ${#pairs[@]})) --endpoint "${endpoints[${pair#*/}]}" >"$work/out.${pair/\//.}" 2>&1 &
        pids+=($!)
    done
    for pair in "${pids[@]}"; do wait "$pair" || cat "$work"/out.*; done
    after=$(state $op)
    awk -v op="$1" -v text="$2" -v s="$3" '
        NR == 1 { for (i = 1; i <= 5; i++) a[i] = $i }
        NR == 2 { for (i = 1; i <= 5; i++) a[i] = $i - a[i]
            n = a[3]
            if (n <= 0) { print op ", " text ": no request was answered"; exit 1 }
            name["read"] = "GetRow"; name["write"] = "PutRow"; name["increment"] = "increment"
            printf "| %s | %s | %d | %.3f | %.3f | %d | %d | %d |\n", name[op], text, s, a[1] / n, a[2] / n, a[4] / n, a[5] / n, n }' \
        <<<"$before"$'\n'"$after" || exit 1
}

last=${counts[-1]} each_by_one='' each_by_all=''
for ((i = 0; i < last; i++)); do start_server $i; done
for partitions in ${PARTITIONS:-1 16}; do load "p$partitions" "$partitions"; done
for ((i = 0; i < last; i++)); do
    load "own$i" 1
    each_by_one+="own$i/$i "
    for ((j = 0; j < last; j++)); do each_by_all+="own$i/$j "; done
done
echo "$BUILD, $in_flight requests under way, load $(cut -d' ' -f1-2 /proc/loadavg)"
echo '| request | partitions | servers | reads | writes | us of the servers | us of the OSDs | requests |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
for workload in ${WORKLOADS:-read write increment}; do
    for partitions in ${PARTITIONS:-1 16}; do
        through=
        for ((n = 1; n <= last; n++)); do
            through+="p$partitions/$((n - 1)) "
            [[ " ${counts[*]} " != *" $n "* ]] || cost "$workload" "$partitions" "$n" "$through"
        done
    done
    [ "$last" -gt 1 ] || continue
    cost "$workload" "$last tables of 1, each through all servers" "$last" "$each_by_all"
    cost "$workload" "$last tables of 1, each through one server" "$last" "$each_by_one"
done
