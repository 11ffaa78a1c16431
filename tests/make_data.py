#!/usr/bin/env python3
"""Make data/hostile, broken files named after what is broken, and data/legal, files that are rare but
right; in each folder expected.txt says what reading them must give.

    python3 tests/make_data.py            write the files
    python3 tests/make_data.py --check    fail where the committed files are not what this makes

Standard library only and no randomness: the same bytes everywhere. A broken file's row is what opening
it must say: status | byte offset | tensor | sentence (offset -1: none). A legal file's rows are its
tensors, name | dtype | shape | values, and its metadata, key | = | value. test_hostile.c and
test_legal.c replay the tables; the sentences of broken case files stand in tests/cli/hostile.t. The
fuzz targets start from the files.
"""
import sys
from pathlib import Path

import data_numpy
import data_safetensors
import data_torch
import data_yaml
from data_rows import LEGAL, ROWS

DATA = Path(__file__).resolve().parent.parent / 'data'


def files():
    data_safetensors.make_safetensors()
    data_numpy.make_npy()
    data_numpy.make_zip()
    data_torch.make_pt()
    data_numpy.make_legal_npy()
    data_numpy.make_legal_zip()
    data_torch.make_legal_pt()
    table = ['# file | status | byte offset | tensor | sentence      (made by tests/make_data.py)']
    for name, content, status, offset, tensor_name, sentence in ROWS:
        table.append(f'{name} | {status} | {offset} | {tensor_name} | {sentence}')
        yield 'hostile/' + name, content
    yield 'hostile/expected.txt', ('\n'.join(table) + '\n').encode()
    yield from data_yaml.files()
    table = ['# file | tensor | dtype | shape | values, or file | key | = | value |      (made by tests/make_data.py)']
    for name, content, lines in LEGAL:
        table += lines
        yield 'legal/' + name, content
    yield 'legal/expected.txt', ('\n'.join(table) + '\n').encode()


def main():
    check = sys.argv[1:] == ['--check']
    wrong = []
    wanted = dict(files())
    for name, content in wanted.items():
        path = DATA / name
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            wrong.append(name)
    for folder in ('hostile', 'legal'):
        wrong += [
            f'{folder}/{path.name}' for path in (DATA / folder).iterdir() if f'{folder}/{path.name}' not in wanted
        ]
    if wrong:
        sys.exit('not what tests/make_data.py makes: ' + ', '.join(sorted(wrong)))
    print(f'{len(ROWS)} broken files, {len(LEGAL)} legal ones, {len(dict(data_yaml.files()))} case files')


if __name__ == '__main__':
    main()
