#!/bin/sh
# Only fp8moe_* is visible in the libraries that are installed.
#
# usage: symbols.sh NM LIBFP8MOE.so LIBFP8MOE.a
set -u
nm=$1 shared=$2 archive=$3
failed=0
check() {
    file=$1
    shift
    "$nm" "$@" --defined-only "$file" | awk 'NF == 3 { print $3 }' >"$file.symbols"
    grep -q '^fp8moe_version$' "$file.symbols" || { echo "$file does not define fp8moe_version"; failed=1; }
    if grep -v '^fp8moe_' "$file.symbols"; then
        echo "^ visible in $file, though not of the public interface"
        failed=1
    fi
    echo "$(wc -l <"$file.symbols") symbols in $file"
    rm -f "$file.symbols"
}
check "$shared" -D
check "$archive" -g
exit $failed
