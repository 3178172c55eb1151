#!/usr/bin/env bash
# MySQL Connector/J against the SQL port PORT.
name=sql-java
source "$(dirname "$0")/../../compat/suite.sh"
needs java javac mvn
program=$cache/sql-java
fill() {
    mvn -q -B -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$program/jars" &&
        rm -rf "$program/classes" && javac -encoding UTF-8 -d "$program/classes" -cp "$program/jars/*" "$here/Cases.java"
}
installed sql-java "$(cat "$here/pom.xml" "$here/Cases.java" | sha256sum; java --version)" fill
export STATEMENTS=$here/../statements.txt
timeout 100 java -Dfile.encoding=UTF-8 -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$program/classes:$program/jars/*" Cases
