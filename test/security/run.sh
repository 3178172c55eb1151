#!/bin/sh
# Who may do what, shown on servers of its own ($BUILD/widerowd). Needs python3 and openssl.
#
# The Python SDK, for the one case over https, is taken from where compat-python has installed it.
set -eu
cd "$(dirname "$0")/../.."
for program in python3 openssl; do
	command -v $program >/dev/null 2>&1 && continue
	echo "SKIPPED security: $program is not installed"
	echo "security: 0 passed, 0 failed, 1 skipped"
	exit
done

cache=${WIDEROW_CACHE:-$HOME/.cache/widerow}
if [ ! -x "$cache/python/env/bin/python" ] && [ ! -x "$cache/security/env/bin/python" ]; then
	{ python3 -m venv "$cache/security/env" &&
		"$cache/security/env/bin/pip" install --disable-pip-version-check -r test/compat/python/requirements.txt
	} >/dev/null 2>&1 || rm -rf "$cache/security" # the case is skipped then
fi
exec python3 -B test/security/run.py
