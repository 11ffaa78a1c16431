#!/usr/bin/env python3
"""Fails where a file of lib/ includes one of a later layer, or a file of tools/ one of lib/.

The order of the list `modules` in meson.build is the layer order. A header without a source of its own
belongs to the highest layer it includes; kernels_<isa>.c belongs to kernels.

usage: layers.py [ROOT]
"""
import pathlib
import re
import sys


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := re.match(r'\s*#\s*include\s+"([^"]+)"', line):
            yield number, found.group(1)


def layer(path, order):
    """Index in the list of modules, or None for a source that is not in it."""
    if path.stem in order or path.suffix == '.c':
        return order.get(path.stem, order.get(path.stem.split('_')[0]))
    return max((layer(path.with_name(name), order) for _, name in includes(path)), default=0)


def check_lib(path, order):
    mine = layer(path, order)
    if mine is None:
        return [f'{path}: not in the list of modules in meson.build']
    return [f'{path}:{number}: {path.name} may not include {name}, which is of a later layer'
            for number, name in includes(path) if layer(path.with_name(name), order) > mine]


def check_tool(path, lib):
    return [f'{path}:{number}: tools/ includes <fp8moe/...> and its own headers, not lib/ ({name})'
            for number, name in includes(path)
            if '/' in name or not path.with_name(name).exists() and (lib / name).exists()]


def check(root):
    listed = re.search(r'^modules = \[(.*?)\]', (root / 'meson.build').read_text(), re.M | re.S)
    order = {name: i for i, name in enumerate(re.findall(r"'(\w+)'", listed.group(1)))}
    wrong = [check_lib(path, order) for path in sorted((root / 'lib').glob('*.[ch]'))]
    wrong += [check_tool(path, root / 'lib') for path in sorted((root / 'tools').glob('*.[ch]'))]
    return sum(wrong, [])


if __name__ == '__main__':
    findings = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent))
    print('\n'.join(findings) or 'every include follows the order of the layers')
    sys.exit(1 if findings else 0)
