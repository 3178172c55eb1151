#!/usr/bin/env bash
# Keys, by example: see README.md.
#
#   examples/key-design/run.sh [NAME…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; } || true
    rm -rf "$work"
}
trap finish EXIT
unset WIDEROW_PROFILE
export WIDEROW_ACCESS_KEY_ID=example WIDEROW_ACCESS_KEY_SECRET=example-secret WIDEROW_INSTANCE=example

start_server() {
    rm -f "$work/port"
    "$build/widerowd" --engine mem --data "$work" --http 127.0.0.1:0 --sql 127.0.0.1:0 --admin off --port-file "$work/port" \
        --set table_ops_per_s_max=0 >"$work/log" 2>&1 &
    server=$!
    until [ -s "$work/port" ]; do
        kill -0 "$server" 2>/dev/null || { cat "$work/log"; exit 1; }
        sleep 0.05
    done
    WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port") WIDEROW_SQL=$(sed -n 's/^sql=//p' "$work/port")
    export WIDEROW_ENDPOINT WIDEROW_SQL
}

# Comments are printed as they stand, statements with what they answer. One behind "-- refused:" has to be.
statement() { # TEXT REFUSED
    printf '%s\n' "$1"
    if "$build/widerow" sql "$1" --format table >"$work/answer" 2>&1; then
        [ -z "$2" ] || { echo "this was to be refused"; exit 1; }
    else
        [ -n "$2" ] || { cat "$work/answer"; exit 1; }
    fi
    sed 's/^/    /; s/ *$//' "$work/answer"
}

play() { # FILE
    local text='' refused='' line
    while IFS= read -r line; do
        case $line in
        '-- refused:') refused=yes && echo "$line" && continue ;;
        '--'* | '') [ -n "$text" ] || { echo "$line"; continue; } ;;
        esac
        text=${text:+$text$'\n'}$line
        case $line in
        *';') statement "$text" "$refused" && text='' refused='' ;;
        esac
    done <"$1"
}

[ $# -gt 0 ] || set -- orders newest hash reverse bucket random log trade
for name; do
    start_server
    play "$here/$name.sql"
    kill "$server" && wait "$server" 2>/dev/null || true
    server=
done
