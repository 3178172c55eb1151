#!/usr/bin/env bash
# Runs the cases of this folder with the published Java SDK, by JUnit. Arguments go to its console: ./run.sh --include-methodname='.*[oO]rder.*'
name=java
source "$(dirname "$0")/../suite.sh"
needs java javac mvn
program=$cache/java
# Maven fetches the jars; compiling without it starts faster.
fill() {
    mvn -q -B -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$program/jars" &&
        rm -rf "$program/classes" &&
        javac -encoding UTF-8 -d "$program/classes" -cp "$program/jars/*" "$here"/src/compat/*.java
}
installed java "$(cat "$here/pom.xml" "$here"/src/compat/*.java | sha256sum; java --version)" fill

cases '/tests successful/ { p += $2 } /(tests|containers) failed/ { f += $2 } /tests (skipped|aborted)/ { s += $2 }' \
    java -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8 -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
    -cp "$program/classes:$program/jars/*" org.junit.platform.console.ConsoleLauncher execute \
    --disable-banner --disable-ansi-colors --details=testfeed --select-package=compat --include-classname='.*Cases' \
    --config=junit.jupiter.execution.timeout.default=20s \
    --config=junit.jupiter.execution.timeout.thread.mode.default=SEPARATE_THREAD "$@"
