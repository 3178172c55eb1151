#!/usr/bin/env bash
# `widerow import --resume`: importer and server are killed at random moments; whoever runs the command again ends with exactly
# the file's rows.
#
#   TIER=short|nightly     6 kills, or 60; SEED=N repeats a run's moments
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
widerow=$BUILD/widerow
case ${TIER:-short} in
nightly) kills=60 rows=1500000 ;;
*) kills=6 rows=300000 ;;
esac
RANDOM=${SEED:-$((SECONDS + $$))}
echo "seed ${SEED:-$((SECONDS + $$))}"

python3 - "$rows" >"$work/rows.csv" <<'PYTHON'
import random, sys
random.seed(7)
print("id;name;n")
for i in range(int(sys.argv[1])):
    name = '"a ""name"", %d;"' % i if i % 11 == 0 else "name %d" % (i * 7919 % 1000003)
    print("%d;%s;%d" % (i, name, random.getrandbits(48)))
PYTHON
gzip -k "$work/rows.csv"
rows_of() { "$widerow" scan "$1" --format csv "${at[@]}" | md5sum; }

serve one --admin off
at=(--endpoint "${urls[one]}" --data "$work/one")
"$widerow" import "$work/rows.csv" --table whole --create --key id:integer --quiet "${at[@]}" >"$work/whole.out"
want=$(rows_of whole)
"$widerow" export whole --format parquet --output "$work/rows.parquet" --quiet "${at[@]}"

# One run of the importer, which is killed, interrupted, or loses its server; or, with no kills left, is let alone.
turn() { # FILE TABLE
    local pid code
    "$widerow" import "$1" --table "$2" --create --key id:integer --resume --workers 2 --retry 60 --quiet "${at[@]}" \
        >"$work/turn.out" 2>"$work/turn.err" &
    pid=$!
    if [ $((left -= 1)) -ge 0 ]; then
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
        case $((RANDOM % 3)) in
        0) kill -INT $pid 2>/dev/null ;;
        1) kill -KILL $pid 2>/dev/null ;;
        2)
            stop_all KILL
            serve one --admin off --http "${urls[one]#http://}" || return 2
            ;;
        esac
    fi
    wait $pid 2>/dev/null
    code=$?
    case $code in
    0 | 5 | 6 | 130 | 137) return $((code != 0)) ;; # 5: the server was on its way back
    esac
    cat "$work/turn.err"
    return 2
}

exact() { # FILE TABLE
    local code
    left=$kills
    until turn "$1" "$2"; do [ $? -eq 1 ] || return 1; done
    [ ! -e "$1.resume" ] || { echo "the notes are still there"; return 1; }
    [ "$(rows_of "$2")" = "$want" ] || { echo "other rows than in the file"; return 1; }
}
check "killed imports end with the file's rows" exact "$work/rows.csv" plain
check "those of a compressed file, too" exact "$work/rows.csv.gz" packed
check "and of Parquet" exact "$work/rows.parquet" columns

# What notes are of.
printf 'id,n\nx,1\n2,2\n' >"$work/notes.csv"
"$widerow" create notes --key id:integer "${at[@]}" >"$work/create.out"
load() { "$widerow" import "$work/notes.csv" --table notes --columns n:integer --resume --quiet "${at[@]}"; }
tell() { printf 'widerow import, version 1\ntable %s\nhead 0 %s\noffset 9\nline 3\nleft out 0\n' "$1" "$2" >"$work/notes.csv.resume"; }
holds() { [ "$("$widerow" count notes "${at[@]}")" = "$1" ]; }
nothing=2d06800538d394c2 # XXH3 of it
check "a bad line ends it" fails "line 2: " load
check "and nothing was loaded" holds 0
tell other $nothing
check "notes of another table" fails "is of an import into table other; remove it" load
tell notes 1
check "notes of another file" fails "is not the file of which" load
echo nonsense >"$work/notes.csv.resume"
check "damaged notes" fails "is damaged; remove it to begin anew" load
tell notes $nothing
check "lines before the place are passed over" load
check "those behind it are there" holds 1
check "the notes are gone" test ! -e "$work/notes.csv.resume"
check "a feed cannot be gone back to" fails "is for files" "$widerow" import - --table notes --resume "${at[@]}" < <(echo id)
counts import
