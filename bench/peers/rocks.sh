# The ceiling of the engine: RocksDB in a process of its own (raw_rocks.c). Also with ten times the records (rocks10).

rocks_title="RocksDB in process"
rocks10_title="RocksDB in process, 10x records"
rocks_settings() { echo "Debian's librocksdb, 640 MiB of cache, LZ4 in 8 KiB blocks, as widerowd sets it up; one thread reads, 64 write, 8 scan"; }
rocks10_settings() { rocks_settings; }
rocks_start() { [ -x "$build/bench/raw_rocks" ] || { echo "$build/bench/raw_rocks was not built"; return 1; }; }
rocks10_start() { rocks_start; }
rocks_stop() { :; }
rocks10_stop() { :; }
rocks_load() { "$build/bench/raw_rocks" "$work/rocks" load "$RECORDS"; }
rocks10_load() { "$build/bench/raw_rocks" "$work/rocks10" load $((10 * RECORDS)); }
# As much of the memory is cache as widerowd makes of it.
rocks_measure() {
    local cache=()
    [ "$1" != direct ] || cache=($(($(memory_mib) * 5 / 7)))
    timeout $((seconds + 120)) "$build/bench/raw_rocks" "$work/rocks" "$1" "$RECORDS" "$seconds" "${cache[@]}"
}
rocks10_measure() { timeout $((seconds + 120)) "$build/bench/raw_rocks" "$work/rocks10" "$1" $((10 * RECORDS)) "$seconds"; }
