#!/bin/sh
# Every public header compiles alone, as C99, C11 and C++11, with no warning; fp8moe.h includes them all.
#
# usage: header_test.sh C_COMPILER [C++_COMPILER]; without the second C++ is left out, and said so
set -u
cd "$(dirname "$0")/.." || exit 1
cc=$1 cxx=${2:-}
failed=0 count=0
for header in include/fp8moe/*.h; do
    for compiler in "$cc -std=c99" "$cc -std=c11" ${cxx:+"$cxx -xc++ -std=c++11"}; do
        # shellcheck disable=SC2086
        $compiler -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only \
            "-DHEADER=<${header#include/}>" tests/header_test.c || failed=1
        count=$((count + 1))
    done
    if [ "$header" != include/fp8moe/fp8moe.h ] && ! grep -q "<${header#include/}>" include/fp8moe/fp8moe.h; then
        echo "fp8moe.h does not include <${header#include/}>"
        failed=1
    fi
done
echo "$count compilations"
[ -n "$cxx" ] || echo "C++ SKIPPED: no compiler"
exit $failed
