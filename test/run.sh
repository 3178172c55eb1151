#!/usr/bin/env bash
# Runs the test suites and prints what each took against its time budget.
#
#   test/run.sh [SUITE …]     all of the tier, or only those named
#   BUILD=build               the build folder to test        SAN=…  its sanitizers, if any
#   TIER=short|nightly|soak   how much of each; soak: two hours of the suite soak, which is in no other tier
#   RESULTS=DIR               keeps each suite's output there
#   WIDEROW_CACHE=DIR         where SDKs are installed once and kept between runs
#
# Under CI a suite that fails is run once more when all others have ended, alone. What fails then has failed; what passes is
# named among the results as passed at the second run, with what had failed, for somebody to find out why.
#
# Every suite ends with a line `name: N passed, N failed, N skipped`. The last line of this script adds them up.
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} TIER=${TIER:-short} SAN=${SAN:-}
export WIDEROW_CACHE=${WIDEROW_CACHE:-$HOME/.cache/widerow}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=1} UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$WIDEROW_CACHE"
work=$(mktemp -d)
declare -A beside_pid=()
trap 'stop_server; [ ${#beside_pid[@]} -eq 0 ] || kill "${beside_pid[@]}" 2>/dev/null; rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
report=() problems=() again=() unsteady=()
declare -A again_with=() beside_with=()

# How a suite's log says that a check failed: in its own words, cmocka's, node:test's, go test's, a compiler's, a sanitizer's.
fails='FAIL(ED)?\b|(^| )not ok\b|: failed$|^difference|^tidy: [^0-9]|[1-9][0-9]* failed,|[a-z0-9]: (fatal )?error: |ERROR: [A-Z][a-z]+Sanitizer|WARNING: Thread|runtime error:|is stale|^SKIPPED|^\s+Test.*/.* ?\([0-9.ms]+\)$'
tells='^[a-z0-9-]+: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$|\b0 (failed|FAILED)|listed below|FAILED TEST|^# '

# failing_lines NAME LOG: the first five of them, each with the suite's name before it; where there are none, the log's last lines.
failing_lines() {
    local lines
    lines=$(grep -aE "$fails" "$2" | grep -avE "$tells" | awk '!seen[$0]++' | head -n 5)
    [ -n "$lines" ] || lines=$(grep -av '^$' "$2" | tail -n 5)
    sed -E "s/^[[:space:]]*/$1: /" <<<"$lines" | cut -c 1-240
}

second= # not empty: suites that failed are run again
named() { [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]]; }

# beside NAME QUEUE NICE COMMAND…: begins a long suite beside those that follow, at a lower priority; its own `suite`
# line waits for it. Of the suites of one queue one runs at a time.
beside() {
    local name=$1 queue=$2 nice=$3
    shift 3
    named "$name" || return 0
    beside_with[$name]=$(printf '%q ' "$@")
    (
        flock 9
        start=$SECONDS
        nice -n "$nice" "$@" >"$work/$name.log" 2>&1 9>&- &
        trap 'kill $!' TERM
        wait $!
        code=$?
        echo $((SECONDS - start)) >"$work/$name.took"
        exit $code
    ) 9>"$work/queue.$queue" &
    beside_pid[$name]=$!
}

# A suite that is the same in every tier has been run by `make test`, and is not run again in the nightly one, which has to fit into
# an hour. Named on the command line it runs all the same.
once_more() { [ "$TIER" = short ] || [ ${#only[@]} -gt 0 ]; }
once() { ! once_more || suite "$@"; }

# suite NAME BUDGET_SECONDS COMMAND…: runs it, keeps its output, adds its counts up.
suite() {
    local name=$1 budget=$2 log="$work/$1.log" start=$SECONDS line p=0 f=0 s=0 took
    shift 2
    named "$name" || return 0
    echo "== $name${second:+, once more}"
    if [ -n "${beside_pid[$name]:-}" ]; then
        wait "${beside_pid[$name]}"
    else
        "$@" >"$log" 2>&1
    fi
    local code=$?
    unset "beside_pid[$name]"
    [ -z "${RESULTS:-}" ] || { mkdir -p "$RESULTS" && cp "$log" "$RESULTS/"; }
    took=$(cat "$work/$name.took" 2>/dev/null || echo $((SECONDS - start)))
    line=$(grep -E '^[a-z0-9-]+: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    if [ -n "$line" ]; then
        read -r p f s < <(sed -E 's/.*: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped/\1 \2 \3/' <<<"$line")
        [ $code -eq 0 ] || [ "$f" -gt 0 ] || f=1
    else
        f=1
        echo "   $name printed no counts; exit code $code"
    fi
    if [ "$f" -gt 0 ]; then tail -n 60 "$log"; fi
    grep -E '^SKIPPED' "$log"
    if [ "${CI:-}" = true ] && [ "$s" -gt 0 ] && [[ $name != spec-* ]]; then
        echo "   skipping is not allowed in CI" # a spec case for another door is none
        f=$((f + s)) s=0
    fi
    local over=
    [ ! -f "$work/$name.took" ] || over="  beside others"
    [ $took -le "$budget" ] || over+="  OVER BUDGET"
    [ -z "$second" ] || over+="  THE SECOND RUN"
    report+=("$(printf '%-22s %6d passed %4d failed %4d skipped %5d s of %4d s%s' "$name" "$p" "$f" "$s" "$took" "$budget" "$over")")
    echo "   ${report[-1]}"
    if [ "$f" -gt 0 ] && [ "${CI:-}" = true ] && [ -z "$second" ]; then
        again+=("$name") again_with[$name]="$budget ${beside_with[$name]:-$(printf '%q ' "$@")}"
        unsteady+=("$(failing_lines "$name" "$log")")
        rm -f "$work/$name.took"
        [ -z "${RESULTS:-}" ] || cp "$log" "$RESULTS/$name.first.log"
        return 0
    fi
    [ "$f" -eq 0 ] || problems+=("$(failing_lines "$name" "$log")")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# The suites that failed, once more.
once_again() {
    local name
    second=yes
    for name in "${again[@]}"; do
        eval "suite $name ${again_with[$name]}"
    done
}

# One program a unit test file, of which several run at once, for most of them wait; cmocka counts.
unit() {
    local p=0 f=0 t out n
    rm -f "$work/units.failed"
    find "$BUILD/test" -name '*_test' -type f | sort >"$work/units"
    xargs -P "$(nproc)" -I{} sh -c 'timeout 300 "$1" >"$0/$(echo "$1" | tr / +).out" 2>&1 || echo "$1" >>"$0/units.failed"' "$work" {} <"$work/units"
    while read -r t; do
        out=$work/$(tr / + <<<"$t").out
        if grep -qsxF "$t" "$work/units.failed"; then
            tail -n 40 "$out"
            echo "FAILED: $t"
            n=$(grep -oE '\[  FAILED  \] [0-9]+ test' "$out" | grep -oE '[0-9]+' | tail -n 1)
            f=$((f + ${n:-1}))
        fi
        n=$(grep -oE '\[  PASSED  \] [0-9]+ test' "$out" | grep -oE '[0-9]+' | tail -n 1)
        p=$((p + ${n:-0}))
    done <"$work/units"
    echo "unit: $p passed, $f failed, 0 skipped"
    [ $f -eq 0 ]
}

server_pid=
stop_server() {
    [ -n "$server_pid" ] || return 0
    kill -TERM "$server_pid" 2>/dev/null
    wait "$server_pid"
    local code=$?
    server_pid=
    return $code
}

# A server for the SDK suites, with the cloud's pacing of table operations off.
start_server() {
    local dir="$work/server"
    rm -rf "$dir" "$work/port"
    # A client's pool may open a connection for which it has no request then: one closed after 5 s, while it is lent out, is a
    # request that fails on a slow machine.
    export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
    "$BUILD/widerowd" --data "$dir" --http 127.0.0.1:0 --sql off --admin off --port-file "$work/port" \
        --head-timeout 120 --set table_ops_per_s_max=0 >"$work/server.log" 2>&1 &
    server_pid=$!
    for _ in $(seq 2400); do
        [ -s "$work/port" ] && break
        kill -0 $server_pid 2>/dev/null || { cat "$work/server.log"; return 1; }
        sleep 0.05
    done
    WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
    export WIDEROW_ENDPOINT
}

compat() {
    start_server || return 1
    "test/compat/$1/run.sh"
    local code=$?
    stop_server || { echo "the server did not end cleanly"; tail -n 40 "$work/server.log"; code=1; }
    grep -aE 'ERROR: (Address|Leak)Sanitizer|runtime error' "$work/server.log" && code=1
    return $code
}

only=("$@")
[ "$TIER" != soak ] || [ ${#only[@]} -gt 0 ] || only=(soak)
nightly=$([ "$TIER" = nightly ] && echo yes)
suite tidy 60 tools/tidy.sh
# The cluster's suite goes beside the others in every tier, for it mostly waits, and so does fuzzing, which takes what is left. The
# nightly tier has to fit into an hour: what kills servers, what waits for a failing disk, and the rest go side by side there, the
# longest of them with the same right to the processors as the rest. Only `hostile` compares speeds; it comes when those have ended.
beside rados pool 5 test/rados/run.sh
beside fuzz computing 15 test/fuzz/run.sh
if [ "$nightly" ]; then
    beside kill killing 0 test/crash/run.sh import kill recovery
    beside crash damaging 5 test/crash/run.sh points damage power
    beside io waiting 5 test/io/run.sh
fi
# Scripts mostly wait: a second passes, a partition is idle. So they run side by side, and beside the unit tests.
scripts() {
    local name=$1
    shift
    ! once_more || beside "$name" "$name" 10 "$BUILD/test/spec" --widerowd "$BUILD/widerowd" "$@"
}
for engine in mem rocks; do
    for door in library http; do
        scripts spec-$engine-$door --engine $engine --door $door --every-code test/spec/*.spec
    done
done
scripts spec-wide --engine mem --door library --set wide_row_cells=2 test/spec/*.spec
suite unit 180 unit
for scripts in mem-library mem-http rocks-library rocks-http wide; do
    once spec-$scripts 240
done
# Every key layout answers like the plain one, and so does SQL. What is not about rows is left to the suites above.
rows=$(ls test/spec/*.spec | grep -vE '/(partitions.*|enforce_.*|heat|http_.*|stream|tunnel|strict|throughput|tables_.*)\.spec$')
scripts spec-hash --layout hash:16 --engine mem --door library $rows
said=$(printf 'test/spec/%s.spec ' rows range versions types layout conditions capacity limits autokey index_entries ttl filters counters)
scripts spec-sql --engine mem --door sql $said
scripts spec-reverse --layout reverse:256 --engine mem --door library $rows
scripts spec-time --layout time:pk/10:7 --engine mem --door library $rows
scripts spec-random --layout random:16 --engine mem --door library $rows
scripts spec-splice --layout splice:2 --engine mem --door library $rows
scripts spec-splice-hash --layout splice:2+hash:5 --engine mem --door library $rows
scripts spec-hash-wide --layout hash:16 --engine mem --door library --set wide_row_cells=2 $rows
scripts spec-hash-http --layout hash:16 --engine rocks --door http $rows
for layout in hash sql reverse time random splice splice-hash hash-wide hash-http; do
    once spec-$layout 240
done
beside cell cell 5 test/cell/run.sh
ops=$([ "$nightly" ] && echo 1000000 || echo 20000)
suite model-mem 60 "$BUILD/test/model" --engine mem --ops $ops
suite model-wide 60 "$BUILD/test/model" --engine mem --wide --ops $ops
suite model-layouts 60 "$BUILD/test/model" --engine mem --layouts --ops $ops
suite model-rocks $([ "$nightly" ] && echo 1800 || echo 90) "$BUILD/test/model" --engine rocks --ops $ops ${nightly:+--no-sync}
suite model-clock $([ "$nightly" ] && echo 900 || echo 60) "$BUILD/test/model" --engine rocks --clock --ops $((ops / 4)) ${nightly:+--no-sync}
suite model-indexes $([ "$nightly" ] && echo 600 || echo 60) "$BUILD/test/model" --engine mem --indexes --layouts --ops $ops
suite model-indexes-rocks $([ "$nightly" ] && echo 2400 || echo 90) "$BUILD/test/model" --engine rocks --no-sync --indexes --layouts --clock --ops $((ops / 4))
suite model-sql $([ "$nightly" ] && echo 900 || echo 60) "$BUILD/test/model" --engine mem --sql 100 --layouts --indexes --ops $ops
suite model-sql-rocks $([ "$nightly" ] && echo 900 || echo 60) "$BUILD/test/model" --engine rocks --no-sync --sql 100 --ops $((ops / 4))
suite model-txns $([ "$nightly" ] && echo 600 || echo 60) "$BUILD/test/model" --engine mem --txns --layouts --ops $ops
suite model-txns-rocks $([ "$nightly" ] && echo 2400 || echo 90) "$BUILD/test/model" --engine rocks --no-sync --txns --indexes --layouts --clock --ops $((ops / 4))
suite linear $([ "$nightly" ] && echo 1200 || echo 150) test/linear/run.sh
suite cell 240 test/cell/run.sh
suite sql 150 test/sql/run.sh
suite series $([ "$nightly" ] && echo 900 || echo 240) test/series/run.sh
suite backup $([ "$nightly" ] && echo 240 || echo 90) test/backup/run.sh
once security 60 test/security/run.sh
once install 60 test/install/run.sh
once bench 60 test/bench/run.sh
suite advise $([ "$nightly" ] && echo 300 || echo 60) test/advise/run.sh
once export 90 test/export/run.sh
suite export-round $([ "$nightly" ] && echo 300 || echo 45) test/export/round.sh
once import 90 test/import/run.sh
once import-options 60 test/import/options.sh
suite import-embedded $([ "$nightly" ] && echo 300 || echo 60) test/import/embedded.sh
once import-parquet 90 test/import/parquet.sh
suite archive $([ "$nightly" ] && echo 900 || echo 240) test/archive/run.sh
suite s3 $([ "$nightly" ] && echo 900 || echo 150) test/s3/run.sh
once cli 90 test/cli/run.sh
once copy 60 test/copy/run.sh
suite migrate $([ "$nightly" ] && echo 300 || echo 90) test/migrate/run.sh
suite versions 400 test/versions/run.sh
once replay 60 test/replay/run.sh
once heat 60 test/heat/run.sh
for language in node python go java timeline campus libraries aliyun; do
    once compat-$language 180 compat $language
done
suite lucene $([ "$nightly" ] && echo 600 || echo 60) test/lucene/run.sh
suite kill $([ "$nightly" ] && echo 2400 || echo 150) test/crash/run.sh import kill recovery
suite tunnel $([ "$nightly" ] && echo 1200 || echo 60) test/tunnel/run.sh
[ -z "$nightly" ] || suite tunnel-java 1200 env TUNNEL_WORKER=java test/tunnel/run.sh
suite retention $([ "$nightly" ] && echo 1200 || echo 90) test/retention/run.sh
suite index $([ "$nightly" ] && echo 1800 || echo 90) test/index/run.sh
suite index-full 90 test/index/full.sh
suite hits $([ "$nightly" ] && echo 1800 || echo 60) test/hits/run.sh
suite crash $([ "$nightly" ] && echo 2400 || echo 200) test/crash/run.sh points damage power
suite io $([ "$nightly" ] && echo 1800 || echo 90) test/io/run.sh
suite fuzz $([ "$nightly" ] && echo 1800 || echo 300) test/fuzz/run.sh
suite rados $([ "$nightly" ] && echo 2700 || echo 900) test/rados/run.sh
suite hostile $([ "$nightly" ] && echo 800 || echo 150) test/hostile/run.sh
# Only by its name, or in its own tier.
[ ${#only[@]} -eq 0 ] || suite soak $([ "$TIER" = soak ] && echo 9000 || echo 150) test/soak/run.sh
[ -z "$nightly" ] && [ ${#only[@]} -eq 0 ] || suite package 600 test/package/run.sh
once_again
second=
once compatibility 10 tools/compatibility.sh --check "$work"

echo
printf '%s\n' "${report[@]}"
[ ${#unsteady[@]} -eq 0 ] || printf '%s\n' '' 'What failed at the first run:' "${unsteady[@]}"
# CI shows only the end of all this, so what failed stands there once more.
[ ${#problems[@]} -eq 0 ] || printf '%s\n' '' 'What failed:' "${problems[@]}"
echo "in all $SECONDS s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
