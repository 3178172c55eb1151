#!/usr/bin/env bash
# Three servers over one pool, each of which serves other rows of one table: whichever is asked tells the traffic, the heat
# map and the largest values of all; while one is paused, the others say so; and each serves its share of what is reserved.
#
#   BUILD=build            the build folder to test
#   TIER=short             leaves out the shares of what is reserved
#   TEST_CEPH_CONF=FILE    the cluster, with a pool `data`
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_CEPH_CONF=$TEST_CEPH_CONF WIDEROW_POOL=data WIDEROW_NAMESPACE=peers-$$
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local

start() { # start NAME FLAG…
    serve "$1" --engine rados --admin off --set size_warn_bytes=20000 --set size_watch_pass_s_min=4 "${@:2}"
}

widerow() { # widerow SERVER ARGUMENT…
    local url=${urls[$1]}
    shift
    "$BUILD/widerow" "$@" --endpoint "$url"
}

# is SERVER WHAT EXPRESSION: of the JSON that `widerow WHAT t` gives as `d` (the last line of it, where there are several)
is() {
    local text
    case $2 in
        heat) text=$(widerow "$1" heat t --json -) ;;
        sizes) text=$(widerow "$1" sizes t --json) ;;
        partitions) text=$(widerow "$1" partitions t --json | tail -n 1) ;;
    esac
    python3 -c 'import json, sys
d = json.loads(sys.argv[1])
print(d)
sys.exit(not eval(sys.argv[2]))' "$text" "$3"
}

rows() { # rows PREFIX COUNT: that many rows of ten values
    echo h,s,v
    seq 1 "$2" | awk -v p="$1" '{ printf "%s%d,%d,value-%060d\n", p, $1 % 10, $1, $1 }'
}

start a
start b
start c
widerow a create t --key h:string,s:integer >/dev/null
rows a 100 >"$work/a.csv"
rows b 200 >"$work/b.csv"
{ rows c 300; seq 1 400 | awk '{ printf "big,%d,value-%060d\n", $1, $1 }'; } >"$work/c.csv"
for name in a b c; do
    widerow $name import "$work/$name.csv" --table t --quiet >/dev/null 2>&1 || { echo "no rows through $name"; failed=1; }
done

# ---- heat ----

written='sum(map(sum, d["writes"]))' # rows, by row of the map and minute
for name in a b c; do
    check "heat: through $name" eventually is $name heat "$written == 1000 and d['servers'] == 3 and d['silent'] == 0"
done
check "heat: the hottest key of c is known to a" eventually is a heat "d['hot'][0]['key'] == ['big'] and d['hot'][0]['count'] == 400"
# The end of a minute may lie between two looks.
same_map() {
    [ "$(widerow a heat t --json - | sed 's/"buckets":[0-9]*//')" = "$(widerow b heat t --json - | sed 's/"buckets":[0-9]*//')" ]
}
check "heat: the same map from everyone" eventually same_map
check "heat: says of whom" eventually bash -c "'$BUILD/widerow' heat t --endpoint ${urls[b]} | grep -q 'figures of 3 servers together'"

# ---- traffic ----

for name in a c; do
    check "traffic: through $name" eventually is $name partitions "d['writes'] == 1000 and d['servers'] == 3"
done

# ---- sizes ----

# One counts, and all know what was found. (An unasked pass begins a minute after the start.)
check "sizes: counted" widerow a sizes t --now
for name in a b c; do
    check "sizes: through $name" eventually is $name sizes "d['rows'] == 1000 and d['keys'][0]['key'] == ['big'] and d['keys'][0]['rows'] == 400 and d['over'] == 1 and d['servers'] == 3"
done

# ---- one does not answer ----

# silenced COMMAND…: it holds while c stands still. Whoever stands still for 18 s has lost its watch and is not counted any more, and
# each question takes 3 s where one is silent: so c is stopped for each anew, and back before the next.
silenced() {
    local code
    kill -STOP "${pids[c]}"
    "$@"
    code=$?
    kill -CONT "${pids[c]}"
    all_answer
    return $code
}
all_answer() {
    local end=$((SECONDS + 60))
    until is a heat "d['servers'] == 3 and d['silent'] == 0" >"$work/all"; do [ $SECONDS -lt $end ] || break; done
}
check "paused: heat says so" eventually silenced is a heat "d['servers'] == 2 and d['silent'] == 1 and $written == 300"
check "paused: traffic says so" eventually silenced is b partitions "d['servers'] == 2 and d['silent'] == 1 and d['writes'] == 300"
check "paused: in words" eventually silenced bash -c "'$BUILD/widerow' heat t --endpoint ${urls[b]} | grep -q 'of 3 servers 1 did not answer'"
check "paused: sizes are another's" eventually silenced is b sizes "d['keys'][0]['rows'] == 400 and d['silent'] == 1"
check "awake: heat of all" eventually is a heat "$written == 1000 and d['silent'] == 0"

# ---- what is reserved is shared ----

if [ "${TIER:-nightly}" = short ]; then
    counts peers
    exit
fi
stop_all
export WIDEROW_NAMESPACE=peers-$$-shares # settings are a pool's
rm -rf "$work"/?/
start a --set enforce_throughput=1 --set throughput_burst_s=1 --set throughput_change_s_min=0
start b --set enforce_throughput=1 --set throughput_burst_s=1 --set throughput_change_s_min=0
widerow a create r --key k:integer >/dev/null
widerow a throughput r --read 60 --write 60 >/dev/null
sleep 11 # by then each has counted

# 200 units through one server: 60 a second would take it 2.3 s behind the burst, its share of 30 5.7 s.
{ echo k,v; seq 1 200 | awk '{ print $1 ",v" }'; } >"$work/r.csv"
share() {
    local start=$EPOCHREALTIME
    widerow a import "$work/r.csv" --table r --batch 5 --quiet --retry 60 || return 1
    awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { print to - from " s"; exit !(to - from > 4.5) }'
}
check "reserved: shared by two" share
cat "$work/out"
check "reserved: once for all" bash -c "'$BUILD/widerow' partitions r --endpoint ${urls[b]} | grep -q 'writes: reserved 60 a second; used 200,'"
counts peers
