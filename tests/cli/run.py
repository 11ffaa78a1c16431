#!/usr/bin/env python3
"""Run the cases of this folder: commands of the command line with their exact output and exit code.

run.py [--fixtures] [--update] FP8MOE [CASE.t ...]

A case is a text file. Lines that start with two blanks and "$ " are commands, run by bash one after the other in
an empty folder; the lines with two blanks below one are what it prints, standard output and error together, and
"[N]" its exit code where that is not 0. All other lines are words for the reader. The folder holds `data` (the
project's) and, in cases whose first line is "requires: fixtures", `fixtures` ($FP8MOE_SHARED/fixtures). The
programs of bin/ are on the path: `edit_dump` changes a dump, `query` prints parts of a JSON file, `validate` holds
one against its schema.

Without --fixtures the cases that need them are left out, with it only they run. Exit code 77: skipped. --update
rewrites the cases with what the commands print now; read the difference before you believe it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent


def shared_folder():
    """The folder with the public golden files, or None where this machine has none."""
    given = os.environ.get('FP8MOE_SHARED')
    folder = pathlib.Path(given) if given else SOURCE.parent / 'shared'
    if (folder / 'fixtures').is_dir():
        return folder.resolve()
    if given:
        sys.exit(f'FP8MOE_SHARED is {given}, but there is no {folder}/fixtures')
    return None


def run_command(line, folder, program):
    environment = dict(os.environ, LC_ALL='C', PYTHONDONTWRITEBYTECODE='1',
                       PATH=os.pathsep.join([str(program.parent), str(HERE / 'bin'), os.environ['PATH']]))
    done = subprocess.run(['bash', '-c', line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    lines = done.stdout.decode('utf-8', 'backslashreplace').splitlines()
    return lines + ([f'[{done.returncode}]'] if done.returncode else [])


def run_case(case, program, shared):
    """The case's text as it would read if every command printed what it prints now."""
    text, commands = [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(SOURCE / 'data', f'{folder}/data')
        if shared:
            os.symlink(shared / 'fixtures', f'{folder}/fixtures')
        for line in case.read_text(encoding='utf-8').splitlines():
            if line.startswith('  $ '):
                commands += 1
                text += [line] + ['  ' + out for out in run_command(line[4:], folder, program)]
            elif not line.startswith('  '):
                text.append(line)
    if not commands:
        sys.exit(f'{case.name}: no command in it')
    return '\n'.join(text) + '\n'


def differences(want, got, name):
    import difflib
    return ''.join(difflib.unified_diff(want.splitlines(True), got.splitlines(True), name, 'what happened', n=2))


def main(arguments):
    flags = {a for a in arguments if a.startswith('--')}
    program, *names = [pathlib.Path(a).resolve() for a in arguments if not a.startswith('--')]
    fixtures = '--fixtures' in flags
    shared = shared_folder() if fixtures else None
    if fixtures and not shared:
        print('SKIP: no golden files (set FP8MOE_SHARED)')
        return 77
    cases = [case for case in names or sorted(HERE.glob('*.t'))
             if fixtures == case.read_text(encoding='utf-8').startswith('requires: fixtures')]
    failed = []
    for case in cases:
        want, got = case.read_text(encoding='utf-8'), run_case(case, program, shared)
        print('ok  ' if want == got else 'FAIL', case.name)
        if want != got:
            failed.append(case.name)
            print(differences(want, got, case.name))
            if '--update' in flags:
                case.write_text(got, encoding='utf-8')
    print(f'{len(cases)} cases, {len(failed)} failed')
    return 1 if failed or not cases else 0


sys.exit(main(sys.argv[1:]))
