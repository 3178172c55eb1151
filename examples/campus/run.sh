#!/usr/bin/env bash
# The campus example from end to end: makes the records, loads three tables with them, and has the Node and the Python
# program read them back and compare.
#
#   examples/campus/run.sh [RECORDS] [STEP...]        steps: load node python; all of them if none is named
#
# The server is the one at WIDEROW_ENDPOINT (default http://127.0.0.1:8600); its key is taken from WIDEROW_INSTANCE,
# WIDEROW_ACCESS_KEY_ID and WIDEROW_ACCESS_KEY_SECRET, or from the folder that the server keeps its data in (./data, or
# WIDEROW_DATA). Tables that begin with campus_ (or CAMPUS_PREFIX) are made anew.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
records=${1:-1000000}
[ $# -gt 0 ] && shift
steps=${*:-load node python}

widerow=${WIDEROW:-$root/build/widerow}
cache=${WIDEROW_CACHE:-$root/.cache}
export CAMPUS_PREFIX=${CAMPUS_PREFIX:-campus}
export WIDEROW_ENDPOINT=${WIDEROW_ENDPOINT:-http://127.0.0.1:8600}
[ -z "${WIDEROW_DATA:-}" ] && [ ! -r data/credentials ] && WIDEROW_DATA=$root/data
export WIDEROW_DATA=${WIDEROW_DATA:-data}

csv=$cache/campus/campus-$records.csv
failed=0

# Needs the records as a file; the same number gives the same file.
make_records() {
    [ -s "$csv" ] && return
    mkdir -p "$cache/campus"
    "$widerow" sample campus --records "$records" --seed 1 >"$csv.$$"
    mv "$csv.$$" "$csv"
}

load_table() { # NAME KEY COLUMNS
    "$widerow" drop "$CAMPUS_PREFIX$1" --if-exists --data "$WIDEROW_DATA"
    "$widerow" import "$csv" --table "$CAMPUS_PREFIX$1" --create --key "$2" --columns "$3" --workers 8 --shuffle \
        --data "$WIDEROW_DATA"
}

# The same purchases under three keys. The file is in the order of time; --shuffle breaks that order, so that all
# partitions of a table are written to at the same time.
load() {
    load_table _by_card CardID:integer,SellerID:string,DeviceID:integer,OrderNumber:integer amount:double,time:string
    load_table _by_device DeviceID:integer,OrderNumber:integer \
        CardID:integer,SellerID:string,amount:double,time:string
    load_table _by_seller SellerID:string,time:string,DeviceID:integer,OrderNumber:integer \
        CardID:integer,amount:double
}

# True if FOLDER/installed is not what FILE... now say. Packages are installed once.
stale() { # FOLDER FILE...
    local folder=$1
    shift
    ! cat "$@" | cmp -s - "$folder/installed"
}

run_node() {
    local modules=$cache/campus/node
    if stale "$modules" "$here/node/package-lock.json"; then
        mkdir -p "$modules"
        cp "$here"/node/package.json "$here"/node/package-lock.json "$modules/"
        (cd "$modules" && npm ci --ignore-scripts --no-audit --no-fund) >"$modules/install.log" 2>&1 ||
            { cat "$modules/install.log"; return 1; }
        cat "$here/node/package-lock.json" >"$modules/installed"
    fi
    NODE_PATH=$modules/node_modules node --no-deprecation "$here/node/campus.js" "$csv" || failed=1
    NODE_PATH=$modules/node_modules node --no-deprecation "$here/node/small_tables.js" || failed=1
}

run_python() {
    local env=$cache/campus/python
    if stale "$env" "$here/python/requirements.txt" || ! "$env/bin/python" -c 0 2>/dev/null; then
        mkdir -p "$env"
        { python3 -m venv --clear "$env" &&
            "$env/bin/pip" install --disable-pip-version-check -r "$here/python/requirements.txt"; } \
            >"$cache/campus/python-install.log" 2>&1 || { cat "$cache/campus/python-install.log"; return 1; }
        cat "$here/python/requirements.txt" >"$env/installed"
    fi
    "$env/bin/python" -B "$here/python/campus.py" "$csv" || failed=1
    "$env/bin/python" -B "$here/python/small_tables.py" || failed=1
}

make_records
for step in $steps; do
    echo
    case $step in
    load)
        echo "== Loading $records records into three tables"
        load
        ;;
    node)
        echo "== Reading back with Node"
        run_node
        ;;
    python)
        echo "== Reading back with Python"
        run_python
        ;;
    *)
        echo "no step '$step'; steps are load, node and python" >&2
        exit 2
        ;;
    esac
done
exit $failed
