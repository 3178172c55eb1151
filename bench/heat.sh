#!/usr/bin/env bash
# What heat maps cost: the same load on a server with heat_bytes_max=0 and on one with the default, turn by turn.
#
#   bench/heat.sh     ROUNDS, SECONDS_EACH, WORKLOADS, RECORDS, CONNECTIONS, BUILD, WORK; about 2 minutes as it stands
#
# A round measures both, in changing order, while the other server is stopped (SIGSTOP). Of a round come two ratios: of
# requests a second (below 1: heat maps cost), and of the server's CPU time a request (above 1: they cost); the medians
# of the rounds' ratios count. The load comes before, and one turn each that is not counted.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${ROUNDS:=9}" "${SECONDS_EACH:=3}" "${WORKLOADS:=read batch}" "${RECORDS:=50000}" "${CONNECTIONS:=64}"
[ -n "${BUILD:-}" ] || { BUILD=build; [ ! -x build-release/widerowd ] || BUILD=build-release; }
work=$(mktemp -d "${WORK:-/var/tmp}/widerow-heat.XXXXXX")
declare -A pid=() endpoint=()
clean() {
    for p in "${pid[@]}"; do kill -CONT "$p" && kill "$p" && wait "$p"; done 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT

start() { # NAME FLAGS…
    local name=$1
    shift
    "$BUILD/widerowd" --data "$work/$name" --http 127.0.0.1:0 --admin off --log-level warn --port-file "$work/$name.port" \
        --set table_ops_per_s_max=0 "$@" >>"$work/log" 2>&1 &
    pid[$name]=$!
    for _ in $(seq 300); do [ -s "$work/$name.port" ] && break; sleep 0.1; done
    endpoint[$name]=http://$(sed -n 's/^http=//p' "$work/$name.port")
}

ticks() { awk '{ print $14 + $15 }' "/proc/${pid[$1]}/stat"; } # of CPU that the server has used

# turn NAME WORKLOAD: one line "NAME WORKLOAD requests/s microseconds-of-CPU-a-request".
turn() {
    local before line
    kill -CONT "${pid[$1]}"
    sleep 0.3
    before=$(ticks "$1")
    line=$(WIDEROW_ENDPOINT=${endpoint[$1]} "$BUILD/widerow" bench "$2" --data "$work/$1" --records "$RECORDS" \
        --connections "$CONNECTIONS" --seconds "$SECONDS_EACH" --quiet --json)
    python3 - "$1" "$2" $(($(ticks "$1") - before)) "$(getconf CLK_TCK)" "$line" <<'PY'
import json, sys
name, workload, ticks, hz, line = sys.argv[1:]
run = json.loads(line)
print(name, workload, run["ops_per_s"], int(ticks) / int(hz) * 1e6 / run["ops"])
PY
    kill -STOP "${pid[$1]}"
}

start without --set heat_bytes_max=0
kill -STOP "${pid[without]}"
start with
kill -STOP "${pid[with]}"
for workload in $WORKLOADS; do
    for name in without with; do turn $name "$workload" >/dev/null; done
    for round in $(seq "$ROUNDS"); do
        order="without with"
        [ $((round % 2)) = 0 ] || order="with without"
        for name in $order; do turn $name "$workload"; done
    done
done >"$work/turns"
python3 - "$work/turns" <<'PY'
import statistics, sys
turns = {}
for line in open(sys.argv[1]):
    name, workload, rate, cpu = line.split()
    turns.setdefault(workload, {}).setdefault(name, []).append((float(rate), float(cpu)))
for workload, of in turns.items():
    pairs = list(zip(of["without"], of["with"]))
    rates = sorted(w[0] / o[0] for o, w in pairs)
    cpus = sorted(w[1] / o[1] for o, w in pairs)
    print("%-6s requests/s without %8.0f, with %8.0f: ratio %.3f (%.3f to %.3f)" % (
        workload, statistics.median(o[0] for o, _ in pairs), statistics.median(w[0] for _, w in pairs),
        statistics.median(rates), rates[0], rates[-1]))
    print("%-6s server's CPU a request  %6.1f us, with %6.1f us: ratio %.3f (%.3f to %.3f)" % (
        workload, statistics.median(o[1] for o, _ in pairs), statistics.median(w[1] for _, w in pairs),
        statistics.median(cpus), cpus[0], cpus[-1]))
PY
