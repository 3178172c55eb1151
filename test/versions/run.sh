#!/usr/bin/env bash
# Data that older builds wrote, opened by this one; and servers of an older build beside one of this build on one pool.
# What an older build cannot read it must refuse, in words; nothing breaks, and nothing that was acknowledged is lost.
#
#   test/versions/run.sh [NAME …]   the builds that the file `builds` names, or only these
#   BUILD=build                     the build folder to test
#   WIDEROW_CACHE=DIR               where older builds are kept once they are made
#   TEST_CEPH_CONF=FILE             takes this cluster (with a pool `data`) instead of making one
#
# Opening their folders needs nothing else. Their programs are built from this repository's history, which must reach back
# so far.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
source test/versions/common.sh
PATH=$PATH:/usr/sbin:/sbin
skipped=0
own=
trap 'stop_all; [ -z "$own" ] || test/rados/cluster.sh kill "$own"; rm -rf "$work" "$own"' EXIT
if ! make -s BUILD="$BUILD" SAN="${SAN:-}" "$ask" >"$work/make" 2>&1; then
    tail -n 20 "$work/make"
    echo "versions: 0 passed, 1 failed, 0 skipped"
    exit 1
fi

note() { echo "    $*"; }

# In words that tell what to do: the other release, its format or version.
in_words() { grep -qiE 'version|format|newer|release|form ' "$1"; }

# served WHO WHAT COMMAND…: all is as it must be (0), or some of it is refused (3) and the rest is right.
served() {
    local who=$1
    shift
    "$@"
    local code=$?
    [ $code -ne 3 ] || note "$who refuses some of it"
    [ $code -eq 0 ] || { [ $code -eq 3 ] && [ "$who" = old ]; }
}

stream_is_whole() { "$BUILD/widerow" cell get stream 1 v --quiet --endpoint "$1" | cmp - <(seq 400000); }
digest_is() { [ "$("$BUILD/widerow" digest --endpoint "$1")" = "$(cat "$2")" ]; }
copied_is_whole() { [ "$("$BUILD/widerow" scan copied --count --endpoint "$1")" = 200 ]; }

# An older build on what this one has written: it serves it, all right, or refuses it in words.
old_opens() { # FLAG…
    local what=$1
    shift
    if run_server old "$old/widerowd" "$@"; then
        check "$what: what the older build serves of it is right" served old "$ask" "${ports[old]}" check 1
        check "$what: the older build ends in order" end_server old
    else
        check "$what: the older build refuses it in words" in_words "$work/old.log"
        note "the older build: $(head -n 1 "$work/old.log")"
    fi
}

folder() { # NAME: of the folder that is kept
    local name=$1
    rm -rf "$work/data"
    tar -C "$work" -xJf "test/versions/$name.tar.xz"
    check "$name: its folder opens" run_server new "$BUILD/widerowd" --data "$work/data" || return
    check "$name: all rows are there" served new "$ask" "${ports[new]}" check 1
    check "$name: the digest is that of then" digest_is "${urls[new]}" "test/versions/$name.digest"
    check "$name: the streamed cell" stream_is_whole "${urls[new]}"
    check "$name: the rekeyed table" copied_is_whole "${urls[new]}"
    check "$name: numbers go on" "$ask" "${ports[new]}" insert
    check "$name: rows can be changed" "$ask" "${ports[new]}" change
    check "$name: a table can be rekeyed" "$BUILD/widerow" rekey plain --layout hash:5 --endpoint "${urls[new]}"
    check "$name: rows can be put" "$ask" "${ports[new]}" work "$work/acked" 1 1000000
    check "$name: and the server ends in order" end_server new
    if [ -n "$old" ]; then old_opens "$name, its folder with new rows" --data "$work/data"; fi
    check "$name: it opens again" run_server new "$BUILD/widerowd" --data "$work/data"
    check "$name: all rows are still there" served new "$ask" "${ports[new]}" worked "$work/acked"
    check "$name: those of then too" served new "$BUILD/widerow" cell get stream 1 v /dev/null --quiet --endpoint "${urls[new]}"
    check "$name: and the server ends in order" end_server new
    rm -f "$work/acked"
}

# ---- on a pool

cluster() {
    if [ -n "${TEST_CEPH_CONF:-}" ]; then return; fi
    if ! command -v ceph-osd >/dev/null || [ ! -x "$BUILD/widerowd-rados" ]; then return 1; fi
    own=$(mktemp -d /tmp/wr-ver.XXXXXX)
    test/rados/cluster.sh start "$own" 3 >"$work/cluster" 2>&1 || { cat "$work/cluster"; return 1; }
    TEST_CEPH_CONF=$own/ceph.conf
}

pool_flags() { # NAMESPACE WHO
    echo --engine rados --ceph-conf "$TEST_CEPH_CONF" --pool data --namespace "$1" --data "$work/pool.$2"
}

# Which of the servers are still there: none may have ended by itself.
alive() { kill -0 "${pids[$1]}"; }

beside() { # NAME: the older build begins, this one joins, both work, each is ended and started again
    local name=$1 space=v$1 work_old work_new
    # shellcheck disable=SC2046
    check "$name: the older build begins on a pool" run_server old "$old/widerowd" $(pool_flags "$space" old) || return
    check "$name: it makes the tables" "$ask" "${ports[old]}" fill
    check "$name: and changes rows" "$ask" "${ports[old]}" change
    # shellcheck disable=SC2046
    check "$name: this build joins" run_server new "$BUILD/widerowd" $(pool_flags "$space" new) || return
    check "$name: all rows are there" served new "$ask" "${ports[new]}" check 1
    check "$name: numbers go on" "$ask" "${ports[new]}" insert
    "$ask" "${ports[old]}" work "$work/acked.old" 8 1000000 >"$work/work.old" 2>&1 &
    work_old=$!
    "$ask" "${ports[new]}" work "$work/acked.new" 8 2000000 >"$work/work.new" 2>&1 &
    work_new=$!
    check "$name: this build makes a table meanwhile" "$BUILD/widerow" create later --key k:integer --layout hash:3 --endpoint "${urls[new]}"
    check "$name: and changes the rows" "$ask" "${ports[new]}" change
    wait $work_old
    check "$name: the older build served its writer, or refused it" test $? -ne 1
    wait $work_new
    check "$name: this build served its writer" test $? -eq 0
    note "older: $(tail -n 1 "$work/work.old"); this: $(tail -n 1 "$work/work.new")"
    check "$name: the older one still runs" alive old
    check "$name: so does this one" alive new
    check "$name: what the older build serves is right" served old "$ask" "${ports[old]}" check 1
    check "$name: of what it acknowledged this build has all" served new "$ask" "${ports[new]}" worked "$work/acked.old"
    check "$name: so it has of what it acknowledged itself" served new "$ask" "${ports[new]}" worked "$work/acked.new"
    check "$name: this build is killed" end_server new KILL
    check "$name: the older one is ended" end_server old
    # shellcheck disable=SC2046
    old_opens "$name, the pool after this build" $(pool_flags "$space" old)
    # shellcheck disable=SC2046
    check "$name: this build opens the pool again" run_server new "$BUILD/widerowd" $(pool_flags "$space" new)
    check "$name: all rows are there" served new "$ask" "${ports[new]}" check 1
    for who in old new; do
        check "$name: all that the $who one acknowledged" served new "$ask" "${ports[new]}" worked "$work/acked.$who"
    done
    check "$name: numbers go on" "$ask" "${ports[new]}" insert
    check "$name: and it ends in order" end_server new
    rm -f "$work"/acked.*
}

# ---- all builds

missing() { # WHAT: fails in CI, where everything must be there
    echo "SKIPPED versions: $1"
    if [ "${CI:-}" = true ]; then failed=$((failed + 1)); else skipped=$((skipped + 1)); fi
}

have_cluster=
cluster && have_cluster=yes || missing "NO CEPH HERE: NO POOL IS SHARED WITH AN OLDER BUILD"
while read -r name commit; do
    [[ "$name" != \#* && -n "$name" ]] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    if ! old=$(build_of "$commit"); then
        missing "$name: $old"
        old=
    fi
    folder "$name"
    if [ -n "$old" ] && [ -n "$have_cluster" ]; then beside "$name"; fi
    stop_all
done <test/versions/builds
echo "versions: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
