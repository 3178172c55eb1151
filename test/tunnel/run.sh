#!/usr/bin/env bash
# The Go SDK's tunnel workers, unmodified, on a table of four shards: one of two is killed, and then the server.
#
#   test/tunnel/run.sh     BUILD=build  TIER=short|nightly (1,000,000 changes)
#   TUNNEL_ENGINE=FLAGS    of widerowd: another engine than RocksDB
#   TUNNEL_WORKER=java     the Java SDK's workers, in the same case; its jars are those of test/compat/java
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap '[ ! -s "$work/pid" ] || kill "$(cat "$work/pid")" 2>/dev/null; rm -rf "$work"' EXIT
command -v go >/dev/null || { echo "SKIPPED tunnel: go is not installed"; echo "tunnel: 0 passed, 0 failed, 1 skipped"; exit; }
export WIDEROW_ACCESS_KEY_ID=test-id WIDEROW_ACCESS_KEY_SECRET=test-secret WIDEROW_INSTANCE=test

# Starts a server on the port that the first one got, and waits until it serves.
# Somebody's connection may have that port for a moment, so it tries for a while.
cat >"$work/start" <<END
rm -f "$work/ports"
for try in \$(seq 40); do
    "$BUILD/widerowd" --data "$work/data" ${TUNNEL_ENGINE:-} --http 127.0.0.1:\${PORT:-0} --sql off --admin off --port-file "$work/ports" --memory 64M \\
        >>"$work/log" 2>&1 &
    echo \$! >"$work/pid"
    while kill -0 \$! 2>/dev/null; do
        [ ! -s "$work/ports" ] || exit 0
        sleep 0.05
    done
    sleep 0.25
done
exit 1
END
sh "$work/start" || { cat "$work/log"; echo "FAILED: the server does not start"; echo "tunnel: 0 passed, 1 failed, 0 skipped"; exit 1; }
address=$(sed -n 's/^http=//p' "$work/ports")
export WIDEROW_ENDPOINT=http://$address WIDEROW_PID WIDEROW_START="PORT=${address##*:} sh $work/start" WIDEROW_TUNNEL_TABLE=followed
WIDEROW_PID=$(cat "$work/pid")
WIDEROW_TUNNEL_VALUES=$([ "${TIER:-short}" = nightly ] && echo 5000 || echo 60)
export WIDEROW_TUNNEL_VALUES
if [ "${TUNNEL_WORKER:-go}" = java ]; then
    jars=${WIDEROW_CACHE:-$HOME/.cache/widerow}/java/jars
    javac -encoding UTF-8 -d "$work/classes" -cp "$jars/*" test/tunnel/Worker.java || { echo "tunnel: 0 passed, 1 failed, 0 skipped"; exit 1; }
    export WIDEROW_TUNNEL_WORKER="java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '$work/classes:$jars/*' Worker"
fi
"$BUILD/widerow" create followed --key pk:integer --splits 50,100,150 --endpoint "$WIDEROW_ENDPOINT" || exit 1
SUITE_SECONDS=$([ "${TIER:-short}" = nightly ] && echo 900 || echo 120) test/compat/go/run.sh -test.run=TestTunnelOverKills | sed 's/^compat-go:/tunnel:/'
code=${PIPESTATUS[0]}
[ "$code" = 0 ] || tail -n 20 "$work/log"
exit "$code"
