#!/usr/bin/env python3
"""Turn data/models.yaml into the C rows that models.c includes: make_models.py MODELS.yaml OUT.h"""
import re
import sys

FIELDS = {'name': str, 'hidden': int, 'intermediate': int, 'experts': int, 'top_k': int, 'scoring_func': str,
          'n_group': int, 'topk_group': int, 'routed_scaling_factor': float, 'correction_bias': bool,
          'confidence': str}
REQUIRED = ['name', 'hidden', 'intermediate', 'experts', 'top_k', 'confidence']


def c_value(kind, text):
    if kind is int:
        return str(int(text))
    if kind is bool:
        return {'true': 'true', 'false': 'false'}[text]
    return f'"{text}"'  # numbers stay text: settings parse them like an option


def c_row(line, where):
    found = re.fullmatch(r'  - \{(.*)\}', line)
    if not found:
        sys.exit(f'{where}: expected "  - {{key: value, ...}}"')
    row = dict(pair.split(': ', 1) for pair in found.group(1).split(', '))
    unknown, missing = set(row) - set(FIELDS), set(REQUIRED) - set(row)
    if unknown or missing:
        sys.exit(f'{where}: unknown keys {sorted(unknown)}, missing keys {sorted(missing)}')
    return '    {' + ', '.join(f'.{key} = {c_value(FIELDS[key], text)}' for key, text in row.items()) + '},\n'


def main(source, target):
    with open(source, encoding='utf-8') as lines, open(target, 'w', encoding='utf-8') as out:
        for number, line in enumerate(lines, 1):
            if line.startswith('  '):
                out.write(c_row(line.rstrip('\n'), f'{source}:{number}'))


main(*sys.argv[1:])
