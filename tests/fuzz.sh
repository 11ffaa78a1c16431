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
yaml=
if echo '#include <yaml.h>' | clang -E - >/dev/null 2>&1; then yaml="-DHAVE_LIBYAML=1 -lyaml"; fi
readers="status arena text file json zip e4m3 tensor bytes dump dump_safetensors dump_npy dump_npz pickle dump_pt"
cases="cli buffer options yaml_tree catalog case settings"

# sources TARGET: what it is linked with; options know recipes, and those all else but other processors' kernels
sources() {
    if [ "$1" = yaml ]; then
        for module in $cases; do echo "tools/$module.c"; done
        ls lib/*.c | grep -v 'lib/kernels_[^b]'
    else
        for module in $readers; do echo "lib/$module.c"; done
    fi
}

failed=0
for target in "$@"; do
    if [ "$target" = yaml ] && [ -z "$yaml" ]; then
        echo "SKIPPED: fuzzing case files needs libyaml"
        [ $# -gt 1 ] || exit 77
        continue
    fi
    folder=build-fuzz/$target
    mkdir -p "$folder/corpus"
    # shellcheck disable=SC2086
    clang -std=c11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all -Iinclude -Ilib "tests/fuzz_$target.c" $(sources "$target") $zlib $yaml -lm -o "$folder/fuzz"
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
