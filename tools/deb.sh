#!/usr/bin/env bash
# tools/deb.sh FOLDER: builds the Debian packages of what is committed or not ignored here, into FOLDER. Needs debhelper.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/widerow"
git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$work/widerow"
version=$(cat VERSION)
cat >"$work/widerow/debian/changelog" <<CHANGES
widerow ($version) unstable; urgency=medium

  * CHANGELOG.md says what is new.

 -- The Widerow developers <maintainers@widerow.example.org>  $(LC_ALL=C date -u -R -d "$(git log -1 --format=%cI)")
CHANGES
(cd "$work/widerow" && dpkg-buildpackage --no-sign --build=binary -j"${JOBS:-2}" >"$out/build.log" 2>&1) || { tail -n 30 "$out/build.log" >&2; exit 1; }
cp "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
ls "$out"/*.deb
