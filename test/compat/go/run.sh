#!/usr/bin/env bash
# Runs the cases of this folder with the published Go SDK, by go test. Arguments go to the test program: ./run.sh -test.run=Batch
name=go
source "$(dirname "$0")/../suite.sh"
needs go
program=$cache/go/compat.test
build() { (cd "$here" && go test -mod=readonly -vet=off -c -o "$program"); }
installed go "$(cat "$here"/*.go "$here"/go.* | sha256sum)" build

# A case is what runs below a test. One that hangs ends the program, which names it, and then those beside it have no verdict.
cases '/^=== RUN +Test.*\// { f++ } /^    --- PASS/ { p++; f-- } /^    --- SKIP/ { s++; f-- }' \
    "$program" -test.v -test.timeout="$((seconds - 5))s" "$@"
