#!/usr/bin/env python3
"""Plants includes against the rules in a tree of its own and expects layers.py to name each."""
import pathlib
import tempfile
import unittest

import layers

TREE = {
    'meson.build': "modules = ['low', 'kernels',\n           'high']\n",
    'lib/low.c': '#include "low.h"\n',
    'lib/low.h': '',
    'lib/only_types.h': '#include "low.h"\n',
    'lib/kernels.c': '#include "low.h"\n#include "only_types.h"\n',
    'lib/kernels.h': '',
    'lib/kernels_fast.c': '#include "kernels.h"\n',
    'lib/high.c': '#include <fp8moe/status.h>\n#include "high.h"\n#include "kernels.h"\n',
    'lib/high.h': '',
    'tools/cli.h': '',
    'tools/low.h': '',
    'tools/cmd.c': '#include "cli.h"\n#include "low.h"\n#include <fp8moe/status.h>\n#include "generated.h"\n',
}


def findings(changes):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**TREE, **changes}.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        return [line.replace(folder + '/', '') for line in layers.check(root)]


class Layers(unittest.TestCase):
    def expect(self, changes, place):
        found = findings(changes)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(place + ': '), found[0])

    def test_rules_kept(self):
        self.assertEqual(findings({}), [])

    def test_source_includes_a_later_layer(self):
        self.expect({'lib/low.c': '\n  # include "high.h"\n'}, 'lib/low.c:2')

    def test_header_includes_a_later_layer(self):
        self.expect({'lib/low.h': '#include "kernels.h"\n', 'lib/only_types.h': ''}, 'lib/low.h:1')

    def test_header_without_a_source_lifts_who_includes_it(self):
        self.expect({'lib/only_types.h': '#include "high.h"\n'}, 'lib/kernels.c:2')

    def test_kernel_of_an_instruction_set_stands_with_kernels(self):
        self.expect({'lib/kernels_fast.c': '#include "high.h"\n'}, 'lib/kernels_fast.c:1')

    def test_source_that_is_not_listed(self):
        self.expect({'lib/other.c': ''}, 'lib/other.c')

    def test_tool_includes_lib(self):
        self.expect({'tools/cmd.c': '#include "cli.h"\n#include "high.h"\n'}, 'tools/cmd.c:2')

    def test_tool_includes_lib_by_path(self):
        self.expect({'tools/cli.h': '#include "../lib/high.h"\n'}, 'tools/cli.h:1')


if __name__ == '__main__':
    unittest.main()
