#!/usr/bin/env bash
# Installs the Debian packages named, if any is missing. A language's tools that are on the machine in another
# way (a newer node or go than Debian's) count as there.
set -eu
there() {
    case $1 in
    nodejs) command -v node ;;
    npm) command -v npm ;;
    golang-go) command -v go ;;
    default-jdk-headless) command -v javac ;;
    maven) command -v mvn ;;
    *) dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed ;;
    esac >/dev/null 2>&1
}
missing=()
for p in "$@"; do there "$p" || missing+=("$p"); done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "Installing from Debian's packages: ${missing[*]}"
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "Run as root: apt-get install ${missing[*]}" >&2; exit 1; }
    sudo=sudo
fi
log=$(mktemp)
$sudo env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' sh \
    "${missing[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
rm -f "$log"
