#!/usr/bin/env bash
# Linearizability over three servers under faults: conditional locks (free, mine, free) and all else that test/linear does, while
# servers and OSDs are paused, killed and started, one server's link to the cluster is cut or slow, and the servers' clocks are 0.9 s
# apart; and bugs that are planted in the same run are found.
#
#   test/rados/linear.sh CLUSTER_DIR
#   BUILD=build            the build folder to test; WIDEROWD=PATH another server, whose faults are to be found
#   TIER=short|nightly     half a minute with pauses up to 2 s and one planted bug; or four runs with pauses up to 40 s, and all bugs
#   SEED=N                 repeats a run's choices
#   BUGS=PART              plants the bugs with that in their names
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
work=$(mktemp -d /tmp/wr-linear.XXXXXX)
trap 'exec 9>&-; wait; rm -rf "$work"' EXIT
export LINEAR_CLUSTER_DIR=$1 LINEAR_LINK=$work LINEAR_PRELOAD=$(realpath "$BUILD/test/rados_preload.so")
export WIDEROW_CEPH_CONF=${WIDEROW_CEPH_CONF:-$1/ceph.conf} WIDEROW_POOL=${WIDEROW_POOL:-data}
mkfifo "$work/stdin"
test/rados/link.py "$work" <"$work/stdin" &
exec 9>"$work/stdin" # its end ends the proxy
for _ in $(seq 100); do
    [ -s "$work/port" ] && break
    sleep 0.1
done
args=(--widerowd "${WIDEROWD:-$BUILD/widerowd}" --engine rados --servers 3 --only "under faults" ${SEED:+--seed "$SEED"})
if [ "$TIER" = nightly ]; then
    args+=(--rounds 4 --faults 18 --pause 40 --bugs "${BUGS:-}")
else
    args+=(--scale 0.05 --faults 4 --pause 2 --bugs "${BUGS:-conditional update lost}")
fi
"$BUILD/test/linear" "${args[@]}" 9>&-
