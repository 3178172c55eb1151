#!/usr/bin/env bash
# Writes the lists of include/widerow.h that come from src/op.def and src/base/err.def: operations, the unions of
# requests and replies, error codes. So they are written once, and the header can be read without a macro.
#
#   tools/header.sh           writes the header, if it would change
#   tools/header.sh --check   prints what would change
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
header=include/widerow.h
work=$(mktemp)
trap 'rm -f "$work"' EXIT

# The rows that begin with "NAME(", one a line and without that: columns as they stand, split by commas that no text holds.
rows() { # NAME FILE
    awk -v name="$1" '
        !row && index($0, name "(") != 1 { next }
        { row = row (row ? " " : "") $0; sub(/^ +/, "", row) }
        row ~ /\)$/ && gsub(/\(/, "(", row) == gsub(/\)/, ")", row) {
            row = substr(row, length(name) + 2, length(row) - length(name) - 2)
            gsub(/, +/, ",", row)
            print row
            row = ""
        }' "$2"
}

operations=$(rows OP src/op.def)
errors=$(rows ERR src/base/err.def)
{ echo "$operations"; echo '#'; echo "$errors"; echo '#'; cat "$header"; } | awk '
    function pad(text, width) { return sprintf("%-" width "s", text) }
    part == 0 && $0 != "#" {
        split($0, c, ",")
        op[ops + 1] = "WR_OP_" c[1] " = " ops + 0 ","
        ops++
        answer[ops] = c[2] ", answered with " c[8]
        if (length(op[ops]) > op_width) op_width = length(op[ops])
        size[ops] = "WR_SIZE_" c[1]
        member[ops] = c[2]
        request[ops] = "struct " c[6] " " c[2] ";"
        if (c[8] != "none" && !(c[8] in seen)) { seen[c[8]] = 1; reply[++replies] = "struct " c[9] " " c[8] ";" }
        next
    }
    part == 1 && $0 != "#" {
        split($0, c, ",")
        note = $0
        sub(/"$/, "", note); sub(/.*"/, "", note)
        codes++
        code[codes] = (c[1] ? "WR_E_" : "WR_") c[2] " = " c[1] ","
        meaning[codes] = note
        if (length(code[codes]) > code_width) code_width = length(code[codes])
        next
    }
    part < 2 { part++; next }

    /^enum wr_op \{/ { print; for (i = 1; i <= ops; i++) print "    " pad(op[i], op_width) " /* " answer[i] " */"; print "    WR_OP_COUNT"; skip = "^};"; next }
    /^enum wr_size \{/ { print; for (i = 1; i <= ops; i++) print "    " size[i] " = WR_SIZE_OF(" member[i] "),"; skip = "^};"; next }
    /^enum wr_error \{/ { print; for (i = 1; i <= codes; i++) print "    " pad(code[i], code_width) " /* " meaning[i] " */"; skip = "^};"; next }
    /^struct wr_request \{/ { inside = "request" }
    /^struct wr_reply \{/ { inside = "reply" }
    inside && /^    union \{/ {
        print
        if (inside == "reply") print "        char none;"
        for (i = 1; inside == "request" ? i <= ops : i <= replies; i++) print "        " (inside == "request" ? request[i] : reply[i])
        inside = ""; skip = "^    };"; next
    }
    skip && $0 !~ skip { next }
    { skip = ""; print }' >"$work"

if [ "${1:-}" = --check ]; then
    diff -u "$header" "$work"
elif ! cmp -s "$header" "$work"; then
    cp "$work" "$header"
fi
