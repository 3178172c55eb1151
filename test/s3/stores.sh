# shellcheck shell=bash
# stores.sh: the two stores that speak S3 which suites start, behind check.sh: npm's s3rver, and Ceph's radosgw over a cluster of
# its own. Each is then what AWS_ENDPOINT_URL says, with a bucket `test`; both go when the suite ends.
cache=${WIDEROW_CACHE:-$HOME/.cache/widerow}/s3
PATH=$PATH:/usr/sbin:/sbin
others=()
trap 'stop_all; [ ${#others[@]} -eq 0 ] || kill "${others[@]}" 2>/dev/null; test/rados/cluster.sh kill "$work/c" >/dev/null 2>&1; rm -rf "$work"' EXIT
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
answers() { curl -s -o /dev/null -m 5 "$1"; }
s3() { python3 test/s3/request.py "$@"; } # METHOD URL

packages() {
    mkdir -p "$cache"
    exec 8>"$cache.lock"
    flock 8
    [ "$(cat "$cache/installed" 2>/dev/null)" = 3.7.1 ] || { npm install --silent --prefix "$cache" s3rver@3.7.1 && echo 3.7.1 >"$cache/installed"; }
    local code=$?
    exec 8>&-
    return $code
}
start_s3rver() {
    port=$(free_port)
    "$cache/node_modules/.bin/s3rver" -d "$work/s3rver" -a 127.0.0.1 -p "$port" --configure-bucket test >"$work/s3rver.log" 2>&1 &
    others+=($!)
    export AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER AWS_ENDPOINT_URL=http://127.0.0.1:$port
    eventually answers "http://127.0.0.1:$port/"
}
# The cluster lets everybody in, which radosgw must be told to take.
start_radosgw() {
    local conf=$work/c/ceph.conf
    RADOS_PGS=8 RADOS_SIZE=1 test/rados/cluster.sh start "$work/c" 1 || return 1
    timeout 60 radosgw-admin -c "$conf" --id admin user create --uid=test --display-name=test --access-key=tester --secret=testing >"$work/user.log" 2>&1 || return 1
    port=$(free_port)
    mkdir -p "$work/rgw"
    radosgw -c "$conf" --id admin -f --rgw-frontends="beast endpoint=127.0.0.1:$port" --ms-mon-client-mode=crc --rgw-data="$work/rgw" --no-mon-config \
        --rgw-thread-pool-size=16 >"$work/rgw.log" 2>&1 &
    others+=($!)
    export AWS_ACCESS_KEY_ID=tester AWS_SECRET_ACCESS_KEY=testing AWS_ENDPOINT_URL=http://127.0.0.1:$port
    eventually answers "http://127.0.0.1:$port/" && s3 PUT "$AWS_ENDPOINT_URL/test"
}

