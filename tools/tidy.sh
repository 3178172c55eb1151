#!/usr/bin/env bash
# House rules that a compiler does not check. Prints each breach with its place; ends with a line of counts.
set -u
shopt -s lastpipe # so that rule() counts in this shell
cd "$(dirname "$0")/.."
passed=0 failed=0

# rule NAME: reads breaches from standard input.
rule() {
    local found
    found=$(cat)
    if [ -z "$found" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'tidy: %s: %s\n' "$1" "$found"
    fi
}

# has CHECKER: whether it is installed. In CI a rule that is not checked has failed.
has() {
    command -v "$1" >/dev/null && return
    [ "${CI:-}" != true ] || rule "in CI all checkers are there" <<<"  $1 is missing"
    return 1
}

sources=$(git ls-files -co --exclude-standard 'src/*.[ch]' 'include/*.h')

# Includes go one way. "folder: what it may include".
direction() {
    local allowed folder
    while IFS=: read -r folder allowed; do
        grep -rnHE '^#include "' "src/$folder" --include='*.[ch]' |
            grep -vE "#include \"($allowed)" | sed 's/^/  /'
    done <<'RULES'
base:base/
engine:base/|engine/
table:base/|engine/(engine|sorter)\.h|search/|table/|widerow(_load)?\.h|op\.def
table/stats:base/|table/stats/|widerow\.h
table/model:base/|engine/engine\.h|table/model/|widerow\.h|op\.def
table/sync:base/|engine/engine\.h|table/sync/|widerow\.h
table/core:base/|engine/engine\.h|table/(core|model|sync)/|widerow\.h|op\.def
table/catalog:base/|table/(catalog|core|model|stats|sync)/|widerow\.h
table/txn:base/|engine/engine\.h|table/(txn|catalog|core|model|sync)/|widerow\.h
table/changelog:base/|engine/engine\.h|table/(changelog|stream|sync|catalog|core|model)/
table/stream:base/|engine/engine\.h|table/(stream|index|catalog|core|model|sync)/|widerow\.h
table/tunnel:base/|table/(tunnel|stream|catalog|core|model|sync)/|widerow\.h
search:base/|search/|widerow\.h|widerow_search\.h|field_type\.def|row_value\.h
table/series:base/|table/(series|catalog|core|model|sync)/|widerow\.h
table/search:base/|search/|table/(search|changelog|catalog|core|model|sync)/|widerow\.h
table/index:base/|table/(index|core|model|stats|sync)/
table/blob:base/|table/(blob|catalog|core|model|sync)/
table/row:base/|engine/engine\.h|table/(row|txn|index|blob|catalog|core|model|stats|sync)/
table/cell:base/|table/(cell|row|blob|catalog|core|model|sync)/
table/load:base/|engine/(engine|sorter)\.h|table/(load|catalog|core|model|sync)/|widerow_load\.h
table/maint:base/|table/(maint|index|row|blob|catalog|core|model|stats|sync)/|widerow\.h
table/admin:base/|table/(admin|maint|catalog|core|model|stats|sync)/|widerow\.h
search/segment:base/|search/(segment|field)/|widerow\.h
search/query:base/|search/(query|segment|field)/|widerow\.h
search/result:base/|search/(result|query|segment|field)/|widerow\.h
search/field:base/|search/field/|widerow(_search)?\.h|field_type\.def|row_value\.h
wire:base/|wire/|widerow\.h|op\.def|[a-z_]+\.pb-c\.h
net:base/|net/
sql:base/|net/(address|tls)\.h|sql/|sql_grammar\.h|widerow\.h
sql/mysql:base/|sql/(mysql/|calendar\.h|result\.h)|widerow\.h
sql/run:base/|sql/(run/|parse/|calendar\.h|result\.h)|widerow\.h
sql/door:base/|net/(address|tls)\.h|sql/|widerow\.h
sql/parse:base/|sql/parse/|sql_grammar\.h|widerow\.h
server:base/|wire/|net/|sql/(door/door|run/session|result|calendar)\.h|archive/export\.h|s3/s3\.h|delayload/delayload\.h|server/|widerow\.h|op\.def
client:base/|wire/|client/|widerow\.h|op\.def
record:base/|record/|widerow\.h
parquet:base/|parquet/|widerow\.h
s3:base/|s3/
archive:base/|client/(client|walk)\.h|record/|parquet/|s3/|archive/|widerow\.h
advisor:base/|record/|advisor/|table/model/layout\.h|cli/console/progress\.h|widerow\.h
bench:base/|wire/|client/|bench/|widerow\.h
cli/console:base/|record/|cli/console/|widerow\.h
cli/transfer:base/|wire/|client/|record/|parquet/|s3/|archive/|bench/|cli/(console|transfer)/|widerow(_load)?\.h
delayload:delayload/|widerow(_load)?\.h
cli:base/|wire/|client/|record/|parquet/|s3/|archive/|advisor/|bench/|cli/|widerow(_load)?\.h|op\.def|field_type\.def|row_value\.h
RULES
}
direction | rule "includes against the direction base <- engine <- table <- wire, net <- sql <- server, client <- cli"

tools/header.sh --check | rule "include/widerow.h has the rows of op.def and err.def (tools/header.sh writes them)"

grep -nE '\b(malloc|calloc|realloc|free|strdup)\(' $(grep -v 'base/mem.c' <<<"$sources") |
    grep -vE '_free\(|^\S+:\s*(/?\*|//)|\.free|->free|[a-z]_(malloc|free)\(|\* ' | rule "memory goes through mem_alloc() and mem_free() (base/port.h)"
grep -nE '\b(strcpy|strcat|sprintf|gets|strtok|atoi|rand|localtime|gmtime|asctime)\(' $sources | rule "banned calls"
grep -nE 'assert\([^=!<>]*(\+\+|--|[^=!<>]=[^=])' $sources | rule "asserts without side effects"
git ls-files -co --exclude-standard 'src/*' | grep -E '/utils?\.' | rule "no file called util"
grep -rniE 'rocksdb|rados' src --include='*.[ch]' --include='*.def' -l | grep -vE 'src/engine/|src/server/setting.def' | sed 's/^/  /' | rule "only src/engine knows an engine by name"

# Words that were given up for the field's own (ARCHITECTURE.md, "Words"), in names, comments and messages. Lindorm calls a privilege TRASH.
retired=$(paste -sd'|' tools/retired-words)
git ls-files -co --exclude-standard 'src/*.[ch]' 'src/*.def' |
    xargs grep -niE "(^|[^[:alnum:]_])([[:alnum:]]+_)*($retired)(_[[:alnum:]_]+)?([^[:alnum:]_]|$)" | grep -vE '"TRASH"|ADMIN, TRASH' | cut -c1-120 | sed 's/^/  /' |
    rule "words of tools/retired-words do not come back"

# Every header compiles alone.
headers() {
    local h
    for h in $(grep '\.h$' <<<"$sources"); do
        ${CC:-gcc} -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I"${BUILD:-build}/gen" -fsyntax-only -x c "$h" 2>&1 | grep -E 'error' | sed 's/^/  /'
    done
}
headers | rule "headers compile alone"

# A comment that cites a section of our pages names one that is there: doc/wire.md, "Retries".
citations() {
    local page section
    git ls-files -co --exclude-standard 'src/*' 'include/*' 'test/*.[ch]' 'test/spec/*' | xargs cat | sed -E 's/^ ?[*#] ?//' | tr '\n' ' ' |
        grep -aoE 'doc/[a-z-]+\.md, ("[A-Z][^"]*"(, )?)+' | sort -u | while IFS=, read -r page sections; do
        grep -oE '"[^"]+"' <<<"$sections" | tr -d '"' | while read -r section; do
            grep -qxE "##+ $section" "$page" || echo "  $page has no section \"$section\""
        done
    done
}
citations | rule "citations of doc/ name sections that are there"

# By what files include, and, where there is a build, by what they call.
if has python3; then
    tools/graph.py --check "${BUILD:-build}" | rule "folders and files know one another in one direction (tools/graph.py tells the knots, and which may stay)"
fi

if has clang-format; then
    clang-format --dry-run $sources 2>&1 | grep -E 'warning:' | cut -d: -f1 | sort | uniq -c | sed 's/^/  /' | rule "clang-format"
fi
echo "tidy: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
