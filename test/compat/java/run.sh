#!/bin/sh
# Runs the official Java SDK against a running server. See the environment variables in Main.java.
# An argument runs only the cases whose name contains it: ./run.sh "batch".
set -eu
here=$(cd "$(dirname "$0")" && pwd)

for tool in java javac mvn; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "SKIPPED compat-java: $tool is not installed"
        if [ "${CI:-}" = true ]; then
            echo "compat-java: 0 passed, 1 failed, 0 skipped"
            exit 1
        fi
        echo "compat-java: 0 passed, 0 failed, 1 skipped"
        exit 0
    fi
done

cache=${WIDEROW_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/widerow}/java
mkdir -p "$cache"

broken() {
    echo "FAIL $1"
    echo "compat-java: 0 passed, 1 failed, 0 skipped"
    exit 1
}

# The class path stays good while the pins and the jars it names stay.
classpath_holds() {
    [ -s "$cache/classpath" ] && [ -z "$(find "$here/pom.xml" -newer "$cache/classpath")" ] || return 1
    tr ':' '\n' <"$cache/classpath" | while read -r jar; do [ -f "$jar" ] || exit 1; done
}

if ! classpath_holds; then
    mvn -q -B -Dstyle.color=never -f "$here/pom.xml" dependency:build-classpath \
        "-Dmdep.outputFile=$cache/classpath.new" || broken "Maven cannot fetch the SDK"
    mv "$cache/classpath.new" "$cache/classpath"
    rm -f "$cache/stamp"
fi

if [ ! -f "$cache/stamp" ] || [ -n "$(find "$here/src" "$here/pom.xml" -newer "$cache/stamp")" ]; then
    rm -rf "$cache/classes"
    # The time before the compiler starts, so that a file changed meanwhile is compiled next time.
    touch "$cache/stamp.new"
    find "$here/src" -name '*.java' >"$cache/sources"
    javac -encoding UTF-8 -d "$cache/classes" -cp "$(cat "$cache/classpath")" "@$cache/sources" ||
        broken "the suite does not compile"
    mv "$cache/stamp.new" "$cache/stamp"
fi

exec java -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8 -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
    -cp "$cache/classes:$(cat "$cache/classpath")" compat.Main "$@"
