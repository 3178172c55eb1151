# shellcheck shell=bash
# common.sh: servers of any build, for make.sh and run.sh, which have sourced test/check.sh.
export WIDEROW_INSTANCE=crash WIDEROW_ACCESS_KEY_ID=crash-id WIDEROW_ACCESS_KEY_SECRET=crash-secret
unset WIDEROW_ADMIN
ask=$BUILD/test/versions
declare -A ports=()

# build_of COMMIT: the folder with that commit's widerowd and widerow, built once and kept in $WIDEROW_CACHE. Its text is
# what is wrong, if it fails.
build_of() {
    local commit=$1 cache=${WIDEROW_CACHE:-$HOME/.cache/widerow}/builds/$1
    if [ ! -x "$cache/widerowd" ]; then
        git cat-file -e "$commit^{commit}" 2>/dev/null || { echo "this clone has no commit $commit (is it shallow?)"; return 1; }
        rm -rf "$cache.new" "$work/source" && mkdir -p "$cache.new" "$work/source"
        git archive "$commit" | tar -x -C "$work/source"
        # What it needs may be more than this build does; that commit says so itself.
        env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL CCACHE_BASEDIR="$work/source" \
            sh -c 'cd "$1" && make -s deps && make -s -j2 BUILD=build SAN= all' - "$work/source" >"$work/build.log" 2>&1 ||
            { tail -n 20 "$work/build.log"; echo "commit $commit does not build"; return 1; }
        cp "$work/source/build/widerowd" "$work/source/build/widerow" "$cache.new/"
        rm -rf "$work/source" "$cache" && mv "$cache.new" "$cache"
    fi
    echo "$cache"
}

# run_server NAME WIDEROWD FLAG…: ports[NAME], pids[NAME], urls[NAME], its log in $work/NAME.log. False if it ends instead.
run_server() {
    local name=$1 program=$2
    shift 2
    rm -f "$work/$name.port"
    : >"$work/$name.log"
    "$program" --http 127.0.0.1:0 --admin off --port-file "$work/$name.port" --set table_ops_per_s_max=0 \
        --set partition_bytes_max=32768 "$@" </dev/null >"$work/$name.out" 2>"$work/$name.log" &
    pids[$name]=$!
    for _ in $(seq 600); do
        [ -s "$work/$name.port" ] && break
        kill -0 "${pids[$name]}" 2>/dev/null || break
        sleep 0.1
    done
    if [ ! -s "$work/$name.port" ]; then
        wait "${pids[$name]}"
        unset "pids[$name]"
        return 1
    fi
    urls[$name]=http://$(sed -n 's/^http=//p' "$work/$name.port")
    ports[$name]=${urls[$name]##*:}
}

end_server() { # NAME [SIGNAL]: true if it ended in order
    kill "-${2:-TERM}" "${pids[$1]}"
    wait "${pids[$1]}"
    local code=$?
    unset "pids[$1]"
    [ "${2:-TERM}" != TERM ] || [ $code -eq 0 ]
}
