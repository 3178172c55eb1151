#!/usr/bin/env bash
# Runs the campus example against the server, by pytest. Arguments go to pytest.
name=campus
source "$(dirname "$0")/../suite.sh"
python_packages python "$compat/python/requirements.txt"
pytest "$here" "$@"
