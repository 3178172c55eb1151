#!/usr/bin/env bash
# The suites of this folder, and the scripts of test/spec through HTTP, against a server that runs already, whoever wrote it:
#
#   export WIDEROW_ACCESS_KEY_ID=… WIDEROW_ACCESS_KEY_SECRET=…
#   test/compat/run.sh --endpoint http://HOST:PORT --instance NAME [--set NAME=VALUE]… [SUITE…]
#
# The instance has to be empty: the scripts drop all tables that they find. Scripts that need a setting of the server are skipped and
# say so, unless --set tells that it has it. A server that paces table operations (10 a second in the cloud) takes minutes.
# SUITE is spec, node, python, go, java, timeline, campus, libraries or aliyun; without one, all run. Needs a build (BUILD=build): make all build/test/spec
set -u
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build} SUITE_SECONDS=${SUITE_SECONDS:-600}
sets=() suites=()
usage() { sed -n '2,10s/^# \?//p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
    --endpoint | --instance | --set)
        [ $# -gt 1 ] || usage
        case $1 in
        --endpoint) export WIDEROW_ENDPOINT=${2%/} ;;
        --instance) export WIDEROW_INSTANCE=$2 ;;
        *) sets+=(--set "$2") ;;
        esac
        shift 2
        ;;
    spec | node | python | go | java | timeline | campus | libraries | aliyun) suites+=("$1") && shift ;;
    *) usage ;;
    esac
done
[ -n "${WIDEROW_ENDPOINT:-}" ] && [ -n "${WIDEROW_INSTANCE:-}" ] || usage
[ -n "${WIDEROW_ACCESS_KEY_ID:-}" ] && [ -n "${WIDEROW_ACCESS_KEY_SECRET:-}" ] || usage
[ ${#suites[@]} -gt 0 ] || suites=(spec node python go java timeline campus libraries aliyun)

tables=$("$BUILD/widerow" tables) || exit 2
if [ -n "$tables" ]; then
    echo "run.sh: the instance $WIDEROW_INSTANCE has tables, and the suites drop all that they find: give them one of its own" >&2
    exit 2
fi

# A table of large cells loosens the limits of requests for good, so the script about it comes last.
spec() {
    local scripts
    scripts=$(ls test/spec/*.spec | grep -v /cells_table.spec)
    # shellcheck disable=SC2086 # one word a script
    "$BUILD/test/spec" --endpoint "$WIDEROW_ENDPOINT" --instance "$WIDEROW_INSTANCE" "${sets[@]}" $scripts test/spec/cells_table.spec
}

failed=()
for suite in "${suites[@]}"; do
    echo "== $suite"
    if [ "$suite" = spec ]; then spec; else "test/compat/$suite/run.sh"; fi || failed+=("$suite")
done
[ ${#failed[@]} -eq 0 ] || { echo "run.sh: failed: ${failed[*]}"; exit 1; }
