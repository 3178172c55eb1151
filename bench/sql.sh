#!/usr/bin/env bash
# SQL beside PostgreSQL and MariaDB's InnoDB: the same records (24-byte keys, 10 columns of 100 bytes), as many statements under
# way, writes on disk before they are answered.
#
#   make RELEASE=1 all build-release/bench/mariadb && BUILD=build-release bench/sql.sh
#   RECORDS=1000000 SECONDS_EACH=10 ROUNDS=3 CONNECTIONS=16 MEMORY_MIB=1024 WORK=. WHAT='read write rows count sum count100 sum100'
#
# A line for each: point SELECT and UPSERT of a row, prepared, in statements a second; all rows streamed, in rows a second; COUNT(*)
# and SUM of a column over the table, in rows a second, and both again (count100, sum100) over as many rows of 100 bytes, whose column
# is a number. Rounds measure one after the other; the median of a round's ratios counts.
# Rows are taken by clients that do nothing with them, a cursor's 5,000 at a time from PostgreSQL: mariadb --batch and psql spend more on
# printing a row than a server on sending it.
# What does not run is stopped meanwhile. PostgreSQL reads with one process (max_parallel_workers_per_gather=0).
set -u
cd "$(dirname "$0")/.."
: "${BUILD:=build-release}" "${RECORDS:=1000000}" "${SECONDS_EACH:=10}" "${ROUNDS:=3}" "${CONNECTIONS:=16}" "${MEMORY_MIB:=1024}" "${WORK:=.}"
: "${WHAT:=read write rows count sum count100 sum100}"
work=$(mktemp -d "$(cd "$WORK" && pwd)/bench-sql.XXXXXX")
pids=()
pg_bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
finish() {
    signal CONT
    as_postgres "$pg_bin/pg_ctl" -D "$work/pg" -m immediate -s stop 2>/dev/null
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
    wait
    rm -rf "$work"
}
trap finish EXIT
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
wait_for() { for _ in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; echo "not ready: $*"; exit 1; }
family() { echo "$1"; ps -o pid= --ppid "$1"; } # PostgreSQL is a process a connection
declare -A of=() port=()
signal() { local server; for server in "${!of[@]}"; do kill -"$1" $(family "${of[$server]}") 2>/dev/null; done; }

export WIDEROW_ACCESS_KEY_ID=bench WIDEROW_ACCESS_KEY_SECRET=bench-secret WIDEROW_INSTANCE=bench
"$BUILD/widerowd" --data "$work/widerow" --instance bench --http 127.0.0.1:0 --sql 127.0.0.1:0 --admin off --memory "${MEMORY_MIB}M" --port-file "$work/ports" \
    >"$work/widerow.log" 2>&1 &
pids+=($!) of[widerow]=$!
wait_for grep -q ^sql= "$work/ports"
port[widerow]=$(sed -n 's/^sql=.*://p' "$work/ports")

mkdir "$work/my"
mariadb-install-db --no-defaults --datadir="$work/my/data" --user="$(id -un)" --auth-root-authentication-method=normal --skip-test-db >/dev/null 2>&1
printf '%s\n' 'CREATE DATABASE bench;' "CREATE USER bench@'%' IDENTIFIED BY '';" "GRANT ALL ON bench.* TO bench@'%';" >"$work/my/init"
port[innodb]=$(free_port)
mariadbd --no-defaults --user="$(id -un)" --datadir="$work/my/data" --port="${port[innodb]}" --bind-address=127.0.0.1 --socket="$work/my/socket" --init-file="$work/my/init" \
    --skip-log-bin --skip-name-resolve --max-connections=300 --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size="${MEMORY_MIB}M" >"$work/my/log" 2>&1 &
pids+=($!) of[innodb]=$!
wait_for mariadb --no-defaults -h 127.0.0.1 -P "${port[innodb]}" -u bench bench -e 'select 1'

install -d -m 700 "$work/pg" && chmod 711 "$work"
[ "$(id -u)" != 0 ] || chown postgres "$work/pg"
as_postgres "$pg_bin/initdb" -D "$work/pg" -A trust -E UTF8 --locale=C >/dev/null
port[postgres]=$(free_port)
as_postgres "$pg_bin/pg_ctl" -D "$work/pg" -s -w -l "$work/pg/log" -o "-p ${port[postgres]} -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c shared_buffers=${MEMORY_MIB}MB -c max_wal_size=8GB -c checkpoint_timeout=15min -c max_connections=200 -c max_parallel_workers_per_gather=0" start
of[postgres]=$(head -1 "$work/pg/postmaster.pid")
psql_() { as_postgres "$pg_bin/psql" -h 127.0.0.1 -p "${port[postgres]}" -d postgres -qAt -v ON_ERROR_STOP=1 "$@"; }
mysql_() { # SERVER STATEMENT: rows as they come
    local user=bench password=
    [ "$1" != widerow ] || password=$WIDEROW_ACCESS_KEY_SECRET
    mariadb --no-defaults -h 127.0.0.1 -P "${port[$1]}" -u $user --password="$password" --quick --batch -N bench -e "$2"
}

mysql_script() { # SERVER: what comes in
    local user=bench password=
    [ "$1" != widerow ] || password=$WIDEROW_ACCESS_KEY_SECRET
    mariadb --no-defaults -h 127.0.0.1 -P "${port[$1]}" -u $user --password="$password" bench
}

for s in widerow innodb; do BENCH_SQL=$s "$BUILD/bench/mariadb" "${port[$s]}" load "$RECORDS" || exit 1; done
mysql_ innodb 'select * from bench' >"$work/rows"
{
    echo 'CREATE TABLE bench (id text COLLATE "C" PRIMARY KEY, field0 text, field1 text, field2 text, field3 text, field4 text, field5 text, field6 text, field7 text, field8 text, field9 text);'
    echo 'COPY bench FROM STDIN;'
    cat "$work/rows"
    echo '\.'
    echo 'VACUUM ANALYZE;'
} | psql_ || exit 1
letters=$(head -1 "$work/rows" | cut -f2)
# Rows of 100 bytes: a key of 24, a number, 68 letters.
small_rows() { awk -v records="$RECORDS" -v letters="${letters:0:68}" 'BEGIN { for (n = 0; n < records; n++) printf "user%020d\t%d\t%s\n", n, n % 1000, letters }'; }
small_inserts() { awk -F'\t' '{ printf "%s('"'%s',%s,'%s'"')", NR % 1000 == 1 ? "INSERT INTO small (id, n, pad) VALUES " : ",", $1, $2, $3; if (NR % 1000 == 0) print ";" } END { if (NR % 1000) print ";" }'; }
{
    echo 'CREATE TABLE small (id text COLLATE "C" PRIMARY KEY, n bigint, pad text);'
    echo 'COPY small FROM STDIN;'
    small_rows
    echo '\.'
    echo 'VACUUM ANALYZE small;'
} | psql_ || exit 1
for s in widerow innodb; do
    mysql_ "$s" 'CREATE TABLE small (id VARCHAR(64), n BIGINT, pad VARCHAR(100), PRIMARY KEY (id))' || exit 1
    small_rows | small_inserts | mysql_script "$s" || exit 1
done
rm "$work/rows"
# The servers compute with what stands in the columns: SUM takes their length.
sum='select sum(length(field0)) from bench'
key="'user' || lpad(:n::text, 20, '0')"
printf '%s\n' "\\set n random(0, $RECORDS - 1)" "SELECT * FROM bench WHERE id = $key;" >"$work/read.sql"
values=''
set=''
for i in 0 1 2 3 4 5 6 7 8 9; do values+=", :v" set+="${set:+, }field$i = excluded.field$i"; done
printf '%s\n' "\\set n random(0, $RECORDS - 1)" "INSERT INTO bench VALUES ($key$values) ON CONFLICT (id) DO UPDATE SET $set;" >"$work/write.sql"
{
    echo 'BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT * FROM bench;'
    for ((n = 0; n <= RECORDS; n += 5000)); do echo 'FETCH 5000 FROM c;'; done
    echo 'COMMIT;'
} >"$work/rows.sql"

rows_per_second() { # COMMAND…: of all rows
    local from
    from=$(date +%s%N)
    "$@" >/dev/null || return 1
    echo $((RECORDS * 1000000000 / ($(date +%s%N) - from)))
}
measure() { # SERVER WHAT
    case $1-$2 in
    postgres-read | postgres-write)
        as_postgres "$pg_bin/pgbench" -h 127.0.0.1 -p "${port[postgres]}" -n -M prepared -j 2 -c "$CONNECTIONS" -T "$SECONDS_EACH" -D "v=$letters" -f "$work/$2.sql" postgres |
            sed -nE 's/^tps = ([0-9]+).*without.*/\1/p' ;;
    *-read | *-write) BENCH_SQL=$1 "$BUILD/bench/mariadb" "${port[$1]}" "$2" "$RECORDS" "$SECONDS_EACH" "$CONNECTIONS" ;;
    postgres-rows) rows_per_second as_postgres "$pg_bin/pgbench" -h 127.0.0.1 -p "${port[postgres]}" -n -t 1 -f "$work/rows.sql" postgres ;;
    postgres-count) rows_per_second psql_ -c 'select count(*) from bench' ;;
    postgres-sum) rows_per_second psql_ -c "$sum" ;;
    postgres-count100) rows_per_second psql_ -c 'select count(*) from small' ;;
    postgres-sum100) rows_per_second psql_ -c 'select sum(n) from small' ;;
    *-rows) BENCH_SQL=$1 "$BUILD/bench/mariadb" "${port[$1]}" rows "$RECORDS" ;;
    *-count) rows_per_second mysql_ "$1" 'select count(*) from bench' ;;
    *-sum) rows_per_second mysql_ "$1" "$sum" ;;
    *-count100) rows_per_second mysql_ "$1" 'select count(*) from small' ;;
    *-sum100) rows_per_second mysql_ "$1" 'select sum(n) from small' ;;
    esac
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%-8s %10s %10s %10s   %s\n' '' widerow postgres innodb 'of PostgreSQL, of InnoDB'
for what in $WHAT; do
    for ((round = 0; round < ROUNDS; round++)); do
        for s in widerow postgres innodb; do
            signal STOP
            kill -CONT $(family "${of[$s]}")
            measure "$s" "$what" >"$work/$s.$round" || echo "$s: $what failed" >&2
        done
        signal CONT
        paste "$work/widerow.$round" "$work/postgres.$round" "$work/innodb.$round"
    done >"$work/table"
    printf '%-8s %10s %10s %10s   %sx %sx\n' "$what" "$(cut -f1 "$work/table" | median)" "$(cut -f2 "$work/table" | median)" "$(cut -f3 "$work/table" | median)" \
        "$(awk '$2 { printf "%.2f\n", $1 / $2 }' "$work/table" | median)" "$(awk '$3 { printf "%.2f\n", $1 / $3 }' "$work/table" | median)"
done
