#!/usr/bin/env bash
# Backups made while writers run, restored, compared, damaged; and the scrub.
#
#   test/backup/run.sh     BUILD=build  TIER=short|nightly  SEED=N (where bits are flipped)
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short} SEED=${SEED:-$RANDOM}
RANDOM=$SEED
backups=$([ "$TIER" = nightly ] && echo 12 || echo 3)
flips=$([ "$TIER" = nightly ] && echo 200 || echo 16)
work=$(mktemp -d)
elsewhere=$work/elsewhere
# A file system other than the data's, where files are copied instead of linked.
if [ -w /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d "$work")" ]; then
    elsewhere=$(mktemp -d /dev/shm/widerow-backup.XXXXXX)
fi
mkdir -p "$elsewhere"
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$work" "$elsewhere"' EXIT
passed=0 failed=0
export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test
widerow=$BUILD/widerow

pass() { passed=$((passed + 1)); echo "ok: $*"; }
fault() { failed=$((failed + 1)); echo "FAILED: $*"; }
# works TEXT COMMAND…
works() {
    local text=$1 out
    shift
    if out=$("$@" 2>&1); then pass "$text"; else fault "$text: $out"; fi
    [ -z "$out" ] || sed 's/^/    /' <<<"$out"
}
# refused TEXT PATTERN COMMAND…: it fails, with a message that matches
refused() {
    local text=$1 pattern=$2 out
    shift 2
    if out=$("$@" 2>&1); then
        fault "$text: not refused: $out"
    elif grep -qE -- "$pattern" <<<"$out"; then
        pass "$text"
    else
        fault "$text: refused with another text: $out"
    fi
    sed 's/^/    /' <<<"$out"
}
same() { if [ "$2" = "$3" ]; then pass "$1"; else fault "$1: '$2' is not '$3'"; fi; }

# start DATA FLAG…: a server on free ports.
start() {
    local data=$1
    shift
    rm -f "$work/port"
    "$BUILD/widerowd" --data "$data" --http 127.0.0.1:0 --sql off --admin 127.0.0.1:0 --port-file "$work/port" \
        --memory 16777216 --set table_ops_per_s_max=0 "$@" >"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 2400); do
        [ -s "$work/port" ] && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/port" 2>/dev/null)
    WIDEROW_ADMIN=http://$(sed -n 's/^admin=//p' "$work/port" 2>/dev/null)
    export WIDEROW_ENDPOINT WIDEROW_ADMIN
}
stop() {
    kill -TERM "$pid"
    wait "$pid"
    local code=$?
    pid=
    if [ $code -ne 0 ] || grep -aE 'ERROR: (Address|Leak)Sanitizer|runtime error' "$work/log"; then
        fault "the server ended with $code"
        tail -n 20 "$work/log"
    fi
}
metric() { curl -s "$WIDEROW_ADMIN/metrics" | sed -n "s/^$1 //p"; }
digest() { "$widerow" digest "$@"; }
flip() { # FILE OFFSET BIT
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %02x $((byte ^ (1 << $3))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
random() { echo $(((RANDOM << 15 | RANDOM) % $1)); }

echo "seed $SEED"
if ! make -s BUILD="$BUILD" SAN="${SAN:-}" "$BUILD/test/backup" >"$work/make" 2>&1; then
    tail -n 20 "$work/make"
    echo "backup: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
client=$BUILD/test/backup

echo "== backups while writers and the scrub run"
start "$work/data" --set scrub_pass_s_min=1 --set scrub_bytes_per_s_max=1000000000
commands=()
for i in $(seq "$backups"); do
    [ $((i % 3)) -eq 2 ] && at=$elsewhere || at=$work
    commands+=("$widerow backup $at/b$i >/dev/null")
    ln -s "$at/b$i" "$work/backup$i"
done
works "load" "$client" load "$work/state" "${commands[@]}"
works "ready" curl -sf "$WIDEROW_ADMIN/readyz"
[ "$(metric widerow_scrub_passes_total)" -ge 1 ] && pass "the scrub passed" || fault "the scrub made no pass"
[ "$(metric widerow_scrubbed_bytes_total)" -ge 1000000 ] && pass "the scrub counts" || fault "nothing scrubbed"
same "the scrub found nothing" "$(metric widerow_scrub_errors_total)" 0
curl -sf "$WIDEROW_ADMIN/readyz?tasks" >"$work/tasks"
for task in sweep rekey balance scrub sizes; do
    grep -qE "^task $task: (idle|waiting|running), [0-9]+ steps" "$work/tasks" && pass "readyz tells of $task" ||
        fault "readyz does not tell of $task: $(cat "$work/tasks")"
done
same "readyz begins as ever" "$(head -n 1 "$work/tasks")" ready
same "and says no more when it is not asked" "$(curl -sf "$WIDEROW_ADMIN/readyz")" ready
[ "$(metric 'widerow_task_steps_total{task="scrub"}')" -ge 1 ] && pass "its steps are counted" || fault "no steps of the scrub"
echo "    $(metric widerow_scrub_passes_total) passes, $(metric widerow_scrubbed_bytes_total) bytes"

echo "== what is refused"
mkdir "$work/full" && touch "$work/full/x"
refused "backup into a folder with something in it" "not empty" "$widerow" backup "$work/full"
refused "backup into a backup" "not empty" "$widerow" backup "$work/b1"
refused "backup into a file" "is a file" "$widerow" backup "$work/full/x"
refused "backup without the folder above" "does not exist" "$widerow" backup "$work/no/where"
refused "restore into a folder with something in it" "not empty" "$widerow" restore "$work/b1" --data "$work/full"
refused "restore from the folder of a running server" "open in another process" \
    "$widerow" restore "$work/data" --data "$work/r0"
refused "restore of no backup" "no VERSION" "$widerow" restore "$work/full" --data "$work/r0"
# A second server, whose data must never be taken for the first one's.
other=$work/other
"$BUILD/widerowd" --data "$other" --http 127.0.0.1:0 --sql off --admin 127.0.0.1:0 --port-file "$other.port" --memory 16777216 \
    >"$other.log" 2>&1 &
other_pid=$!
for _ in $(seq 2400); do [ -s "$other.port" ] && break; sleep 0.05; done
other_admin=http://$(sed -n 's/^admin=//p' "$other.port")
other_http=http://$(sed -n 's/^http=//p' "$other.port")
refused "the endpoint of one server and the admin port of another" "are of two servers" \
    "$widerow" backup --endpoint "$WIDEROW_ENDPOINT" --admin "$other_admin" "$work/stranger"
refused "the same the other way" "are of two servers" "$widerow" backup --endpoint "$other_http" --admin "$WIDEROW_ADMIN" "$work/stranger"
works "an endpoint alone says where its admin port is" env -u WIDEROW_ADMIN "$widerow" backup --endpoint "$other_http" "$work/of-other"
same "the backup is of that server" "$("$widerow" digest --dir "$work/of-other")" "$("$widerow" digest --endpoint "$other_http")"
kill "$other_pid"; wait "$other_pid"
refused "a backup with a wrong secret" "OTSAuthFailed" env WIDEROW_ACCESS_KEY_SECRET=wrong "$widerow" backup "$work/stranger"
refused "a backup without a key" "no access key" env -u WIDEROW_ACCESS_KEY_ID -u WIDEROW_ACCESS_KEY_SECRET "$widerow" backup "$work/stranger"
printf 'test reader reader-secret ro\ntest some some-secret rw:first*\n' >>"$work/data/credentials"
kill -HUP "$pid"
for _ in $(seq 2400); do grep -q 'access keys read again' "$work/log" && break; sleep 0.05; done
for key in reader some; do
    refused "a backup with the key '$key'" "OTSNoPermissionAccess.*OpenBackup" \
        env WIDEROW_ACCESS_KEY_ID=$key WIDEROW_ACCESS_KEY_SECRET=$key-secret "$widerow" backup "$work/stranger"
done
same "no ticket, no backup" "$(curl -s -H 'X-Widerow-Admin: backup' -d "$work/stranger" "$WIDEROW_ADMIN/backup" | grep -c 'needs a ticket')" 1
same "a ticket of one's own making" "$(curl -s -o /dev/null -w '%{http_code}' -H 'X-Widerow-Admin: backup' \
    -H "X-Widerow-Ticket: 99999999999999.AAAAAAAAAAAAAAAAAAAAAAAAAAA=" -d "$work/stranger" "$WIDEROW_ADMIN/backup")" 403
same "nothing of it was written" "$(ls -d "$work/stranger" 2>/dev/null)" ""
same "a page in a browser cannot ask for a backup" \
    "$(curl -s -o /dev/null -w '%{http_code}' -d "$work/csrf" "$WIDEROW_ADMIN/backup")" 403
same "what was refused left nothing" "$(ls -d "$work/no" "$work/r0" "$work/csrf" "$work/full"/* 2>/dev/null)" \
    "$work/full/x"

echo "== a backup of a server at rest"
live=$(digest)
works "backup at rest" "$widerow" backup "$work/rest"
same "access keys stay at home" "$(ls "$work/rest")" "$(printf 'LOCK\nVERSION\nWATERMARK\ndb')"
stop
works "backup of a stopped server's folder" "$widerow" backup --dir "$work/data" "$work/offline"
works "verify" "$widerow" restore "$work/offline" --check
same "its digest" "$(digest --dir "$work/offline")" "$live"
works "restore" "$widerow" restore "$work/rest" --data "$work/r-rest"
start "$work/r-rest"
same "the restored server's digest" "$(digest)" "$live"
echo "    $live"
works "it serves" "$client" serve
stop

echo "== the backups made under load"
for i in $(seq "$backups"); do
    works "verify $i" "$widerow" restore "$work/backup$i" --check
    works "restore $i" "$widerow" restore "$work/backup$i" --data "$work/r$i"
    start "$work/r$i"
    works "content of backup $i" "$client" check "$work/state" "$i"
    restored=$(digest)
    stop
    same "digest of backup $i itself" "$(digest --dir "$work/backup$i/")" "$restored"
    rm -rf "$work/r$i"
done

echo "== damaged backups"
damaged() { rm -rf "$work/d" "$work/dr" && cp -r "$work/rest" "$work/d"; }
no_rest() { [ -e "$work/dr" ] && fault "$1: something was left behind"; }
damaged && rm "$work/d/VERSION"
refused "a backup that was cut off before VERSION" "no VERSION" "$widerow" restore "$work/d" --data "$work/dr"
refused "the server opens no such thing" "no VERSION" timeout 20 "$BUILD/widerowd" --data "$work/d" \
    --http 127.0.0.1:0 --admin off
damaged && rm "$work/d/WATERMARK"
refused "a backup without WATERMARK" "WATERMARK is missing" "$widerow" restore "$work/d" --data "$work/dr"
damaged && rm "$work/d/db/CURRENT"
refused "a backup without CURRENT" "damaged" "$widerow" restore "$work/d" --data "$work/dr"
damaged && rm "$(ls -S "$work/d/db"/*.sst | head -n 1)"
refused "a backup without a table file" "damaged, in db/[0-9]+.sst" "$widerow" restore "$work/d" --data "$work/dr"
damaged && truncate -s -100 "$(ls -S "$work/d/db"/*.sst | head -n 1)"
refused "a backup with a cut table file" "damaged, in db/[0-9]+.sst" "$widerow" restore "$work/d" --data "$work/dr"
no_rest "refused restores"
# A log with rows that are nowhere else: a folder whose server was killed serves as the backup.
start "$work/killed"
works "some rows" "$client" load "$work/state2" true
kill -KILL "$pid" && wait "$pid" 2>/dev/null
pid=
works "a killed server's folder is a whole one" "$widerow" restore "$work/killed" --check
log=$(ls -S "$work/killed/db"/*.log | head -n 1)
truncate -s $(($(stat -c %s "$log") / 2)) "$log"
refused "with half its log it is not" "not complete|damaged" "$widerow" restore "$work/killed" --check
found=0 harmless=0 wrong=0
files=("$work/rest/db"/*)
for _ in $(seq "$flips"); do
    damaged
    file=$work/d/db/$(basename "${files[$(random ${#files[@]})]}")
    flip "$file" "$(random "$(stat -c %s "$file")")" "$(random 8)"
    if ! "$widerow" restore "$work/d" --data "$work/dr" >"$work/out" 2>&1; then
        found=$((found + 1))
    elif [ "$(digest --dir "$work/dr" 2>&1)" = "$live" ]; then
        harmless=$((harmless + 1)) # a filter block, or padding
    else
        wrong=$((wrong + 1))
        echo "    $file: restored, and with another content"
    fi
done
echo "    $flips flipped bits: $found refused, $harmless without effect, $wrong wrong"
same "flipped bits" "$wrong" 0

echo "== the scrub finds a flipped bit"
rm -rf "$work/data"
works "restore" "$widerow" restore "$work/rest" --data "$work/data"
file=$(ls -S "$work/data/db"/*.sst | head -n 1)
flip "$file" $(($(stat -c %s "$file") / 2)) 3
begin=$(date +%s%N)
start "$work/data" --set scrub_pass_s_min=1 --set scrub_bytes_per_s_max=1000000000
for _ in $(seq 200); do
    grep -q 'E scrub: damaged' "$work/log" && break
    sleep 0.05
done
took=$((($(date +%s%N) - begin) / 1000000))
line=$(grep -a 'E scrub: damaged' "$work/log" | head -n 1)
grep -q "$(basename "$file")" <<<"$line" && pass "found and named after $took ms" || fault "not found: $(cat "$work/log")"
# A compaction may come upon the block first: then the file is named, but nobody has looked which tables it holds.
if grep -q 'what lies there has keys' <<<"$line"; then
    grep -q "table 'seq'\|table 'batch'\|table 'first'\|table 'second'" <<<"$line" && pass "the table is named" ||
        fault "no table is named"
else
    grep -q 'restore a backup' <<<"$line" && pass "the way on is named" || fault "no way on is named"
fi
echo "    $line"
[ "$(metric widerow_scrub_errors_total)" -ge 1 ] && pass "counted" || fault "not counted"
works "the server goes on" "$widerow" describe seq
stop
[ ! -e "$work/data/scrub" ] && pass "the scrub cleans up" || fault "the scrub left $work/data/scrub"

echo "backup: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
