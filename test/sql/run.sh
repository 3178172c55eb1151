#!/usr/bin/env bash
# The MySQL door, asked by what people have: Debian's `mariadb` and, for prepared statements, npm's mysql2.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
node_seconds=100
command -v mariadb >/dev/null || { echo 'SKIPPED sql: mariadb is not installed'; echo 'sql: 0 passed, 0 failed, 1 skipped'; exit 0; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
export WIDEROW_ACCESS_KEY_ID=key1 WIDEROW_ACCESS_KEY_SECRET=secret1 WIDEROW_INSTANCE=inst
check "a server with --sql" serve s --engine mem --sql 127.0.0.1:0 --admin 127.0.0.1:0 --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" \
    --sql-user-connections 1000 --set table_ops_per_s_max=0
port=$(sed -n 's/^sql=.*://p' "$work/s.port")
urls[s]=${urls[s]/http:/https:}
sql() { # USER PASSWORD DATABASE STATEMENTS [FLAG…]
    local user=$1 password=$2 database=$3 statements=$4
    shift 4
    timeout 60 mariadb --no-defaults -h 127.0.0.1 -P "$port" -u "$user" -p"$password" --batch "$@" "$database" -e "$statements"
}
mine() { sql key1 secret1 inst "$@"; }
says() { # EXPECTED COMMAND…: with | for the ends of lines and , for tabs
    local expected=$1
    shift
    [ "$("$@" 2>&1 | tr '\t\n' ',|')" = "$expected" ]
}

check "SELECT 1" says '1|1|' mine 'select 1' --ssl=0
check "the same by TLS" says '1|1|' mine 'select 1' --ssl --ssl-verify-server-cert=0
check "by mysql_native_password" says '1|1|' mine 'select 1' --ssl=0 --default-auth=mysql_native_password
check "a wrong password" fails 'ERROR 1045 \(28000\): Access denied' sql key1 secret2 inst 'select 1'
check "an unknown user" fails 'ERROR 1045' sql key2 secret1 inst 'select 1'
check "another instance" fails 'ERROR 1045' sql key1 secret1 other 'select 1'
check "a table" mine 'create table orders (host varchar, at bigint, note varchar, price double, primary key (host, at desc))'
check "rows" mine "insert into orders (host, at, note, price) values ('a', 1, 'x', 1.5), ('a', 2, NULL, 2), ('b', 1, 'y', 3)"
check "a key" says 'host,at,note,price|a,2,NULL,2|' mine "select * from orders where host = 'a' and at = 2"
check "a range, newest first" says 'at,price|2,2|1,1.5|' mine "select at, price from orders where host = 'a'"
check "groups" says 'host,count(*),sum(price)|a,2,3.5|b,1,3|' mine 'select host, count(*), sum(price) from orders group by host'
check "what would scan is refused" fails 'Detect inefficient query: .* full table scan' mine 'select * from orders where price = 3'
check "unless it is permitted" says 'host|b|' mine 'select /*+ _l_allow_filtering_ */ host from orders where price = 3' --comments
check "an index" mine 'create index by_price_note on orders (note) include (price) sync'
check "what an index serves" says 'host,price|b,3|' mine "select host, price from orders where note = 'y'"
check "the row's other columns by an index" says 'host,at,note,price|a,1,x,1.5|' mine "select * from orders where note < 'y'"
check "indexes are shown" says 'by_price_note,ACTIVE,note|' sh -c "timeout 60 mariadb --no-defaults -h 127.0.0.1 -P $port -ukey1 -psecret1 --batch -N inst -e 'show index from orders' | cut -f3,4,8"
check "how it is served" says 'orders,index by_price_note,note = y,1,1,1,1,no|' mine "explain select * from orders where note = 'y'" -N
check "variables of a session" says '@a,@A + 1,@b|2,3,x|host|b|' mine "set @a = 1, @B := 'b'; set @a = @a + 1; set @c = @b; set @b = 'x'; select @a, @A + 1, @b; select host from orders where host = @c and at = @a - 1"
check "an index goes" mine 'drop index by_price_note on orders'
check "and what it served is refused" fails 'CREATE INDEX orders_note ON orders \(note\)' mine "select host from orders where note = 'y'"
check "a table with versions" mine 'create table temps (id varchar, temp bigint, primary key (id)) with (versions = 3)'
check "rows of a time" mine "upsert /*+ _l_ts_(1000) */ into temps (id, temp) values ('d', 1); upsert /*+ _l_ts_(2000) */ into temps (id, temp) values ('d', 2)" --comments
check "versions and timestamps" says 'temp,temp_l_ts|2,2000|1,1000|' mine "select /*+ _l_versions_(3) */ temp, temp_l_ts from temps where id = 'd'" --comments
check "of a time" says 'temp|1|' mine "select /*+ _l_ts_max_(2000) */ temp from temps where id = 'd'" --comments
check "they go" mine 'drop table temps'
check "the other door has the rows" says '3|' env WIDEROW_ENDPOINT="${urls[s]}" WIDEROW_CA_FILE="$work/cert.pem" "$BUILD/widerow" count orders
# The documented statements, which the drivers below run, too (statements.txt says how they stand there).
statement() { # STATEMENT EXPECTED
    local was
    was=$(mine "$1" -N --comments 2>&1) && case $2 in !*) false ;; esac || {
        [[ $2 == !* && $was =~ ERROR\ ([0-9]+) && "! ${BASH_REMATCH[1]}" == "$2" ]] || { echo "$was"; false; }
        return
    }
    case $2 in
    =*) [ "= $(tr '\t\n' ',|' <<<"$was" | sed 's/|$//')" = "$2" ] || { echo "$was"; false; } ;;
    esac
}
mapfile -t lines <test/sql/statements.txt
for ((i = 0; i < ${#lines[@]}; i++)); do
    case ${lines[i]} in '#'* | '=' | =* | +* | !*) continue ;; esac
    [[ ${lines[i + 1]:-} == [=+!]* ]] && expected=${lines[i + 1]} || expected=
    check "${lines[i]}" statement "${lines[i]}" "$expected"
done
# What is not there costs nothing of the table operations that a second has.
check "a server with one table operation a second" serve few --engine mem --sql 127.0.0.1:0 --set table_ops_per_s_max=1
few=$(sed -n 's/^sql=.*://p' "$work/few.port")
many=$(printf 'drop table if exists nope%d; ' {1..20})
check "tables that are not there are dropped at once" timeout 60 mariadb --no-defaults -h 127.0.0.1 -P "$few" -u key1 -psecret1 --ssl=0 -e "$many" inst
# `widerow sql`
export WIDEROW_SQL=127.0.0.1:$port
shell() { WIDEROW_ENDPOINT=${urls[s]} WIDEROW_CA_FILE=$work/cert.pem timeout 60 "$BUILD/widerow" "$@"; }
typed() { printf '%s\n' "$1" | shell "${@:2}"; }
check "widerow sql" says '{"host":"b","at":1,"note":"y","price":3.0}|' shell sql "select * from orders where host = 'b' and at = 1"
check "widerow sql, CSV with NULL" says 'host:string,at:integer,note:string|a,2,|a,1,x|' shell sql "select host, at, note from orders where host = 'a'" --format csv
check "widerow sql, an upright row" says '-[ 1 ]-|at  1|' typed "select at from orders where host = 'b'\G" sql
check "widerow sql, a script of many lines" says '{"x":1}|{"x":2}|' typed $'-- first;\nselect\n1 as x;\nselect 2 as x' sql
check "widerow sql, a script ends at a mistake" fails 'syntax' typed $'selec 1;\nselect 2 as x;' sql
check "widerow sql, timing" says '1 row changed|' sh -c "'$BUILD/widerow' sql --timing --endpoint '${urls[s]}' --ca-file '$work/cert.pem' \"insert into orders (host, at, note) values ('z', 1, 'w')\" 2>&1 | sed 's/, .*//'"
check "SQL in the shell" says '{"host":"z"}|' typed $'SELECT host FROM orders WHERE host = \'z\'\ndelete from orders where host = \'z\' and at = 1;\nselect * from orders where host = \'z\'' -
check "no SQL port there" fails 'cannot reach the SQL port' shell sql --sql 127.0.0.1:1 'select 1'
check "no certificate that is known" fails 'certificate|TLS|SSL' env -u WIDEROW_CA_FILE WIDEROW_ENDPOINT="${urls[s]}" "$BUILD/widerow" sql 'select 1'
check "a wrong secret" fails 'Access denied' shell sql --key-id key1 --key-secret no 'select 1'
check "a table of the HTTP port" shell create people --key name:string
check "a row of it" shell put people ada city=London balance=12
check "what nobody declared is seen" says 'name,balance,city|ada,12,London|' mine 'select * from people'
check "and named" says 'balance|12|' mine "select balance from people where name = 'ada'"
check "and dropped" mine 'drop table people'
check "DEFAULT, lengths" mine "create table said (k varchar(3), c varchar(4) not null default 'none', n bigint, primary key (k)) with (compression = 'ZSTD')"
check "a row with its default" says 'k,c,n|a,none,1|' mine "insert into said (k, n) values ('a', 1); select * from said"
check "a text too long" fails 'ERROR 1406 .22001.' mine "insert into said (k, c) values ('a', 'toolong')"
check "and what it is made with" says 'COMPRESSION,ZSTD|' mine "show table variables from said like 'COMP%'" -N
check "it goes" mine 'drop table said'
check "a table with transactions" mine "create table bank (who varchar, n bigint, v bigint, primary key (who, n)) with (transactions = 'true')"
check "what is written together" says 'v|7|' mine "begin; insert into bank (who, n, v) values ('a', 1, 6); update bank set v = v + 1 where who = 'a' and n = 1; commit; select v from bank where who = 'a'"
check "and taken back" says 'v|8|v|7|' mine "start transaction; update bank set v = 8 where who = 'a' and n = 1; select v from bank where who = 'a'; rollback; select v from bank where who = 'a'"
check "and by who leaves" mine "start transaction; update bank set v = 8 where who = 'a' and n = 1"
check "his rows are as they were" says 'v|7|' mine "select v from bank where who = 'a'"
check "rows of two values are not in one" fails "changes rows of one value of the first key column of one table, here of 'bank'" mine "begin; upsert into bank (who, n, v) values ('a', 1, 1); upsert into bank (who, n, v) values ('b', 1, 1)"
check "tables made without have none" fails "Table 'orders' has no transactions, and nothing was written: make the table WITH .TRANSACTIONS = 'true'." mine "begin; insert into orders (host, at, note) values ('tx', 1, 'w')"
check "it goes" mine 'drop table bank'
check "a mistake has its place" fails 'ERROR 1064 .* line 1, column 8' mine 'select from orders'
check "tables" says 'Tables_in_inst|orders|' mine 'show tables'
printf '\377\377\377\000' >"$work/lie"
check "a packet that lies about its length ends its connection only" sh -c \
    "timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/$port; cat $work/lie >&3; sleep 0.2; exec 3>&-'; true"
for _ in $(seq 90); do exec {fd}<>"/dev/tcp/127.0.0.1/$port"; held+=("$fd"); done
check "strangers who say nothing" says '1|1|' mine 'select 1' --ssl=0
for fd in "${held[@]}"; do exec {fd}>&-; done
check "strangers who come and go" python3 -c "import socket
for i in range(5000): socket.create_connection(('127.0.0.1', $port), 30).close()"
check "the server is there" eventually says '1|1|' mine 'select 1' --ssl=0

# Clients that ask for 20 MB each and do not read them, four times as many as may compute at once: nobody waits for them.
big() {
    echo 'create table big (k varchar, n bigint, v varchar, primary key (k, n));'
    for ((n = 0; n < 1000; n += 200)); do
        echo 'insert into big (k, n, v) values'
        for ((i = n; i < n + 200; i++)); do printf "('k', %d, '%01000d')%s\n" "$i" "$i" "$([ $i -lt $((n + 199)) ] && echo , || echo ';')"; done
    done
}
rss_kib() { awk '/^VmRSS/{print $2}' "/proc/${pids[s]}/status"; }
sending() { # CLIENTS: for so many, more than 100,000 bytes lie unread
    [ "$(awk -v port="$(printf ':%04X$' "$port")" '$2 ~ port && $4 == "01" && substr($5, 1, 8) > "000186A0"' /proc/net/tcp | wc -l)" -ge "$1" ]
}
big >"$work/big.sql"
check "many rows" mine "source $work/big.sql"
fifo=0 idle_kib=$(rss_kib) silent=$(((2 * $(nproc)) + 4))
columns=$(printf 'v,%.0s' $(seq 20))
for _ in $(seq $silent); do
    mkfifo "$work/silent.$((++fifo))"
    sleep 600 <>"$work/silent.$fifo" &
    sleepers+=($!)
    mine "select $columns n from big" --quick --ssl=0 >"$work/silent.$fifo" 2>&1 &
    silents+=($!)
done
check "clients stop reading" eventually sending "$silent"
check "others ask by SQL" says 'count(*)|1000|' mine 'select count(*) from big'
check "and by HTTP" says '1000|' env WIDEROW_ENDPOINT="${urls[s]}" WIDEROW_CA_FILE="$work/cert.pem" "$BUILD/widerow" count big

# Statements that take long: who they are, and how they end.
endless="select sum((select count(*) from big b where b.k = 'k' and b.v <> a.v and (select count(*) from big c where c.k = 'k' and c.v <> b.v) > 0)) from big a where k = 'k'"
running() { mine 'show processlist' -N | awk -F'\t' '/sum\(\(select/ && $5 == "Query" {print $1; n++} END {exit !n}'; }
check "a statement has a time" fails 'ERROR 3024 .*took longer' mine "${endless/select/select /*+ MAX_EXECUTION_TIME(300) */}" --comments
mine "$endless" >"$work/endless" 2>&1 & endless_pid=$!
check "it is seen" eventually running
number=$(running)
check "nobody else's is seen" [ "$(mine 'show processlist' -N | wc -l)" -ge 2 ]
check "one that is not there" fails 'ERROR 1094' mine 'kill query 4000000000'
check "KILL QUERY" mine "kill query $number"
check "has ended it" sh -c "for _ in \$(seq 300); do kill -0 $endless_pid 2>/dev/null || exit 0; sleep 0.1; done; exit 1"
check "and said so" grep -q 'ERROR 1317 (70100).*interrupted' "$work/endless"
mine "$endless" >"$work/endless" 2>&1 & endless_pid=$!
check "another" eventually running
check "KILL" mine "kill '$(running)'"
check "has ended the connection" sh -c "for _ in \$(seq 300); do kill -0 $endless_pid 2>/dev/null || exit 0; sleep 0.1; done; exit 1"
check "and the client knows" grep -q ERROR "$work/endless"
[ -n "${SAN:-}" ] || check "what waits for them is bounded" [ $(($(rss_kib) - idle_kib)) -lt $((64 << 10)) ]
kill "${silents[@]}" "${sleepers[@]}" 2>/dev/null
wait "${silents[@]}" "${sleepers[@]}" 2>/dev/null

[ "${TIER:-short}" != nightly ] || check "20,000 random SELECTs of versions" env SELECTS=20000 timeout 600 "$BUILD/test/sql/run/versions_test"
[ "${TIER:-short}" != nightly ] || check "20,000 random SELECTs" env SELECTS=20000 timeout 600 "$BUILD/test/sql/run/differ_test"

# What people have in other languages: each prints how many of its cases passed.
driver() { # LANGUAGE PROGRAM…
    local language=$1 program
    shift
    for program; do command -v "$program" >/dev/null || { echo "SKIPPED sql: no $program"; return; }; done
    check "$language" env PORT="$port" WIDEROW_ENDPOINT=- WIDEROW_INSTANCE=inst WIDEROW_ACCESS_KEY_ID=key1 WIDEROW_ACCESS_KEY_SECRET=secret1 \
        "test/sql/$language/run.sh"
    passed=$((passed + $(awk '/^# pass /{n=$3} /^Ran [0-9]+ test/{n=$2} /^--- PASS/{n++} END{print n+0}' "$work/out")))
}
driver python python3
driver go go
[ "${TIER:-short}" != nightly ] || check "990 clients that stop reading" env SERVER_PID="${pids[s]}" PORT="$port" WIDEROW_ENDPOINT=- WIDEROW_INSTANCE=inst \
    WIDEROW_ACCESS_KEY_ID=key1 WIDEROW_ACCESS_KEY_SECRET=secret1 test/sql/python/run.sh stopped
driver java java javac mvn
if command -v npm >/dev/null; then
    modules=${WIDEROW_CACHE:-$HOME/.cache/widerow}/sql-node
    mkdir -p "$modules"
    if ! cmp -s test/sql/node/package-lock.json "$modules/package-lock.json" || [ ! -d "$modules/node_modules/mysql2" ]; then
        cp test/sql/node/package.json test/sql/node/package-lock.json "$modules"
        check "mysql2 is installed" sh -c "cd '$modules' && npm ci --ignore-scripts --no-audit --no-fund"
    fi
    check "mysql2" env NODE_PATH="$modules/node_modules" PORT="$port" timeout $node_seconds node --test-reporter=tap test/sql/node/mysql2.js
    passed=$((passed + $(awk '/^# pass /{n=$3} END{print n+0}' "$work/out")))
fi
# Keys that may do less: the SQL port asks the same grants as the HTTP port.
mkdir -m 700 "$work/g"
(umask 077; printf 'inst key1 secret1\ninst reader secret2 ro:orders\ninst other secret3 rw:cards*\n' >"$work/g/credentials")
unset WIDEROW_ACCESS_KEY_ID WIDEROW_ACCESS_KEY_SECRET
check "a server whose keys have grants" serve g --sql 127.0.0.1:0 --sql-connections 7 --sql-user-connections 5 --admin off
first_port=$port port=$(sed -n 's/^sql=.*://p' "$work/g.port")
for table in orders cards; do
    check "table $table" mine "create table $table (k varchar, v bigint, primary key (k), index ${table}_v (v)); insert into $table (k, v) values ('a', 1)"
done
check "a table that may be read" says 'count(*)|1|' sql reader secret2 inst 'select count(*) from orders'
check "by its index, too" says 'k|a|' sql reader secret2 inst 'select k from orders where v = 1'
check "and not written" fails 'ERROR 1142 .*no permission for DeleteRow' sql reader secret2 inst "delete from orders where k = 'a'"
check "others may not be read" fails 'ERROR 1142 .*no permission for DescribeTable' sql reader secret2 inst 'select count(*) from cards'
check "nor in a sub-query" fails 'ERROR 1142' sql reader secret2 inst "select k from orders where k in (select k from cards where k = 'a')"
check "nor a row of them" fails 'ERROR 1142' sql reader secret2 inst "select k from cards where k = 'a'"
check "nor an index by itself" fails 'ERROR 1142' sql reader secret2 inst "select k from cards_v where v = 1"
check "nor explained" fails 'ERROR 1142' sql reader secret2 inst "explain select k from cards where k = 'a'"
check "nor dropped" fails 'ERROR 1142' sql reader secret2 inst 'drop table orders'
mkfifo "$work/held"
sleep 600 <>"$work/held" & sleepers=($!)
for _ in 1 2 3 4; do timeout 60 mariadb --no-defaults -h 127.0.0.1 -P "$port" -ureader -psecret2 inst <"$work/held" >/dev/null 2>&1 & sleepers+=($!); done
others() { [ "$(sql reader secret2 inst 'show processlist' -N | wc -l)" -eq 5 ]; }
check "as many connections as may be" eventually others
check "those of another key are not seen" says '1|' sql key1 secret1 inst 'select count(*) from orders' -N
check "nor killed" fails 'ERROR 1094' sql key1 secret1 inst "kill $(sql reader secret2 inst 'show processlist' -N | head -1 | cut -f1)"
timeout 60 mariadb --no-defaults -h 127.0.0.1 -P "$port" -ureader -psecret2 inst <"$work/held" >/dev/null 2>&1 & sleepers+=($!)
check "as many of a user as may be" eventually fails "ERROR 1226 \(42000\): User 'reader' has exceeded the 'max_user_connections' resource \(current value: 5\)" sql reader secret2 inst 'select 1'
check "others come in" says '1|' sql key1 secret1 inst 'select count(*) from orders' -N
exec {fd}<>"/dev/tcp/127.0.0.1/$port" {other_fd}<>"/dev/tcp/127.0.0.1/$port"
check "one more than may be" fails 'ERROR 1040 \(08004\): Too many connections \(current limit: 7\)' sql key1 secret1 inst 'select 1' --ssl=0
exec {fd}>&- {other_fd}>&-
kill "${sleepers[@]}" 2>/dev/null; wait "${sleepers[@]}" 2>/dev/null
check "and are not listed" says 'Tables_in_inst|orders|' sql reader secret2 inst 'show tables'
check "nor in information_schema" says 'TABLE_NAME|orders|' sql reader secret2 inst 'select TABLE_NAME from information_schema.TABLES'
check "databases are the key's" says 'Database|information_schema|inst|' sql reader secret2 inst 'show databases'
# Users: what SQL makes of access keys, at both ports, and after a restart.
user() { local name=$1 password=$2; shift 2; sql "$name" "$password" inst "$@"; }
check "a user" mine "create user app1 identified by 'pw1'"
check "is one once" fails 'ERROR 1396 .*CREATE USER failed' mine "create user app1 identified by 'pw1'"
check "and may do nothing yet" fails 'ERROR 1142' user app1 pw1 'select * from orders'
check "is given a table to read" mine 'grant read on table inst.orders to app1'
check "and reads it" says 'k,v|a,1|' user app1 pw1 'select * from orders'
check "by HTTP, too" says '1|' env WIDEROW_ENDPOINT="${urls[g]}" WIDEROW_ACCESS_KEY_ID=app1 WIDEROW_ACCESS_KEY_SECRET=pw1 "$BUILD/widerow" count orders
check "and does not write it" fails 'ERROR 1142' user app1 pw1 "insert into orders (k, v) values ('b', 2)"
check "may write rows" mine 'grant write on database inst to app1'
check "and does, without reading" says '' user app1 pw1 "insert into cards (k, v) values ('b', 2)"
check "nor dropping" fails 'ERROR 1142' user app1 pw1 'drop table cards'
check "nor making users" fails 'ERROR 1227' user app1 pw1 "create user app2 identified by 'x'"
check "nor getting more" fails 'ERROR 1227' user app1 pw1 'grant all on database inst to app1'
check "what it may do" says 'GRANT READ ON TABLE `inst`.`orders` TO `app1`|GRANT WRITE ON DATABASE `inst` TO `app1`|' sh -c "timeout 60 mariadb --no-defaults -h 127.0.0.1 -P $port -uapp1 -ppw1 --batch -N inst -e 'show grants' | LC_ALL=C sort"
check "one of few grants makes none" fails 'ERROR 1227' sql reader secret2 inst "create user app2 identified by 'x'"
check "nor sees others" says 'USER_NAME|reader|' sql reader secret2 inst 'show users'
check "another password" user app1 pw1 "alter user app1 set password = 'pw2'"
check "counts" fails 'ERROR 1045' user app1 pw1 'select 1'
check "a database" mine 'create database fresh1'
check "is entered" says '1|' sql key1 secret1 fresh1 'select 1' -N
check "and kept for its keys" fails 'ERROR 1045' sql app1 pw2 fresh1 'select 1'
check "is dropped" mine 'drop database fresh1'
check "the server stops with its users" sh -c "kill -TERM ${pids[g]} && for _ in \$(seq 300); do kill -0 ${pids[g]} 2>/dev/null || exit 0; sleep 0.1; done; exit 1"
check "and starts" serve g --sql 127.0.0.1:0 --sql-connections 5 --admin off
port=$(sed -n 's/^sql=.*://p' "$work/g.port")
check "they are there" says 'k,v|a,1|' user app1 pw2 'select * from orders'
check "less again" mine 'revoke read on table inst.orders from app1'
check "is refused" fails 'ERROR 1142' user app1 pw2 'select * from orders'
check "no user any more" mine 'drop user app1'
check "stays out" fails 'ERROR 1045' user app1 pw2 'select 1'
check "the file is as it was" diff "$work/g/credentials" <(printf 'inst key1 secret1\ninst reader secret2 ro:orders\ninst other secret3 rw:cards*\n')
port=$first_port
# A transaction that is open when its client or the server dies: nobody ever sees it, and its rows are free.
export WIDEROW_ACCESS_KEY_ID=key1 WIDEROW_ACCESS_KEY_SECRET=secret1
check "a server whose clients die" serve k --sql 127.0.0.1:0 --admin off
port=$(sed -n 's/^sql=.*://p' "$work/k.port")
check "a table with transactions there" mine "create table bank (who varchar, n bigint, v bigint, primary key (who, n), index by_v (v)) with (transactions = 'true'); insert into bank (who, n, v) values ('a', 1, 7), ('a', 2, 7)"
mkfifo "$work/open"
sleep 600 <>"$work/open" & sleepers=($!)
began() { grep -q "^$1$" "$work/began"; } # VALUE: it reads its own writes
begin() { # VALUE: by a client of its own, client_pid
    timeout 300 mariadb --no-defaults -h 127.0.0.1 -P "$port" -ukey1 -psecret1 --batch -N -n inst <"$work/open" >"$work/began" 2>&1 & client_pid=$!
    echo "begin; update bank set v = $1 where who = 'a' and n = 1; upsert into bank (who, n, v) values ('a', 3, $1); delete from bank where who = 'a' and n = 2; select v from bank where who = 'a' and n = 3;" >"$work/open"
    eventually began "$1"
}
rows() { mine "select n, v from bank where who = 'a'" -N; }
check "a transaction is open" begin 8
check "nobody sees it" says '1,7|2,7|' rows
check "and its rows are locked" fails 'ERROR (1205|3024)' mine "update /*+ _l_operation_timeout_(300) */ bank set v = 9 where who = 'a' and n = 1" --comments
die() { kill -KILL $(pgrep -P "$client_pid") "$client_pid" 2>/dev/null; wait "$client_pid" 2>/dev/null; true; }
die
check "its client is killed: nothing is left of it" says '1,7|2,7|' rows
check "and its rows are free" mine "update bank set v = v + 10 where who = 'a' and n = 1"
check "another one is open" begin 8
kill -KILL "${pids[k]}"
wait "${pids[k]}" 2>/dev/null
die
check "the server is killed and starts" serve k --sql 127.0.0.1:0 --admin off
port=$(sed -n 's/^sql=.*://p' "$work/k.port")
check "nothing is left of it, but what was committed" says '1,17|2,7|' rows
check "nor in the index" says '7|17|' mine 'select v from bank where v > 0' -N
check "rows are free at once" mine "begin; update /*+ _l_operation_timeout_(1000) */ bank set v = v + 1 where who = 'a' and n = 1; commit" --comments
check "and are written" says '1,18|2,7|' rows
kill "${sleepers[@]}" 2>/dev/null; wait "${sleepers[@]}" 2>/dev/null
# Clients that send much and end nothing.
check "a small server" serve h --engine mem --memory 64M --sql 127.0.0.1:0 --admin off
port=$(sed -n 's/^sql=.*://p' "$work/h.port")
[ -n "${SAN:-}" ] || check "what clients have sent is bounded" env SERVER_PID="${pids[h]}" PORT="$port" WIDEROW_ENDPOINT=- test/sql/python/run.sh hungry
[ -n "${SAN:-}" ] || check "idle connections keep nothing that others need" env SERVER_PID="${pids[h]}" PORT="$port" WIDEROW_ENDPOINT=- test/sql/python/run.sh crowd
unset WIDEROW_ACCESS_KEY_ID WIDEROW_ACCESS_KEY_SECRET
port=$first_port
for example in examples/key-design/*.sql; do
    example=$(basename "$example" .sql)
    check "the example $example" diff <(timeout 60 examples/key-design/run.sh "$example" 2>&1) "examples/key-design/expected/$example.txt"
done
check "the server stops" sh -c "kill -TERM ${pids[s]} && for _ in \$(seq 300); do kill -0 ${pids[s]} 2>/dev/null || exit 0; sleep 0.1; done; exit 1"
counts sql
