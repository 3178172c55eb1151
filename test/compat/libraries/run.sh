#!/bin/sh
# Runs programs built on the published Python SDK by others, unmodified, against the server at $WIDEROW_ENDPOINT.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${WIDEROW_ENDPOINT:?}" "${WIDEROW_INSTANCE:?}" "${WIDEROW_ACCESS_KEY_ID:?}" "${WIDEROW_ACCESS_KEY_SECRET:?}" "${WIDEROW_CACHE:?}"

finish() { # failed skipped
	echo "compat-libraries: 0 passed, $1 failed, $2 skipped"
	[ "$1" -eq 0 ]
	exit
}

skip() {
	echo "SKIPPED compat-libraries: $1"
	# a machine of the pipeline that lacks the language is set up wrongly
	if [ "${CI:-}" = true ]; then finish 1 0; fi
	finish 0 1
}

command -v python3 >/dev/null 2>&1 || skip "python3 is not installed"
python3 -c 'import ensurepip, venv' 2>/dev/null || skip "python3-venv is not installed"

# The stamp names the interpreter too: an environment does not survive its upgrade.
venv=$WIDEROW_CACHE/libraries
wanted=$(python3 --version; cat "$here/requirements.txt")
if [ "$wanted" != "$(cat "$venv/installed" 2>/dev/null || true)" ]; then
	rm -rf "$venv"
	mkdir -p "$venv"
	if ! { python3 -m venv "$venv/env" &&
		"$venv/env/bin/pip" install --disable-pip-version-check --no-deps -r "$here/requirements.txt"; } >"$venv/install.log" 2>&1; then
		cat "$venv/install.log"
		echo "FAILED compat-libraries: the libraries could not be installed"
		finish 1 0
	fi
	echo "$wanted" >"$venv/installed"
fi

# -B: no compiled files in the source tree
exec "$venv/env/bin/python" -B "$here/run.py"
