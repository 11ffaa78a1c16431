#!/bin/sh
# Make the static library that is installed: one object in which hidden symbols are local, so that a
# program linked with it sees fp8moe_* and nothing else, as it does with the shared library.
#
# usage: localise.sh OBJCOPY AR INTERNAL.a OUT.a COMPILER...
set -eu
objcopy=$1 ar=$2 internal=$3 out=$4
shift 4
object=${out%.a}.o
"$@" -r -nostdlib -o "$object" -Wl,--whole-archive "$internal"
"$objcopy" --localize-hidden "$object"
rm -f "$out"
"$ar" crs "$out" "$object"
rm -f "$object"
