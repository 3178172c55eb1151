# Redis of Debian with every write synced, asked by redis-benchmark.

redis_title="Redis"
redis_settings() { echo "$(redis-server --version | sed -E 's/.*v=([0-9.]+).*/\1/'): appendonly yes, appendfsync always, save ''; redis-benchmark"; }

redis_start() {
    command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null || { echo "redis-server or redis-tools is not installed"; return 1; }
    redis_port=$(free_port)
    mkdir "$work/redis"
    redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$work/redis" --save '' --appendonly yes \
        --appendfsync no --daemonize no >"$work/redis/log" 2>&1 &
    redis_pid=$!
    wait_for redis-cli -p "$redis_port" ping
}

redis_stop() { end_process "$redis_pid"; }

redis_load() {
    local i fields=()
    for i in 0 1 2 3 4 5 6 7 8 9; do fields+=("field$i" "${record_values[i]}"); done
    redis_fields=("${fields[@]}")
    awk -v n="$RECORDS" -v values="${fields[*]}" 'BEGIN { for (i = 0; i < n; i++) printf "HSET user%020d %s\r\n", i, values }' |
        redis-cli -p "$redis_port" --pipe >/dev/null || return 1
    redis-cli -p "$redis_port" config set appendfsync always >/dev/null
}

redis_rate() { # REQUESTS COMMAND...
    local n=$1
    shift
    timeout $((seconds + 300)) redis-benchmark -p "$redis_port" -c "$CONNECTIONS" -r "$RECORDS" -n "$n" --csv "$@" | tail -1 |
        awk -F'","|"' '{ print $3 }'
}

# redis-benchmark takes a number of requests, not seconds: a short run tells how many.
redis_measure() {
    local command=(HGETALL user00000000__rand_int__) rate requests
    [ "$1" = read ] || command=(HSET user00000000__rand_int__ "${redis_fields[@]}")
    rate=$(redis_rate 5000 "${command[@]}")
    requests=$(awk -v r="$rate" -v s="$seconds" 'BEGIN { printf "%d", r * s + 1 }')
    echo "$(redis_rate "$requests" "${command[@]}") - - $((requests + 5000))"
}
