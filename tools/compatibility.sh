#!/usr/bin/env bash
# Writes doc/compatibility.md from src/op.def, src/base/limit.def, the cases in test/spec and the suites' counts.
#
#   tools/compatibility.sh [DIR]           writes the page
#   tools/compatibility.sh --check [DIR]   fails if the page would change; ends with a line of counts for test/run.sh
#
# DIR holds SUITE.log files, as test/run.sh keeps them with RESULTS=DIR. Of a suite that is not there, failed or
# skipped something, the page keeps the count it has. The same input gives the same page: no dates, no timings.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C

page=doc/compatibility.md
check=
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
results=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One line a table row of op.def: "served|empty|none NAME".
operations() {
    sed -nE -e '/^ \*/d' \
        -e 's/^OP\([^"]*"([A-Za-z/]+)".*/served \1/p' \
        -e 's/^OP_SERVER\(SQL_QUERY, "([A-Za-z]+)"\).*/served \1/p' \
        -e 's/^OP_EMPTY\("([A-Za-z]+)"\).*/empty \1/p' \
        -e 's/^OP_NONE\("([A-Za-z]+)"\).*/none \1/p' src/op.def
}

# Reads the spec scripts; prints "case", "uses OP N", "looks OP N" (cases that look at its answer) and
# "known FILE<tab>CASE<tab>REASON". Cases marked known do not pass, so they count nowhere else.
spec_counts() {
    operations | awk '
        # the verbs of the scripts
        BEGIN {
            split("table CreateTable alter UpdateTable list ListTable describe DescribeTable drop DeleteTable " \
                  "load_table LoadTable unload_table UnloadTable add_columns AddDefinedColumn " \
                  "delete_columns DeleteDefinedColumn create_index CreateIndex drop_index DropIndex split_points ComputeSplitPointsBySize get GetRow put PutRow " \
                  "update UpdateRow delete DeleteRow batch_get BatchGetRow batch_write BatchWriteRow " \
                  "range GetRange scan GetRange drain GetRange fill BatchWriteRow bulk_export BulkExport " \
                  "bulk_import BulkImport begin StartLocalTransaction commit CommitTransaction abort AbortTransaction " \
                  "streams ListStream stream DescribeStream shard_iterator GetShardIterator records GetStreamRecord " \
                  "create_tunnel tunnel/create delete_tunnel tunnel/delete tunnels tunnel/list describe_tunnel tunnel/describe " \
                  "connect tunnel/connect heartbeat tunnel/heartbeat shutdown tunnel/shutdown get_checkpoint tunnel/getcheckpoint " \
                  "checkpoint tunnel/checkpoint read_tunnel tunnel/readrecords", pairs, " ")
            for (i = 1; i in pairs; i += 2) verb[pairs[i]] = pairs[i + 1]
        }

        function end_statement(    i, n, words, op) {
            if (text == "") return
            n = split(text, words, /[ \t"\/]+/)
            if (words[1] == "case") begin_case(text)
            else if (words[1] == "known") known = text
            else if (words[1] == "http") {
                # a request as it stands: its path names the operation
                for (i = 2; i <= n; i++) if (words[i] in is_op) note(words[i], text)
            } else if (words[1] in verb) note(verb[words[1]], text)
            text = ""
        }
        function note(op, statement) {
            if (in_case) uses[op] = 1; else setup[op] = 1
            if (index(statement, "->")) { if (in_case) looks[op] = 1; else setup_looks[op] = 1 }
        }
        function begin_case(line) {
            end_case()
            in_case = 1
            name = line
            sub(/^case[ \t]*"/, "", name); sub(/"[ \t]*$/, "", name)
        }
        function end_case(    op) {
            if (in_case && known != "") {
                sub(/^known[ \t]*"?/, "", known); sub(/"[ \t]*$/, "", known)
                printf "known\t%s\t%s\t%s\n", file, name, known
            } else if (in_case) {
                cases++
                for (op in uses) used[op]++
                for (op in setup) if (!(op in uses)) used[op]++
                for (op in looks) looked[op]++
                for (op in setup_looks) if (!(op in looks)) looked[op]++
            }
            split("", uses); split("", looks)
            known = ""; in_case = 0
        }

        FILENAME == "-" { is_op[$2] = 1; next }
        FNR == 1 { end_statement(); end_case(); split("", setup); split("", setup_looks); file = FILENAME }
        /^#/ { next }
        /^[ \t]*$/ { next }
        /^[ \t]/ { text = text " " $0; next }
        { end_statement(); text = $0 }
        END {
            end_statement(); end_case()
            print "case\t" cases + 0
            for (op in used) print "uses\t" op "\t" used[op]
            for (op in looked) print "looks\t" op "\t" looked[op]
        }' - test/spec/*.spec | sort
}

operation_table() {
    echo '| operation | | cases that use it | that look at its answer |'
    echo '| --- | --- | ---: | ---: |'
    operations | awk -v spec="$work/spec" '
        BEGIN {
            FS = "\t"
            while ((getline <spec) > 0) if ($1 == "uses" || $1 == "looks") n[$1, $2] = $3
            FS = " "
            what["served"] = "served"; what["empty"] = "answered with an empty list"; what["none"] = "not served"
        }
        function cell(count) { return count ? " " count " " : " " }
        { printf "| %s | %s |%s|%s|\n", $2, what[$1], cell(n["uses", $2]), cell(n["looks", $2]) }'
}

# The version that a suite pins.
version() { # FILE PATTERN
    sed -nE "s/$2/\\1/p" "$1" | head -n 1
}

# Passed cases of a suite: from its log if that is clean, else as the page says.
count() { # SUITE
    local log="$results/$1.log" line= n=
    if [ -n "$results" ] && [ -f "$log" ]; then
        line=$(grep -E "^$1: [0-9]+ passed, 0 failed, 0 skipped\$" "$log" | tail -n 1) || true
        n=$(sed -nE 's/.*: ([0-9]+) passed.*/\1/p' <<<"$line")
    fi
    if [ -z "$n" ] && [ -f "$page" ]; then
        n=$(sed -nE "s/^\\| \`$1\` \\|.*\\| ([0-9]+) \\|\$/\\1/p" "$page" | head -n 1)
    fi
    echo "${n:-?}"
}

suite_table() {
    local c=test/compat suite what
    echo '| suite | what runs | passed |'
    echo '| --- | --- | ---: |'
    while IFS='|' read -r suite what; do
        echo "| \`$suite\` | $what | $(count "$suite") |"
    done <<ROWS
compat-node|SDK for Node.js, tablestore $(version $c/node/package.json '.*"tablestore": *"([^"]+)".*')
compat-python|SDK for Python, tablestore $(version $c/python/requirements.txt '^tablestore==(.*)')
compat-go|SDK for Go, aliyun-tablestore-go-sdk $(version $c/go/go.mod '.*aliyun-tablestore-go-sdk[^ ]* v([^ ]+).*')
compat-java|SDK for Java, tablestore $(version $c/java/pom.xml '.*<version>([0-9]+\.[0-9]+\.[0-9]+)<\/version>.*')
compat-timeline|Timeline $(sed -n '/<artifactId>Timeline</{n;s/[^0-9.]//gp}' $c/timeline/pom.xml), a library for messages and feeds in Java, unmodified
compat-libraries|programs in Python, unmodified: LlamaIndex's stores of keys, documents, indexes, chats and vectors, LangChain's vector store, tablestore-for-agent-memory, langgraph-checkpoint-tablestore, otssql
compat-aliyun|aliyun-table 0.1.2 with tablestore 5.1.0, unmodified
compat-campus|examples/campus, with Node.js and Python
ROWS
}

strict_table() {
    echo '| setting | default | strict | what it bounds |'
    echo '| --- | ---: | ---: | --- |'
    sed -nE 's/^LIMIT\(([a-z0-9_]+), ([0-9]+), ([0-9]+), [0-9]+, [0-9]+, [A-Z]+, "([^"]*)"\).*/\1|\2|\3|\4/p' src/base/limit.def |
        awk -F'|' '$2 != $3 { printf "| `%s` | %s | %s | %s |\n", $1, $2, $3, $4 }'
}

known_list() {
    if ! grep -q '^known' "$work/spec"; then
        echo 'None: no case is marked known.'
        return
    fi
    awk -F'\t' '$1 == "known" { printf "- %s: %s (`%s`)\n", $3, $4, $2 }' "$work/spec"
}

write_page() {
    cat <<PAGE
# Compatibility

What Widerow answers of the protocol, what has been tested, and what is known to differ. Made by
\`tools/compatibility.sh\` from the tests; do not edit by hand. \`make test\` fails when it is stale.

## Operations

The spec suite has $(awk -F'\t' '$1 == "case" { print $2 }' "$work/spec") cases, run on both engines, through the library and through HTTP; \`make test\` fails
unless all pass. Cases that make or fill a table on the way count as using those operations. An operation that is not
served is answered \`OTSUnsupportOperation\`, and the text names it.

$(operation_table)

## Clients

Published packages, pinned and unmodified, against the server; their number of cases that pass.

$(suite_table)

## Known differences

$(cat tools/known-differences.md)

### Limits under --strict

$(strict_table)

### Rules that the spec suite knows to be broken

$(known_list)
PAGE
}

spec_counts >"$work/spec"
write_page >"$work/page"

if [ -z "$check" ]; then
    cp "$work/page" "$page"
elif diff -u "$page" "$work/page"; then
    echo "compatibility: 1 passed, 0 failed, 0 skipped"
else
    echo "$page is stale: run tools/compatibility.sh ${results:+with the folder of logs that test/run.sh RESULTS=DIR keeps}"
    echo "compatibility: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
