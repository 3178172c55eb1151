#!/usr/bin/env bash
# Makes the folder of a build, which every later one must open: test/versions/NAME.tar.xz and NAME.digest. Run once for a
# release, when its line stands in `builds`.
#
#   test/versions/make.sh NAME
set -eu
cd "$(dirname "$0")/../.."
source test/check.sh
source test/versions/common.sh
name=$1
commit=$(sed -n "s/^$name //p" test/versions/builds)
[ -n "$commit" ] || { echo "no line '$name' in test/versions/builds"; exit 1; }
old=$(build_of "$commit")
run_server old "$old/widerowd" --data "$work/data" --set scrub_bytes_per_s_max=0
"$ask" "${ports[old]}" fill
export WIDEROW_ENDPOINT=${urls[old]}
"$old/widerow" create dropped --key k:integer,id:integer
"$old/widerow" create copied --key k:integer --layout hash:3
seq 200 | awk 'BEGIN { print "k,v" } { print $1 ",value " $1 }' >"$work/copied.csv"
"$old/widerow" import "$work/copied.csv" --table copied --quiet
"$old/widerow" rekey copied --layout reverse:4
"$old/widerow" create stream --key k:integer
seq 400000 >"$work/stream"
"$old/widerow" cell put stream 1 v "$work/stream" --quiet
"$ask" "${ports[old]}" change
"$old/widerow" drop dropped
sleep 4 # partitions are split
"$old/widerow" partitions plain | tail -n 3
"$ask" "${ports[old]}" check 1
"$old/widerow" digest >"test/versions/$name.digest"
end_server old KILL || true # what came last stands in the log alone
rm -f "$work/data/LOCK" "$work/data/credentials"
tar -C "$work" -cf - --sort=name --owner=0 --group=0 --mtime=2026-01-01 data | xz -9e >"test/versions/$name.tar.xz"
ls -l "test/versions/$name.tar.xz" "test/versions/$name.digest"
