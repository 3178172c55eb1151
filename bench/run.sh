#!/usr/bin/env bash
# Widerow beside its peers on this machine: the same records (24-byte keys, 10 columns of 100 bytes), as many requests
# under way, writes on disk before they are answered. One table at the end, each line with Widerow's ratio to it.
#
#   bench/run.sh quick|full|cold
#   MEASURES="read write" bench/run.sh full      only these: read cpu write hot batch range small half wide grow disk cells
#                                                index build stream transaction
#   MEASURES="10x" bench/run.sh cold             only these: loaded cold 10x 30x, or one line of them: 10x-read (past_cache.sh)
#   PEERS="postgres redis"                       only these (bench/peers/)
#   RECORDS, SECONDS_EACH, ROUNDS, CONNECTIONS   the sizes
#   MEMORY                                       widerowd's --memory, and the cache of PostgreSQL and MyRocks
#   WORK                                         a folder on the disk to measure; JSON (…/last.json)
#
# A cloud machine changes its speed from minute to minute. So a round measures every subject once, one after the other, all
# but the one that is measured are stopped meanwhile (SIGSTOP), a ratio is made of two numbers of the same round, and the
# median of the rounds' ratios counts. Beside each rate stands the server's processor time for one of what is counted, of all its
# processes: on cores that it shares with its client that is the fairer figure.
#
# A peer that is not installed or does not start costs its own lines only. Everything runs in a folder of its own under
# WORK and is stopped and removed at the end. The Makefile builds what is needed and calls this.
set -u
cd "$(dirname "$0")/.."
here=$PWD/bench

case ${1:-} in
quick)
    : "${RECORDS:=100000}" "${SECONDS_EACH:=2}" "${ROUNDS:=3}"
    all_measures="read cpu write hot batch range small half wide disk cells"
    all_peers="postgres myrocks redis echo rocks"
    ;;
full)
    : "${RECORDS:=1000000}" "${SECONDS_EACH:=6}" "${ROUNDS:=5}"
    all_measures="read cpu write hot batch range small half wide grow disk cells index build stream transaction"
    all_peers="postgres myrocks redis echo rocks cassandra dynamodb grown rocks10"
    ;;
cold)
    : "${RECORDS:=10000000}" "${SECONDS_EACH:=10}" "${ROUNDS:=3}"
    all_measures="loaded cold 10x 30x"
    all_peers="postgres myrocks rocks"
    ;;
*)
    sed -n '2,/^set -u/{/^#/!d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac
tier=$1 seconds=$SECONDS_EACH
: "${CONNECTIONS:=64}" "${MEMORY:=1G}" "${BUILD:=build-release}" "${WORK:=/var/tmp}" "${MEASURES:=$all_measures}" "${PEERS=$all_peers}"
: "${WIDE_COLUMNS:=100000}" "${CELLS:=$here/cells.sh}"
build=$PWD/$BUILD
: "${JSON:=$build/bench/last.json}"
[[ " $MEASURES " == *" grow "* ]] || PEERS=$(tr ' ' '\n' <<<"$PEERS" | grep -vE '^(grown|rocks10)$' | tr '\n' ' ')
[ -x "$build/widerowd" ] && [ -x "$build/widerow" ] || { echo "bench: no $BUILD/widerowd; make bench-quick builds it" >&2; exit 2; }
work=$(mktemp -d "$WORK/widerow-bench.XXXXXX")
mkdir "$work/r"
alive=()

for f in "$here"/past_cache.sh "$here"/peers/*.sh "$here"/peers/java/*.sh; do . "$f"; done

# ---- what peers use

loud() { echo "  !! $*" >&2; }

# wait_for COMMAND...: until it succeeds, 30 seconds (or wait_long) at most.
wait_for() {
    local end=$((SECONDS + ${wait_long:-30}))
    while [ $SECONDS -lt $end ]; do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
    echo "'$*' does not come true"
    return 1
}

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# One that nobody listens on, below those the kernel hands out.
free_port() {
    local p
    while p=$((20000 + RANDOM % 12000)); port_open $p; do :; done
    echo $p
}

end_process() {
    [ -n "${1:-}" ] || return 0
    kill "$1" 2>/dev/null
    for _ in $(seq 100); do kill -0 "$1" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

# Is one of these in MEASURES?
measures() {
    local m
    for m; do [[ " $MEASURES " != *" $m "* ]] || return 0; done
    return 1
}

# while_building BUILD WRITE: rows a second that BUILD indexes, and the mean of what WRITE prints again and again until then.
# WRITE is short, and its last run may outlive the build: of builds of many seconds this is little.
while_building() {
    local begin end rates=$work/build.rates
    : >"$rates"
    begin=$(date +%s%N)
    { "$1" || : >"$rates.failed"; date +%s%N >"$rates.end"; } >"$rates.log" 2>&1 &
    while [ ! -s "$rates.end" ]; do "$2"; done >>"$rates"
    wait $!
    end=$(cat "$rates.end")
    rm "$rates.end"
    if [ -e "$rates.failed" ]; then
        rm "$rates.failed"
        cat "$rates.log"
        return 1
    fi
    awk -v n="$RECORDS" -v ns=$((end - begin)) '{ sum += $1 } END { printf "%.0f %.0f - %d\n", n / ns * 1e9, sum / NR, n }' "$rates"
}

json_field() { sed -E "s/.*\"$1\":([0-9.]+).*/\1/" <<<"$2"; }

# The same 10 values in each row that a peer's own tool writes.
record_values=()
for _ in 0 1 2 3 4 5 6 7 8 9; do record_values+=("$(tr -dc a-z </dev/urandom 2>/dev/null | head -c 100)"); done

# ---- peers

# All processes of a peer; of some there are none.
tree() {
    local p
    for p in "$@"; do
        echo "$p"
        tree $(pgrep -P "$p")
    done
}

# cpu_ticks PID: of all processes below it, those that ended included. Fields behind the name, which may have spaces.
cpu_ticks() {
    local p
    for p in $(tree "$@"); do sed 's/.*) //' "/proc/$p/stat"; done 2>/dev/null | awk '{ n += $12 + $13 + $14 + $15 } END { print n + 0 }'
}

# What PEER_measure prints: the rate, where it has them p99 and microseconds of processor time ("-": it has not), and how many were
# counted unless it is the rate times the seconds. The processor time is filled in, for one of what the rate counts.
measure_peer() { # PEER WHAT
    local pid=$1_pid before after line
    before=$(cpu_ticks ${!pid:-})
    line=$("$1_measure" "$2") || return 1
    ! leaves_work "$2" || settle "$1"
    after=$(cpu_ticks ${!pid:-})
    awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$seconds" \
        '$1 ~ /^[0-9.]+$/ { n = NF > 3 ? $4 : $1 * s; p99 = NF > 1 ? $2 : "-"; cpu = NF > 2 ? $3 : "-"
        if (cpu == "-" && t && n) cpu = sprintf("%.2f", t / hz * 1e6 / n)
        print $1, p99, cpu }' <<<"$line"
}

send() { # SIGNAL PEER
    local pid=$2_pid client=$2_client
    kill -"$1" $(tree ${!pid:-} ${!client:-}) 2>/dev/null
    return 0
}

finish() {
    local p
    for p in "${alive[@]}"; do send CONT "$p"; done
    for p in "${alive[@]}"; do "${p}_stop"; done
    end_process "${campus_pid:-}"
    rm -rf "$work"
} >/dev/null 2>&1
trap finish EXIT
trap 'exit 1' INT TERM

# Does measuring it leave compactions, flushes or a vacuum behind? They are let end, and count as its processor time, not as that
# of what is measured next.
leaves_work() { [ "$tier" != cold ] && [[ $1 =~ write|update|other|hot|batch|build|transaction|put ]]; }

# settle PEER [SECONDS]: waits until the server is quiet, a minute at most: what was left to do in the background is no part of
# what is measured next.
settle() {
    local pid=$1_pid before now i
    [ -n "${!pid:-}" ] || return 0
    for i in $(seq "${2:-60}"); do
        before=$(cpu_ticks "${!pid}")
        sleep 1
        now=$(cpu_ticks "${!pid}")
        [ $((now - before)) -gt 10 ] || return 0
    done
}

# Until it is measured. In the tier `cold` each measurement starts it anew.
rest() {
    if [ "$tier" = cold ]; then
        "$1_stop" gently
        eval "$1_pid="
    else
        send STOP "$1"
    fi
}

# Starts and loads it; what it says goes to a log of which the end is shown if it fails.
bring_up() {
    local p=$1 title=$1_title begin=$SECONDS
    # A program that was started stays: so it is among those that are stopped at the end, come what may.
    alive+=("$p")
    if "${p}_start" >"$work/$p.up" 2>&1 && "${p}_load" >>"$work/$p.up" 2>&1; then
        settle "$p" 900 # ten million records with indexes leave minutes of compaction
        printf '  %-32s loaded in %d s\n' "${!title}" $((SECONDS - begin))
        rest "$p"
        return 0
    fi
    loud "${!title} takes no part: $(grep -vE '^\s+at ' "$work/$p.up" | tail -3 | tr '\n' ' ')"
    send STOP "$p"
    return 1
}

# ---- subjects

# measure|column of what a measurement prints|unit|peer/what|text. The first of a measure is ours: the others' lines say how
# many times theirs it is. Columns: 1 a rate, 2 the 99th percentile in microseconds, 3 microseconds of CPU for each request.
subjects() {
    [ "$tier" != cold ] || { past_cache_subjects; return; }
    cat <<'ROWS'
read|1|requests/s|widerow/read|GetRow|Widerow
read|1|requests/s|postgres/read|GetRow|PostgreSQL SELECT
read|1|requests/s|myrocks/read|GetRow|MyRocks SELECT
read|1|requests/s|cassandra/read|GetRow|Cassandra SELECT
read|1|requests/s|dynamodb/read|GetRow|DynamoDB Local GetItem
read|1|requests/s|redis/read|GetRow|Redis HGETALL
read|1|requests/s|echo/read|GetRow|HTTP echo, a body of the same size
cpu|3|us CPU|widerow/read|server CPU of a GetRow (less is better)|Widerow
cpu|3|us CPU|rocks/signed|server CPU of a GetRow (less is better)|RocksDB Get, MD5 and HMACs in a process
write|1|requests/s|widerow/write|PutRow, synced|Widerow
write|1|requests/s|postgres/write|PutRow, synced|PostgreSQL INSERT ON CONFLICT
write|1|requests/s|myrocks/write|PutRow, synced|MyRocks REPLACE, flush at commit
write|1|requests/s|cassandra/write|PutRow, synced|Cassandra INSERT, batch commit log
write|1|requests/s|redis/write|PutRow, synced|Redis HSET, appendfsync always
write|1|requests/s|rocks/put|PutRow, synced|RocksDB, 64 threads, sync=1
hot|1|requests/s|widerow/hot|increments of one row, synced|Widerow
hot|1|requests/s|postgres/hot|increments of one row, synced|PostgreSQL UPDATE
batch|1|rows/s|widerow/batch|BatchWriteRow of 200 rows, synced|Widerow
batch|1|rows/s|postgres/batch|BatchWriteRow of 200 rows, synced|PostgreSQL INSERT of 200 rows
range|1|rows/s|widerow/range|GetRange, full 4 MB pages, 8 streams|Widerow
range|1|rows/s|postgres/range|GetRange, full 4 MB pages, 8 streams|PostgreSQL cursor, FETCH 5000
range|1|rows/s|rocks/iterate|GetRange, full 4 MB pages, 8 streams|RocksDB iterators in process
small|1|rows/s|widerow/small|GetRange, 5,000 rows of 100 bytes|Widerow
small|1|rows/s|postgres/small|GetRange, 5,000 rows of 100 bytes|PostgreSQL cursor, FETCH 5000
half|2|us p99|widerow/half|p99 of GetRow at half of peak (less is better)|Widerow
half|2|us p99|postgres/half|p99 of GetRow at half of peak (less is better)|PostgreSQL, half of its own peak
wide|1|requests/s|widerow/wide-read|one column of 100,000: read|Widerow
wide|1|requests/s|widerow/narrow-read|one column of 100,000: read|the same in a row of 10 columns
wideup|1|requests/s|widerow/wide-update|one column of 100,000: update|Widerow
wideup|1|requests/s|widerow/narrow-update|one column of 100,000: update|the same in a row of 10 columns
idxwrite|1|requests/s|widerow/index-write|PutRow that changes both indexed columns|Widerow, two global indexes
idxwrite|1|requests/s|widerow/write|PutRow that changes both indexed columns|Widerow without indexes
idxwrite|1|requests/s|postgres/index-write|PutRow that changes both indexed columns|PostgreSQL, two secondary indexes
idxother|1|requests/s|widerow/index-other|UpdateRow of a column without an index|Widerow, two global indexes
idxother|1|requests/s|widerow/other|UpdateRow of a column without an index|Widerow without indexes
idxother|1|requests/s|postgres/index-other|UpdateRow of a column without an index|PostgreSQL, two secondary indexes
idxrange|1|rows/s|widerow/index-range|GetRange, 5,000 entries of 100 bytes|Widerow, of an index
idxrange|1|rows/s|widerow/small|GetRange, 5,000 entries of 100 bytes|Widerow, of a table
build|1|rows/s|widerow/build|CreateIndex while others write|Widerow
build|1|rows/s|postgres/build|CreateIndex while others write|PostgreSQL CREATE INDEX CONCURRENTLY
buildw|1|requests/s|widerow/build-writes|PutRow meanwhile|Widerow
buildw|1|requests/s|widerow/write|PutRow meanwhile|Widerow, of a table that stays as it is
buildw|1|requests/s|postgres/build-writes|PutRow meanwhile|PostgreSQL
stream|1|requests/s|widerow/stream-write|PutRow with a stream|Widerow
stream|1|requests/s|widerow/write|PutRow with a stream|Widerow without
streamhot|1|requests/s|widerow/stream-hot|increments of one row with a stream|Widerow
streamhot|1|requests/s|widerow/hot|increments of one row with a stream|Widerow without
streamread|1|records/s|widerow/stream-read|GetStreamRecord, records of 100 bytes|Widerow, one shard
transaction|1|requests/s|widerow/transaction|transactions of three writes and a read|Widerow
transaction|1|requests/s|postgres/transaction|transactions of three writes and a read|PostgreSQL BEGIN ... COMMIT
grow|1|requests/s|grown/read|GetRow, 10x the records, same memory|Widerow
grow|1|requests/s|widerow/read|GetRow, 10x the records, same memory|Widerow, 1x
growraw|1|requests/s|rocks10/get|Get, 10x the records, same cache|RocksDB in process
growraw|1|requests/s|rocks/get|Get, 10x the records, same cache|RocksDB in process, 1x
ROWS
}

# Which lines of subjects() a name in MEASURES stands for.
lines_of() {
    case $1 in
    wide) echo wide wideup ;;
    grow) echo grow growraw ;;
    index) echo idxwrite idxother idxrange ;;
    build) echo build buildw ;;
    stream) echo stream streamhot streamread ;;
    loaded | cold | 10x | 30x) subjects | cut -d'|' -f1 | grep "^$1-" | uniq | tr '\n' ' ' ;;
    disk | cells) ;;
    *) echo "$1" ;;
    esac
}

is_alive() { [[ " ${measurable[*]} " == *" $1 "* ]]; }

# cached SUBJECT COLUMN: what this round measured already.
cached() { awk -v c="$2" '$c != "-" { print $c }' "$work/r/$round.${1/\//.}" 2>/dev/null; }

measure_subject() { # PEER/WHAT
    local peer=${1%/*} what=${1#*/} file=$work/r/$round.${1/\//.}
    [ ! -s "$file" ] || return 0
    is_alive "$peer" || return 0
    [ ! -e "$work/r/gone.$peer.$what" ] || return 0
    if [[ $what == *@* ]]; then
        past_cache_measure "$peer" "${what%@*}" "${what#*@}"
    else
        send CONT "$peer"
        measure_peer "$peer" "$what"
        send STOP "$peer"
    fi >"$file" 2>"$work/slot.err" </dev/null
    if grep -qE '^[0-9]+(\.[0-9]+)?( |$)' "$file"; then
        printf '  round %s  %-22s %s\n' "$round" "$1" "$(cat "$file")"
    else
        loud "round $round: $1 gave no figure: $(cat "$file" "$work/slot.err" | tail -2 | tr '\n' ' ')"
        : >"$file"
        # A client that did not answer may do so later, out of turn.
        [[ ! " cassandra dynamodb " == *" $peer "* ]] || : >"$work/r/gone.$peer.$what"
    fi
}

# ---- what is measured once

# Bytes on disk for a byte of data (names and values as capacity units count them), after load and compaction.
measure_disk() {
    local csv=$work/campus.csv logical before after
    echo "  disk: loading $RECORDS campus records"
    start_widerowd campus || { loud "no server for the disk measure"; return; }
    "$build/widerow" sample campus --records "$RECORDS" >"$csv"
    "$build/widerow" import "$csv" --table campus --key CardID,SellerID,DeviceID,OrderNumber:integer \
        --columns amount:double,time:string --create --quiet --endpoint "http://127.0.0.1:$campus_port" \
        --data "$work/campus.data" >"$work/campus.up" 2>&1 || { loud "disk: $(tail -2 "$work/campus.up")"; return; }
    end_process "$campus_pid"
    campus_pid=
    # Names and texts by their length, numbers 8 bytes.
    logical=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) names += length($i); next }
        { n += names + length($1) + length($2) + length($3) + 8 + 8 + length($6) } END { print n }' "$csv")
    before=$(du -sb "$work/campus.data/db" | cut -f1)
    "$build/bench/raw_rocks" "$work/campus.data/db" compact || { loud "disk: compaction failed"; return; }
    after=$(cat "$work"/campus.data/db/*.sst | wc -c)
    rm -f "$csv"
    awk -v l="$logical" -v a="$after" -v b="$before" 'BEGIN { printf "%.4f %.4f\n", a / l, b / l }' >"$work/disk"
    printf '  disk: %d bytes of data, %d on disk after loading (log included), %d after compaction\n' "$logical" "$before" "$after"
}

measure_cells() {
    [ -x "$CELLS" ] || { loud "big cells: there is no $CELLS"; return; }
    BUILD=$BUILD TIER=$tier WORK=$work "$CELLS" >"$work/cells" 2>"$work/cells.err" || loud "big cells: $(tail -2 "$work/cells.err")"
}

# ---- the table

# Of numbers on standard input.
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'; }

column_of_rounds() { # SUBJECT COLUMN: one number a round in which it was measured
    local round
    for round in $(seq "$ROUNDS"); do cached "$1" "$2"; done
}

ratios() { # OURS THEIRS COLUMN: one a round in which both were measured
    local round a b
    for round in $(seq "$ROUNDS"); do
        a=$(cached "$1" "$3") b=$(cached "$2" "$3")
        [ -z "$a" ] || [ -z "$b" ] || awk -v a="$a" -v b="$b" 'BEGIN { if (b > 0) printf "%.4f\n", a / b }'
    done
}

table_line() { # TEXT VALUE UNIT CPU RATIO BAR
    printf '  %-52s %13s %-10s %9s %9s  %s\n' "$@"
}

# What Widerow is to be of a line, as times.
least_ratio() { # MEASURE/SUBJECT
    case $1 in
    idxwrite/widerow/write) echo 0.60 ;;
    idxwrite/postgres/*) echo 1.30 ;;
    idxother/widerow/other) echo 0.95 ;;
    idxrange/widerow/small) echo 0.90 ;;
    build/postgres/*) echo 0.50 ;;
    buildw/widerow/write) echo 0.70 ;;
    stream/widerow/write) echo 0.85 ;;
    transaction/postgres/*) echo 1.00 ;;
    esac
}

json_lines=()
json_list() { paste -sd, -; }

print_table() {
    local last='' measure column unit subject title text ours value cpu ratio bar at_least name selected=' '
    for name in $MEASURES; do selected+="$(lines_of "$name") "; done
    printf '\n'
    table_line "" "median" "" "us CPU" "Widerow is" ""
    while IFS='|' read -r measure column unit subject title text; do
        [[ $selected == *" $measure "* ]] || continue
        if [ "$measure" != "$last" ]; then
            printf ' %s\n' "$title"
            ours=$subject last=$measure
        fi
        value=$(column_of_rounds "$subject" "$column" | median)
        ratio= bar= cpu=
        [ "$column" != 1 ] || cpu=$(column_of_rounds "$subject" 3 | median)
        [ "$subject" = "$ours" ] || ratio=$(ratios "$ours" "$subject" "$column" | median)
        [ "$measure/$subject" != cpu/widerow/read ] || bar="bar: 15 at most"
        [ "$measure/$subject" != cpu/rocks/signed ] || bar="bar: 4.00x at most"
        [[ $measure != wide* ]] || [ -z "$ratio" ] || bar="bar: 0.33x at least"
        at_least=$(least_ratio "$measure/$subject")
        [ -z "$at_least" ] || bar="bar: ${at_least}x at least"
        if [ -z "$value" ]; then
            is_alive "${subject%/*}" && text+=" (failed)" || text+=" (not here)"
            table_line "  $text" "-" "" "" "" ""
        else
            table_line "  $text" "$(printf "%'.*f" "$([ "$column" = 3 ] && echo 1 || echo 0)" "$value")" "$unit" \
                "$([ -z "$cpu" ] || printf '%.1f' "$cpu")" "$([ -z "$ratio" ] || printf '%.2fx' "$ratio")" "$bar"
        fi
        json_lines+=("{\"measure\":\"$measure\",\"subject\":\"$subject\",\"title\":\"$title\",\"text\":\"$text\",\"unit\":\"$unit\",\"rounds\":[$(column_of_rounds "$subject" "$column" | json_list)],\"median\":${value:-null},\"cpu_us\":${cpu:-null},\"ratios\":[$([ "$subject" = "$ours" ] || ratios "$ours" "$subject" "$column" | json_list)],\"ratio\":${ratio:-null}}")
    done < <(subjects)
    if [ -s "$work/disk" ]; then
        echo " Bytes on disk for a byte of data, campus records"
        table_line "  Widerow after load and compaction" "$(cut -d' ' -f1 "$work/disk")" "" "" "" "bar: 0.50 at most"
        table_line "  before compaction, log included" "$(cut -d' ' -f2 "$work/disk")" "" "" "" ""
        json_lines+=("{\"measure\":\"disk\",\"subject\":\"widerow/disk\",\"median\":$(cut -d' ' -f1 "$work/disk"),\"before\":$(cut -d' ' -f2 "$work/disk")}")
    fi
    if [ -s "$work/cells" ]; then
        echo " Big cells ($(basename "$CELLS"))"
        sed 's/^/  /' "$work/cells"
    fi
}

print_json() {
    mkdir -p "$(dirname "$JSON")"
    {
        printf '{"tier":"%s","begun":"%s","seconds":%d,"records":%d,"rounds":%d,"seconds_each":%d,"connections":%d,"cores":%d,"load_before":%s,"version":"%s","measures":[' \
            "$tier" "$begun" "$SECONDS" "$RECORDS" "$ROUNDS" "$seconds" "$CONNECTIONS" "$(nproc)" "$load_before" "$version"
        (IFS=,; printf '%s' "${json_lines[*]}")
        printf ']}\n'
    } >"$JSON"
    echo "JSON: ${JSON#"$PWD"/}"
}

# ---- the run

SECONDS=0
begun=$(date -u +%Y-%m-%dT%H:%M:%SZ) load_before=$(cut -d' ' -f1 /proc/loadavg)
version=$("$build/widerow" --version | cut -d' ' -f2)
echo "Widerow $version, $(nproc) cores ($(sed -nE 's/^model name\s*: //p' /proc/cpuinfo | head -1)), load of others before: $load_before;" \
    "data on $(df --output=fstype "$work" | tail -1)"
echo "$RECORDS records of 10 x 100 bytes, $CONNECTIONS connections, $ROUNDS rounds of $seconds s each; servers and clients share the cores"
measurable=()
for peer in widerow $PEERS; do
    declare -F "${peer}_start" >/dev/null || { loud "no peer '$peer' in bench/peers/"; continue; }
    bring_up "$peer" && measurable+=("$peer")
done
is_alive widerow || exit 1
for peer in "${measurable[@]}"; do
    title=${peer}_title
    printf '  %-32s %s\n' "${!title}" "$("${peer}_settings")"
done
for round in $(seq "$ROUNDS"); do
    for measure in $MEASURES; do
        for line in $(lines_of "$measure"); do
            for subject in $(subjects | awk -F'|' -v m="$line" '$1 == m { print $4 }'); do
                [[ $subject != */half ]] || measure_subject "${subject%/*}/read" # half of what is known then
                measure_subject "$subject"
            done
        done
    done
done
[[ " $MEASURES " != *" disk "* ]] || measure_disk
[[ " $MEASURES " != *" cells "* ]] || measure_cells
print_table
printf '\n%d minutes %d seconds. ' $((SECONDS / 60)) $((SECONDS % 60))
print_json
