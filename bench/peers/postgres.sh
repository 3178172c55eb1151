# PostgreSQL of Debian, asked by pgbench with prepared statements over TCP. It does not run as root.

postgres_title="PostgreSQL"
postgres_conf=(fsync=on synchronous_commit=on full_page_writes=on max_wal_size=8GB
    checkpoint_timeout=15min wal_compression=off max_connections=200 autovacuum=on)
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
cursor_rows=5000 cursor_pages=4

as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
postgres_settings() { echo "$("$postgres_bin/postgres" --version | awk '{ print $3 }'): ${postgres_conf[*]} shared_buffers=$MEMORY; TCP, pgbench -M prepared -j 2"; }

postgres_start() {
    local options s
    [ -n "$postgres_bin" ] || { echo "PostgreSQL is not installed"; return 1; }
    postgres_port=$(free_port)
    options="-c port=$postgres_port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=$(memory_mib)MB"
    for s in "${postgres_conf[@]}"; do options+=" -c $s"; done
    [ -d "$work/pg" ] || postgres_make || return 1
    as_postgres "$postgres_bin/pg_ctl" -D "$work/pg" -s -w -t 600 -l "$work/pg/log" -o "$options" start || return 1
    postgres_pid=$(head -1 "$work/pg/postmaster.pid")
    postgres_scripts
}

postgres_make() {
    install -d -m 700 "$work/pg"
    [ "$(id -u)" != 0 ] || chown postgres "$work/pg"
    chmod 711 "$work"
    as_postgres "$postgres_bin/initdb" -D "$work/pg" -A trust -E UTF8 --locale=C >/dev/null
}

# postgres_stop [gently]: so that the next start has nothing to recover.
postgres_stop() { as_postgres "$postgres_bin/pg_ctl" -D "$work/pg" -m "$([ "${1:-}" = gently ] && echo fast || echo immediate)" -t 600 -s stop; }

run_psql() { as_postgres "$postgres_bin/psql" -h 127.0.0.1 -p "$postgres_port" -d postgres -qAt -v ON_ERROR_STOP=1 "$@"; }

postgres_load() {
    local i types=''
    for i in 0 1 2 3 4 5 6 7 8 9; do types+=", field$i text"; done
    run_psql >/dev/null <<SQL || return 1
CREATE TABLE bench (id text COLLATE "C" PRIMARY KEY$types);
CREATE TABLE small (id text COLLATE "C" PRIMARY KEY, field0 text);
CREATE TABLE hot (id text PRIMARY KEY, hits bigint);
CREATE SEQUENCE inserts MINVALUE 0 START $RECORDS;
INSERT INTO hot VALUES ('hot', 0);
SQL
    make_lines 10 100 | run_psql -c 'COPY bench FROM STDIN' || return 1
    [ "$tier" = cold ] || make_lines 1 70 | run_psql -c 'COPY small FROM STDIN' || return 1
    ! measures index || run_psql -c 'CREATE TABLE indexed (LIKE bench INCLUDING ALL)' -c 'INSERT INTO indexed SELECT * FROM bench' \
        -c 'CREATE INDEX ON indexed (field0)' -c 'CREATE INDEX ON indexed (field1)' || return 1
    ! measures build || run_psql -c 'CREATE TABLE built (LIKE bench INCLUDING ALL)' -c 'INSERT INTO built SELECT * FROM bench' || return 1
    ! measures transaction || postgres_load_groups || return 1
    run_psql -c 'VACUUM ANALYZE' -c CHECKPOINT
}

# Rows of which three have the same first key column, as `widerow bench transaction` has them.
postgres_load_groups() {
    local i fields=''
    for i in 0 1 2 3 4 5 6 7 8 9; do fields+=", field$i"; done
    run_psql -c "CREATE TABLE groups AS SELECT 'user' || lpad((n / 3)::text, 20, '0') COLLATE \"C\" AS id, n % 3 AS part$fields
        FROM (SELECT substr(id, 5)::bigint AS n$fields FROM bench) AS b" -c 'ALTER TABLE groups ADD PRIMARY KEY (id, part)'
}

postgres_make_index() { run_psql -c 'CREATE INDEX CONCURRENTLY built_index ON built (field0)'; }
postgres_write_built() { seconds=1 run_pgbench write-built prepared "$CONNECTIONS" "${postgres_values[@]}"; }
postgres_build() { while_building postgres_make_index postgres_write_built && run_psql -c 'DROP INDEX built_index'; }

postgres_script() { printf '%s\n' "${@:2}" >"$work/pg.$1.sql"; } # NAME LINES...

# What pgbench runs. A record is chosen as `widerow bench` does it: uniformly, or by the formula of bench_zipf.c (pgbench's own
# random_zipfian() takes no exponent below 1.001), whose numbers permute() spreads.
postgres_scripts() {
    local i key="'user' || lpad(:n::text, 20, '0')" values='' set='' each='' fresh uniform zipf zeta newest
    for i in 0 1 2 3 4 5 6 7 8 9; do
        values+=", :v$i"
        set+="${set:+, }field$i = excluded.field$i"
        each+="${each:+, }field$i = :v$i"
        postgres_values+=(-D "v$i=${record_values[i]}")
    done
    uniform="\\set n random(0, $RECORDS - 1)"
    postgres_script read "$uniform" "SELECT * FROM bench WHERE id = $key;"
    postgres_script write "$uniform" "INSERT INTO bench VALUES ($key$values) ON CONFLICT (id) DO UPDATE SET $set;"
    postgres_script write-if "$uniform" "UPDATE bench SET $each WHERE id = $key;"
    # Values that change: an update that leaves an indexed column as it was touches no index.
    fresh="left(md5(:r::text) || :v0, 100), left(md5((:r + 1)::text) || :v1, 100)"
    for i in 2 3 4 5 6 7 8 9; do fresh+=", :v$i"; done
    for i in index-write:indexed write-built:built; do
        postgres_script "${i%:*}" "$uniform" '\set r random(0, 1000000000)' \
            "INSERT INTO ${i#*:} VALUES ($key, $fresh) ON CONFLICT (id) DO UPDATE SET $set;"
    done
    postgres_script index-other "$uniform" '\set r random(0, 1000000000)' \
        "UPDATE indexed SET field2 = left(md5(:r::text) || :v2, 100) WHERE id = $key;"
    {
        echo "\\set n random(0, ($RECORDS - 1) / 3)"
        echo 'BEGIN;'
        for i in 0 1 2; do echo "INSERT INTO groups VALUES ($key, $i$values) ON CONFLICT (id, part) DO UPDATE SET $set;"; done
        echo "SELECT * FROM groups WHERE id = $key AND part = 0;"
        echo 'COMMIT;'
    } >"$work/pg.transaction.sql"
    postgres_script hot "UPDATE hot SET hits = hits + 1 WHERE id = 'hot';"
    # 200 rows in a run, in one statement; parameters would be 2,000.
    {
        echo "\\set n random(0, greatest($RECORDS - 200, 0))"
        printf 'INSERT INTO bench VALUES '
        for i in $(seq 0 199); do
            printf "%s('user' || lpad((:n + %d)::text, 20, '0')" "$([ "$i" = 0 ] || echo ,)" "$i"
            printf ", '%s'" "${record_values[@]}"
            printf ')'
        done
        echo " ON CONFLICT (id) DO UPDATE SET $set;"
    } >"$work/pg.batch.sql"
    write_cursor bench range
    write_cursor small small
    [ "$tier" = cold ] || return 0
    zeta=$(awk -v n="$RECORDS" 'BEGIN { t = 0.99; for (i = 1; i <= n; i++) z += i ^ -t
        printf "%.9f %.9f", z, (1 - (2 / n) ^ (1 - t)) / (1 - (1 + 0.5 ^ t) / z) }')
    zipf=("\\set u random(0, 1073741823) / 1073741824.0" "\\set uz :u * ${zeta% *}"
        "\\set z case when :uz < 1 then 0 when :uz < 1.50347777 then 1 else least(int($RECORDS * pow(${zeta#* } * :u - ${zeta#* } + 1, 100)), $RECORDS - 1) end")
    newest="'user' || lpad(((SELECT last_value FROM inserts) - :connections - :z)::text, 20, '0')"
    postgres_script zipf-read "${zipf[@]}" "\\set n permute(:z, $RECORDS)" "SELECT * FROM bench WHERE id = $key;"
    postgres_script zipf-update "${zipf[@]}" "\\set n permute(:z, $RECORDS)" "UPDATE bench SET field0 = :v0 WHERE id = $key;"
    postgres_script zipf-modify "${zipf[@]}" "\\set n permute(:z, $RECORDS)" "SELECT * FROM bench WHERE id = $key;" \
        "UPDATE bench SET field0 = :v0 WHERE id = $key;"
    postgres_script latest-read "${zipf[@]}" "SELECT * FROM bench WHERE id = $newest;"
    postgres_script insert "INSERT INTO bench VALUES ('user' || lpad(nextval('inserts')::text, 20, '0')$values);"
}

# Records as COPY reads them, their values cut from random letters.
make_lines() { # COLUMNS BYTES
    awk -v n="$RECORDS" -v columns="$1" -v size="$2" -v pool="$(tr -dc a-z </dev/urandom 2>/dev/null | head -c 16384)" 'BEGIN {
        for (i = 0; i < n; i++) {
            printf "user%020d", i
            for (k = 0; k < columns; k++) printf "\t%s", substr(pool, 1 + int(rand() * (16384 - size)), size)
            printf "\n"
        }
    }'
}

write_cursor() { # TABLE NAME
    local i
    {
        echo "\\set n random(0, greatest($RECORDS - $((cursor_rows * cursor_pages)), 0))"
        echo "BEGIN;"
        echo "DECLARE c CURSOR FOR SELECT * FROM $1 WHERE id >= 'user' || lpad(:n::text, 20, '0') ORDER BY id;"
        for i in $(seq $cursor_pages); do echo "FETCH $cursor_rows FROM c;"; done
        echo "COMMIT;"
    } >"$work/pg.$2.sql"
}

# run_pgbench SCRIPTS MODE CLIENTS ARGS...: transactions a second. A script may have a weight: a@95,b@5.
run_pgbench() {
    local script mode=$2 clients=$3 files=()
    for script in ${1//,/ }; do
        [[ $script == *@* ]] || script+=@1
        files+=(-f "$work/pg.${script%@*}.sql@${script#*@}")
    done
    shift 3
    as_postgres timeout $((seconds + 120)) "$postgres_bin/pgbench" -h 127.0.0.1 -p "$postgres_port" -n -M "$mode" -c "$clients" -j 2 \
        -T "$seconds" "${files[@]}" "$@" postgres 2>"$work/pg.pgbench.log" | sed -nE 's/^tps = ([0-9.]+).*/\1/p'
    [ "${PIPESTATUS[0]}" = 0 ] || tail -2 "$work/pg.pgbench.log" >&2
}

postgres_measure() {
    local rows=$((cursor_rows * cursor_pages)) scripts=$1
    [ $rows -le "$RECORDS" ] || rows=$RECORDS
    case $1 in
    read | hot) run_pgbench "$1" prepared "$CONNECTIONS" ;;
    build) postgres_build ;;
    build-writes) cached postgres/build 2 ;;
    write | write-if | index-write | index-other | transaction) run_pgbench "$1" prepared "$CONNECTIONS" "${postgres_values[@]}" ;;
    ycsb-*)
        case $1 in
        ycsb-a) scripts=zipf-read@50,zipf-update@50 ;;
        ycsb-b) scripts=zipf-read@95,zipf-update@5 ;;
        ycsb-c) scripts=zipf-read ;;
        ycsb-d) scripts=latest-read@95,insert@5 ;;
        ycsb-f) scripts=zipf-read@50,zipf-modify@50 ;;
        esac
        run_pgbench "$scripts" prepared "$CONNECTIONS" "${postgres_values[@]}" -D "connections=$CONNECTIONS"
        ;;
    batch) run_pgbench batch simple 8 | awk '{ printf "%.0f\n", $1 * 200 }' ;;
    range | small) run_pgbench "$1" simple 8 | awk -v n=$rows '{ printf "%.0f\n", $1 * n }' ;;
    half) postgres_half ;;
    esac
}

# The 99th percentile from pgbench's log of transactions: the third column, lateness included.
postgres_half() {
    local peak rate logs
    peak=$(cached postgres/read 1)
    [ -n "$peak" ] || return 1
    logs=$work/pglog
    rm -rf "$logs"
    install -d -m 777 "$logs"
    rate=$(run_pgbench read prepared "$CONNECTIONS" -R "$(awk -v p="$peak" 'BEGIN { printf "%d", p / 2 + 1 }')" -l --log-prefix="$logs/t")
    cat "$logs"/t* | awk '{ print $3 }' | sort -n | awk -v r="$rate" '{ v[NR] = $1 } END { if (NR) printf "%.0f %.0f\n", r, v[int(NR * 0.99 + 0.5)] }'
    rm -rf "$logs"
}
