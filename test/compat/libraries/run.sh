#!/usr/bin/env bash
# Runs programs built on the published Python SDK by others, unmodified, by pytest. Arguments go to pytest.
name=libraries
source "$(dirname "$0")/../suite.sh"
python_packages libraries "$here/requirements.txt" --no-deps
pytest "$here" "$@"
