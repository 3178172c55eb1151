#!/usr/bin/env bash
# The campus example on a small scale against the server at $WIDEROW_ENDPOINT: generator, import, and the Node and
# Python programs. Each "ok" or "FAIL" line that the programs print is a case; so is each table loaded.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
: "${WIDEROW_ENDPOINT:?}" "${WIDEROW_INSTANCE:?}" "${WIDEROW_ACCESS_KEY_ID:?}" "${WIDEROW_ACCESS_KEY_SECRET:?}" "${WIDEROW_CACHE:?}"

records=6000
tables=3
export CAMPUS_PREFIX=compat_campus_$$
export WIDEROW=${WIDEROW:-$root/${BUILD:-build}/widerow}
out=$(mktemp)
passed=0 failed=0 skipped=0

finish() {
    for table in $("$WIDEROW" tables 2>/dev/null | grep "^${CAMPUS_PREFIX}_"); do
        "$WIDEROW" drop "$table" || true
    done
    rm -f "$out"
    echo "compat-campus: $passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ]
    exit
}

skip() {
    echo "SKIPPED compat-campus: $1"
    # a machine of the pipeline that lacks the language is set up wrongly
    if [ "${CI:-}" = true ]; then failed=$((failed + 1)); else skipped=$((skipped + 1)); fi
}

# Runs a step of the example and counts its checks; one that fails without saying so counts too.
step() { # NAME PATTERN-OF-PASSED
    "$root/examples/campus/run.sh" "$records" "$1" >"$out" 2>&1
    local status=$? good bad
    good=$(grep -c "$2" "$out")
    bad=$(grep -c '^FAIL ' "$out")
    if [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    if [ "$bad" -ne 0 ]; then
        cat "$out"
        echo "FAILED compat-campus: $1"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
}

step load ' rows acknowledged '
loaded=$passed
if [ $failed -ne 0 ] || [ $loaded -ne $tables ]; then
    [ $failed -ne 0 ] || failed=1
    finish
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    skip "node or npm is not installed"
else
    step node '^ok '
fi
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    skip "python3 or python3-venv is not installed"
else
    step python '^ok '
fi
finish
