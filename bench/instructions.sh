#!/usr/bin/env bash
# User instructions of a request in the server, counted by callgrind: they do not depend on what else the machine does.
#
#   bench/instructions.sh [BUILD …]     one column a build folder; build-release unless given. ONLY=TEXT: only lines with it
#
# A request's cost is the difference between two runs that send different numbers of them, so start and end of the
# server do not count. Needs valgrind (Debian's). The digits behind a line are the ratio to the first build.
set -u
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- build-release
for build; do
    [ -x "$build/widerowd" ] && [ -x "$build/widerow" ] && continue
    echo "instructions.sh: $build is no build folder: it has no widerowd and widerow (in a worktree at /x, name /x/build)" >&2
    exit 2
done
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
# callgrind counts an instruction that copies a megabyte (rep movsb) as a million: copies are made by loops here.
export GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824
export WIDEROW_ACCESS_KEY_ID=bench WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=bench

wait_for_port() {
    until [ -s "$work/port" ]; do
        kill -0 $server 2>/dev/null || { cat "$work/log" >&2; exit 1; }
        sleep 0.1
    done
}

# total BUILD WORKLOAD OPS: instructions of a server that serves so many requests on the loaded folder.
total() {
    local build=$1 workload=$2 ops=$3
    rm -rf "$work/run" "$work/port" && cp -r "$work/data" "$work/run"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/widerowd" --data "$work/run" --http 127.0.0.1:0 \
        --sql off --admin off --port-file "$work/port" --set scrub_bytes_per_s_max=0 --op-timeout 120 >"$work/log" 2>&1 &
    server=$!
    wait_for_port
    WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port") "$workload" "$build" "$ops" >"$work/client" 2>&1 || cat "$work/client" >&2
    kill -TERM $server
    wait $server
    server=
    sed -n 's/.*Collected : *//p' "$work/log"
}

read_rows() { "$1/widerow" bench read --records 1000 --connections 8 --ops "$2" --quiet; }
write_rows() { "$1/widerow" bench write --records 1000 --connections 8 --ops "$2" --quiet; }
update_rows() { "$1/widerow" bench update-other --records 1000 --connections 8 --ops "$2" --quiet; }
indexed=(--table indexed --indexes 2)
write_indexed() { "$1/widerow" bench write "${indexed[@]}" --records 1000 --connections 8 --ops "$2" --quiet; }
update_indexed() { "$1/widerow" bench update-other "${indexed[@]}" --records 1000 --connections 8 --ops "$2" --quiet; }
# A page of all rows: the workload `range` of bench begins at random keys.
scan_table() { for ((i = 0; i < $2; i++)); do "$1/widerow" scan bench --limit 0 >/dev/null || return; done; }

# cost BUILD WORKLOAD FEW MANY
cost() { echo $((($(total "$1" "$2" "$4") - $(total "$1" "$2" "$3")) / ($4 - $3))); }

"$1/widerowd" --data "$work/data" --http 127.0.0.1:0 --sql off --admin off --port-file "$work/port" >"$work/log" 2>&1 &
server=$!
wait_for_port
for table in "" "${indexed[*]}"; do
    # shellcheck disable=SC2086
    "$1/widerow" bench load $table --records 1000 --quiet --endpoint "http://$(sed -n 's/^http=//p' "$work/port")" >/dev/null || exit 1
done
kill -TERM $server
wait $server
server=

printf '%-30s' 'instructions of a request'
printf ' %20s' "$@"
echo
while read -r name workload few many; do
    [[ $name == *"${ONLY:-}"* ]] || continue
    printf '%-30s' "$name"
    first=
    for build; do
        n=$(cost "$build" "$workload" "$few" "$many" </dev/null)
        first=${first:-$n}
        printf ' %12d %s' "$n" "$(awk -v a="$n" -v b="$first" 'BEGIN { printf "%.3fx", a / b }')"
    done
    echo
done <<'LIST'
GetRow read_rows 500 3500
PutRow write_rows 500 3500
PutRow_of_two_indexed_columns write_indexed 500 3500
UpdateRow update_rows 500 3500
UpdateRow_beside_two_indexes update_indexed 500 3500
GetRange_of_1,000_rows scan_table 10 60
LIST
