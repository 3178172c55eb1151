#!/bin/sh
# Runs the cases of this folder with the published Node SDK against the server at $WIDEROW_ENDPOINT.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${WIDEROW_ENDPOINT:?}" "${WIDEROW_INSTANCE:?}" "${WIDEROW_ACCESS_KEY_ID:?}" "${WIDEROW_ACCESS_KEY_SECRET:?}" "${WIDEROW_CACHE:?}"

finish() { # failed skipped
	echo "compat-node: 0 passed, $1 failed, $2 skipped"
	[ "$1" -eq 0 ]
	exit
}

skip() {
	echo "SKIPPED compat-node: $1"
	# a machine of the pipeline that lacks the language is set up wrongly
	if [ "${CI:-}" = true ]; then finish 1 0; fi
	finish 0 1
}

command -v node >/dev/null 2>&1 || skip "node is not installed"
command -v npm >/dev/null 2>&1 || skip "npm is not installed"

# The stamp holds the lock file itself, so that any changed pin installs again.
modules=$WIDEROW_CACHE/node
if ! cmp -s "$here/package-lock.json" "$modules/installed"; then
	mkdir -p "$modules"
	rm -f "$modules/installed"
	cp "$here/package.json" "$here/package-lock.json" "$modules/"
	# --ignore-scripts: the SDK needs no build, and an install script is somebody else's program
	if ! (cd "$modules" && npm ci --ignore-scripts --no-audit --no-fund) >"$modules/install.log" 2>&1; then
		cat "$modules/install.log"
		echo "FAILED compat-node: the SDK could not be installed"
		finish 1 0
	fi
	cp "$here/package-lock.json" "$modules/installed"
fi

NODE_PATH=$modules/node_modules exec node --no-deprecation "$here/run.js"
