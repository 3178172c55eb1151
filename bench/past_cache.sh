# Measurements of a server that was started for one of them, with a cache of its own size. Sourced by run.sh; the tier
# `cold` consists of them. A subject is PEER/WORKLOAD@STATE:
#
#   loaded   a tenth of RECORDS, just loaded, all of MEMORY; the first SECONDS_EACH
#   cold     a tenth of the records of a large folder, all of MEMORY; the first SECONDS_EACH after a start with nothing cached
#   10x      all records, which are on disk some 10 times the memory; after SECONDS_EACH of the same
#   30x      likewise
#
# At 10x and 30x the page cache is emptied all the time (evict.c), so that only a server's own memory helps it. A limit on a
# cgroup would count what 64 processes of PostgreSQL have for themselves against its cache.

BYTES_A_RECORD_ON_DISK=630 # Widerow's, by measurement: 10,000,000 records are 6.3 GB, so that caches are 600 and 200 MiB

memory_mib() { echo $(($(numfmt --from=iec "$MEMORY") >> 20)); }

# memory_for TIMES: so that the records are as many times as large on disk; 16 MiB at least.
memory_for() {
    local mib=$((RECORDS * BYTES_A_RECORD_ON_DISK / $1 >> 20))
    echo "$((mib > 16 ? mib : 16))M"
}

# One line a state, workload and peer, as those of subjects().
past_cache_subjects() {
    local state workload text peer title
    while read -r state workload text; do
        for peer in widerow postgres myrocks; do
            title=${peer}_title
            echo "$state-$workload|1|requests/s|$peer/$workload@$state|$text|${!title}"
        done
        [ "$state-$workload" != 10x-read ] || echo "10x-read|1|requests/s|rocks/direct@10x|$text|RocksDB in process, 64 threads, direct reads"
    done <<'ROWS'
loaded read GetRow, just loaded
cold read GetRow, just started, nothing cached
10x read GetRow, 10 times the cache
10x write PutRow, 10 times the cache
10x write-if PutRow on condition, 10 times the cache
10x ycsb-a YCSB A, half updates, 10 times the cache
10x ycsb-b YCSB B, 5 % updates, 10 times the cache
10x ycsb-c YCSB C, reads, 10 times the cache
10x ycsb-d YCSB D, reads of what is new, 10 times the cache
10x ycsb-f YCSB F, half reads and updates, 10 times the cache
30x read GetRow, 30 times the cache
30x write PutRow, 30 times the cache
30x ycsb-a YCSB A, half updates, 30 times the cache
30x ycsb-b YCSB B, 5 % updates, 30 times the cache
30x ycsb-c YCSB C, reads, 30 times the cache
30x ycsb-f YCSB F, half reads and updates, 30 times the cache
ROWS
}

# The folder was loaded by the run itself, but for the state `loaded`.
past_cache_start() { # PEER STATE
    case $2 in
    loaded)
        work=$work/fresh
        rm -rf "$work"
        mkdir -m 711 "$work"
        "$1_start" && "$1_load" && return
        ;;
    cold) "$1_start" && "$build/bench/evict" 0 "$work" && return ;;
    *)
        "$1_start" || return 1
        "$build/bench/evict" 100 "$work" >/dev/null 2>&1 &
        evict_pid=$!
        measure_peer "$1" "$3" >/dev/null && return
        ;;
    esac
}

# The line of figures, from a server that is gone when it ends.
past_cache_measure() ( # PEER WORKLOAD STATE
    evict_pid=
    trap '"$1_stop" gently; end_process "$evict_pid"; rm -rf "$work/../fresh" "$work/fresh"' EXIT
    trap 'exit 1' INT TERM
    case $3 in
    loaded | cold) RECORDS=$((RECORDS / 10)) ;;
    *) MEMORY=$(memory_for "${3%x}") ;;
    esac
    past_cache_start "$1" "$3" "$2" >"$work/$1.past" 2>&1 || { tail -2 "$work/$1.past" >&2; exit 1; }
    measure_peer "$1" "$2"
)
