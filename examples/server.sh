# A server of an example's own; sourced by the run.sh beside it.
#
#   start_server FLAG...    widerowd on a folder that goes with the script, on a free port, which WIDEROW_ENDPOINT
#                           (and WIDEROW_SQL, if it has an SQL door) then name; its key is in the environment
#
# $build is where the programs are (BUILD, or this tree's), $work a folder for what the example needs. What is named in
# $loads is ended with the server.
# shellcheck shell=bash
build=${BUILD:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
export widerow=$build/widerow
work=$(mktemp -d)
server= loads=

finish() {
    for pid in $loads $server; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap finish EXIT

start_server() {
    unset WIDEROW_PROFILE
    export WIDEROW_ACCESS_KEY_ID=example WIDEROW_ACCESS_KEY_SECRET=example-secret WIDEROW_INSTANCE=example
    rm -f "$work/port"
    "$build/widerowd" --data "$work/data" --http 127.0.0.1:0 --admin off --port-file "$work/port" "$@" >"$work/log" 2>&1 &
    server=$!
    until [ -s "$work/port" ]; do
        kill -0 "$server" 2>/dev/null || { cat "$work/log"; exit 1; }
        sleep 0.05
    done
    WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port") WIDEROW_SQL=$(sed -n 's/^sql=//p' "$work/port")
    export WIDEROW_ENDPOINT WIDEROW_SQL
}
