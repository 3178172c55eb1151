#!/usr/bin/env bash
# Settings that all servers over one pool share: who starts first makes them, the others take them whatever they were started
# with, and say so; what is changed through one server holds on all of them when its log says so; a mistake changes nothing.
#
#   WIDEROW_CEPH_CONF=FILE test/rados/settings.sh
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
export WIDEROW_NAMESPACE=settings-$$ WIDEROW_POOL=${WIDEROW_POOL:-data}

start() { serve "$1" --engine rados --admin off "${@:2}"; } # SERVER FLAG…
edit() { # SERVER SED-SCRIPT
    sed "$2" "$work/$1/settings" >"$work/$1/edited" && mv "$work/$1/edited" "$work/$1/settings"
}
has() { grep -qx "$2" "$work/$1/settings"; } # SERVER LINE
put() { # SERVER LENGTH: a row with one value of so many bytes
    { echo k,v; printf '1,%0*d\n' "$2" 7; } >"$work/row.csv"
    "$BUILD/widerow" import "$work/row.csv" --table t --retry 1 --quiet --endpoint "${urls[$1]}"
}
applied="settings read again; all servers use version"

check "the first server" start a --set table_ops_per_s_max=0 --set cell_bytes_max=1000
check "makes them of what it was given" has a "cell_bytes_max = 1000"
check "and of defaults that are the engine's" has a "partition_bytes_max = 10485760"
check "its own are not there" sh -c "! grep -q memory '$work/a/settings'"
check "another one, started otherwise" start b --set cell_bytes_max=2000 --set scrub_pass_s_min=10
check "says that it does not count" grep -q "settings: cell_bytes_max is 2000 here and 1000 there: what all servers share counts" "$work/b.log"
check "its copy is the same" cmp "$work/a/settings" "$work/b/settings"
check "one started alike" start c --set table_ops_per_s_max=0
check "says nothing" sh -c "! grep settings: '$work/c.log'"
refused() { # FOLDER: a server on the folder that another one has does not start, and leaves all as it was
    cp "$work/$1/settings" "$work/was"
    ! timeout 60 "$BUILD/widerowd" --data "$work/$1" --engine rados --admin off --http 127.0.0.1:0 >"$work/refused" 2>&1 &&
        cat "$work/refused" && grep -qE "data folder .* is open in another process \(pid ${pids[$1]}\).*--data" "$work/refused" &&
        cmp "$work/was" "$work/$1/settings"
}
check "one on the folder of another is refused" refused a
check "a table" "$BUILD/widerow" create t --key k:integer --endpoint "${urls[a]}"
for s in a b c; do
    check "$s takes a small value" put $s 1000
    check "$s refuses a large one" fails "exceeds|limit|too" put $s 1001
done

edit b 's/^cell_bytes_max = .*/cell_bytes_max = 6000000/'
check "changed through the second" hangup b "$applied 2"
check "the copy of the first follows" has a "cell_bytes_max = 6000000"
check "its log says so" grep -q "settings: version 2 of the shared settings is in use" "$work/a.log"
for s in a b c; do
    check "$s takes a large value, and what it takes with it" put $s 5900000
done
edit a 's/^cell_bytes_max = .*/cell_bytes_max = 100/'
check "and back through the first" hangup a "$applied 3"
for s in a b c; do
    check "$s refuses it at once" fails "exceeds|limit|too" put $s 101
done

check "nothing was edited: nothing changes" hangup a "$applied 3"
edit a 's/^cell_bytes_max = .*/cell_bytes_max = many/'
check "a mistake is not taken" hangup a "settings stay as they are: .*settings, line [0-9]+: cell_bytes_max: 'many' is not a whole number"
edit a '/^cell_bytes_max/d'
check "nor a line that is missing" hangup a "settings stay as they are: .*cell_bytes_max is missing. In use is cell_bytes_max = 100"
edit a '$a cell_bytes_max = 5\nscrub_pass_s_min = 5'
check "nor what is a server's own" hangup a "line [0-9]+: scrub_pass_s_min is each server's own. Put it into widerow.conf"
edit a '/^scrub/d; s/^cell_bytes.*/cell_bytes_max = 100/'
check "c knows nothing of that" cmp "$work/b/settings" "$work/c/settings"
rm "$work/a/settings"
check "a file that is missing comes again" hangup a "$applied 3"
check "as it was" cmp "$work/a/settings" "$work/b/settings"

# A server that was away takes what is there, and cannot bring back what was.
cp "$work/c/settings" "$work/old"
kill "${pids[c]}" && wait "${pids[c]}"
edit a 's/^cell_bytes_max = .*/cell_bytes_max = 200/'
check "changed while one is away" hangup a "$applied 4"
sed 's/^ttl_seconds_min = .*/ttl_seconds_min = 7/' "$work/old" >"$work/c/settings"
check "it starts with an edited old copy" start c --set table_ops_per_s_max=0
check "which it says" grep -q "settings: .*edited from version 3 of the shared settings, but they are at version 4" "$work/c.log"
check "and has what is there" put c 200
check "no more" fails "exceeds|limit|too" put c 201
check "which lies beside it" cmp "$work/a/settings" "$work/c/settings.shared"

# One that is paused meanwhile serves nothing by what it knew.
if [ "${TIER:-short}" = nightly ]; then
    mv "$work/c/settings.shared" "$work/c/settings"
    kill -STOP "${pids[c]}"
    edit a 's/^cell_bytes_max = .*/cell_bytes_max = 50/'
    check "changed while one hangs" hangup a "$applied 5"
    kill -CONT "${pids[c]}"
    check "it does not go by the old ones" fails "exceeds|limit|too|Unavailable" put c 200
fi
counts settings
