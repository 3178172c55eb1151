#!/usr/bin/env bash
# The Debian packages: that lintian has nothing to say, that they install into a system with nothing but what Debian calls essential, that the
# server runs there as its unit starts it and answers README's first example, and that removing them leaves the data and nothing else.
# Needs root, debhelper, lintian, mmdebstrap, and apt's sources of this machine.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
root=$work/root debs=$work/debs port=18600
in_root() { chroot "$root" "$@"; }
as_service() { exec chroot --userspec=widerow:widerow "$root" "$@"; } # ends the shell

check "the packages are built" tools/deb.sh "$debs"
check "lintian finds no error and no warning" lintian --fail-on error,warning "$debs"/*.changes
mkdir "$work/first"
cp "$debs"/widerow_*.deb "$debs"/libwiderow0_*.deb "$work/first"
sources=$(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
install_hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /tmp/first/*.deb"'
check "a Debian system without anything more" mmdebstrap --quiet --variant=minbase --customize-hook='find "$1" -xdev | sed "s#^$1##" | sort >"'"$work"'/before"' \
    --customize-hook="copy-in '$work/first' /tmp" --customize-hook="$install_hook" bookworm "$root" "$sources"
check "what a server installs knows nothing of Ceph" sh -c '! ls "$1"/var/lib/dpkg/info | grep -q "rados\|ceph"' - "$root"

# The service, as its unit starts it.
unit=$root/lib/systemd/system/widerowd.service
from_unit() { sed -n "s/^$1=//p" "$unit"; }
verify() { systemd-analyze verify --man=no "$unit" 2>&1 | grep -v 'is not executable' >"$work/verify"; [ ! -s "$work/verify" ] || { cat "$work/verify"; false; }; }
check "systemd-analyze verify" verify
exposure() { systemd-analyze security --offline=true "$unit" | tee "$work/security" | grep -q 'Overall exposure level.* [01]\.[0-9] '; }
check "systemd-analyze security: an exposure below 2" exposure
check "the unit's user" in_root id widerow
check "its data folder is its own" [ "$(in_root stat -c '%a %U' /var/lib/widerow)" = '700 widerow' ]
check "the settings file is good" in_root /usr/bin/widerowd --config /etc/widerow/widerow.conf --check-config
install -d -o "$(in_root id -u widerow)" "$root/run/widerow"
read -r -a command <<<"$(from_unit ExecStart)"
(as_service "${command[@]}" --http "127.0.0.1:$port" --admin off) >"$work/service.out" 2>"$work/service.log" </dev/null &
pids[service]=$!
check "the service starts" eventually test -s "$root/run/widerow/ports"
secret_hidden() {
    local secret
    secret=$(grep -oE '[A-Za-z0-9]{30,}' "$root/var/lib/widerow/credentials" | tail -n 1)
    [ -n "$secret" ] && ! grep -F "$secret" "$work/service.out" "$work/service.log"
}
check "its secret is not in the journal" secret_hidden
words() { in_root env WIDEROW_ENDPOINT="http://127.0.0.1:$port" /usr/bin/widerow "$@" --data /var/lib/widerow; }
check "README: create" words create cards --key CardID:string
check "README: put" words put cards card-1 balance=20 owner=Ann since=2026-11-23
check "README: update" words update cards card-1 balance+=5 --where 'owner = "Ann"'
check "README: get" words get cards card-1 --format json
check "it has the sum" grep -q '"balance":25' "$work/before"
stop_service() { kill -TERM "${pids[service]}" && wait "${pids[service]}"; }
check "the service stops" stop_service
unset 'pids[service]'
rm -r "$root/run/widerow" # as systemd does
check "a closed folder is read" in_root /usr/bin/widerow digest --dir /var/lib/widerow

check "the packages are removed" in_root apt-get purge -y widerow libwiderow0
left() { ! (cd "$root" && find . -xdev -name '*widerow*' ! -path './tmp/*' ! -path './var/lib/widerow*' ! -path './var/log/*') | grep .; }
check "nothing of them is left but the data" left
check "which is there" test -s "$root/var/lib/widerow/credentials"
counts package
