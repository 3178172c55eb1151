#!/usr/bin/env bash
# Runs the library Timeline, unmodified, by JUnit. Arguments go to its console.
name=timeline
source "$(dirname "$0")/../suite.sh"
java_packages "$here/src" "$here/pom.xml"
junit "$@"
