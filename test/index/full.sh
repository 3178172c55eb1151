#!/usr/bin/env bash
# A disk that is full in the midst of a build, a real one: a file system in memory with less room than the entries take. What
# was sorted goes, rows stay as they are and take deletions, tables without the index go on; the index comes by itself once
# there is room, and one that is dropped instead leaves nothing.
#
#   test/index/full.sh     BUILD=build. Needs to mount (root)
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
ROWS=30000 # of about 1 KB, all of which an entry has again
disk=$work/full

mkdir "$disk"
if ! mount -t tmpfs -o size=2g tmpfs "$disk" 2>/dev/null; then
    echo "SKIPPED: no file system may be mounted here: a build on a full disk is tested with faults alone"
    echo "index-full: 0 passed, 0 failed, 1 skipped"
    exit
fi
trap 'stop_all; umount "$disk"; rm -rf "$work"' EXIT

used() { df --output=used -k "$disk" | tail -n 1 | tr -d ' '; }
room() { mount -o remount,size=$(($(used) + $1))k "$disk"; } # KB
wr() { "$BUILD/widerow" "$@" --endpoint "${urls[full]}"; }
columns=field1,field2,field3,field4,field5,field6,field7,field8,field9
make_index() { wr index create t "$1" field0 --with $columns; }
digest() { wr digest t | tail -n 1 | cut -d' ' -f1; }
entries() { wr scan "$1" --limit 0 --columns field1 | wc -l; }

# says WHAT: so do the tasks that /readyz lists
says() { curl -s -m 5 "${admins[full]}/readyz?tasks" | grep -E "$1"; }
full_once() { grep -q "full\|No space" "$work/full.log" && says "index.*: (failed|waiting)"; }
# What is sorted lies in bulk/; what a failed build has written goes before it begins anew.
nothing_sorted() { [ "$(du -sk "$disk/bulk" 2>/dev/null | cut -f1 | grep . || echo 0)" -lt 100 ]; }

check "a server" serve full --memory 64M --admin 127.0.0.1:0 --sql off
check "a table" wr create t --key id:string --columns "$(sed 's/\(field[0-9]\)/\1:string/g' <<<"field0,$columns")"
check "rows" wr bench load --table t --records $ROWS --quiet
before=$(digest)
check "nearly no room" room 24000

make_index i >"$work/create" 2>&1 &
creates=$!
check "the build finds the disk full" eventually full_once
check "and gives back what it took" eventually nothing_sorted
check "it is being built still" eventually sh -c "\"$BUILD/widerow\" describe t --endpoint ${urls[full]} | grep 'being built'"
check "the rows are as they were" test "$(digest)" = "$before"
check "one of them is deleted" wr delete t "$(wr scan t --limit 1 | sed -nE 's/.*"id":"([^"]*)".*/\1/p')"
check "the server is there after a kill" sh -c "kill -9 ${pids[full]}"
wait "${pids[full]}" "$creates" 2>/dev/null
check "again, with as little room" serve full --memory 64M --admin 127.0.0.1:0 --sql off
check "the rows are there" test "$(wr scan t --limit 0 --columns field1 | wc -l)" = $((ROWS - 1))
check "room comes" room 300000
check "the index comes by itself" eventually sh -c "! \"$BUILD/widerow\" describe t --endpoint ${urls[full]} | grep 'being built'"
check "with an entry for each row" test "$(entries i)" = $((ROWS - 1))

check "no room again" room 24000
make_index j >"$work/create" 2>&1 &
creates=$!
: >"$work/full.log"
check "another build finds the disk full" eventually full_once
check "its index is dropped" wr index drop t j
wait $creates
check "and leaves nothing" eventually nothing_sorted
check "no build fails any more" eventually says "index: idle"
check "the first index is whole" test "$(entries i)" = $((ROWS - 1))
counts index-full
