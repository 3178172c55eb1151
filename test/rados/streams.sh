#!/usr/bin/env bash
# A table's stream on a pool, through two servers: rows are put by both while one is killed, paused and started again, and
# partitions are split; a reader follows through the other. Each put that was acknowledged is in the stream, a put is in it
# once, the last one of a row is what the row holds, and who followed saw the same as who reads all of it afterwards.
#
#   BUILD=build  TIER=short|nightly  TEST_CEPH_CONF=FILE (a pool `data`)
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
work=$(mktemp -d /tmp/wr-streams.XXXXXX)
rows=$([ "${TIER:-short}" = nightly ] && echo 60000 || echo 6000)
kills=$([ "${TIER:-short}" = nightly ] && echo 8 || echo 2)
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data WIDEROW_NAMESPACE=streams.$$
passed=0 failed=0
declare -A pid port
trap 'kill -9 "${pid[@]}" $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

check() { # WHAT COMMAND…
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $what"; fi
}

start() { # NAME
    rm -f "$work/$1.ports"
    "$BUILD/widerowd" --engine rados --data "$work/$1" --http "127.0.0.1:${port[$1]:-0}" --sql off --admin off \
        --set partition_bytes_max=65536 --set partition_idle_s=5 --port-file "$work/$1.ports" >>"$work/$1.log" 2>&1 &
    pid[$1]=$!
    for _ in $(seq 1200); do
        [ ! -s "$work/$1.ports" ] || break
        sleep 0.1
    done
    port[$1]=$(sed -n 's/^http=.*://p' "$work/$1.ports")
}

# Every row twice, in other orders; the value says which time. Through one server, tried again until it is acknowledged.
write() { # NAME SEED
    seq 1 "$rows" | awk -v seed="$2" -v name="$1" 'BEGIN { srand(seed); print "k,v" }
        { key = (name == "a" ? 0 : 1000000) + int(rand() * 1e5); print key "," name $1 }' >"$work/$1.csv"
    "$BUILD/widerow" import "$work/$1.csv" --table t --key k:integer --batch 10 --retry 200 --quiet --acked "$work/$1.acked" \
        --endpoint "http://127.0.0.1:${port[$1]}" >"$work/$1.import" 2>&1
}

# KEY<tab>VALUE of each record, in order.
tail_all() { # NAME FLAG…
    local name=$1
    shift
    "$BUILD/widerow" stream tail t --from start --format jsonl "$@" --endpoint "http://127.0.0.1:${port[$name]}"
}
pairs() { python3 -c '
import json, sys
for line in sys.stdin:
    if not line.endswith("\n"): break
    r = json.loads(line)
    print(list(r["key"].values())[0], [c["value"] for c in r["cells"] if c["column"] == "v"][0], sep="\t")'; }

start a
start b
endpoint=http://127.0.0.1:${port[a]}
"$BUILD/widerow" create t --key k:integer --splits 50000,1000000,1050000 --endpoint "$endpoint" >/dev/null || exit 1
"$BUILD/widerow" stream on t --endpoint "$endpoint" >/dev/null || exit 1
tail_all b >"$work/followed" 2>"$work/tail.log" &
follower=$!
write a 1 &
one=$!
write b 2 &
other=$!
for kill in $(seq "$kills"); do
    sleep "$((1 + RANDOM % 3))"
    if [ $((kill % 2)) = 1 ]; then
        kill -9 "${pid[a]}"
        wait "${pid[a]}" 2>/dev/null
        start a
    else
        kill -STOP "${pid[a]}"
        sleep 3
        kill -CONT "${pid[a]}"
    fi
done
check "the import through a" wait $one
check "the import through b" wait $other
for name in a b; do tail_all $name --once | pairs >"$work/read.$name"; done
cat "$work"/?.csv | grep -v '^k,v' | tr , '\t' | sort >"$work/written"
check "both servers read the same" cmp "$work/read.a" "$work/read.b"
check "each put is in the stream" [ -z "$(comm -23 <(sort -u "$work/written") <(sort -u "$work/read.a") | head -5)" ]
check "and nothing else" [ -z "$(comm -13 <(sort -u "$work/written") <(sort -u "$work/read.a") | head -5)" ]
# A put whose answer was lost is sent again, and has another record. Where nothing was killed there is none.
check "each put through b once" [ "$(awk '$2 ~ /^b/' "$work/read.a" | sort | uniq -d | wc -l)" = 0 ]
"$BUILD/widerow" scan t --limit 0 --format jsonl --endpoint "http://127.0.0.1:${port[b]}" | python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print(r["k"], r["v"], sep="\t")' | sort >"$work/rows"
awk -F'\t' '{ v[$1] = $2 } END { for (k in v) print k "\t" v[k] }' "$work/read.a" | sort >"$work/replayed"
check "the stream makes the rows" cmp "$work/replayed" "$work/rows"
for _ in $(seq 100); do
    pairs <"$work/followed" >"$work/seen"
    [ "$(wc -l <"$work/seen")" -lt "$(wc -l <"$work/read.a")" ] || break
    sleep 0.2
done
kill $follower 2>/dev/null
check "who followed saw each record once" cmp <(sort "$work/seen") <(sort "$work/read.a")
echo "$(wc -l <"$work/read.a") records of $(wc -l <"$work/written") puts, $(wc -l <"$work/rows") rows, $kills kills and pauses, $(grep -c 'became' "$work"/?.log | paste -sd' ') partitions cut"
[ $failed -eq 0 ] || { tail -n 5 "$work"/*.import "$work/tail.log"; for f in a b; do tail -n 5 "$work/$f.log"; done; }
echo "streams: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
