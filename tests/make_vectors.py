#!/usr/bin/env python3
"""Make data/vectors: cases with the right answer for anyone who writes this arithmetic again.

    python3 tests/make_vectors.py            write the files
    python3 tests/make_vectors.py --check    fail where the committed files are not what this makes

A model of its own, written from the definitions in data/vectors/README.md with exact fractions and the standard
library alone; it shares nothing with the library, which test_vectors.c holds against it.
"""
import sys
from pathlib import Path

import vectors_gate
import vectors_quant
import vectors_routing
import vectors_ulp
from vectors_json import text_of

FOLDER = Path(__file__).resolve().parent.parent / 'data' / 'vectors'
MAKERS = {'gate': vectors_gate, 'routing': vectors_routing, 'dynamic_quant': vectors_quant, 'upstream_ulp': vectors_ulp}


def main():
    check = sys.argv[1:] == ['--check']
    wrong = []
    for name, maker in MAKERS.items():
        path = FOLDER / f'{name}.json'
        text = text_of(name, maker.vectors())
        if not check:
            path.write_text(text, encoding='utf-8')
        elif not path.exists() or path.read_text(encoding='utf-8') != text:
            wrong.append(path.name)
    wrong += [path.name for path in FOLDER.glob('*.json') if path.stem not in MAKERS]
    if wrong:
        sys.exit('not what tests/make_vectors.py makes: ' + ', '.join(sorted(wrong)))


if __name__ == '__main__':
    main()
