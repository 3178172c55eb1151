#!/usr/bin/env bash
# Cells as streams, by `widerow cell` against a server: round trips, ranges, refusals, and a server that dies at every
# named point of an upload and at chance moments. After a death the cell is the old one or the new one, and once the
# sweeper has been there nothing but that one takes space.
#
#   BUILD=build          the build folder to test
#   TIER=short|nightly   how many deaths at chance moments
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
work=$(mktemp -d "${TMPDIR:-/tmp}/widerow-cell.XXXXXX")
export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1}
passed=0 failed=0 pid=
trap 'stop KILL; rm -rf "$work"' EXIT

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        tail -n 5 "$work/out" "$work/server.log" 2>/dev/null
    fi
}

start() { # [FAULT]
    rm -f "$work/port"
    WR_FAULT=${1:-} "$BUILD/widerowd" --data "$work/data" --http 127.0.0.1:0 --sql off --admin off --port-file "$work/port" \
        --set cell_bytes_max=67108864 --set scrub_bytes_per_s_max=0 >>"$work/server.log" 2>&1 &
    pid=$!
    for _ in $(seq 2400); do
        [ -s "$work/port" ] && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port")
    export WIDEROW_ENDPOINT
}

stop() { # [SIGNAL]
    [ -n "$pid" ] || return 0
    kill -"${1:-TERM}" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    pid=
}

cell() { "$BUILD/widerow" cell "$@" --quiet >"$work/out" 2>&1; }
got() { cell get t "$1" c "$work/got" && cmp -s "$work/got" "$2"; }
says() { # TEXT COMMAND…: fails and says so
    local text=$1
    shift
    ! "$@" && grep -qF -- "$text" "$work/out"
}

# What the server's keys are besides the environment's.
keys() { # LINE
    local before
    before=$(grep -c "access keys read again" "$work/server.log")
    [ -e "$work/keys" ] || cp "$work/data/credentials" "$work/keys"
    (cat "$work/keys" && echo "$1") >"$work/data/credentials"
    kill -HUP "$pid"
    for _ in $(seq 2400); do
        [ "$(grep -c "access keys read again" "$work/server.log")" -gt "$before" ] && return 0
        sleep 0.02
    done
    return 1
}

# Begins to put a file into row 5 and stops the client half way.
half_way() { # FILE
    local fd pos
    "$BUILD/widerow" cell put t 5 c "$1" --quiet >"$work/out" 2>&1 &
    upload=$!
    for _ in $(seq 2000); do
        for fd in /proc/$upload/fd/*; do
            [ "$fd" -ef "$1" ] || continue
            read -r _ pos <"/proc/$upload/fdinfo/${fd##*/}"
            [ "$pos" -gt 0 ] && kill -STOP $upload && return
        done
        sleep 0.005
    done
}

goes_on() { kill -CONT $upload && wait $upload; }

# What the database takes, in MB, comes down to this once the sweeper has been there.
space_below() {
    for _ in $(seq 120); do
        [ "$(du -sm --apparent-size "$work/data" | cut -f1)" -le "$1" ] && return 0
        sleep 0.5
    done
    du -ak --apparent-size "$work/data" | sort -n | tail -n 5 >"$work/out"
    return 1
}

head -c 24000000 /dev/urandom >"$work/a"
head -c 30000001 /dev/urandom >"$work/b"
head -c 6000000 /dev/urandom >"$work/c"
echo hello >"$work/d"
: >"$work/e"

# ---- round trips and refusals
start
"$BUILD/widerow" create t --key pk:string >"$work/out" 2>&1
for file in a b c d e; do
    check "put $file" cell put t 1 c "$work/$file"
    check "get $file" got 1 "$work/$file"
done
check "put a" cell put t 1 c "$work/a"
check "range" cell get t 1 c "$work/got" --range 1000000-1999999
check "range is the range" cmp -s "$work/got" <(tail -c +1000001 "$work/a" | head -c 1000000)
check "range to the end" cell get t 1 c "$work/got" --range 23999990-
check "range to the end is it" cmp -s "$work/got" <(tail -c 10 "$work/a")
check "range behind the end" says "the value ends before byte 24000000" cell get t 1 c "$work/got" --range 24000000-
echo precious >"$work/own"
check "no such row" says "no such row" cell get t 4711 c "$work/own"
check "no such column" says "has no column 'nope'" cell get t 1 nope "$work/own"
check "a range that is not there" says "the value ends before" cell get t 1 c "$work/own" --range 24000000-
check "no such cell in one call" says "no such cell" cell get t 1 nope "$work/own" --call
check "what was in the file is there" grep -qx precious "$work/own"
check "no file of what is not there" sh -c '! "$1" cell get t 1 nope "$2" --quiet 2>/dev/null && [ ! -e "$2" ]' - "$BUILD/widerow" "$work/none"
check "a file that cannot be" says "cannot write $work/none/x: No such file or directory" cell get t 1 c "$work/none/x"
check "nor in one call" says "cannot write $work/none/x: No such file or directory" cell get t 1 c "$work/none/x" --call
check "no range: +1-5" says "--range is A-B or A-" cell get t 1 c "$work/got" --range "+1-5"
check "no range:  1-5" says "--range is A-B or A-" cell get t 1 c "$work/got" --range " 1-5"
check "no range: 1-+5" says "--range is A-B or A-" cell get t 1 c "$work/got" --range "1-+5"
check "no range: 1-99999999999999999999" says "--range is A-B or A-" cell get t 1 c "$work/got" --range "1-99999999999999999999"
check "no range: 99999999999999999999-" says "--range is A-B or A-" cell get t 1 c "$work/got" --range "99999999999999999999-"
check "no range: 0x1-" says "--range is A-B or A-" cell get t 1 c "$work/got" --range "0x1-"
check "put by pieces" cell put t 2 c "$work/a" --pieces
check "get by pieces" cell get t 2 c "$work/got" --pieces
check "pieces are the value" cmp -s "$work/got" "$work/a"
check "pieces for a file that cannot be" says "cannot write $work/none/x: No such file or directory" cell get t 2 c "$work/none/x" --pieces
check "put other pieces" cell put t 2 c "$work/c" --pieces
check "get other pieces" cell get t 2 c "$work/got" --pieces
check "other pieces are the value" cmp -s "$work/got" "$work/c"
check "put in one call" cell put t 3 c "$work/b" --call
check "a stream gets what a call put" got 3 "$work/b"
check "get in one call" cell get t 1 c "$work/got" --call
check "a call gets what a stream put" cmp -s "$work/got" "$work/a"
check "no such row" says "there is no such row" cell get t 9 c "$work/got"
check "no such table" says "does not exist" cell put none 1 c "$work/d"
check "a pipe" sh -c '"$1"/widerow cell put t 4 c --quiet <"$2"' - "$BUILD" "$work/c"
check "a pipe's value" got 4 "$work/c"

# ---- files that cannot be read or written, or change meanwhile; keys that are taken away meanwhile
for file in a d; do # in many pieces, and in one that is written at the end
    check "put $file for a full disk" cell put t 6 c "$work/$file"
    check "a full disk ($file)" says "cannot write /dev/full: No space left on device" cell get t 6 c /dev/full
done
check "a full disk, by pieces" says "cannot write /dev/full: No space left on device" cell get t 2 c /dev/full --pieces
check "a folder" says "cannot read $work: Is a directory" cell put t 1 c "$work"
if [ -r /sys/class/net/lo/speed ]; then # it says 4096 bytes, and each read fails
    for how in "1 c" "7 c --pieces" "1 c --call"; do
        check "a read that fails ($how)" says "cannot read /sys/class/net/lo/speed: " cell put t ${how%% --*} /sys/class/net/lo/speed ${how#? c}
    done
fi
check "the value is the old one" got 1 "$work/a"
printf 'first\nhello\n' >"$work/lines"
check "the rest of stdin" sh -c '(read -r _ && "$1"/widerow cell put t 4 c --quiet) <"$2"' - "$BUILD" "$work/lines"
check "the rest is the value" got 4 "$work/d"
for how in grows shrinks; do
    truncate -s 256M "$work/big"
    half_way "$work/big"
    if [ $how = grows ]; then
        echo x >>"$work/big"
        check "a file that grows" says "$work/big became longer than the 268435456 bytes it had" goes_on
    else
        truncate -s 1000 "$work/big"
        check "a file that shrinks" says "$work/big became shorter than the 268435456 bytes it had" goes_on
    fi
    check "nothing of a file that $how" says "there is no such row" cell get t 5 c "$work/got"
done
truncate -s 256M "$work/big"
export WIDEROW_ACCESS_KEY_ID=other-id
for now in "# gone" "test other-id other" "test other-id test-secret ro"; do
    check "a key of its own" keys "test other-id test-secret"
    half_way "$work/big"
    check "another key: $now" keys "$now"
    check "an upload whose key became '$now'" says "was taken away while the value came; the cell was not changed" goes_on
done
export WIDEROW_ACCESS_KEY_ID=test-id
check "nothing of it came into the row" says "there is no such row" cell get t 5 c "$work/got"
rm "$work/big"
stop
check "in this process" sh -c '"$1"/widerow cell get t 1 c --dir "$2"/data --quiet >"$2"/got' - "$BUILD" "$work"
check "in this process it is the same" cmp -s "$work/got" "$work/a"

# ---- deaths. Row 1 holds 24 MB, and alone in its table takes less than 40 MB.
rm -rf "$work/data"
start
"$BUILD/widerow" create t --key pk:string >"$work/out" 2>&1
check "put the old value" cell put t 1 c "$work/a"
stop
for point in cell_after_record bulk_before_ingest bulk_after_ingest cell_before_publish commit_before_sync cell_after_publish; do
    for how in b c "b --call"; do # --call: one UpdateRow, of which the server makes a stream
        new=${how% *}
        [[ $point != bulk_* || $new = b ]] || continue
        # The upload's own commits come before the one that makes it part of the row.
        start "$point:crash:1"
        cell put t 1 c "$work/$new" ${how#"$new"}
        stop KILL
        start
        if [ $point = cell_after_publish ]; then
            check "$point: the new value ($how)" got 1 "$work/$new"
            check "$point: put the old value again" cell put t 1 c "$work/a"
            stop
            start
        else
            check "$point: the old value ($how)" got 1 "$work/a"
        fi
        check "$point: no space is lost ($how)" space_below 45
        check "$point: still there ($how)" got 1 "$work/a"
        stop
    done
done

deaths=$([ "$TIER" = nightly ] && echo 60 || echo 3)
old=a new=b
for i in $(seq "$deaths"); do
    start
    cell put t 1 c "$work/$new" &
    upload=$!
    sleep 0.$((RANDOM % 90 + 10))
    stop KILL
    if wait $upload; then
        check "death $i: an acknowledged value" sh -c 'exit 0'
        acked=yes
    else
        acked=
    fi
    start
    if got 1 "$work/$new"; then
        passed=$((passed + 1))
        swap=$old old=$new new=$swap
    else
        check "death $i: the old value" got 1 "$work/$old"
        check "death $i: what was acknowledged is there" test -z "$acked"
    fi
    check "death $i: no space is lost" space_below 50
    stop
done

# ---- clients that leave half way
start
(head -c 20000000 "$work/b" | timeout 2 curl -s -X POST -H "Content-Length: 30000001" -T - "$WIDEROW_ENDPOINT/PutCell") >/dev/null 2>&1
"$BUILD/widerow" cell put t 1 c "$work/$new" --quiet >/dev/null 2>&1 &
upload=$!
sleep 0.2
kill -KILL $upload 2>/dev/null
wait $upload 2>/dev/null
if got 1 "$work/$new"; then swap=$old old=$new new=$swap; fi
check "a client that left: one of the values" got 1 "$work/$old"
stop
start
check "a client that left: no space is lost" space_below 50
stop
check "the server ended cleanly" sh -c '! grep -aE "ERROR: (Address|Leak)Sanitizer|runtime error|assert" "$1"' - "$work/server.log"

echo "cell: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
