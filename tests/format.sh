#!/bin/sh
# Every C file is as .clang-format wants it; with --fix, makes it so.
#
# usage: format.sh CLANG_FORMAT [--fix]
set -eu
cd "$(dirname "$0")/.."
mode="--dry-run -Werror"
[ "${2:-}" != --fix ] || mode=-i
# shellcheck disable=SC2086
find include lib tools tests -name '*.[ch]' -exec "$1" --style=file $mode {} +
