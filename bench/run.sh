#!/usr/bin/env bash
# Widerow beside PostgreSQL and Redis on this machine: the same records (24-byte keys, 10 columns of 100 bytes), one
# row a request, as many connections, writes on disk before they are answered. Rounds are interleaved; medians count.
# RocksDB in process and an HTTP echo follow, as the ceilings of the engine and of the network.
#
#   bench/run.sh quick|full       RECORDS, SECONDS_EACH, ROUNDS, CONNECTIONS, WORK (a folder on the disk to measure)
#
# Needs build/widerowd, build/widerow, build/bench/raw_rocks, build/bench/echo and the Debian packages of the
# peers (`make bench-quick` sees to both). Everything runs in a folder of its own and is stopped and removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
quick) : "${RECORDS:=100000}" "${SECONDS_EACH:=8}" "${ROUNDS:=3}" ;;
full) : "${RECORDS:=1000000}" "${SECONDS_EACH:=20}" "${ROUNDS:=5}" ;;
*) echo "usage: bench/run.sh quick|full" >&2; exit 2 ;;
esac
: "${CONNECTIONS:=64}" "${BUILD:=build}" "${WORK:=/var/tmp}"
wr_port=28600 pg_port=28601 redis_port=28602 echo_port=28603
build=$PWD/$BUILD
work=$(mktemp -d "$WORK/widerow-bench.XXXXXX")
pgbin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
wr_pid='' redis_pid='' echo_pid='' pg_up=''

# PostgreSQL does not run as root.
pg() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

finish() {
    set +e
    [ -n "$wr_pid" ] && kill "$wr_pid" && wait "$wr_pid"
    [ -n "$redis_pid" ] && kill "$redis_pid" && wait "$redis_pid"
    [ -n "$echo_pid" ] && kill "$echo_pid" && wait "$echo_pid"
    [ -n "$pg_up" ] && pg "$pgbin/pg_ctl" -D "$work/pg" -m immediate -s stop
    rm -rf "$work"
} 2>/dev/null
trap finish EXIT
trap 'exit 1' INT TERM

# wait_for COMMAND...: until it succeeds, 20 seconds at most.
wait_for() {
    for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
    echo "bench: '$*' does not come up" >&2
    exit 1
}

letters() { tr -dc a-z </dev/urandom | head -c "$1" || true; }

# ---- start and load

start_widerow() {
    "$build/widerowd" --data "$work/wr" --http 127.0.0.1:$wr_port --admin off --log-level warn \
        --port-file "$work/wr.port" >"$work/wr.log" 2>&1 &
    wr_pid=$!
    wait_for test -s "$work/wr.port"
    wr_bench load | sed 's/^/  widerow: /'
}

wr_bench() {
    "$build/widerow" bench "$@" --endpoint http://127.0.0.1:$wr_port --data "$work/wr" --quiet \
        --records "$RECORDS" --connections "$CONNECTIONS" --seconds "$SECONDS_EACH"
}

pg_settings=(fsync=on synchronous_commit=on full_page_writes=on shared_buffers=1GB max_wal_size=8GB
    checkpoint_timeout=15min wal_compression=off max_connections=200 autovacuum=on)

psql_run() { pg "$pgbin/psql" -h 127.0.0.1 -p $pg_port -d postgres -qAt -v ON_ERROR_STOP=1 "$@"; }

start_postgres() {
    local options="-c port=$pg_port -c listen_addresses=127.0.0.1 -c unix_socket_directories= " s
    for s in "${pg_settings[@]}"; do options+=" -c $s"; done
    install -d -m 700 "$work/pg"
    [ "$(id -u)" != 0 ] || chown postgres "$work/pg"
    chmod 711 "$work"
    pg "$pgbin/initdb" -D "$work/pg" -A trust -E UTF8 --locale=C >/dev/null
    pg "$pgbin/pg_ctl" -D "$work/pg" -s -w -l "$work/pg/log" -o "$options" start
    pg_up=1
    psql_run >/dev/null <<SQL
CREATE TABLE bench (id text COLLATE "C" PRIMARY KEY, field0 text, field1 text, field2 text, field3 text, field4 text,
    field5 text, field6 text, field7 text, field8 text, field9 text);
CREATE FUNCTION letters() RETURNS text VOLATILE LANGUAGE sql AS
    \$\$ SELECT left(md5(random()::text) || md5(random()::text) || md5(random()::text) || md5(random()::text), 100) \$\$;
INSERT INTO bench SELECT 'user' || lpad(n::text, 20, '0'), letters(), letters(), letters(), letters(), letters(),
    letters(), letters(), letters(), letters(), letters() FROM generate_series(0, $RECORDS - 1) n;
VACUUM ANALYZE bench;
CHECKPOINT;
SQL
    cat >"$work/read.sql" <<SQL
\set n random(0, $RECORDS - 1)
SELECT * FROM bench WHERE id = 'user' || lpad(:n, 20, '0');
SQL
    {
        echo "\\set n random(0, $RECORDS - 1)"
        echo "INSERT INTO bench VALUES ('user' || lpad(:n, 20, '0'), :v0, :v1, :v2, :v3, :v4, :v5, :v6, :v7, :v8, :v9)"
        echo "ON CONFLICT (id) DO UPDATE SET field0 = excluded.field0, field1 = excluded.field1,"
        echo "field2 = excluded.field2, field3 = excluded.field3, field4 = excluded.field4, field5 = excluded.field5,"
        echo "field6 = excluded.field6, field7 = excluded.field7, field8 = excluded.field8, field9 = excluded.field9;"
    } >"$work/write.sql"
    echo "  PostgreSQL: loaded"
}

pg_values=() redis_values=()
for i in 0 1 2 3 4 5 6 7 8 9; do
    value=$(letters 100)
    pg_values+=(-D "v$i=$value")
    redis_values+=("field$i" "$value")
done

start_redis() {
    mkdir "$work/redis"
    redis-server --port $redis_port --bind 127.0.0.1 --dir "$work/redis" --save '' --appendonly yes \
        --appendfsync no --daemonize no >"$work/redis/log" 2>&1 &
    redis_pid=$!
    wait_for redis-cli -p $redis_port ping
    awk -v n="$RECORDS" -v values="${redis_values[*]}" 'BEGIN {
        for (i = 0; i < n; i++) printf "HSET user%020d %s\r\n", i, values }' |
        redis-cli -p $redis_port --pipe >/dev/null
    redis-cli -p $redis_port config set appendfsync always >/dev/null
    echo "  Redis: loaded $(redis-cli -p $redis_port dbsize) records"
}

# ---- one measurement each: prints requests a second

json_field() { sed -E "s/.*\"$1\":([0-9.]+).*/\1/"; }
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$wr_pid/stat"; }

measure_widerow() { # read|write
    local before after line
    before=$(cpu_ticks)
    line=$(wr_bench "$1" --json)
    after=$(cpu_ticks)
    awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v n="$(json_field ops <<<"$line")" \
        'BEGIN { printf "%.1f\n", t / hz * 1e6 / n }' >>"$work/cpu.$1"
    json_field p99 <<<"$line" >>"$work/p99.$1"
    json_field ops_per_s <<<"$line"
}

measure_postgres() {
    local values=()
    [ "$1" = read ] || values=("${pg_values[@]}")
    pg "$pgbin/pgbench" -h 127.0.0.1 -p $pg_port -n -M prepared -c "$CONNECTIONS" -j 2 -T "$SECONDS_EACH" \
        -f "$work/$1.sql" "${values[@]}" postgres 2>/dev/null | sed -nE 's/^tps = ([0-9.]+).*/\1/p'
}

redis_rate() { # REQUESTS COMMAND...
    local n=$1
    shift
    redis-benchmark -p $redis_port -c "$CONNECTIONS" -r "$RECORDS" -n "$n" --csv "$@" | tail -1 |
        awk -F'","|"' '{ print $3 }'
}

# redis-benchmark takes a number of requests, not seconds: a short run tells how many.
measure_redis() {
    local command=(HGETALL user00000000__rand_int__) rate
    [ "$1" = read ] || command=(HSET user00000000__rand_int__ "${redis_values[@]}")
    rate=$(redis_rate 20000 "${command[@]}")
    redis_rate "$(awk -v r="$rate" -v s="$SECONDS_EACH" 'BEGIN { printf "%d", r * s }')" "${command[@]}"
}

start_echo() {
    "$build/bench/echo" $echo_port 1400 >/dev/null &
    echo_pid=$!
    cat >"$work/echo.lua" <<'LUA'
wrk.method = "POST"
wrk.body = string.rep("x", 120)
wrk.headers["x-padding"] = string.rep("x", 280)
LUA
    wait_for curl -sf -o /dev/null -d x http://127.0.0.1:$echo_port/
}

measure_echo() {
    wrk -t1 -c"$CONNECTIONS" -d"${SECONDS_EACH}s" -s "$work/echo.lua" http://127.0.0.1:$echo_port/GetRow |
        awk '/^Requests\/sec/ { print $2 }'
}

# ---- the run

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2fx", a / b; else printf "-" }'; }

line() { # TEXT RATE OURS
    printf '  %-46s %10.0f/s %10s\n' "$1" "$2" "$([ -z "${3:-}" ] || ratio "$3" "$2")"
}

echo "Widerow $("$build/widerow" --version | cut -d' ' -f2), PostgreSQL $("$pgbin/postgres" --version | awk '{ print $3 }'),"\
    "Redis $(redis-server --version | sed -E 's/.*v=([0-9.]+).*/\1/')"
echo "$(nproc) cores ($(sed -nE 's/^model name\s*: //p' /proc/cpuinfo | head -1)), load of others before: $(cut -d' ' -f1 /proc/loadavg);"\
    "data on $(df --output=fstype "$work" | tail -1)"
echo "$RECORDS records of 10 x 100 bytes, $CONNECTIONS connections, $ROUNDS rounds of $SECONDS_EACH s each, medians; servers and clients share the cores"
echo "Widerow:    widerowd as it comes (--memory 256M), signed HTTP; widerow bench"
echo "PostgreSQL: ${pg_settings[*]}; TCP, pgbench -M prepared -j 2"
echo "Redis:      appendonly yes, appendfsync always, save ''; redis-benchmark"
start_widerow
start_postgres
start_redis
for round in $(seq "$ROUNDS"); do
    for op in read write; do
        for peer in widerow postgres redis; do
            rate=$(measure_$peer $op)
            echo "$rate" >>"$work/$op.$peer"
            printf '  round %s %-5s %-8s %10.0f/s\n' "$round" $op $peer "$rate"
        done
    done
done
start_echo
echo_rate=$(measure_echo)
"$build/bench/raw_rocks" "$work/raw" "$RECORDS" "$SECONDS_EACH" >"$work/raw.txt"
raw_get=$(awk '$1 == "get" { print $2 }' "$work/raw.txt") raw_put=$(awk '$1 == "put" { print $2 }' "$work/raw.txt")
read_rate=$(median "$work/read.widerow") write_rate=$(median "$work/write.widerow")

printf '\n  %-46s %12s %10s\n' "" rate "Widerow is"
line "GetRow   Widerow" "$read_rate"
line "         PostgreSQL SELECT, prepared" "$(median "$work/read.postgres")" "$read_rate"
line "         Redis HGETALL" "$(median "$work/read.redis")" "$read_rate"
line "         HTTP echo, as many bytes (wrk)" "$echo_rate" "$read_rate"
line "         RocksDB Get in process, one thread" "$raw_get" "$read_rate"
line "PutRow   Widerow" "$write_rate"
line "         PostgreSQL INSERT ON CONFLICT, prepared" "$(median "$work/write.postgres")" "$write_rate"
line "         Redis HSET, appendfsync always" "$(median "$work/write.redis")" "$write_rate"
line "         RocksDB Put in process, 64 threads, sync" "$raw_put" "$write_rate"
printf '\n  widerowd: GetRow %s us of CPU, p99 %.1f ms; PutRow %s us of CPU, p99 %.1f ms\n' "$(median "$work/cpu.read")" \
    "$(awk -v t="$(median "$work/p99.read")" 'BEGIN { print t / 1000 }')" "$(median "$work/cpu.write")" \
    "$(awk -v t="$(median "$work/p99.write")" 'BEGIN { print t / 1000 }')"
