#!/usr/bin/env bash
# Runs the cases of this folder with the published Java SDK, by JUnit. Arguments go to its console: ./run.sh --include-methodname='.*[oO]rder.*'
name=java
source "$(dirname "$0")/../suite.sh"
java_packages "$here/src/compat" "$here/pom.xml"
junit "$@"
