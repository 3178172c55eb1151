# MariaDB of Debian with its RocksDB engine, asked through its own client library (mariadb.c).

myrocks_title="MyRocks"
myrocks_conf=(--plugin-load-add=ha_rocksdb --rocksdb-flush-log-at-trx-commit=1
    --skip-log-bin --max-connections=300 --skip-name-resolve)

myrocks_settings() { echo "MariaDB $(mariadbd --version | sed -E 's/.*Ver ([0-9.]+).*/\1/'): ${myrocks_conf[*]} --rocksdb-block-cache-size=$MEMORY; TCP, prepared, a thread a connection"; }

myrocks_start() {
    local user=()
    command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null || { echo "mariadb-server is not installed"; return 1; }
    [ -x "$build/bench/mariadb" ] || { echo "its client $build/bench/mariadb was not built"; return 1; }
    [ "$(id -u)" != 0 ] || user=(--user=root)
    [ -d "$work/my" ] || myrocks_make "${user[@]}" || return 1
    myrocks_port=$(free_port)
    : >"$work/my/log"
    mariadbd --no-defaults "${user[@]}" --datadir="$work/my/data" --port="$myrocks_port" --bind-address=127.0.0.1 \
        --socket="$work/my/socket" --pid-file="$work/my/pid" --init-file="$work/my/init.sql" "${myrocks_conf[@]}" \
        "--rocksdb-block-cache-size=$(memory_mib)M" >"$work/my/log" 2>&1 &
    myrocks_pid=$!
    wait_for grep -q 'ready for connections' "$work/my/log" && grep -q "$myrocks_port" "$work/my/log" || { tail -5 "$work/my/log"; return 1; }
}

myrocks_make() { # ARGS...
    mkdir "$work/my"
    mariadb-install-db --no-defaults --datadir="$work/my/data" "$@" --auth-root-authentication-method=normal \
        --skip-test-db >"$work/my/install.log" 2>&1 || { tail -5 "$work/my/install.log"; return 1; }
    printf '%s\n' "CREATE DATABASE IF NOT EXISTS bench;" "CREATE USER IF NOT EXISTS bench@'%' IDENTIFIED BY '';" \
        "GRANT ALL ON bench.* TO bench@'%';" >"$work/my/init.sql"
}

myrocks_stop() { end_process "$myrocks_pid"; }
myrocks_load() { timeout 1800 "$build/bench/mariadb" "$myrocks_port" load "$RECORDS"; }
myrocks_measure() { timeout $((seconds + 120)) "$build/bench/mariadb" "$myrocks_port" "$1" "$RECORDS" "$seconds" "$CONNECTIONS"; }
