#!/bin/sh
# Runs a Python script with packages from PyPI, in a virtual environment that is made on the first run.
# Where it cannot be made (no venv module, no network) the test is skipped, and says so.
#
# usage: in_venv.sh VENV_DIR "PACKAGE..." SCRIPT [ARGUMENT...]
set -eu
venv=$1 packages=$2
shift 2

skip() {
    echo "SKIPPED: $1"
    exit 77
}

if [ ! -e "$venv/ready" ]; then
    python3 -m venv "$venv" || skip "python3 -m venv does not work here"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 $packages ||
        skip "pip could not install $packages"
    touch "$venv/ready"
fi
exec "$venv/bin/python" "$@"
