#!/usr/bin/env bash
# compile_commands.json on standard output: one entry a C file, each with the command line given.
#
#   tools/compile_commands.sh 'CC FLAGS…'
set -eu
cd "$(dirname "$0")/.."
command=${1//\\/\\\\} command=${command//\"/\\\"}
separator='['
git ls-files -co --exclude-standard 'src/*.c' 'test/*.c' 'bench/*.c' | while read -r file; do
    case $file in test/fuzz/*) continue ;; esac # compiled by clang, test/fuzz/fuzz.mk says how
    printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$separator" "$PWD" "$file" "$command" "$file"
    separator=,
done
printf '\n]\n'
