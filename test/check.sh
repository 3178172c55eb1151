# shellcheck shell=bash
# check.sh: what suites that are shell scripts share: counted checks, and servers to ask. Such a script begins with
#
#   cd "$(dirname "$0")/../.."
#   source test/check.sh
#
# and has then a folder $work of its own, which goes with it, as do the servers that it started.
BUILD=${BUILD:-build}
work=$(mktemp -d /tmp/wr-check.XXXXXX)
passed=0 failed=0
slow_s=8 # a check that took so long is named, so that one can see what a suite waits for
declare -A pids=() urls=() admins=() # of servers, by their names
trap 'stop_all; rm -rf "$work"' EXIT
: >"$work/out"

check() { # WHAT COMMAND…: what the command says is in $work/out, and what the one before it said in $work/before
    local what=$1 start=$SECONDS
    shift
    mv -f "$work/out" "$work/before"
    if "$@" >"$work/out" 2>&1; then
        [ $((SECONDS - start)) -lt "$slow_s" ] || echo "took $((SECONDS - start)) s: $what"
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        tail -n 20 "$work/out"
        tail -n 5 "$work"/*.log 2>/dev/null
    fi
}

# eventually COMMAND…: the command comes to be true. A loaded machine is given time: a suite judges what happens, and by the
# order of events; where only the clock can tell, the limit lies just below what the mistake would take.
eventually() {
    local end=$((SECONDS + 120))
    until "$@" >"$work/eventually" 2>&1; do
        [ $SECONDS -lt $end ] || { cat "$work/eventually"; return 1; }
        sleep 0.2
    done
    cat "$work/eventually"
}
ended() { ! kill -0 "$1" 2>/dev/null; } # PID

fails() { # WORDS COMMAND…: it does, and says so; WORDS are a regular expression
    local words=$1
    shift
    ! "$@" >"$work/said" 2>&1 && { grep -qE -- "$words" "$work/said" || { cat "$work/said"; false; }; }
}

counts() { # NAME: the last line of a suite, and its exit code
    echo "$1: $passed passed, $failed failed, 0 skipped"
    [ $failed -eq 0 ]
}

# serve NAME FLAG…: a server on $work/NAME: pids[NAME], urls[NAME], with --admin admins[NAME], $work/NAME.log, and what it
# shows in $work/NAME.out. False if it does not start.
serve() {
    local name=$1
    shift
    rm -f "$work/$name.port"
    "$BUILD/widerowd" --data "$work/$name" --http 127.0.0.1:0 --port-file "$work/$name.port" "$@" </dev/null >>"$work/$name.out" 2>>"$work/$name.log" &
    pids[$name]=$!
    for _ in $(seq 1200); do
        [ -s "$work/$name.port" ] && break
        kill -0 "${pids[$name]}" 2>/dev/null || break
        sleep 0.1
    done
    urls[$name]=http://$(sed -n 's/^http=//p' "$work/$name.port" 2>/dev/null)
    admins[$name]=http://$(sed -n 's/^admin=//p' "$work/$name.port" 2>/dev/null)
    [ -s "$work/$name.port" ]
}

hangup() { # SERVER WORDS: SIGHUP, and its log comes to say them (a regular expression)
    local from
    from=$(wc -l <"$work/$1.log")
    kill -HUP "${pids[$1]}"
    for _ in $(seq 1200); do
        tail -n +$((from + 1)) "$work/$1.log" | grep -qE "$2" && return 0
        sleep 0.1
    done
    tail -n 3 "$work/$1.log"
    false
}

stop_all() { # [SIGNAL]
    local name
    for name in "${!pids[@]}"; do
        kill -"${1:-KILL}" "${pids[$name]}" 2>/dev/null
        wait "${pids[$name]}" 2>/dev/null
    done
    pids=()
}
