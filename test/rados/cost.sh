#!/usr/bin/env bash
# What requests cost on a pool, by the counters of /metrics: one read for a GetRow, at most one write for a blind PutRow,
# and fewer of both when many come together, two operations for a change that depends on its row.
#
#   WIDEROW_CEPH_CONF, WIDEROW_POOL   the cluster
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
export WIDEROW_ACCESS_KEY_ID=id WIDEROW_ACCESS_KEY_SECRET=secret WIDEROW_INSTANCE=local WIDEROW_NAMESPACE=${WIDEROW_NAMESPACE:-cost-$$}

# Nothing but what is asked for reads or writes: no size watch, no partition is cut.
serve data --engine rados --admin 127.0.0.1:0 --set size_watch_bytes_per_s_max=0
endpoint=${urls[data]} admin=${admins[data]}

counters() { # reads and writes sent, requests of the operation answered
    curl -s "$admin/metrics" | awk -v op="{op=\"$1\"}" '$1 == "widerow_storage_reads_total" { r = $2 }
        $1 == "widerow_storage_writes_total" { w = $2 } $1 == "widerow_requests_total" op { n = $2 } END { print r + 0, w + 0, n + 0 }'
}

# cost WHAT WIRE-NAME READS WRITES ARGUMENT…: runs the bench and holds operations a request against bounds "low high".
cost() {
    local what=$1 op=$2 reads=$3 writes=$4 before after
    shift 4
    before=$(counters "$op")
    "$BUILD/widerow" bench "$@" --records 2000 --fields 2 --quiet --endpoint "$endpoint" >"$work/out" 2>&1 || cat "$work/out"
    after=$(counters "$op")
    if awk -v what="$what" -v reads="$reads" -v writes="$writes" '
        NR == 1 { r = $1; w = $2; n = $3 }
        NR == 2 { r = $1 - r; w = $2 - w; n = $3 - n }
        END {
            split(reads, a, " "); split(writes, b, " ")
            if (n) { r /= n; w /= n }
            ok = n > 0 && r >= a[1] && r <= a[2] && w >= b[1] && w <= b[2]
            printf "%-36s %6d requests %6.3f reads %6.3f writes each%s\n", what, n, r, w, ok ? "" : "  FAILED: " reads ", " writes
            exit !ok
        }' <<<"$before"$'\n'"$after"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

"$BUILD/widerow" bench read --records 2000 --fields 2 --ops 1 --quiet --endpoint "$endpoint" >"$work/out" 2>&1
# Operations of the server's own (its lease, tables read again) are let pass: on a slow machine they are more a request.
cost "GetRow, one after the other" GetRow "1 1.1" "0 0.1" read --ops 1000 --connections 1
cost "GetRow, 64 at a time" GetRow "0.01 0.6" "0 0.1" read --ops 4000
cost "PutRow, one after the other" PutRow "0 0.1" "0.9 1.1" write --ops 500 --connections 1
cost "PutRow, 64 at a time" PutRow "0 0.1" "0.01 0.7" write --ops 4000
cost "increment, one after the other" UpdateRow "0.9 1.1" "0.9 1.1" hot --ops 500 --connections 1
cost "increment, 64 at a time" UpdateRow "0 1.1" "0.001 0.7" hot --ops 4000

# Start, three blind writes, a read of what was written, commit: each looks at the lock once, and all but the read write one batch.
"$BUILD/widerow" bench transaction --records 2000 --fields 2 --ops 1 --quiet --endpoint "$endpoint" >"$work/out" 2>&1
cost "transactions, one after the other" CommitTransaction "5.9 6.5" "4.9 5.5" transaction --ops 200 --connections 1

counts cost
