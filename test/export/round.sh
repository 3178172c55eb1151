#!/usr/bin/env bash
# Export and import are each other's inverse: random rows of all types, in every format, to the same bytes.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
widerow=$BUILD/widerow
seeds=$([ "${TIER:-short}" = nightly ] && seq 25 || echo 1 2)
run() { "$widerow" "$@" --dir "$work/data"; }

contents() { run digest --content "${content[@]}" "$@" | cut -c1-64; } # TABLE…: their digests, a line each
differ() { [ "$(contents "$1" "$2" | sort -u | wc -l)" = 2 ]; }
alike() { [ "$(contents "$1" "$2" | uniq -c | sed 's/^ *//; s/ .*//')" = 2 ] || { run digest --content "${content[@]}" "$1" "$2"; false; }; }

# changed FILE SEED: one byte of one value, or the like, is another.
changed() {
    python3 - "$1" "$2" <<'PYTHON'
import base64, json, random, sys
rnd = random.Random(sys.argv[2])
rows = [json.loads(line) for line in open(sys.argv[1])]
cells = [(row, name) for row in rows for name in row if name not in ("a", "b", "c")
         and not (name == "widerow.cells" and row[name]["base64"] == "AQ==")]
row, name = rnd.choice(cells)
value = row[name]
if isinstance(value, bool):
    row[name] = not value
elif isinstance(value, int):
    row[name] = value ^ 1
elif isinstance(value, float):
    row[name] = 2.5 if value != 2.5 else 3.5
elif isinstance(value, str):
    row[name] = value[:-1] if value else "x"
elif name == "widerow.cells": # the name of its first cell, by one bit
    data = bytearray(base64.b64decode(value["base64"]))
    data[3] ^= 1
    row[name] = {"base64": base64.b64encode(data).decode()}
else:
    data = bytearray(base64.b64decode(value["base64"])) or bytearray(b"?")
    data[-1] ^= 1
    row[name] = {"base64": base64.b64encode(data).decode()}
for row in rows:
    print(json.dumps(row, ensure_ascii=False))
PYTHON
}

# back KIND FORMAT FLAG…: the table `first` by way of a file to the table `second`, and both as JSON Lines
back() {
    local kind=$1 format=$2 create=()
    shift 2
    [ "$kind" != versions ] || create=(--max-versions 9)
    run drop second >/dev/null 2>&1
    run export first --format "$format" --output "$work/file.$format" --quiet "$@" &&
        run import "$work/file.$format" --table second --create --key a:string,b:integer,c:binary --quiet "${create[@]}" >/dev/null &&
        run export second --format jsonl --output "$work/second.jsonl" --quiet "$@" &&
        { cmp "$work/first.jsonl" "$work/second.jsonl" || { diff "$work/first.jsonl" "$work/second.jsonl" | head -c 2000; false; }; } &&
        alike first second
}
for seed in $seeds; do
    for kind in one mixed versions; do
        run drop first >/dev/null 2>&1
        flags=() create=()
        [ "$kind" != versions ] || flags=(--versions) create=(--max-versions 9)
        python3 test/export/round.py $kind "$seed" 400 >"$work/made.jsonl"
        check "seed $seed: rows, $kind" run import "$work/made.jsonl" --table first --create --key a:string,b:integer,c:binary --quiet "${create[@]}"
        check "seed $seed: out" run export first --format jsonl --output "$work/first.jsonl" --quiet "${flags[@]}"
        check "seed $seed: as many lines" test "$(wc -l <"$work/first.jsonl")" = "$(wc -l <"$work/made.jsonl")"
        content=("${flags[@]}")
        check "seed $seed: $kind by JSON Lines" back $kind jsonl "${flags[@]}"
        check "seed $seed: $kind by Parquet" back $kind parquet "${flags[@]}"
        [ $kind = mixed ] || check "seed $seed: $kind by CSV" back $kind csv "${flags[@]}"
        for other in 1 2 3; do
            run drop third >/dev/null 2>&1
            changed "$work/made.jsonl" "$seed.$other" >"$work/changed.jsonl"
            check "seed $seed: $kind with one change" run import "$work/changed.jsonl" --table third --create --key a:string,b:integer,c:binary --quiet "${create[@]}"
            check "seed $seed: has another digest" differ first third
        done
    done
    # What was made is what came in: the cells that another hand has written are those that come out.
    check "seed $seed: the versions are those that were made" python3 - "$work/made.jsonl" "$work/first.jsonl" <<'PYTHON'
import json, sys
made, first = ({(r["a"], r["b"], r["c"]["base64"]): r.get("widerow.cells") for r in map(json.loads, open(p))} for p in sys.argv[1:])
assert {k: v for k, v in made.items() if v != {"base64": "AQ=="}} == {k: v for k, v in first.items() if v}
PYTHON
done
counts export-round
