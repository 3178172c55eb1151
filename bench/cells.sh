#!/usr/bin/env bash
# Large cells: what a value of 32 MB and one of 1 GiB cost, against this machine's own disk and nginx.
#
#   bench/cells.sh [SIZE_MIB]     of the large one, 1024 unless given
#   BUILD=build                   the build to measure
#   DIR=DIR                       where data and files are put (on the disk to measure); /tmp unless given
#
# Needs nginx (Debian's) for the last line, and node with the SDK (WIDEROW_CACHE/node, as test/compat/node sets it up) for
# the pieces through it; what is missing is left out. Each read comes after the same read once, so that caches are warm
# for both.
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} size=${1:-1024}
work=$(mktemp -d "${DIR:-/tmp}/widerow-cells.XXXXXX")
export WIDEROW_ACCESS_KEY_ID=bench WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=bench
trap 'kill $server $nginx 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
nginx= server=
now() { date +%s.%N; }
row() { awk -v n="$1" -v mb="$2" -v a="$3" -v b="$4" -v of="${5:-0}" 'BEGIN { s = b - a;
    printf "%-46s %9.2f s %9.1f MB/s", n, s, mb / s; if (of) printf "  %5.0f %%", 100 * mb / s / of; print "" }'; }
timed() { # NAME MB BASE COMMAND…; sets rate
    local name=$1 mb=$2 base=$3 a b
    shift 3
    a=$(now)
    "$@" >/dev/null 2>"$work/err" || { echo "$name: $(tail -n 1 "$work/err")"; return 1; }
    b=$(now)
    row "$name" "$mb" "$a" "$b" "$base"
    rate=$(awk -v mb="$mb" -v a="$a" -v b="$b" 'BEGIN { print mb / (b - a) }')
}
W() { "$BUILD/widerow" cell "$@" --quiet; }

head -c 32000000 /dev/urandom >"$work/small"
head -c $((size * 1048576)) /dev/urandom >"$work/large"
mb=$(awk -v s="$size" 'BEGIN { print s * 1.048576 }')
sync
"$BUILD/widerowd" --data "$work/data" --http 127.0.0.1:0 --sql off --admin off --port-file "$work/port" \
    --set cell_bytes_max=67108864 --set scrub_bytes_per_s_max=0 >"$work/log" 2>&1 &
server=$!
until [ -s "$work/port" ]; do sleep 0.05; done
export WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
"$BUILD/widerow" create t --key pk:string >/dev/null

timed "32 MB, one UpdateRow, synced" 32 0 W put t a c --call "$work/small"
timed "32 MB, one GetRow" 32 0 W get t a c --call /dev/null
timed "32 MB, streamed, put" 32 0 W put t b c "$work/small"
timed "32 MB, streamed, get" 32 0 W get t b c /dev/null
timed "32 MB, pieces of 1 MB, put" 32 0 W put t p c --pieces "$work/small"
timed "32 MB, pieces of 1 MB, get" 32 0 W get t p c --pieces /dev/null
sdk=${WIDEROW_CACHE:-$HOME/.cache/widerow}/node
if command -v node >/dev/null && [ -d "$sdk/node_modules/tablestore" ]; then
    NODE_PATH="$sdk/node_modules" node bench/cells_pieces.js "$WIDEROW_ENDPOINT" "$work/small"
fi
timed "$size MiB, dd conv=fsync" "$mb" 0 dd if="$work/large" of="$work/copy" bs=1M conv=fsync && disk=$rate
rm -f "$work/copy"
timed "$size MiB, streamed, put (of dd)" "$mb" "${disk:-0}" W put t g c "$work/large"
if command -v nginx >/dev/null; then
    printf 'daemon off; pid %s/nginx.pid; error_log %s/nginx.err; events {} http { access_log off; sendfile on; server { listen 127.0.0.1:18699; root %s; } }\n' \
        "$work" "$work" "$work" >"$work/nginx.conf"
    nginx -p "$work" -c "$work/nginx.conf" 2>/dev/null &
    nginx=$!
    sleep 0.5
    chmod 755 "$work"
    curl -s -o /dev/null http://127.0.0.1:18699/large
    timed "$size MiB, nginx, curl" "$mb" 0 curl -sf -o /dev/null http://127.0.0.1:18699/large && web=$rate
fi
W get t g c /dev/null
timed "$size MiB, streamed, get (of nginx)" "$mb" "${web:-0}" W get t g c /dev/null
