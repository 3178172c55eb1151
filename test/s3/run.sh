#!/usr/bin/env bash
# `widerow export` to and `widerow import` from two stores that speak S3: npm's s3rver, and Ceph's radosgw over a cluster of its
# own; directly, and by a proxy that cuts connections until it has cut 4 (nightly 200) times: the rows are the same, the
# objects whole, and no half upload stays.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
source test/s3/stores.sh
widerow=$BUILD/widerow
TIER=${TIER:-short}
cuts_wanted=${CUTS:-$([ "$TIER" = nightly ] && echo 200 || echo 4)}
mean_bytes=$([ "$TIER" = nightly ] && echo 12000000 || echo 6000000) # between two cuts
unset "${!AWS_@}"
export HOME=$work AWS_REGION=us-east-1

run() { "$widerow" "$@" --dir "$work/data"; }
refuses() { fails "$1" run "${@:2}"; }
# round OBJECT FORMAT: out to the object and in again; the same rows
round() {
    run export many --format "$2" --output "s3://test/$1" --quiet || return 1
    run drop again >/dev/null 2>&1
    run import "s3://test/$1" --table again --create --key id:integer --quiet >/dev/null || return 1
    run export again --format jsonl --output "$work/again.jsonl" --quiet && cmp "$work/many.jsonl" "$work/again.jsonl"
}
cut_rounds() { # FORMAT…, until the proxy has cut often enough
    local format n=0
    while [ "$(cat "$work/cuts")" -lt "$cuts_wanted" ]; do
        for format in "$@"; do
            [ "$(cat "$work/cuts")" -lt "$cuts_wanted" ] || break
            n=$((n + 1))
            round "cut/$n.$format" "$format" || { echo "round $n, $format"; return 1; }
        done
    done
    echo "$n rounds, $(cat "$work/cuts") cuts"
}
no_halves() { [ -z "$(s3 GET "$AWS_ENDPOINT_URL/test?uploads=" | grep -o '<UploadId>')" ]; }

# Rows of which one object needs more than one part.
python3 -c '
import json, random
rnd = random.Random(5)
for i in range(11000):
    print(json.dumps({"id": i, "label": "row %d" % i, "noise": "%0900x" % rnd.getrandbits(3600)}))' >"$work/made.jsonl"
check "rows of 10 MB" run import "$work/made.jsonl" --table many --create --key id:integer --quiet
check "as they come out again" run export many --format jsonl --output "$work/many.jsonl" --quiet

stores() { # NAME FORMAT…
    for format in "${@:2}"; do
        check "$1: $format" round "dir/many.$format" "$format"
    done
    check "$1: an object of one part" run export many --filter 'id < 10' --format jsonl --output s3://test/small.jsonl --quiet
    check "$1: which is there" sh -c '[ "$("$1" import s3://test/small.jsonl --table small --create --key id --quiet --dir "$2" >/dev/null; "$1" count small --dir "$2")" = 10 ]' - "$widerow" "$work/data"
    run drop small >/dev/null
    check "$1: a name that needs care" run export many --filter 'id < 10' --format jsonl --output "s3://test/a b/é+=&%41~'x'.jsonl" --quiet
    check "$1: which is found" run import "s3://test/a b/é+=&%41~'x'.jsonl" --table small --create --key id --quiet
    run drop small >/dev/null
    check "$1: nothing there" refuses "there is no s3://test/none.csv" import s3://test/none.csv --table no --create --key id
    check "$1: no such bucket" refuses "has no bucket 'nobucket'; make it first" export many --output s3://nobucket/x.jsonl --format jsonl --quiet
    check "$1: a key that nobody has" fails "does not take these credentials \(InvalidAccessKeyId, access key other\)" \
        env AWS_ACCESS_KEY_ID=other "$widerow" export many --output s3://test/x.jsonl --format jsonl --quiet --dir "$work/data"
    check "$1: no table of these" refuses "does not exist" describe no
    # Behind the proxy.
    rm -f "$work/port"
    python3 test/s3/proxy.py "$port" "$work/port" "$work/cuts" "$mean_bytes" 7 >"$work/proxy.log" 2>&1 &
    others+=($!)
    check "$1: a proxy that cuts" eventually test -f "$work/port"
    local direct=$AWS_ENDPOINT_URL
    export AWS_ENDPOINT_URL=http://127.0.0.1:$(cat "$work/port")
    check "$1: $cuts_wanted cuts" cut_rounds jsonl parquet csv
    cat "$work/out"
    export AWS_ENDPOINT_URL=$direct
}

# Waited for at the end: it is asked for some seconds.
env AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x "$widerow" import s3://test/small.jsonl --s3-endpoint http://127.0.0.1:1 --table small --key id --quiet \
    --dir "$work/nobody" >"$work/nobody.said" 2>&1 &
nobody=$!
# Stores that take connections and never answer, and that begin an answer and never go on. Waited for at the end, too.
python3 - "$work" <<'PYTHON' >"$work/silent.log" 2>&1 &
import os, socket, sys, threading
def serve(name, answer):
    s = socket.create_server(("127.0.0.1", 0))
    with open(sys.argv[1] + "/" + name + ".new", "w") as f:
        f.write(str(s.getsockname()[1]))
    os.rename(sys.argv[1] + "/" + name + ".new", sys.argv[1] + "/" + name)
    kept = []
    while True:
        kept.append(s.accept()[0])
        kept[-1].recv(65536)
        kept[-1].sendall(answer)
threading.Thread(target=serve, args=("halting", b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: "x"\r\n\r\nid,n\n'), daemon=True).start()
serve("silent", b"")
PYTHON
others+=($!)
silent() { # NAME COMMAND…: what it says, and its exit code, go to $work/NAME.told
    AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x AWS_ENDPOINT_URL=http://127.0.0.1:$(cat "$work/${1%-*}") "$widerow" "${@:2}" --quiet --dir "$work/$1.data" >"$work/$1.told" 2>&1
    echo "exit code $?" >>"$work/$1.told"
}
ends() { grep -qE -- "$2" "$work/$1.told" && grep -qE '^exit code [1-9]' "$work/$1.told" || { cat "$work/$1.told"; false; }; } # NAME WORDS
check "silent ones listen" eventually test -f "$work/silent" -a -f "$work/halting"
"$widerow" create t --key id:integer --dir "$work/silent-out.data" >/dev/null
silent silent-in import s3://test/x.csv --table t --create --key id &
waits=($!)
silent halting-in import s3://test/x.csv --table t --create --key id &
waits+=($!)
silent silent-out export t --output s3://test/x.csv &
waits+=($!)
check "s3rver" packages
check "s3rver starts" start_s3rver
stores s3rver csv jsonl parquet

check "Ceph with its gateway starts" start_radosgw
stores radosgw jsonl parquet
check "radosgw: a wrong secret" fails "does not take these credentials \(SignatureDoesNotMatch" \
    env AWS_SECRET_ACCESS_KEY=wrong "$widerow" export many --output s3://test/x.jsonl --format jsonl --quiet --dir "$work/data"
check "radosgw: no half upload stays" no_halves
printf '[default]\naws_access_key_id = other\naws_secret_access_key=x\n[mine]\n aws_access_key_id = tester\naws_secret_access_key = testing\n' >"$work/credentials"
check "a profile" env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY AWS_SHARED_CREDENTIALS_FILE="$work/credentials" \
    "$widerow" import s3://test/small.jsonl --s3-profile mine --table small --create --key id --quiet --dir "$work/data"
check "and no such one" fails "has no credentials of a profile 'none'" env AWS_SHARED_CREDENTIALS_FILE="$work/credentials" \
    "$widerow" import s3://test/small.jsonl --s3-profile none --table small --key id --quiet --dir "$work/data"
check "no credentials" fails "no credentials for s3: set AWS_ACCESS_KEY_ID" env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY \
    "$widerow" import s3://test/small.jsonl --table small --key id --quiet --dir "$work/data"
wait "${waits[@]}"
check "an import of one that never answers ends" ends silent-in "no answer from http://127.0.0.1"
check "and an export to it" ends silent-out "no answer from http://127.0.0.1"
check "one that stops in the middle is told as such" ends halting-in "x.csv: reading failed: no answer from http://127.0.0.1"
check "no table is left of it" fails "does not exist" "$widerow" describe t --dir "$work/halting-in.data"
wait $nobody
nobody_code=$?
check "a store that is not there" fails "no answer from http://127.0.0.1:1: .*connect" sh -c 'cat "$1" >&2; exit "$2"' - "$work/nobody.said" "$nobody_code"
check "radosgw: a wrong secret for an import" fails "access key tester may not do this, or its secret is another one" \
    env AWS_SECRET_ACCESS_KEY=wrong "$widerow" import s3://test/small.jsonl --table small --key id --quiet --dir "$work/data"
# What serves whole files alone: enough for one that is read at once.
mkdir -p "$work/plain/test"
head -n 9000 "$work/many.jsonl" >"$work/plain/test/some.jsonl"
head -n 50 "$work/many.jsonl" >"$work/plain/test/few.jsonl"
run export many --format parquet --output "$work/plain/test/many.parquet" --quiet
plain_port=$(free_port)
python3 -m http.server -b 127.0.0.1 -d "$work/plain" "$plain_port" >"$work/plain.log" 2>&1 &
others+=($!)
check "a server of files" eventually answers "http://127.0.0.1:$plain_port/"
check "a small one is read" run import s3://test/few.jsonl --s3-endpoint "http://127.0.0.1:$plain_port" --table few --create --key id --quiet
check "of a large one there are no parts" refuses "does not give parts of objects" import s3://test/some.jsonl --s3-endpoint "http://127.0.0.1:$plain_port" --table few --key id --quiet
check "nor of Parquet" refuses "does not give parts of objects" import s3://test/many.parquet --s3-endpoint "http://127.0.0.1:$plain_port" --table few --key id --quiet
# Its certificate is nobody's but by --s3-ca-file.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/ca.pem" -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost >"$work/openssl.log" 2>&1
tls_port=$(free_port)
python3 - "$tls_port" "$port" "$work" <<'PYTHON' >"$work/tls.log" 2>&1 &
import asyncio, ssl, sys
async def pump(a, b):
    while data := await a.read(65536):
        b.write(data)
        await b.drain()
    b.close()
async def serve(r, w):
    r2, w2 = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pump(r, w2), pump(r2, w))
async def main():
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(sys.argv[3] + "/ca.pem", sys.argv[3] + "/key.pem")
    s = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), ssl=c)
    await s.serve_forever()
asyncio.run(main())
PYTHON
others+=($!)
check "by TLS" eventually sh -c 'curl -s -o /dev/null --cacert "$1" "https://localhost:$2/"' - "$work/ca.pem" "$tls_port"
check "with its certificate" run import s3://test/small.jsonl --s3-endpoint "https://localhost:$tls_port" --s3-ca-file "$work/ca.pem" --table small --key id --quiet
check "without, none" refuses "certificate" import s3://test/small.jsonl --s3-endpoint "https://localhost:$tls_port" --table small --key id --quiet
counts s3
