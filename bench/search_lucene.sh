#!/usr/bin/env bash
# bench/search beside Lucene, in one run: the same documents and queries, by turns.
#
#   bench/search_lucene.sh [DOCUMENTS [QUERIES]]      BUILD=build
set -eu
cd "$(dirname "$0")/.."
classpath=$(test/lucene/run.sh --classpath)
exec "${BUILD:-build}/bench/search" "${1:-500000}" "${2:-200}" "exec java -Xmx2g -cp '$classpath' Lucene --measure"
