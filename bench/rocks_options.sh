#!/usr/bin/env bash
# What RocksDB's options cost and give, by widerowd itself: GetRow past the cache, uniform and zipfian, GetRange, PutRow with the
# compaction that it leaves, and bytes on disk, after the records were overwritten.
#
#   bench/rocks_options.sh [VARIANT...]    those below; all of them unless some are named
#
#   RECORDS (100000) TIMES (10) OVERWRITTEN (3)    how many, how many times the cache they are on disk, how often they are put again
#   OPS (10000) TURNS (3)                          requests of a measurement; medians of so many turns, in which all variants take part
#   BASE                                           options of all variants: a small database in the levels of a large one
#   WORK, BUILD                                    a folder on the disk to measure; build-release
#
# Columns: microseconds of the server's processor time for a request (a row of a page), reads and KiB read from files for a GetRow, whether
# from the disk or from the page cache, which is emptied all the time; MiB on disk. Rates are not looked at: on a busy machine they say little.
set -u
cd "$(dirname "$0")/.."
: "${RECORDS:=100000}" "${TIMES:=10}" "${OVERWRITTEN:=3}" "${OPS:=10000}" "${TURNS:=3}" "${WORK:=/var/tmp}" "${BUILD:=build-release}"
: "${BASE=write_buffer_size=2097152;target_file_size_base=4194304;max_bytes_for_level_base=4194304;}"
build=$PWD/$BUILD cache=$((RECORDS * 630 / TIMES)) work=$(mktemp -d "$WORK/widerow-options.XXXXXX") server= evict=
trap 'kill $server $evict 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
gcc -std=c11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/preload.so" bench/rocks_options_preload.c -ldl || exit 1

# A name, and what differs from src/engine/rocks_options.c.
variants() {
    local table='block_based_table_factory={'
    cat <<LIST
as_it_is
zstd_16K bottommost_compression=kZSTD;${table}block_size=16384}
zstd_8K bottommost_compression=kZSTD
zstd_4K bottommost_compression=kZSTD;${table}block_size=4096}
16K ${table}block_size=16384}
4K ${table}block_size=4096}
none compression=kNoCompression;bottommost_compression=kNoCompression
partitioned ${table}index_type=kTwoLevelIndexSearch;partition_filters=true}
4K_partitioned ${table}block_size=4096;index_type=kTwoLevelIndexSearch;partition_filters=true}
index_outside ${table}cache_index_and_filter_blocks=false}
levels_01 compression_per_level=kNoCompression:kNoCompression:kLZ4Compression:kLZ4Compression:kLZ4Compression:kLZ4Compression:kLZ4Compression
universal compaction_style=kCompactionStyleUniversal
bloom_15 ${table}filter_policy=bloomfilter:15:false}
hash_index ${table}data_block_index_type=kDataBlockBinaryAndHash}
direct use_direct_reads=true
blobs enable_blob_files=true;min_blob_size=512;blob_compression_type=kLZ4Compression;enable_blob_garbage_collection=true;blob_file_size=16777216
dictionary_4K bottommost_compression=kZSTD;bottommost_compression_opts={window_bits=-14;level=1;strategy=0;max_dict_bytes=16384;zstd_max_train_bytes=262144;enabled=true};${table}block_size=4096}
LIST
}

start() { # NAME OPTIONS
    rm -f "$work/port"
    ROCKS_OPTIONS="$BASE$2" ROCKS_CACHE=$cache LD_PRELOAD=$work/preload.so "$build/widerowd" --data "$work/$1" --memory 64M --http 127.0.0.1:0 \
        --admin off --log-level warn --port-file "$work/port" --set scrub_bytes_per_s_max=0 >"$work/log" 2>&1 &
    server=$!
    for _ in $(seq 300); do [ -s "$work/port" ] && return; sleep 0.1; done
    tail -3 "$work/log" >&2
    return 1
}

stop() {
    kill $server
    wait $server
    server=
}

ask() { # NAME WORKLOAD...
    "$build/widerow" bench "${@:2}" --records "$RECORDS" --endpoint "http://$(sed -n 's/^http=//p' "$work/port")" --data "$work/$1" --quiet --json
}

ticks() { sed 's/.*) //' "/proc/$server/stat" | awk '{ print $12 + $13 }'; }

# Until compactions have ended.
settle() {
    local before now
    for _ in $(seq 300); do
        before=$(ticks)
        sleep 0.5
        now=$(ticks)
        [ $((now - before)) -gt 3 ] || return 0
    done
}

counters() { echo "$(ticks) $(awk '/^(rchar|syscr):/ { printf "%s ", $2 }' "/proc/$server/io")"; }

# measure COUNT COMMAND...: for each of COUNT, microseconds of processor time, KiB and reads.
measure() {
    local before count=$1
    before=$(counters)
    "${@:2}" >"$work/answer" || return 1
    [ "$count" != rows ] || count=$(sed -E 's/.*"seconds":([0-9.]+).*"rows_per_s":([0-9.]+).*/\1 \2/' "$work/answer" | awk '{ print $1 * $2 }')
    awk -v a="$before" -v b="$(counters)" -v n="$count" -v hz="$(getconf CLK_TCK)" 'BEGIN {
        split(a, x, " "); split(b, y, " ")
        printf "%.2f %.2f %.3f\n", (y[1] - x[1]) / hz * 1e6 / n, (y[2] - x[2]) / 1024 / n, (y[3] - x[3]) / n }'
}

put_and_settle() { ask "$1" write --ops "$OPS" && settle; }

turn() { # NAME OPTIONS
    start "$1" "$2" || return 1
    "$build/bench/evict" 100 "$work/$1" &
    evict=$!
    settle
    ask "$1" read --ops "$OPS" >/dev/null
    measure "$OPS" ask "$1" read --ops "$OPS" >>"$work/$1.read"
    measure "$OPS" ask "$1" ycsb-c --ops "$OPS" >>"$work/$1.zipf"
    measure rows ask "$1" range --ops $((OPS / 400)) --connections 4 >>"$work/$1.range"
    measure "$OPS" put_and_settle "$1" >>"$work/$1.write"
    kill $evict
    wait $evict 2>/dev/null
    stop
    du -cb "$work/$1"/db/*.sst "$work/$1"/db/*.blob 2>/dev/null | awk 'END { printf "%.1f\n", $1 / 1048576 }' >>"$work/$1.disk"
}

load() { # NAME OPTIONS
    start "$1" "$2" && ask "$1" load >/dev/null && ask "$1" batch --connections 4 --ops $((RECORDS * OVERWRITTEN / 200)) >/dev/null || return 1
    settle
    stop
}

median() { cut -d' ' -f"$2" "$work/$1" | sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'; }

chosen=$(variants)
[ $# = 0 ] || chosen=$(variants | awk -v names=" $* " 'index(names, " " $1 " ")')
echo "$RECORDS records, put $OVERWRITTEN times over; cache $((cache >> 10)) KiB; $TURNS turns of $OPS requests; load of others $(cut -d' ' -f1 /proc/loadavg)"
while read -r name options; do load "$name" "$options" </dev/null || exit 1; done <<<"$chosen"
for _ in $(seq "$TURNS"); do
    while read -r name options; do turn "$name" "$options" </dev/null || exit 1; done <<<"$chosen"
done
printf '%-16s %9s %7s %7s %9s %7s %7s %9s %9s %9s\n' '' GetRow KiB reads zipfian KiB reads range/row PutRow MiB
while read -r name _; do
    printf '%-16s %9.1f %7.2f %7.3f %9.1f %7.2f %7.3f %9.2f %9.1f %9.1f\n' "$name" "$(median "$name.read" 1)" "$(median "$name.read" 2)" "$(median "$name.read" 3)" \
        "$(median "$name.zipf" 1)" "$(median "$name.zipf" 2)" "$(median "$name.zipf" 3)" "$(median "$name.range" 1)" "$(median "$name.write" 1)" "$(median "$name.disk" 1)"
done <<<"$chosen"
