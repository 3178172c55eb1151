#!/usr/bin/env bash
# Go's MySQL driver against the SQL port PORT.
name=sql-go
source "$(dirname "$0")/../../compat/suite.sh"
needs go
program=$cache/sql-go/cases.test
build() { (cd "$here" && go test -mod=readonly -vet=off -c -o "$program"); }
installed sql-go "$(cat "$here"/*.go "$here"/go.* | sha256sum)" build
cd "$here" && timeout 100 "$program" -test.v -test.timeout=90s
