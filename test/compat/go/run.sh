#!/bin/sh
# Runs the official Go SDK against a running server. See the environment variables in main.go.
# Arguments go to the suite: ./run.sh -run "batch" runs the cases whose name contains "batch".
set -eu
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v go >/dev/null 2>&1; then
    echo "SKIPPED compat-go: go is not installed"
    if [ "${CI:-}" = true ]; then
        echo "compat-go: 0 passed, 1 failed, 0 skipped"
        exit 1
    fi
    echo "compat-go: 0 passed, 0 failed, 1 skipped"
    exit 0
fi

cache=${WIDEROW_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/widerow}/go
suite=$cache/suite
mkdir -p "$cache"

# The binary is its own stamp.
if [ ! -x "$suite" ] || [ -n "$(find "$here" -newer "$suite" \( -name '*.go' -o -name 'go.*' \))" ]; then
    # Build beside it and rename, so that an interrupted build leaves no half binary.
    if ! (cd "$here" && go build -mod=readonly -o "$suite.new" . && mv "$suite.new" "$suite"); then
        echo "FAIL the suite does not build"
        echo "compat-go: 0 passed, 1 failed, 0 skipped"
        exit 1
    fi
fi

exec "$suite" "$@"
