# Widerow itself, with as much memory as its peers have. Also with ten times the records in a folder of its own (grown), for what growth costs.

widerow_title="Widerow"
grown_title="Widerow, 10x records"

# start_widerowd NAME: NAME_pid and NAME_port are set.
start_widerowd() {
    rm -f "$work/$1.port"
    "$build/widerowd" --data "$work/$1.data" --memory "$MEMORY" --http 127.0.0.1:0 --admin off --log-level warn \
        --port-file "$work/$1.port" >"$work/$1.log" 2>&1 &
    eval "$1_pid=$!"
    wait_for test -s "$work/$1.port" || return 1
    eval "$1_port=$(sed -nE 's/^http=.*:([0-9]+)$/\1/p' "$work/$1.port")"
}

widerow_start() { start_widerowd widerow; }
grown_start() { start_widerowd grown; }
widerow_stop() { end_process "$widerow_pid"; }
grown_stop() { end_process "$grown_pid"; }
widerow_settings() { echo "widerowd --memory $MEMORY (five eighths of it block cache), synced writes, signed HTTP; widerow bench, one thread"; }
grown_settings() { widerow_settings; }

# ask_widerow NAME RECORDS WORKLOAD...
ask_widerow() {
    local port=$1_port name=$1 records=$2
    shift 2
    timeout $((seconds + 1800)) "$build/widerow" bench "$@" --endpoint "http://127.0.0.1:${!port}" \
        --data "$work/$name.data" --quiet --records "$records"
}

widerow_load() {
    ask_widerow widerow "$RECORDS" load || return 1
    [ "$tier" = cold ] ||
        ask_widerow widerow "$RECORDS" load "${small_table[@]}" &&
            ask_widerow widerow "$RECORDS" wide-read --ops 1 --wide-columns "$WIDE_COLUMNS" || return 1
    ! measures index || ask_widerow widerow "$RECORDS" load "${indexed_table[@]}" || return 1
    ! measures index || ask_widerow widerow "$RECORDS" index-range --ops 1 "${tagged_table[@]}" || return 1
    ! measures build || tell_widerow create built --key id:string --columns field0:string || return 1
    ! measures build || ask_widerow widerow "$RECORDS" load --table built || return 1
    ! measures stream || ask_widerow widerow "$RECORDS" load "${streamed_table[@]}" || return 1
    ! measures stream || ask_widerow widerow "$RECORDS" stream-read --ops 1 "${changes_table[@]}" || return 1
    ! measures transaction || ask_widerow widerow "$RECORDS" transaction --ops 1
}
tell_widerow() { "$build/widerow" "$@" --endpoint "http://127.0.0.1:$widerow_port" --data "$work/widerow.data"; }
grown_load() { ask_widerow grown $((10 * RECORDS)) load; }

# Rows of 100 bytes: 24 of the key, 6 of the one column's name, 70 of its value.
small_table=(--table small --fields 1 --field-bytes 70)
tagged_table=(--table tagged --fields 1 --field-bytes 70)
changes_table=(--table changes --fields 1 --field-bytes 70)
indexed_table=(--table indexed --indexes 2)
streamed_table=(--table streamed --stream)

widerow_make_index() { tell_widerow index create built built_index field0; }
widerow_write_built() { json_field ops_per_s "$(ask_widerow widerow "$RECORDS" write --table built --connections "$CONNECTIONS" --seconds 1 --json)"; }
widerow_build() { while_building widerow_make_index widerow_write_built && tell_widerow index drop built built_index >&2; }

# An answer that was refused counts as a request of the rate: one in a thousand at most.
few_errors() { # JSON
    local errors ops
    errors=$(json_field errors "$1") ops=$(json_field ops "$1")
    [ $((errors * 1000)) -le "$ops" ] || { loud "$errors of $ops requests were refused"; return 1; }
}

# Prints rate and p99 in microseconds.
measure_widerowd() { # NAME RECORDS WHAT
    local name=$1 records=$2 rate=ops_per_s line peak
    local args=(--connections "$CONNECTIONS" --seconds "$seconds")
    case $3 in
    range) args=(range --connections 8 --seconds "$seconds") rate=rows_per_s ;;
    small) args=(range --connections 8 --seconds "$seconds" "${small_table[@]}") rate=rows_per_s ;;
    batch) args+=(batch --connections 8) rate=rows_per_s ;;
    index-write) args+=(write "${indexed_table[@]}") ;;
    index-other) args+=(update-other "${indexed_table[@]}") ;;
    other) args+=(update-other) ;;
    index-range) args=(index-range --connections 8 --seconds "$seconds" "${tagged_table[@]}") rate=rows_per_s ;;
    build) widerow_build; return ;;
    build-writes) cached "$name/build" 2; return ;;
    stream-write) args+=(write "${streamed_table[@]}") ;;
    stream-hot) args+=(hot "${streamed_table[@]}") ;;
    stream-read) args=(stream-read --connections 8 --seconds "$seconds" "${changes_table[@]}") rate=rows_per_s ;;
    wide-* | narrow-*) args=("$3" --connections 8 --seconds "$seconds" --wide-columns "$WIDE_COLUMNS") ;;
    half)
        peak=$(cached "$name/read" 1)
        [ -n "$peak" ] || return 1
        args+=(read --rate "$(awk -v p="$peak" 'BEGIN { printf "%d", p / 2 + 1 }')")
        ;;
    *) args+=("$3") ;;
    esac
    line=$(ask_widerow "$name" "$records" "${args[@]}" --json) || return 1
    few_errors "$line" || return 1
    printf '%.0f %.0f\n' "$(json_field "$rate" "$line")" "$(json_field p99 "$line")"
}

widerow_measure() { measure_widerowd widerow "$RECORDS" "$1"; }

# A cache starts empty; what it holds after a few seconds counts.
grown_measure() { measure_widerowd grown $((10 * RECORDS)) "$1"; }
