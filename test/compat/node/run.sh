#!/usr/bin/env bash
# Runs the cases of this folder with the published Node SDK, by node:test in one process. Arguments go to node:
# ./run.sh --test-name-pattern=batch
name=node
source "$(dirname "$0")/../suite.sh"
needs node npm
modules=$cache/node
fill() {
    cp "$here/package.json" "$here/package-lock.json" "$modules/" || return
    # --ignore-scripts: the SDK needs no build, and an install script is somebody else's program
    (cd "$modules" && npm ci --ignore-scripts --no-audit --no-fund)
}
# The stamp holds the lock file itself, so that any changed pin installs again.
installed node "$(cat "$here/package-lock.json")" fill

export NODE_PATH=$modules/node_modules
cases '/^# pass / { p += $3 } /^# (fail|cancelled) / { f += $3 } /^# (skipped|todo) / { s += $3 }' \
    node --no-deprecation --test-reporter=tap "$@" -e 'for (const file of process.argv.slice(1)) require(file)' \
    "$here"/core/*.js "$here"/rules/*.js
