#!/bin/sh
# Search for inputs that break a parser: every tests/fuzz_*.c for SECONDS with clang's libFuzzer, under
# the address and undefined-behaviour sanitizers.
#
#   tests/fuzz.sh [SECONDS [TARGET...]]      e.g. tests/fuzz.sh 60 json safetensors
#
# The corpus grows in build-fuzz/<target>; a finding is left there as crash-*, and the exit status is 1.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(ls tests/fuzz_*.c | sed 's|tests/fuzz_||; s|\.c$||' | grep -v '^replay$')
if ! command -v clang >/dev/null; then
    echo "SKIPPED: fuzzing needs clang"
    exit 77
fi
zlib=
if echo '#include <zlib.h>' | clang -E - >/dev/null 2>&1; then zlib="-DFP8MOE_HAVE_ZLIB -lz"; fi
readers="status arena text file json zip e4m3 tensor bytes dump dump_safetensors dump_npy dump_npz pickle dump_pt"
sources=
for module in $readers; do
    [ ! -f "lib/$module.c" ] || sources="$sources lib/$module.c"
done
failed=0
for target in "$@"; do
    folder=build-fuzz/$target
    mkdir -p "$folder/corpus"
    # shellcheck disable=SC2086
    clang -std=c11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all -Iinclude -Ilib "tests/fuzz_$target.c" $sources $zlib -o "$folder/fuzz"
    dictionary=
    [ ! -f "tests/fuzz_$target.dict" ] || dictionary="-dict=tests/fuzz_$target.dict"
    echo "== $target for $seconds s"
    # shellcheck disable=SC2086
    "$folder/fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=20000 \
        -artifact_prefix="$folder/" -print_final_stats=1 $dictionary "$folder/corpus" data/hostile data/legal \
        >"$folder/log" 2>&1 || failed=1
    { grep -E 'stat::number_of_executed_units|SUMMARY|ERROR|broken promise' "$folder/log" || tail -5 "$folder/log"; } |
        sed "s/^/$target: /"
done
exit $failed
