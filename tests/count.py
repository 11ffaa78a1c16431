#!/usr/bin/env python3
"""Counts the results of a `meson test`: those that cmocka reports inside a test program, and one for
every other test. Prints "passed failed skipped".

usage: count.py BUILD_FOLDER/meson-logs/testlog.json
"""
import json
import re
import sys


def cmocka(output, word):
    return sum(int(n) for n in re.findall(rf'^\[ +{word} +\] (\d+) test', output, re.M))


def count(test):
    output = test.get('stdout', '') + '\n' + test.get('stderr', '')
    inside = [cmocka(output, word) for word in ('PASSED', 'FAILED', 'SKIPPED')]
    broken = test['result'] not in ('OK', 'SKIP', 'EXPECTEDFAIL')
    if not any(inside):
        skipped = test['result'] == 'SKIP'
        return [not broken and not skipped, broken, skipped]
    if broken and not inside[1]:  # a sanitizer, valgrind or a crash after the last test
        inside[1] = 1
    return inside


if __name__ == '__main__':
    with open(sys.argv[1]) as log:
        results = [count(json.loads(line)) for line in log]
    print(*(sum(column) for column in zip(*results)) if results else (0, 0, 0))
