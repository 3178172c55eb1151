# The ceiling of the network: a server on our HTTP transport that answers with fixed bytes, asked by wrk.

echo_title="HTTP echo"
echo_settings() { echo "src/net, 2 threads, answers of 1,400 bytes; wrk -t1, requests of 120 bytes and 400 of headers"; }

echo_start() {
    command -v wrk >/dev/null || { echo "wrk is not installed"; return 1; }
    [ -x "$build/bench/echo" ] || { echo "$build/bench/echo was not built"; return 1; }
    echo_port=$(free_port)
    "$build/bench/echo" "$echo_port" 1400 >/dev/null &
    echo_pid=$!
    cat >"$work/echo.lua" <<'LUA'
wrk.method = "POST"
wrk.body = string.rep("x", 120)
wrk.headers["x-padding"] = string.rep("x", 280)
LUA
    wait_for curl -sf -o /dev/null -d x "http://127.0.0.1:$echo_port/"
}

echo_stop() { end_process "$echo_pid"; }
echo_load() { :; }
echo_measure() {
    wrk -t1 -c"$CONNECTIONS" -d"${seconds}s" -s "$work/echo.lua" "http://127.0.0.1:$echo_port/GetRow" | awk '/^Requests\/sec/ { print $2 }'
}
