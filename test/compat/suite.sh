# shellcheck shell=bash
# suite.sh: what the suites of this folder share. A suite's run.sh sets `name`, reads this file, says what it `needs`, lets it be
# installed once into WIDEROW_CACHE, and has a test framework run the cases: `cases` ends as every suite of test/run.sh does.
#
#   WIDEROW_ENDPOINT WIDEROW_INSTANCE WIDEROW_ACCESS_KEY_ID WIDEROW_ACCESS_KEY_SECRET    the server under test
#   SUITE_SECONDS=150   how long the framework may take; each case has its own limit in the framework's settings
set -u
: "${WIDEROW_ENDPOINT:?}" "${WIDEROW_INSTANCE:?}" "${WIDEROW_ACCESS_KEY_ID:?}" "${WIDEROW_ACCESS_KEY_SECRET:?}"
here=$(cd "$(dirname "$0")" && pwd)
compat=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${WIDEROW_CACHE:-$HOME/.cache/widerow}
seconds=${SUITE_SECONDS:-150}

finish() { # PASSED FAILED SKIPPED
    echo "compat-$name: $1 passed, $2 failed, $3 skipped"
    [ "$2" -eq 0 ]
    exit
}

broken() { # WHAT
    echo "FAILED compat-$name: $1"
    finish 0 1 0
}

needs() { # PROGRAM…
    local program
    for program; do
        command -v "$program" >/dev/null && continue
        echo "SKIPPED compat-$name: $program is not installed"
        finish 0 0 1
    done
}

# installed FOLDER STAMP COMMAND…: the command fills $cache/FOLDER, unless it did so for the same STAMP before. One suite at a time.
installed() {
    local folder=$cache/$1 stamp=$2
    shift 2
    mkdir -p "$folder"
    exec 8>"$folder.lock"
    flock 8
    if [ "$stamp" != "$(cat "$folder/installed" 2>/dev/null)" ]; then
        rm -f "$folder/installed"
        "$@" >"$folder/install.log" 2>&1 || { cat "$folder/install.log"; broken "its packages could not be installed"; }
        echo "$stamp" >"$folder/installed"
    fi
    exec 8>&-
}

# python_packages FOLDER REQUIREMENTS [FLAG…]: sets `python` to an interpreter that has them. The stamp names the system's one
# too: an environment does not survive its upgrade.
python_packages() {
    local folder=$1 requirements=$2
    shift 2
    needs python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || needs python3-venv
    python=$cache/$folder/env/bin/python
    # installed() has a `folder` of its own, which a function called from there sees.
    fill() {
        python3 -m venv --clear "${python%/bin/python}" &&
            "$python" -m pip install --disable-pip-version-check "$@" -r "$requirements"
    }
    installed "$folder" "$(python3 --version; cat "$requirements")" fill "$@"
}

# cases COUNTS COMMAND…: the command is a test framework; COUNTS, a program for awk, adds up p, f and s from what it prints.
cases() {
    local counts=$1 log code p f s
    shift
    curl -s -o /dev/null -m 10 "$WIDEROW_ENDPOINT" || broken "no server answers at $WIDEROW_ENDPOINT"
    log=$(mktemp)
    timeout -k 5 "$seconds" "$@" 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    read -r p f s < <(awk "$counts"' END { print p + 0, f + 0, s + 0 }' "$log")
    rm -f "$log"
    [ "$code" -ne 124 ] || echo "FAILED compat-$name: it has only $seconds s"
    [ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1
    finish "$p" "$f" "$s"
}

# pytest FILE…: the cases of these files and folders.
pytest() {
    export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1
    # 317 passed, 1 failed, 3 subtests passed in 9.87s
    cases '/ in [0-9.:]+s/ { for (i = 2; i <= NF; i++) {
        n = $(i - 1) == "subtests" ? $(i - 2) : $(i - 1)
        if ($i ~ /^passed/) p += n; else if ($i ~ /^(failed|error)/) f += n; else if ($i ~ /^skipped/) s += n } }' \
        "$python" -m pytest -c "$compat/pytest.ini" "$@"
}

# java_packages SOURCES POM: has Maven fetch the jars once and compiles the cases; compiling without it starts faster.
java_packages() {
    local sources=$1 pom=$2
    needs java javac mvn
    program=$cache/$name
    fill() {
        mvn -q -B -Dstyle.color=never -f "$pom" dependency:copy-dependencies "-DoutputDirectory=$program/jars" &&
            rm -rf "$program/classes" &&
            javac -encoding UTF-8 -d "$program/classes" -cp "$program/jars/*" "$sources"/*.java
    }
    installed "$name" "$(cat "$pom" "$sources"/*.java | sha256sum; java --version)" fill
}

# junit [ARGUMENT…]: runs them; arguments go to JUnit's console.
junit() {
    cases '/tests successful/ { p += $2 } /(tests|containers) failed/ { f += $2 } /tests (skipped|aborted)/ { s += $2 }' \
        java -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8 -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
        -cp "$program/classes:$program/jars/*" org.junit.platform.console.ConsoleLauncher execute \
        --disable-banner --disable-ansi-colors --details=testfeed --select-package=compat --include-classname='.*Cases' \
        --config=junit.jupiter.execution.timeout.default=20s \
        --config=junit.jupiter.execution.timeout.thread.mode.default=SEPARATE_THREAD "$@"
}
