#!/usr/bin/env bash
# PyMySQL against the SQL port PORT, by unittest.
name=sql-python
source "$(dirname "$0")/../../compat/suite.sh"
python_packages sql-python "$here/requirements.txt"
cd "$here" && PYTHONDONTWRITEBYTECODE=1 ulimit -n 4096 && timeout 200 "$python" -m unittest ${@:-cases transactions loops}
