#!/usr/bin/env bash
# Access keys that all servers over one pool share: who starts first makes them, the others take them; a key that is added,
# limited or removed through one server is so on all of them; an old or mistaken file changes nothing.
#
#   WIDEROW_CEPH_CONF=FILE [TIER=nightly] test/rados/keys.sh
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
TIER=${TIER:-short}
unset WIDEROW_ACCESS_KEY_ID WIDEROW_ACCESS_KEY_SECRET WIDEROW_INSTANCE
export WIDEROW_NAMESPACE=keys-$$ WIDEROW_POOL=${WIDEROW_POOL:-data}

start() { serve "$1" --engine rados --admin off --set table_ops_per_s_max=0 "${@:2}"; } # SERVER FLAG…
stop() {
    kill "${pids[$1]}" && wait "${pids[$1]}"
    unset "pids[$1]"
}
edit() { # SERVER SED-SCRIPT: as doc/operations.md says
    (umask 077 && sed "$2" "$work/$1/credentials" >"$work/$1/edited") && mv "$work/$1/edited" "$work/$1/credentials"
}
ask() { # SERVER ID SECRET COMMAND…
    local server=$1 id=$2 secret=$3
    shift 3
    WIDEROW_INSTANCE=local WIDEROW_ACCESS_KEY_ID=$id WIDEROW_ACCESS_KEY_SECRET=$secret \
        timeout 30 "$BUILD/widerow" "$@" --endpoint "${urls[$server]}"
}
all="a b"
everywhere() { # COMMAND…: `ask` with each server
    for s in $all; do "$@" "$s" || return 1; done
}
works() { ask "$3" "$1" "$2" tables; }
unknown() { fails "OTSAuthFailed" ask "$3" "$1" "$2" tables; }
reads_only() {
    ask "$3" "$1" "$2" tables && fails "OTSNoPermissionAccess" ask "$3" "$1" "$2" create "t$3" --key k:integer
}
body() { sed 1d "$work/$1/credentials"; }
version() { sed -nE '1s/^# Version ([0-9]+) of the shared keys .*/\1/p' "$work/$1/credentials"; }
applied="all servers use version"

check "the first server" start a
id=$(sed -nE '/^#/!s/^local ([^ ]+) .*/\1/p' "$work/a/credentials")
secret=$(sed -nE '/^#/!s/^local [^ ]+ ([^ ]+).*/\1/p' "$work/a/credentials")
check "keeps the secret it made to its file" sh -c '[ -n "$1" ] && ! grep -qF "$1" "$2"' - "$secret" "$work/a.out"
check "another one with an empty folder" start b
check "the key is good for both" everywhere works "$id" "$secret"
check "their copies are the same" cmp "$work/a/credentials" "$work/b/credentials"
check "a copy is its owner's" test "$(stat -c %a "$work/b/credentials")" = 600
check "a secret that others made is not shown" sh -c "! grep -qF '$secret' '$work/b.out'"

edit a '$a local extra extra-secret-1\nlocal doomed doomed-secret-1'
check "keys are added" hangup a "$applied 2"
check "and good for both" everywhere works extra extra-secret-1
check "the other copy follows" cmp "$work/a/credentials" "$work/b/credentials"

edit b 's/^local extra .*/local extra extra-secret-2 ro/; /doomed/d'
check "one is changed and limited, one removed, through the other" hangup b "$applied 3"
check "the new secret reads only" everywhere reads_only extra extra-secret-2
check "the old secret is refused" everywhere unknown extra extra-secret-1
check "the removed key is refused" everywhere unknown doomed doomed-secret-1
check "a table with the first key" ask a "$id" "$secret" create t --key k:integer

check "nothing was edited: nothing changes" hangup a "$applied 3"
edit a 's/^local extra .*/local extra/'
check "a mistake is not taken" hangup a "stay as they are: .*line [0-9]+: not"
check "the keys stay" everywhere works extra extra-secret-2
cp -p "$work/b/credentials" "$work/a/credentials"
check "mended" hangup a "$applied 3"

# A copy of an older version, which was edited or not.
check "a server stops" stop b
cp -p "$work/a/credentials" "$work/old"
edit a '$a local later later-secret-1'
check "a key is added meanwhile" hangup a "$applied 4"
check "the server starts with the old copy" start b
check "it has the new keys" everywhere works later later-secret-1
check "and copy" test "$(version b)" = 4
sed 's/^local extra .*/local doomed doomed-secret-1/' "$work/old" >"$work/b/credentials"
check "an edited old file changes nothing" hangup b "edited from version 3 .* at version 4"
check "the removed key stays out" everywhere unknown doomed doomed-secret-1
check "what is there lies beside it" cmp "$work/a/credentials" "$work/b/credentials.shared"
sed '1d' "$work/old" >"$work/b/credentials"
check "nor does one that tells no version" hangup b "does not say which version"
sed '$a local merged merged-secret-1' "$work/b/credentials.shared" >"$work/b/credentials"
check "brought together" hangup b "$applied 5"
check "the merged key" everywhere works merged merged-secret-1
check "the later key" everywhere works later later-secret-1
rm "$work/b/credentials"
check "a file that is missing comes again" hangup b "$applied 5"
check "as it was" cmp "$work/a/credentials" "$work/b/credentials"

# The folders are gone, and all servers; the pool has the keys.
check "all stop" everywhere stop
rm -rf "$work/a" "$work/b"
check "a new server" start c
all=c
check "has the keys" everywhere works later later-secret-1
check "and the limits" everywhere reads_only extra extra-secret-2
check "and the tables" sh -c "WIDEROW_INSTANCE=local '$BUILD/widerow' scan t --data '$work/c' --endpoint '${urls[c]}'"

# One that is paused while a key goes does not take it when it wakes.
if [ "$TIER" = nightly ]; then
    check "another one" start d
    check "and one more" start e
    all="c d"
    kill -STOP "${pids[d]}" "${pids[e]}"
    edit c '/later/d'
    check "a key is removed while a server hangs" hangup c "$applied 6"
    kill -CONT "${pids[d]}" "${pids[e]}"
    check "one that wakes out of touch ends as well as any" stop e
    check "it does not take the key" fails "OTSAuthFailed|OTSServerUnavailable" ask d later later-secret-1 tables
    sleep 6
    check "and has caught up by itself" unknown later later-secret-1 d
    check "its copy, too" cmp "$work/c/credentials" "$work/d/credentials"
fi

check "no log has a secret" sh -c "! grep -E 'secret-[0-9]|$secret' '$work'/*.log"
counts keys
