#!/usr/bin/env bash
# Indexes that cannot follow: a server whose drainer fails says so in /metrics and /readyz, refuses changes past
# index_backlog_max, and rows without indexes are as ever; another server brings the entries, and then the first one has nothing
# to say any more.
#
#   BUILD=build            the build folder to test
#   TEST_CEPH_CONF=FILE    the cluster, with a pool `data`
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data WIDEROW_NAMESPACE=indexes-$$
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local
widerow() { # widerow SERVER ARGUMENT…
    local url=${urls[$1]}
    shift
    "$BUILD/widerow" "$@" --endpoint "$url"
}
metric() { curl -s "${admins[$1]}/metrics" | awk -v name="widerow_$2" '$1 == name { print $2 }'; } # SERVER NAME
is() { [ "$(metric "$1" "$2")" = "$3" ] || { echo "$2 is $(metric "$1" "$2")"; false; }; }        # SERVER NAME VALUE
ready() { curl -s "${admins[$1]}/readyz" | grep -qE "$2"; }                                        # SERVER WORDS
entries() { [ "$(widerow "$1" scan by_v | wc -l)" = "$2" ] || { echo "$(widerow "$1" scan by_v | wc -l) entries"; false; }; }

# holds SERVER KEY=VALUE…: these are the entries, by their rows' keys
holds() {
    local server=$1 there
    shift
    there=$(widerow "$server" scan by_v | sed -nE 's/.*"v": ?([0-9]+).*"k": ?([0-9]+).*/\2=\1/p' | sort | xargs)
    [ "$there" = "$*" ] || { echo "the entries are $there"; false; }
}

# Every drain of this server comes to nothing once the entries are written: the records stay.
export WR_FAULT=drain_settled:error:1+
check "a server whose drainer fails" serve a --engine rados --admin 127.0.0.1:0 --set index_backlog_max=3
unset WR_FAULT
check "a table" widerow a create t --key k:integer --columns v:integer
check "another one without indexes" widerow a create plain --key k:integer
check "its index" widerow a index create t by_v v --detach --new-rows
check "three rows" sh -c 'for i in 1 2 3; do "$0" put t $i "v=$i" --endpoint "$1" || exit 1; done' "$BUILD/widerow" "${urls[a]}"
check "metrics count them" eventually is a index_changes_waiting 3
printf 'k,v\n4,4\n' >"$work/row.csv"
check "a fourth is refused" fails "too far behind" widerow a import "$work/row.csv" --table t --retry 1 --quiet
check "the other table's is not" widerow a put plain 4 v=4
check "readyz says how late they are, and is 200" eventually ready a '^ready, but indexes are [0-9]+ s behind their tables \(3 changes of rows wait\)'
check "metrics say it" sh -c '[ "$0" -ge 5 ]' "$(metric a index_behind_seconds)"
check "another server" serve b --engine rados --admin 127.0.0.1:0
check "through it the index comes to be whole" eventually entries b 3
check "and the first one has nothing left" eventually is a index_changes_waiting 0
check "as readyz says" eventually ready a '^ready$'
check "a fourth row" widerow a put t 4 v=4
check "is in the index" eventually entries b 4
check "nothing is left to the next walk" eventually is b index_changes_left 0

stop_all KILL
export WR_FAULT=drain_begin:error:1+
check "a server that drains nothing" serve c --engine rados --admin 127.0.0.1:0
unset WR_FAULT
check "a row gets another entry" widerow c put t 1 v=10
check "one goes" widerow c delete t 2
check "one loses its column" widerow c put t 3 w=3
check "one comes" widerow c put t 5 v=5
check "and gets another entry" widerow c put t 5 v=50
check "one comes" widerow c put t 6 v=6
check "and goes" widerow c delete t 6
check "one comes" widerow c put t 7 v=7
check "metrics count the rows" eventually is c index_changes_waiting 6
check "the index is as it was" holds c 1=1 2=2 3=3 4=4
stop_all KILL
check "the next server" serve d --engine rados --admin 127.0.0.1:0
check "a row is changed once more" widerow d put t 1 v=11
check "one goes" widerow d delete t 5
check "one loses its column" widerow d put t 7 w=7
check "the index comes to be what the rows make of it" eventually holds d 1=11 4=4
check "nothing is left to its next walk" eventually is d index_changes_left 0
check "nor does anything come back" holds d 1=11 4=4
counts indexes
