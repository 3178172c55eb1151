#!/usr/bin/env bash
# Loading and leaving, beside PostgreSQL: the campus sample's records, on disk before they are answered.
#
#   make RELEASE=1 all && BUILD=build-release bench/load.sh
#   RECORDS=10000000 SHUFFLE_RECORDS=1000000 WORKERS=4 ROUNDS=1 MEMORY_MIB=1024 WORK=. PARTS="import export embedded shuffle"
#
#   import     `widerow import` over HTTP with WORKERS connections; COPY FROM, and INSERTs of 200 rows by as many sessions
#   export     `widerow export` to Parquet over HTTP; COPY TO as CSV; the file's size beside that of the same rows as CSV, gzipped
#   embedded   `widerow import --embedded` into a new folder; COPY FROM
#   shuffle    with limits on each partition: --shuffle into a table that is split beforehand, in order into one partition
#
# A line for each figure, with the largest memory of the command line where it is ours; the median of ROUNDS counts. What does not run
# is stopped meanwhile.
set -u
cd "$(dirname "$0")/.."
: "${BUILD:=build-release}" "${RECORDS:=10000000}" "${SHUFFLE_RECORDS:=$((RECORDS < 1000000 ? RECORDS : 1000000))}" "${WORKERS:=4}" "${ROUNDS:=1}" "${MEMORY_MIB:=1024}" "${WORK:=.}"
: "${PARTS:=import export embedded shuffle}"
work=$(mktemp -d "$(cd "$WORK" && pwd)/bench-load.XXXXXX")
widerow=$BUILD/widerow
servers=()
pg_bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
finish() {
    signal CONT
    as_postgres "$pg_bin/pg_ctl" -D "$work/pg" -m immediate -s stop 2>/dev/null
    [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null
    wait
    rm -rf "$work"
}
trap finish EXIT
declare -A of=()
family() { echo "$1"; ps -o pid= --ppid "$1"; } # PostgreSQL is a process a connection
signal() { local server; for server in "${!of[@]}"; do kill -"$1" $(family "${of[$server]}") 2>/dev/null; done; }
alone() { signal STOP; [ -z "${1:-}" ] || kill -CONT $(family "${of[$1]}"); } # SERVER, or none
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
wants() { case " $PARTS " in *" $1 "*) true ;; *) false ;; esac; }

export WIDEROW_ACCESS_KEY_ID=bench WIDEROW_ACCESS_KEY_SECRET=bench-secret WIDEROW_INSTANCE=bench
start_widerow() { # NAME FLAG…
    "$BUILD/widerowd" --data "$work/$1" --instance bench --http 127.0.0.1:0 --admin off --memory "${MEMORY_MIB}M" --port-file "$work/$1.port" "${@:2}" >"$work/$1.log" 2>&1 &
    servers+=($!) of[$1]=$!
    until [ -s "$work/$1.port" ]; do sleep 0.1; done
    export WIDEROW_ENDPOINT=http://$(sed -n 's/^http=//p' "$work/$1.port")
}

port=$(free_port)
install -d -m 700 "$work/pg" && chmod 711 "$work"
[ "$(id -u)" != 0 ] || chown postgres "$work/pg"
as_postgres "$pg_bin/initdb" -D "$work/pg" -A trust -E UTF8 --locale=C >/dev/null
as_postgres "$pg_bin/pg_ctl" -D "$work/pg" -s -w -l "$work/pg/log" -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c shared_buffers=${MEMORY_MIB}MB -c max_wal_size=8GB -c checkpoint_timeout=15min" start
of[postgres]=$(head -1 "$work/pg/postmaster.pid")
psql_() { as_postgres "$pg_bin/psql" -h 127.0.0.1 -p "$port" -d postgres -qAt -v ON_ERROR_STOP=1 "$@"; }

csv=$work/campus.csv key=CardID,time,OrderNumber
"$widerow" sample campus --records "$RECORDS" >"$csv" || exit 1
declare -A results=()
# timed NAME COMMAND…: rows a second, and the largest memory of the command.
timed() {
    local seconds memory start
    sync
    start=$(date +%s.%N)
    /usr/bin/time -o "$work/time" -f %M "${@:2}" >"$work/out" 2>&1 || { tail -5 "$work/out"; exit 1; }
    seconds=$(echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }')
    memory=$(awk '{ print int($1 / 1024) }' "$work/time")
    results[$1]+=" $(awk -v n="$RECORDS" -v s="$seconds" 'BEGIN { print n / s }')"
    printf '%-22s %10.0f rows/s  %6.1f s  %4d MiB\n' "$1" "$(awk -v n="$RECORDS" -v s="$seconds" 'BEGIN { print n / s }')" "$seconds" "$memory"
}
median() { tr ' ' '\n' <<<"${results[$1]}" | grep . | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ratio() { printf '%-60s %.2fx (bar %s)\n' "$1" "$(awk -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN { print a / b }')" "$4"; } # TEXT NAME NAME BAR

postgres_table() {
    psql_ -c 'SET client_min_messages = error' -c 'DROP TABLE IF EXISTS campus' -c 'CREATE TABLE campus (CardID bigint, SellerID text, DeviceID bigint, OrderNumber bigint, amount double precision,
        time text COLLATE "C", PRIMARY KEY (CardID, time, OrderNumber))' -c CHECKPOINT
}
postgres_copy() { psql_ -c 'COPY campus FROM STDIN CSV HEADER' <"$csv"; }
postgres_insert() { # by as many sessions as we have workers
    local i pids=()
    for i in $(seq "$WORKERS"); do psql_ <"$work/insert.$i" & pids+=($!); done
    for i in "${pids[@]}"; do wait "$i" || return 1; done
}
postgres_out() { psql_ -c 'COPY campus TO STDOUT CSV HEADER' >"$work/postgres.csv"; }
export -f postgres_copy postgres_insert postgres_out psql_ as_postgres
export pg_bin port csv WORKERS work
make_inserts() {
    awk -F, -v workers="$WORKERS" -v to="$work/insert." 'NR > 1 {
        b = int((NR - 2) / 200); f = to (b % workers + 1)
        printf "%s(%s,'\''%s'\'',%s,%s,%s,'\''%s'\'')", (NR - 2) % 200 ? "," : (b >= workers ? ";\n" : "") "INSERT INTO campus VALUES ", $1, $2, $3, $4, $5, $6 >f
    } END { for (i = 1; i <= workers; i++) printf ";\n" >(to i) }' "$csv"
}
import_table() { "$widerow" drop campus >/dev/null 2>&1; timed "$1" "$widerow" import "$csv" --table campus --create --key $key --workers "$WORKERS" --quiet; }

start_widerow data
! wants import || make_inserts
rounds=$ROUNDS
[ "$PARTS" != shuffle ] || rounds=0
for round in $(seq "$rounds"); do
    alone postgres
    if wants import; then
        postgres_table
        timed postgres-insert bash -c postgres_insert
    fi
    postgres_table
    timed postgres-copy bash -c postgres_copy
    if wants export; then timed postgres-out bash -c postgres_out; fi
    alone data
    if wants import || { wants export && [ "$round" = 1 ]; }; then import_table import; fi
    if wants export; then
        rm -f "$work/campus.parquet"
        timed export "$widerow" export campus --format parquet --output "$work/campus.parquet" --quiet
    fi
    if wants embedded; then
        alone
        rm -rf "$work/embedded"
        timed embedded "$widerow" import "$csv" --table campus --create --key $key --embedded --dir "$work/embedded" --quiet
    fi
done
if wants export; then
    alone data
    timed export-csv "$widerow" export campus --output "$work/out.csv" --quiet
    gzip <"$work/out.csv" >"$work/out.csv.gz"
fi
if wants shuffle; then
    alone
    # As the server comes: 10,000 units a second a partition. Neither table is split while it is loaded.
    limits=(--set enforce_throughput=partition --set partition_hot_s=86400 --set partitions_max=64)
    head -n $((SHUFFLE_RECORDS + 1)) "$csv" >"$work/part.csv"
    csv=$work/part.csv RECORDS=$SHUFFLE_RECORDS
    for how in in-order shuffled; do
        start_widerow "$how" "${limits[@]}"
        alone "$how"
        if [ $how = shuffled ]; then flags=(--shuffle --partitions 8); else flags=(--partitions 1); fi
        timed $how "$widerow" import "$csv" --table campus --create --key $key --workers "$WORKERS" --quiet --retry 600 "${flags[@]}"
        alone
    done
fi
echo
if wants import; then
    ratio "import of PostgreSQL's batched INSERT" import postgres-insert 2
    ratio "import of PostgreSQL's COPY" import postgres-copy 0.5
fi
if wants export; then
    ratio "export to Parquet of PostgreSQL's COPY TO CSV" export postgres-out 0.7
    printf '%-60s %.3fx (bar at most 0.6)\n' "Parquet's size of the CSV's gzip" \
        "$(awk -v a="$(stat -c %s "$work/campus.parquet")" -v b="$(stat -c %s "$work/out.csv.gz")" 'BEGIN { print a / b }')"
fi
if wants embedded; then ratio "import --embedded of PostgreSQL's COPY" embedded postgres-copy 1; fi
if wants shuffle; then ratio "shuffled of in order, partitions limited" shuffled in-order 4; fi
exit 0
