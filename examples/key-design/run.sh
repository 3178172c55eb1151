#!/usr/bin/env bash
# Keys, by example: see README.md.
#
#   examples/key-design/run.sh [NAME…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../server.sh"

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
    start_server --engine mem --sql 127.0.0.1:0 --set table_ops_per_s_max=0
    play "$here/$name.sql"
    kill "$server" && wait "$server" 2>/dev/null || true
    server=
done
