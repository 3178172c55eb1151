#!/usr/bin/env bash
# Searches over HTTP beside PostgreSQL's full text: the same documents (12 words out of 20,000, common ones more often, and one of
# 1,000 names), the same pairs of words, one connection each.
#
#   make RELEASE=1 all build-release/bench/search_http && BUILD=build-release bench/search_http.sh
#   DOCUMENTS=500000 QUERIES=300 ROUNDS=5 MEMORY_MIB=1024 WORK=.
#
# match: ten hits of one of two words, the best first; group: all documents by name, the ten largest. Medians in microseconds.
# PostgreSQL has a GIN index on its tsvector, sorts by ts_rank, and reads with one process (max_parallel_workers_per_gather=0).
# Rounds measure one after the other; what does not run is stopped meanwhile; the median of the rounds' ratios counts.
set -u
cd "$(dirname "$0")/.."
: "${BUILD:=build-release}" "${DOCUMENTS:=500000}" "${QUERIES:=300}" "${ROUNDS:=5}" "${MEMORY_MIB:=1024}" "${WORK:=.}"
work=$(mktemp -d "$(cd "$WORK" && pwd)/bench-search.XXXXXX")
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
declare -A of=()
signal() { local server; for server in "${!of[@]}"; do kill -"$1" $(family "${of[$server]}") 2>/dev/null; done; }

python3 - "$DOCUMENTS" "$QUERIES" "$work" <<'PYTHON'
import random, sys
documents, queries, work = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = random.Random(1)
word = lambda: "w%d" % (rng.random() ** 3 * 20000)
with open(work + "/docs.csv", "w") as out:
    out.write("id,name,body\n")
    for i in range(documents):
        out.write("doc%09d,name%d,%s\n" % (i, rng.randrange(1000), " ".join(word() for _ in range(12))))
with open(work + "/words", "w") as out:
    out.writelines("%s %s\n" % (word(), word()) for _ in range(queries))
PYTHON

export WIDEROW_ACCESS_KEY_ID=bench WIDEROW_ACCESS_KEY_SECRET=bench-secret WIDEROW_INSTANCE=bench
"$BUILD/widerowd" --data "$work/widerow" --instance bench --http 127.0.0.1:0 --admin off --memory "${MEMORY_MIB}M" --port-file "$work/ports" \
    >"$work/widerow.log" 2>&1 &
pids+=($!) of[widerow]=$!
wait_for grep -q ^http= "$work/ports"
export WIDEROW_ENDPOINT=http://127.0.0.1:$(sed -n 's/^http=.*://p' "$work/ports")
"$BUILD/widerow" import "$work/docs.csv" --table docs --create --key id >"$work/import.log" 2>&1 || exit 1
cat >"$work/schema.json" <<'JSON'
{"fields": [{"name": "name", "type": "keyword"}, {"name": "body", "type": "text"}]}
JSON
"$BUILD/widerow" search create docs docs_index "$work/schema.json" >/dev/null || exit 1

install -d -m 700 "$work/pg" && chmod 711 "$work"
[ "$(id -u)" != 0 ] || chown postgres "$work/pg"
as_postgres "$pg_bin/initdb" -D "$work/pg" -A trust -E UTF8 --locale=C >/dev/null
port=$(free_port)
as_postgres "$pg_bin/pg_ctl" -D "$work/pg" -s -w -l "$work/pg/log" -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c shared_buffers=${MEMORY_MIB}MB -c max_wal_size=8GB -c checkpoint_timeout=15min -c max_parallel_workers_per_gather=0" start
of[postgres]=$(head -1 "$work/pg/postmaster.pid")
psql_() { as_postgres "$pg_bin/psql" -h 127.0.0.1 -p "$port" -d postgres -qAt -v ON_ERROR_STOP=1 "$@"; }
{
    echo 'CREATE TABLE docs (id text PRIMARY KEY, name text, body text, words tsvector);'
    echo 'COPY docs (id, name, body) FROM STDIN CSV HEADER;'
    cat "$work/docs.csv"
    echo '\.'
    echo "UPDATE docs SET words = to_tsvector('simple', body);"
    echo 'CREATE INDEX ON docs USING gin (words);'
    echo 'VACUUM FULL ANALYZE docs;'
} | psql_ || exit 1
group='SELECT name, count(*) FROM docs GROUP BY name ORDER BY 2 DESC LIMIT 10;'

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
measure() { # SERVER WHAT
    local n=$QUERIES
    [ "$2" != group ] || n=$((QUERIES / 10 + 1))
    if [ "$1" = widerow ]; then
        "$BUILD/bench/search_http" "$2" docs docs_index "$n" <"$work/words"
        return
    fi
    {
        echo '\timing on'
        [ "$2" != group ] || yes "$group" | head -"$n"
        [ "$2" != match ] || awk '{
            q = "to_tsquery(\x27simple\x27, \x27" $1 " | " $2 "\x27)"
            print "SELECT id FROM docs WHERE words @@ " q " ORDER BY ts_rank(words, " q ") DESC LIMIT 10;" }' "$work/words"
    } | psql_ | awk '/^Time:/ { print $2 * 1000 }' | median
}

printf '%-8s %12s %12s   %s\n' '' 'widerow us' 'postgres us' 'of PostgreSQL'
for what in match group; do
    for ((round = 0; round < ROUNDS; round++)); do
        for s in widerow postgres; do
            signal STOP
            kill -CONT $(family "${of[$s]}")
            measure "$s" $what >"$work/$s.$round" || echo "$s: $what failed" >&2
        done
        signal CONT
        paste "$work/widerow.$round" "$work/postgres.$round"
    done >"$work/table"
    printf '%-8s %12s %12s   %sx\n' "$what" "$(cut -f1 "$work/table" | median)" "$(cut -f2 "$work/table" | median)" \
        "$(awk '$2 { printf "%.3f\n", $1 / $2 }' "$work/table" | median)"
done
