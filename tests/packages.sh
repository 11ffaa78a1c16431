# shellcheck shell=sh disable=SC2034,SC2086
# To be sourced. Debian 12 and 13, Ubuntu 22.04 and 24.04.

# Install those of the named packages that are missing. Returns 1 where that cannot be done.
need_packages() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "No apt-get here. What these Debian packages hold is needed:$missing"
        return 1
    fi
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    echo "Installing$missing${as_root:+ (with sudo)}"
    $as_root apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

build_packages="gcc libc6-dev meson ninja-build pkg-config libopenblas-dev zlib1g-dev libyaml-dev"
test_packages="libcmocka-dev python3"
all_packages="g++ clang valgrind qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    gcc-s390x-linux-gnu libc6-dev-s390x-cross python3-venv"
