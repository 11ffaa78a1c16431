#!/bin/sh
# Install into an empty folder, then build and run a program against what is there, with both
# libraries, as a stranger would: by pkg-config.
#
# usage: install_test.sh BUILD_FOLDER VERSION C_COMPILER...
set -eu
build=$1 version=$2
shift 2
stage=$(mktemp -d "$build/install-XXXXXX")
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage meson install -C "$build" --no-rebuild --quiet
pc=$(find "$stage" -name fp8moe.pc)
prefix=$stage$(sed -n 's/^prefix=//p' "$pc")
export PKG_CONFIG_PATH="${pc%/*}"
unset LD_LIBRARY_PATH # meson points it at the build

cat >"$stage/program.c" <<'PROGRAM'
#include <fp8moe/fp8moe.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    const float numbers[3] = {1, 2, 3};
    const int64_t shape[1] = {3};
    const fp8moe_tensor tensor = fp8moe_tensor_view(numbers, FP8MOE_DTYPE_F32, 1, shape);
    fp8moe_config config;
    fp8moe_config_default(&config);
    char hex[FP8MOE_FINGERPRINT_SIZE];
    if (!fp8moe_target_find("gaudi2") || config.threads != 1) return 1;
    if (fp8moe_fingerprint_of(&tensor, hex, NULL) != FP8MOE_OK || strlen(hex) != 64) return 1;
    puts(fp8moe_version());
    return 0;
}
PROGRAM

flags() { pkg-config --define-variable=prefix="$prefix" "$@" fp8moe; }
# shellcheck disable=SC2046
"$@" -std=c11 "$stage/program.c" -o "$stage/with_shared" $(flags --cflags --libs) -Wl,-rpath,"${pc%/pkgconfig/*}"
# shellcheck disable=SC2046
"$@" -std=c11 "$stage/program.c" -o "$stage/with_archive" $(flags --cflags) \
    $(flags --static --libs | sed 's/-lfp8moe/-l:libfp8moe.a/')

for program in with_shared with_archive; do
    got=$("$stage/$program")
    [ "$got" = "$version" ] || { echo "$program prints $got, not $version"; exit 1; }
done
"$prefix/bin/fp8moe" version | grep -qF "$version" || { echo "the installed command does not say $version"; exit 1; }
for header in include/fp8moe/*.h; do
    [ -f "$prefix/$header" ] || { echo "$header is not installed"; exit 1; }
done
[ "$(flags --modversion)" = "$version" ] || { echo "fp8moe.pc has another version"; exit 1; }
echo "installed in an empty folder: both libraries, the command and every header work"
