#!/usr/bin/env bash
# Every workload of `widerow bench` against a server and in memory, and bench/run.sh with hardly any data: that they run,
# do what was asked for, and say so in JSON. How fast it goes is not looked at.
set -u
cd "$(dirname "$0")/../.."
build=$PWD/${BUILD:-build} work=$(mktemp -d) passed=0 failed=0 pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT

check() { # TEXT COMMAND...
    local text=$1
    shift
    if "$@" >"$work/out" 2>"$work/err"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $text"
        head -5 "$work/out" "$work/err"
    fi
}

workloads="read write write-if insert range batch hot increment narrow-read narrow-update wide-read wide-update cell-read cell-write
    ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f update-other index-range transaction stream-read"
sizes=(--records 300 --wide-columns 1200 --cell-bytes 100000 --connections 4 --quiet)

# The line of JSON of a run of 30 requests: all were answered, each in its row's count and time.
one() { # WORKLOAD ARGS...
    local line
    line=$("$build/widerow" bench "$@" "${sizes[@]}" --ops 30 --json) || return 1
    echo "$line"
    python3 - "$1" "$line" <<'PY'
import json, sys
r = json.loads(sys.argv[2])
counted = sum(h["count"] for h in r["latency_us"].values())
assert r["workload"] == sys.argv[1] and r["ops"] == 30 and r["errors"] == 0 and counted == 30, r
assert r["rows_per_s"] > 0 and all(0 < h["p50"] <= h["p99"] <= h["max"] for h in r["latency_us"].values()), r
PY
}

"$build/widerowd" --data "$work/data" --http 127.0.0.1:0 --admin off --port-file "$work/port" >"$work/server.log" 2>&1 &
pid=$!
for _ in $(seq 2400); do [ -s "$work/port" ] && break; sleep 0.05; done
server=(--endpoint "http://$(sed -n 's/^http=//p' "$work/port")" --data "$work/data")
for w in $workloads; do
    check "bench $w over HTTP" one "$w" "${server[@]}"
    check "bench $w in memory" one "$w" --engine mem
done
check "bench read of records of another shape" one read "${server[@]}" --table small --fields 1 --field-bytes 70
check "bench write with --rate" one write "${server[@]}" --rate 500
# The server cuts connections that stay silent; what is not needed is not opened.
check "bench write slower than the server waits" one write "${server[@]}" --rate 5 --connections 20
kill $pid && wait $pid
pid=
check "bench read of the server's folder" one read --embedded --dir "$work/data"

refused() { # TEXT ARGS...: the run fails and says this
    local text=$1
    shift
    "$build/widerow" bench "$@" >"$work/said" 2>&1 && return 1
    grep -q -- "$text" "$work/said"
}
check "an unknown workload is refused" refused "no workload" nonsense --engine mem
check "--engine mem takes no folder" refused "no folder" read --engine mem --dir "$work/data"
check "--embedded needs a folder or an engine" refused "Give --dir" read --embedded
check "a record may not be too large" refused "is over" read --engine mem --fields 1000 --field-bytes 65536

# A peer that is not there costs a line, and the run goes on to its table and its JSON.
side_by_side() {
    BUILD=${BUILD:-build} WORK=$work JSON=$work/last.json MEASURES="read hot" PEERS="nonsense" RECORDS=300 SECONDS_EACH=1 ROUNDS=2 \
        WIDE_COLUMNS=1200 bench/run.sh quick >"$work/table" 2>&1 || { cat "$work/table"; return 1; }
    grep -q "no peer 'nonsense'" "$work/table" && grep -qE 'Widerow +[0-9]' "$work/table" || { cat "$work/table"; return 1; }
    python3 - "$work/last.json" <<'PY'
import json, sys
m = {(x["measure"], x["subject"]): x for x in json.load(open(sys.argv[1]))["measures"]}
assert len(m["read", "widerow/read"]["rounds"]) == 2 and m["hot", "widerow/hot"]["median"] > 0, m
assert m["read", "postgres/read"]["median"] is None, m
PY
}
check "bench/run.sh without its peers" side_by_side

# Tables with indexes, streams and transactions; an index that is built while others write.
kept_besides() {
    BUILD=${BUILD:-build} WORK=$work JSON=$work/last.json MEASURES="index build stream transaction" PEERS="" RECORDS=300 SECONDS_EACH=1 \
        ROUNDS=1 WIDE_COLUMNS=1200 bench/run.sh quick >"$work/table" 2>&1 || { cat "$work/table"; return 1; }
    python3 - "$work/last.json" <<'PY' || { cat "$work/table"; return 1; }
import json, sys
m = [x for x in json.load(open(sys.argv[1]))["measures"] if x["subject"].startswith("widerow/")]
assert len({x["measure"] for x in m}) == 9 and all(x["median"] > 0 for x in m), m
PY
}
check "bench/run.sh with indexes, streams and transactions" kept_besides

# A server of its own for each state, with a cache of its size; processor time beside the rates.
past_the_cache() {
    BUILD=${BUILD:-build} WORK=$work JSON=$work/last.json MEASURES="loaded cold 10x-read 30x-ycsb-a" PEERS="" RECORDS=3000 SECONDS_EACH=1 \
        ROUNDS=1 bench/run.sh cold >"$work/table" 2>&1 || { cat "$work/table"; return 1; }
    python3 - "$work/last.json" <<'PY' || { cat "$work/table"; return 1; }
import json, sys
m = {x["measure"]: x for x in json.load(open(sys.argv[1]))["measures"] if x["subject"].startswith("widerow/")}
assert sorted(m) == ["10x-read", "30x-ycsb-a", "cold-read", "loaded-read"], m
assert all(x["median"] > 0 and x["cpu_us"] > 0 for x in m.values()), m
PY
}
check "bench/run.sh past the cache" past_the_cache

echo "bench: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
