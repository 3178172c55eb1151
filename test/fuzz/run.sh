#!/usr/bin/env bash
# Fuzzes every decoder of foreign bytes: first the kept inputs, then new ones for a while.
#
#   test/fuzz/run.sh [--seed N] [TARGET …]   all targets (target.def), or only those named
#   test/fuzz/run.sh --merge                 keep of all inputs seen so far those that matter, under corpus/
#   BUILD=build                              objects and the inputs seen so far go to $BUILD/fuzz
#   TIER=short|nightly                       2 or 20 minutes over all targets; SECONDS_TOTAL=N says otherwise
#
# An input that breaks something is kept as found/<target>-<hash> and tried again in every run until it passes, and
# ever after. To look at one: FUZZ_TARGET=<target> $BUILD/fuzz/fuzz test/fuzz/found/<target>-<hash>
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} TIER=${TIER:-short}
out=$BUILD/fuzz here=test/fuzz
total=${SECONDS_TOTAL:-$([ "$TIER" = nightly ] && echo 1200 || echo 120)}
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ') merge=
only=()
while [ $# -gt 0 ]; do
    case $1 in
    --seed) seed=$2; shift ;;
    --merge) merge=yes ;;
    *) only+=("$1") ;;
    esac
    shift
done

make -s -f $here/fuzz.mk BUILD="$BUILD" -j2 >"$BUILD.fuzz.log" 2>&1 || {
    tail -n 20 "$BUILD.fuzz.log"
    rm -f "$BUILD.fuzz.log"
    echo "fuzz: 0 passed, 1 failed, 0 skipped"
    exit 1
}
rm -f "$BUILD.fuzz.log"
mapfile -t targets < <(FUZZ_TARGET=list "$out/fuzz")
[ ${#only[@]} -eq 0 ] || targets=("${only[@]}")
each=$((total * 1000 / ${#targets[@]})) # milliseconds for one target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p $here/found "$out/seen"

# fuzz TARGET OPTION…: the program on one target. A single allocation above 64 MiB counts as broken: the cap of a
# request is 16 MiB here.
# Words of the grammar stand in a dictionary: a change of a few bytes hardly ever makes one of another.
sed -nE 's/^WORD\(([A-Z_0-9]+),.*/"\1 "/p' src/sql/parse/keyword.def >"$work/words"
fuzz() {
    local target=$1
    shift
    [ "$target" != sql ] || set -- -dict="$work/words" "$@"
    FUZZ_TARGET=$target "$out/fuzz" -malloc_limit_mb=64 -rss_limit_mb=2048 -timeout=25 \
        -artifact_prefix="$work/$target-" "$@"
}

if [ "$merge" ]; then
    for target in "${targets[@]}"; do
        mkdir -p "$out/seen/$target" $here/corpus/"$target" "$work/$target"
        fuzz "$target" -merge=1 -max_len=2048 "$work/$target" $here/corpus/"$target" "$out/seen/$target" >/dev/null 2>&1
        # Too many to keep: a few of every size, and the rest is found again soon.
        rm -f $here/corpus/"$target"/*
        ls -Sr "$work/$target" | awk -v keep="${KEEP:-10}" '{ name[NR] = $0 }
            END { step = NR > keep ? NR / keep : 1; for (i = 1; i <= NR; i += step) print name[int(i)] }' |
            while read -r name; do
                cp "$work/$target/$name" "$here/corpus/$target/${name:0:16}"
            done
    done
    $here/seed.py
    echo "$(find $here/corpus -type f | wc -l) files, $(du -sb $here/corpus | cut -f1) bytes"
    exit 0
fi

# The time is spread evenly; what is left over of a second goes to the targets behind. A run of a target begins with
# all kept inputs.
passed=0 failed=0 left=0
echo "fuzz: seed $seed, ${#targets[@]} targets, $total s"
for target in "${targets[@]}"; do
    log=$work/log bad=
    left=$((left + each))
    spend=$((left / 1000))
    left=$((left - spend * 1000))
    mkdir -p "$out/seen/$target" $here/corpus/"$target"
    mkdir -p "$work/found-$target"
    cp $here/found/"$target"-* "$work/found-$target" 2>/dev/null
    # The short tier starts from the kept inputs alone and so costs the same each time.
    new=$([ "$TIER" = nightly ] && echo "$out/seen/$target" || mktemp -d "$work/new.XXXX")
    if ! fuzz "$target" -seed="$seed" -max_total_time=$((spend > 0 ? spend : 1)) -print_final_stats=1 "$new" \
        $here/corpus/"$target" "$work/found-$target" >"$log" 2>&1; then
        bad=yes
        grep -aE 'ERROR|SUMMARY|runtime error|does not hold|^code' "$log" | head -n 6
        for input in "$work/$target"-*; do
            [ -f "$input" ] || continue
            name=$target-$(sha1sum <"$input" | cut -c1-12)
            mv "$input" "$here/found/$name"
            echo "kept as $here/found/$name"
        done
    fi
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    printf '%-22s %9s inputs %8s/s  %s\n' "$target" "${runs:-?}" "${rate:-?}" "$([ "$bad" ] && echo FAILED || echo ok)"
    if [ "$bad" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
done
echo "fuzz: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
