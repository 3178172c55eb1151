#!/usr/bin/env bash
# `widerow heat` and `widerow sizes` against a server: what they print, the files they write, and how they refuse.
set -u
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
work=$(mktemp -d)
passed=0 failed=0
"$build/widerowd" --data "$work/data" --http 127.0.0.1:0 --sql off --admin off --port-file "$work/port" \
    --set size_warn_bytes=20000 >"$work/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait; rm -rf "$work"' EXIT
until [ -s "$work/port" ]; do
    kill -0 $server 2>/dev/null || { cat "$work/log"; exit 1; }
    sleep 0.1
done
WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
export WIDEROW_ENDPOINT

widerow() { "$build/widerow" "$@" --data "$work/data"; }

check() { # WHAT CONDITION…
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}

# refused TEXT COMMAND…: it ends with failure, and says so.
refused() {
    local text=$1 out
    shift
    out=$(widerow "$@" 2>&1) && return 1
    grep -qF -- "$text" <<<"$out" || { echo "$out"; return 1; }
}

{ echo Host,Seq,Load
  awk 'BEGIN { for (i = 0; i < 3000; i++) printf "h%d,%d,%d\n", i % 50, i, i % 7
               for (i = 0; i < 600; i++) printf "loud,%d,%d\n", i, i % 7 }'; } >"$work/load.csv"
widerow create load --key Host:string,Seq:integer >/dev/null
widerow create spread --key Host:string,Seq:integer --layout hash:16 >/dev/null
for table in load spread; do
    widerow import "$work/load.csv" --table $table --quiet >/dev/null || exit 1
done

widerow heat load --rows 12 >"$work/text"
# The load comes in a burst, of which a part may be thinned out: then sums are estimates (test/spec/heat.spec has exact ones).
check "the head names table, metric and sum" grep -qE '^load: writes, .* in all 3,[3-9]..,' "$work/text"
check "rows of the field" [ "$(grep -c "|\$" "$work/text")" -ge 2 ]
check "no escapes where there is no terminal" [ "$(grep -c $'\x1b' "$work/text")" = 0 ]
hottest=$(grep -A1 'hottest partition keys' "$work/text" | tail -n 1)
check "the hottest key comes first" grep -qE '[4-7]..  "loud"' <<<"$hottest"
widerow heat load --color >"$work/text"
check "colors when asked for" grep -q $'\x1b\[48;5;' "$work/text"
check "a field of sixteen buckets" [ "$(widerow heat spread --rows 16 | grep -c '|$')" = 16 ]

widerow heat load --json "$work/heat.json"
check "JSON adds up" python3 - "$work/heat.json" <<'PY'
import json, sys
heat = json.load(open(sys.argv[1]))
assert len(heat["writes"]) == len(heat["rows"]) and len(heat["writes"][0]) == heat["columns"]
writes = sum(map(sum, heat["writes"]))
assert 3300 < writes < 4000 and sum(map(sum, heat["reads"])) == 0
assert sum(map(sum, heat["cu"])) == writes and sum(map(sum, heat["bytes"])) > writes * 20
assert heat["hot"][0]["key"] == ["loud"] and 400 < heat["hot"][0]["count"] < 800
PY
check "JSON to standard output" sh -c "'$build/widerow' heat load --data '$work/data' --json - | python3 -m json.tool >/dev/null"
widerow heat load --svg "$work/heat.svg" --png "$work/heat.png" --rows 20
check "the SVG is well-formed" python3 -c 'import sys, xml.dom.minidom as m; assert m.parse(sys.argv[1]).getElementsByTagName("path").length > 5' "$work/heat.svg"
check "the PNG is whole" python3 - "$work/heat.png" <<'PY'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, pixels, names = 8, b"", []
while at < len(data):
    size, name = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(name + body)
    if name == b"IHDR": width, height = struct.unpack(">II", body[:8])
    if name == b"IDAT": pixels += body
    names.append(name)
    at += 12 + size
lines = zlib.decompress(pixels)
assert names[-1] == b"IEND" and len(lines) == (width + 1) * height and max(lines) == 63
PY

check "not counted yet" sh -c "'$build/widerow' sizes load --data '$work/data' | grep -q 'has not been counted yet'"
widerow sizes load --now >"$work/text" 2>/dev/null
check "sizes: totals" grep -q 'in 3,600 rows of 51 partition key values' "$work/text"
check "sizes: the largest is above the threshold" grep -q '600 .*"loud".*ABOVE THE THRESHOLD' "$work/text"
check "sizes: a warning" grep -q '^WARNING: 1 of them above' "$work/text"
check "sizes: a line in the log" grep -q "sizes: table 'load' of 'local': partition key value 'loud' holds" "$work/log"
widerow sizes spread --now --json 2>/dev/null >"$work/sizes.json"
check "sizes: exact, and the same on every layout" python3 - "$work/sizes.json" <<'PY'
import json, sys
sizes = json.load(open(sys.argv[1]))
assert sizes["rows"] == 3600 and sizes["values"] == 51 and sizes["over"] == 1
assert sizes["keys"][0]["key"] == ["loud"] and sizes["keys"][0]["rows"] == 600
assert all(k["rows"] == 60 for k in sizes["keys"][1:]) and sum(k["bytes"] for k in sizes["keys"]) == sizes["bytes"]
PY

check "no table" refused "does not exist" heat nothere
check "no table for sizes" refused "does not exist" sizes nothere --now
check "0 minutes" refused "Invalid minutes of a heat map: 0." heat load --minutes 0
check "1441 minutes" refused "ask for 1 to 1440" heat load --minutes 1441
check "a metric that is none" refused "did you mean writes" heat load --metric write
check "too many rows" refused "rows" heat load --rows 2049
check "a file that cannot be written" refused "cannot write" heat load --svg "$work/nowhere/heat.svg"

kill $server
check "the server ends well" wait $server
echo "heat: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
