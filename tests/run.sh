#!/bin/sh
# Build and run the tests. Installs what is missing; may be run again at any time.
#
#   tests/run.sh          the build most people have, and every test but the slow ones
#   tests/run.sh --all    also: warnings as errors, the slow tests, sanitizers, clang, -O0, valgrind,
#                         aarch64 and s390x under an emulator, a minute of fuzzing for each parser
#
# Neither runs every planted fault: `meson test -C build --suite faults`, most of an hour.
#
# The last line is the sum over all of it; the exit status is 1 where anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/packages.sh
. tests/packages.sh

passed=0 failed=0 skipped=0 started=$(date +%s)
# What only the plain build runs: minutes, packages from PyPI, layers of some size.
lean="--no-suite slow --no-suite python --no-suite large --no-suite judge-small --no-suite faults"

# add PASSED FAILED SKIPPED
add() {
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# fuzz: a minute for each parser, two at a time; one result a parser, 77 is a skip
fuzz() {
    echo "== fuzzing"
    statuses=$(for source in tests/fuzz_*.c; do
        target=${source#tests/fuzz_}
        echo "${target%.c}"
    done | grep -v '^replay$' |
        xargs -P 2 -I '{}' sh -c 'tests/fuzz.sh 60 {} >&2; echo $?')
    for status in $statuses; do
        case $status in
        0) add 1 0 0 ;;
        77) add 0 0 1 ;;
        *) add 0 1 0 ;;
        esac
    done
}

# configure_and_build FOLDER MESON_SETUP_OPTIONS...
configure_and_build() {
    folder=$1
    shift
    mkdir -p "$folder"
    if [ -f "$folder/build.ninja" ]; then
        meson setup --reconfigure "$folder" "$@"
    else
        meson setup "$folder" "$@"
    fi >"$folder/run.log" 2>&1 && ninja -C "$folder" >>"$folder/run.log" 2>&1 && return
    grep -E 'error|undefined|warning|ERROR' "$folder/run.log" | cut -c1-200 | head -20
    return 1
}

# suite NAME FOLDER "MESON SETUP OPTIONS" MESON_TEST_OPTIONS...: every test counts
suite() {
    name=$1 folder=$2 setup=$3
    shift 3
    echo "== $name"
    # shellcheck disable=SC2086
    if ! configure_and_build "$folder" $setup; then
        echo "FAILED: $name does not build, see $folder/run.log"
        add 0 1 0
        return
    fi
    rm -f "$folder"/meson-logs/testlog*.json
    meson test -C "$folder" --no-rebuild --print-errorlogs --logbase testlog "$@" >"$folder/test.log" 2>&1
    status=$?
    counts=$(python3 tests/count.py "$folder"/meson-logs/testlog*.json) || counts="0 1 0"
    [ $status = 0 ] || cat "$folder/test.log"
    echo "$counts" | { read -r ok bad left; echo "   $ok passed, $bad failed, $left skipped, after $(($(date +%s) - started)) s"; }
    # shellcheck disable=SC2086
    add $counts
    case $counts in *" 0 "*) [ $status = 0 ] || add 0 1 0 ;; esac
}

run_core() {
    suite "build and tests" build "-Dwerror=false" --no-suite slow --no-suite python --no-suite faults
}

# shellcheck disable=SC2086
run_all() {
    suite "gcc, warnings as errors, slow tests too" build "-Dwerror=true" --no-suite faults
    export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    suite "address and undefined-behaviour sanitizers" build-sanitizers \
        "-Dwerror=true -Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all" \
        $lean --no-suite tree --timeout-multiplier 5
    suite "thread sanitizer" build-threads "-Dwerror=true -Db_sanitize=thread -Dopenblas=disabled" \
        --timeout-multiplier 5 parallel kernels moe stage_hash
    export CC=clang CXX=clang++
    suite "clang" build-clang "-Dwerror=true" $lean
    suite "clang -O0" build-clang-O0 "-Dwerror=true -Doptimization=0" --timeout-multiplier 5 kernels moe stage_hash
    unset CC CXX
    suite "gcc -O0" build-O0 "-Dwerror=true -Doptimization=0" --timeout-multiplier 5 kernels moe stage_hash
    suite "neither OpenBLAS nor zlib" build-bare "-Dwerror=true -Dopenblas=disabled -Dzlib=disabled" $lean
    suite "valgrind" build "-Dwerror=true" --suite unit --timeout-multiplier 60 \
        --wrapper "valgrind -q --leak-check=full --error-exitcode=9"
    for cpu in aarch64 s390x; do
        suite "$cpu under qemu" build-$cpu "--cross-file tests/cross/$cpu.ini -Dwerror=true" $lean \
            --timeout-multiplier 20
    done
    fuzz
}

# shellcheck disable=SC2086
need_packages $build_packages $test_packages || exit 1
if [ "${1:-}" = --all ]; then
    # shellcheck disable=SC2086
    need_packages $all_packages || exit 1
    for package in clang-format-14 libclang-rt-dev; do # not in every release
        ! apt-cache show "$package" >/dev/null 2>&1 || need_packages "$package"
    done
    run_all
else
    run_core
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
