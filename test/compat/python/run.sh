#!/usr/bin/env bash
# Runs the cases of this folder with the published Python SDK, by pytest. Arguments go to pytest: ./run.sh -k batch.
name=python
source "$(dirname "$0")/../suite.sh"
python_packages python "$here/requirements.txt"
pytest "$here/core" "$here/rules" "$@"
