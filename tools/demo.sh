#!/bin/sh
# From a fresh machine to a verdict: install what is missing, build, make up the dump of a layer as a
# device would have left it, and check it.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tests/packages.sh
. tests/packages.sh

echo "1. What the build needs"
# shellcheck disable=SC2086
need_packages $build_packages

echo "2. Build"
log=$(mktemp)
{ [ -f build/build.ninja ] || meson setup build; } >"$log" 2>&1 && ninja -C build fp8moe >>"$log" 2>&1 || {
    cat "$log"
    exit 1
}
rm -f "$log"

dump=build/demo.safetensors
echo "3. A dump: 5 tokens, 16 experts, summed in the random order of a device"
build/fp8moe synth --target gaudi2 --recipe stock --shape T=5,E=16,K=4,H=384,I=256 --noise 7 -o "$dump" >build/demo.txt
sed 1q build/demo.txt

echo "4. Did the device compute it correctly?"
echo "   build/fp8moe verify $dump"
echo
build/fp8moe verify "$dump"

cat <<END

Next:
  build/fp8moe verify $dump --recipe gather    # another path: different, exit status 1
  build/fp8moe verify YOUR_DUMP.safetensors --target gaudi2 --weights-stage loaded --top-k 8
  build/fp8moe help                                          # every command
  tests/run.sh                                               # every test
END
