#!/usr/bin/env bash
# Runs aliyun-table, unmodified, by pytest: it was written for the published Python SDK of 2019. Arguments go to pytest.
name=aliyun
source "$(dirname "$0")/../suite.sh"
python_packages aliyun "$here/requirements.txt" --no-deps
pytest "$here" "$@"
