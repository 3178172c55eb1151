# What the peers in Java share: their artifacts from Maven Central, by the coordinates in java/NAME/pom.xml, and a client
# that stays running and takes commands through a pair of pipes. Sourced by bench/run.sh.

java_cache=${WIDEROW_CACHE:-$HOME/.cache/widerow}/bench

# java_fetch NAME CLIENT: the class path is in $java_cache/NAME/classpath, the compiled client beside.
java_fetch() {
    local name=$1 client=$2 at=$java_cache/$1 jar
    for jar in java javac mvn; do
        command -v $jar >/dev/null || { echo "there is no $jar on this machine"; return 1; }
    done
    mkdir -p "$at/classes"
    if [ ! -s "$at/classpath" ] || [ "$here/peers/java/$name/pom.xml" -nt "$at/classpath" ] ||
        tr : '\n' <"$at/classpath" | while read -r jar; do [ -f "$jar" ] || echo gone; done | grep -q gone; then
        echo "fetching $name's artifacts (bench/peers/java/$name/pom.xml)"
        timeout 900 mvn -q -B -Dstyle.color=never -f "$here/peers/java/$name/pom.xml" dependency:build-classpath \
            "-Dmdep.outputFile=$at/classpath.new" || { echo "Maven cannot fetch bench/peers/java/$name/pom.xml"; return 1; }
        mv "$at/classpath.new" "$at/classpath"
    fi
    javac -encoding UTF-8 -nowarn -d "$at/classes" -cp "$(cat "$at/classpath")" "$here/peers/java/Load.java" \
        "$here/peers/java/$client.java"
}

# java_client NAME CLIENT PORT: starts it; it is $NAME_client afterwards.
java_client() {
    local name=$1
    mkfifo "$work/$name.in" "$work/$name.out"
    java -Xmx512m -XX:+UseSerialGC "-Dlogback.configurationFile=$here/peers/java/logback.xml" -cp "$java_cache/$name/classes:$(cat "$java_cache/$name/classpath")" "$2" "$3" "$CONNECTIONS" \
        <"$work/$name.in" >"$work/$name.out" 2>"$work/$name.client.log" &
    eval "${name}_client=$!"
    # Both ends stay open in this shell, so that neither side sees an end before it is time.
    eval "exec {${name}_to}>\"$work/$name.in\" {${name}_from}<\"$work/$name.out\""
    java_answer "$name" 120
}

# java_answer NAME SECONDS: the client's next line; a failure if it is none that is wanted.
java_answer() {
    local line fd=$1_from
    read -r -t "$2" -u "${!fd}" line || { echo "the client of $1 does not answer"; tail -20 "$work/$1.client.log"; return 1; }
    echo "$line"
    [[ $line != failed* ]]
}

# java_ask NAME SECONDS COMMAND...
java_ask() {
    local name=$1 wait=$2 fd=$1_to
    shift 2
    echo "$*" >&"${!fd}"
    java_answer "$name" "$wait"
}

# java_version NAME ARTIFACT: what its jar's name says.
java_version() { tr : '\n' <"$java_cache/$1/classpath" | sed -nE "s|.*/$2-([0-9][^/]*)\.jar$|\1|p" | head -1; }
