#!/usr/bin/env bash
# The engine on a Ceph pool, on a real cluster of three OSDs: its unit tests, the spec scripts through one server and
# through two that take turns, with key layouts too, the model test, linearizability over three servers while they and the
# cluster are disturbed, what requests cost, numbers that are given out once, big cells while others sweep, access keys and settings that servers share, what servers tell of each other,
# copies in and out, what can be wrong with a pool, and kill -9 of the whole cluster.
#
#   BUILD=build            the build folder to test
#   TIER=short|nightly     some scripts and one scenario, or all of them
#   TEST_CEPH_CONF=FILE    takes this cluster (with a pool `data`) instead of making one; it is not killed then
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
passed=0 failed=0 skipped=0
cluster=test/rados/cluster.sh

finish() {
    echo "rados: $passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ]
    exit
}
PATH=$PATH:/usr/sbin:/sbin
for tool in ceph ceph-mon ceph-osd; do
    if ! command -v $tool >/dev/null || [ ! -x "$BUILD/widerowd-rados" ]; then
        echo "SKIPPED rados: NO CEPH HERE ($tool or librados-dev is missing): THE ENGINE ON A CEPH POOL IS NOT TESTED"
        skipped=1
        finish
    fi
done

work=$(mktemp -d /tmp/wr-rados.XXXXXX)
own=
if [ -z "${TEST_CEPH_CONF:-}" ]; then
    own=1
    RADOS_OSD_BYTES=${RADOS_OSD_BYTES:-4294967296} $cluster start "$work/c" 3 || { failed=1; finish; }
    export TEST_CEPH_CONF=$work/c/ceph.conf
fi
server=
cleanup() {
    [ -z "$server" ] || kill -9 "$server" 2>/dev/null
    [ -z "$own" ] || $cluster kill "$work/c"
    rm -rf "$work"
}
trap cleanup EXIT
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data

log=$work/log
# step NAME COMMAND…: counts what its last line of counts says, or itself.
step() {
    local name=$1 start=$SECONDS line p f s
    shift
    "$@" >"$log" 2>&1
    local code=$?
    # cmocka counts in its own way
    line=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) test.*/unit: \1 passed, 0 failed, 0 skipped/p' "$log" | tail -n 1)
    [ -n "$line" ] || line=$(grep -E '^[a-z0-9-]+: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    if [ -n "$line" ]; then
        read -r p f s < <(sed -E 's/.*: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped/\1 \2 \3/' <<<"$line")
        [ $code -eq 0 ] || [ "$f" -gt 0 ] || f=1
    else
        p=$((code == 0)) f=$((code != 0)) s=0
    fi
    passed=$((passed + p)) failed=$((failed + f))
    echo "$name: $p passed, $f failed, $s not for this engine, $((SECONDS - start)) s"
    [ "$f" -eq 0 ] || { grep -a '^FAILED' "$log"; tail -n 40 "$log"; }
    grep -a '^took ' "$log" | sed 's/^/    /'
}

# fork NAME FUNCTION: runs its steps beside what follows; they kill nothing but servers of their own. `join` waits for all
# forks, shows what they said and adds up.
forks=()
fork() {
    (
        log=$work/log.$1 passed=0 failed=0 server=
        trap - EXIT
        "$2" >"$work/fork.$1" 2>&1
        echo "$passed $failed" >"$work/fork.$1.counts"
    ) &
    forks+=("$1 $!")
}
join() {
    local name pid p f
    for each in "${forks[@]}"; do
        read -r name pid <<<"$each"
        wait "$pid"
        cat "$work/fork.$name"
        read -r p f <"$work/fork.$name.counts" || f=1
        passed=$((passed + ${p:-0})) failed=$((failed + f))
    done
    forks=()
}

layout_flags=()
spec() { # spec DOOR SERVERS FILE…
    local door=$1 servers=$2
    shift 2
    timeout 900 "$BUILD/test/spec" --engine rados --engine-set "ceph_conf=$TEST_CEPH_CONF" --engine-set pool=data --door "$door" \
        --servers "$servers" --widerowd "$BUILD/widerowd" "${layout_flags[@]}" "$@"
}

scripts() { printf 'test/spec/%s.spec\n' "$@"; }
# A table on a pool is not rekeyed but copied; indexes follow, and have a step of their own.
core=$(scripts rows batch atomic conditions counters autokey range tables versions split stream txn txn_limits)
[ "$TIER" != nightly ] || core=$(ls test/spec/*.spec | grep -Ev "/(rekey|index.*).spec")

start_server() { # start_server NAMESPACE FLAG…
    local namespace=$1
    shift
    rm -f "$work/port"
    WIDEROW_NAMESPACE=$namespace "$BUILD/widerowd" "$@" --engine rados --data "$work/data" --http 127.0.0.1:0 --admin off \
        --port-file "$work/port" >"$work/server.log" 2>&1 &
    server=$!
    for _ in $(seq 1200); do
        [ -s "$work/port" ] && break
        sleep 0.1
    done
    endpoint=http://$(sed -n 's/^http=//p' "$work/port")
}

# Rows are loaded, each noted when it was acknowledged; meanwhile everything is killed, cluster and server, and started
# again: every noted row must be there.
killed() {
    export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
    local writer
    seq 1 300000 | awk 'BEGIN { print "k,v" } { print $1 ",value-" $1 }' >"$work/rows.csv"
    start_server durable
    "$BUILD/widerow" import "$work/rows.csv" --table t --key k:integer --create --batch 20 --retry 1 --quiet \
        --acked "$work/acked" --endpoint "$endpoint" &
    writer=$!
    for _ in $(seq 1200); do # some are acknowledged, and the import goes on
        [ "$(cat "$work/acked" 2>/dev/null | wc -l)" -ge 2000 ] && break
        sleep 0.1
    done
    kill -0 $writer || { echo "the import ended before"; return 1; }
    $cluster kill "$work/c"
    kill -9 "$server"
    wait "$writer" "$server" 2>/dev/null
    $cluster start "$work/c" || return 1
    start_server durable
    "$BUILD/widerow" scan t --limit 0 --endpoint "$endpoint" | grep -oE '"k":[0-9]+' | cut -d: -f2 | sort >"$work/there"
    sort "$work/acked" >"$work/sorted"
    echo "$(wc -l <"$work/acked") rows were acknowledged, $(wc -l <"$work/there") are there, lost:"
    comm -23 "$work/sorted" "$work/there" | head -n 20 | tee "$work/lost"
    [ -s "$work/acked" ] && [ ! -s "$work/lost" ]
}

sdk() { # sdk LANGUAGE
    export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
    export WIDEROW_NO_TUNNELS=1
    export WIDEROW_CACHE=${WIDEROW_CACHE:-$HOME/.cache/widerow}
    start_server "$1" --set table_ops_per_s_max=0
    WIDEROW_ENDPOINT=$endpoint SUITE_SECONDS=550 timeout 600 "test/compat/$1/run.sh"
    local code=$?
    kill "$server"
    wait "$server" || code=1
    server=
    rm -rf "$work/data"
    return $code
}

# What mostly waits, for leases and clocks, goes beside what computes. (The limits of time are there to end what hangs.)
waiting() {
    step "servers agree" env TIER="$TIER" timeout 900 test/rados/agree.sh
    step "a standby" timeout 900 test/rados/standby.sh
    step "indexes that are late" timeout 900 test/rados/indexes.sh
}
clocks() {
    step "clocks and pauses" env TIER="$TIER" timeout 900 test/rados/clocks.sh
    [ "$TIER" = nightly ] || step "sweepers that die" env TIER="$TIER" timeout 900 test/rados/cells.sh garbage_taken garbage_erased
}
shared() {
    step "access keys" timeout 900 test/rados/keys.sh
    step "settings" env TIER="$TIER" timeout 900 test/rados/settings.sh
    step "servers ask each other" env TIER="$TIER" timeout 900 test/rados/peers.sh
    step "copies from and to" env COPY_OTHER="--engine rados --ceph-conf $TEST_CEPH_CONF --pool data --namespace copy" test/copy/run.sh
}
cells() {
    step "big cells" env TIER="$TIER" timeout 1500 test/rados/cells.sh
}
linear() {
    timeout 900 "$BUILD/test/linear" --widerowd "$BUILD/widerowd" --engine rados --servers 3 "$@"
}
fork waiting waiting
fork cells cells
fork clocks clocks
fork shared shared
step "engine" timeout 900 "$BUILD/test/engine/engine_test"
step "numbered edits" timeout 900 "$BUILD/test/engine/number_test"
# shellcheck disable=SC2086
step "spec, library" spec library 1 $core
# shellcheck disable=SC2086
step "spec, two servers by turns" spec http 2 $(scripts rows batch conditions counters tables autokey stream tunnel)
step "spec, split points" spec http 1 $(scripts split_parts)
for layout in hash:16 splice:2+hash:5; do
    layout_flags=(--layout $layout)
    step "spec, $layout" spec library 1 $(scripts rows batch range)
done
# Indexes follow their tables, so what is read of them is asked for until it is there.
layout_flags=(--lag)
step "spec, indexes" spec library 1 $(scripts index index_entries)
step "spec, indexes, three servers by turns" spec http 3 $(scripts index_entries)
step "spec, transactions, three servers by turns" spec http 3 $(scripts txn txn_limits transaction)
layout_flags=()
step "model" timeout 900 "$BUILD/test/model" --engine rados --threads 16 --ops $([ "$TIER" = nightly ] && echo 50000 || echo 3000)
step "model, transactions" timeout 1800 "$BUILD/test/model" --engine rados --txns --layouts --ops $([ "$TIER" = nightly ] && echo 50000 || echo 1500)
step "model, indexes" timeout 1800 "$BUILD/test/model" --engine rados --indexes --ops $([ "$TIER" = nightly ] && echo 50000 || echo 1500)
# Every step of a cut, at night; each of the three kinds of them by day.
[ "$TIER" = nightly ] || export POINTS="repartition_noted repartition_copied_half repartition_gone"
step "splits" timeout 900 test/rados/splits.sh
unset POINTS
step "long keys" timeout 900 "$BUILD/test/table/long_key_test"
step "indexes under kills" timeout 900 "$BUILD/test/index" --work indexes --ceph-conf "$TEST_CEPH_CONF" \
    --kills 4 --points 1 --drains 2
[ "$TIER" != nightly ] || step "indexes under 200 kills" timeout 2400 "$BUILD/test/index" --work indexes-long --ceph-conf "$TEST_CEPH_CONF" \
    --kills 50 --points 4 --pause-ms 40000 --build-points yes
step "streams" env TIER="$TIER" timeout 600 test/rados/streams.sh
step "tunnels" env TUNNEL_ENGINE="--engine rados" WIDEROW_NAMESPACE=tunnels TIER=short timeout 600 test/tunnel/run.sh
step "changes are carried" timeout 900 "$BUILD/test/table/stream/stream_carry_test"
step "streams that are switched on" timeout 300 "$BUILD/test/table/stream/stream_settle_test"
step "transactions of dead servers" timeout 900 "$BUILD/test/table/txn/txn_pool_test"
step "locks that nobody meets, splits, clocks" env TIER="$TIER" timeout 900 "$BUILD/test/table/txn/txn_sweep_test"
step "entries of indexes" timeout 900 "$BUILD/test/table/maint/index_drain_test"
step "numbers" env TIER="$TIER" timeout 900 "$BUILD/test/table/catalog/number_test"
for language in node $([ "$TIER" = nightly ] && echo python go java); do
    step "SDK, $language" sdk "$language"
done
# What follows disturbs the whole cluster.
join
# While clients go on: a server is killed, an OSD is killed and comes back, a server is paused for longer than its lease
# (15 s), than operations may take (15 s) and than a schema change waits (18 s).
[ -z "$own" ] || export LINEAR_CLUSTER="$PWD/$cluster kill-osd $work/c 1 && sleep 3 && $PWD/$cluster start-osd $work/c 1"
if [ "$TIER" = nightly ]; then
    step "linear, three servers" linear --pause 30
else
    step "linear, three servers by turns" linear --only "take turns" --scale 0.2
    step "linear, killed and paused" linear --only "killed and paused" --scale 0.1 --pause 20
fi
grep -E "requests|longest" "$log"
[ -z "$own" ] || step "linear, under faults" env TIER="$TIER" timeout 2400 test/rados/linear.sh "$work/c"
step "operations a request" test/rados/cost.sh
tail -n 7 "$log"
[ -z "$own" ] || step "OSDs stand still" env TIER="$TIER" timeout 900 test/rados/clocks.sh "$work/c"
[ -z "$own" ] || step "bad input" test/rados/bad.sh "$work/c"
[ "$TIER" != nightly ] || step "small OSDs" timeout 400 test/rados/room.sh
[ -z "$own" ] || step "everything killed" killed
finish
