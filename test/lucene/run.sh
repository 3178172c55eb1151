#!/usr/bin/env bash
# Random documents and queries: hits, their order, scores, counts, aggregations and groups of a search index beside those of
# Lucene, whose jars Maven fetches once.
#
#   test/lucene/run.sh           BUILD=build TIER=short|nightly   600 queries, or 20,000
#   SEED=N                       repeats a run (printed)
#   test/lucene/run.sh --classpath   fetches and compiles what is needed, and says where it is
set -u
cd "$(dirname "$0")/../.."
here=$PWD/test/lucene
BUILD=${BUILD:-build} TIER=${TIER:-short} SEED=${SEED:-$(date +%s)}
program=${WIDEROW_CACHE:-$HOME/.cache/widerow}/lucene
queries=600
[ "$TIER" != nightly ] || queries=20000

finish() { # PASSED FAILED SKIPPED
    echo "lucene: $1 passed, $2 failed, $3 skipped"
    [ "$2" -eq 0 ]
    exit
}

for tool in java javac mvn; do
    command -v $tool >/dev/null && continue
    echo "SKIPPED lucene: $tool is not installed"
    finish 0 0 1
done

fill() {
    mvn -q -B -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$program/jars" &&
        rm -rf "$program/classes" &&
        javac -encoding UTF-8 -d "$program/classes" -cp "$program/jars/*" "$here/Lucene.java"
}
mkdir -p "$program"
exec 8>"$program.lock"
flock 8
stamp=$(cat "$here/pom.xml" "$here/Lucene.java" | sha256sum; java --version)
if [ "$stamp" != "$(cat "$program/installed" 2>/dev/null)" ]; then
    rm -f "$program/installed"
    fill >"$program/install.log" 2>&1 || { cat "$program/install.log"; echo "FAILED lucene: it could not be installed"; finish 0 1 0; }
    echo "$stamp" >"$program/installed"
fi
exec 8>&-
classpath="$program/classes:$program/jars/*"
if [ "${1:-}" = --classpath ]; then
    echo "$classpath"
    exit
fi

echo "seed $SEED"
said=$("$BUILD/test/lucene" $queries "$SEED" | java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$classpath" Lucene)
echo "$said"
read -r asked different < <(sed -nE 's/^([0-9]+) queries, ([0-9]+) differences$/\1 \2/p' <<<"$said")
[ "${asked:-0}" -ge $queries ] || finish "${asked:-0}" $((${different:-0} + 1)) 0
finish $((asked - different)) "$different" 0
