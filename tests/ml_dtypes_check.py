"""Compares the library's conversions with PyPI's ml_dtypes.

usage: ml_dtypes_check.py CONVERT_FLOATS

ml_dtypes makes NaN (E4M3FN) or Inf (E4M3) of what is beyond the largest finite value, the library
saturates: beyond the last tie the two are compared with the largest code instead.
"""
import subprocess
import sys

import ml_dtypes
import numpy as np

# name, ml_dtypes type, largest finite value, its code
TARGETS = [
    ('gaudi2', ml_dtypes.float8_e4m3, 240, 0x77),
    ('gaudi3', ml_dtypes.float8_e4m3fn, 448, 0x7E),
    ('ocp', ml_dtypes.float8_e4m3fn, 448, 0x7E),
]
HALVES = [('bf16', ml_dtypes.bfloat16), ('f16', np.float16)]
TABLES = [
    ('gaudi2', ml_dtypes.float8_e4m3),
    ('ocp', ml_dtypes.float8_e4m3fn),
    ('F8_E4M3', ml_dtypes.float8_e4m3fn),
    ('F8_E4M3FNUZ', ml_dtypes.float8_e4m3fnuz),
    ('F8_E5M2', ml_dtypes.float8_e5m2),
    ('F8_E8M0', ml_dtypes.float8_e8m0fnu),
]


def convert(program, mode, name, data=b''):
    return subprocess.run([program, mode, name], input=data, stdout=subprocess.PIPE, check=True).stdout


def sample():
    """All bf16 values, the floats around every E4M3 tie, random bits, and numbers of usual sizes."""
    random = np.random.default_rng(1)
    bf16 = np.arange(1 << 16, dtype=np.uint32) << 16
    codes = np.arange(0x80, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)[:-1]
    ties = ((codes[:-1] + codes[1:]) / 2).view(np.uint32)
    around = np.concatenate([ties.astype(np.int64) + offset for offset in (-2, -1, 0, 1, 2)]).astype(np.uint32)
    bits = random.integers(0, 1 << 32, 4_000_000, dtype=np.uint32)
    usual = random.standard_normal(4_000_000, dtype=np.float32) * np.float32(2) ** random.integers(
        -12, 9, 4_000_000).astype(np.float32)
    magnitudes = np.concatenate([bf16, around, bits, usual.view(np.uint32)])
    return np.concatenate([magnitudes, magnitudes ^ np.uint32(1 << 31)]).view(np.float32)


def report(what, wrong, inputs, got, want):
    """One line; the first difference where there is one. Returns the number of differences."""
    count = int(np.count_nonzero(wrong))
    print(f'{what}: {inputs.size} compared, {count} differ')
    if count:
        i = int(np.flatnonzero(wrong)[0])
        print(f'  first: {inputs[i]!r} ({inputs.view(np.uint32)[i]:#010x}) {got[i]:#x}, expected {want[i]:#x}')
    return count


def check_target(program, values, name, dtype, largest, largest_code):
    got = np.frombuffer(convert(program, 'encode', name, values.tobytes()), np.uint8)
    nan = np.isnan(values)
    with np.errstate(all='ignore'):
        cast = values.astype(dtype)
    want = cast.view(np.uint8).copy()
    beyond = ~nan & (np.abs(values) > largest)
    sign = (values.view(np.uint32) >> 24 & 0x80).astype(np.uint8)
    want[beyond] = largest_code | sign[beyond]
    want[nan] = 0x7F | sign[nan]
    return report(f'encode {name}', got != want, values, got, want)


def check_half(program, values, name, dtype):
    got = np.frombuffer(convert(program, 'encode', name, values.tobytes()), np.uint16)
    with np.errstate(all='ignore'):
        want = values.astype(dtype).view(np.uint16)
    nan = np.isnan(values)
    wrong = np.where(nan, ~np.isnan(got.view(dtype).astype(np.float32)), got != want)
    return report(f'encode {name}', wrong, values, got, want)


def check_table(program, name, dtype):
    got = np.frombuffer(convert(program, 'decode', name), np.float64)
    want = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    same = (np.isnan(got) & np.isnan(want)) | (got.view(np.uint64) == want.view(np.uint64))
    print(f'decode {name}: 256 compared, {np.count_nonzero(~same)} differ')
    return np.count_nonzero(~same)


def main():
    program, values = sys.argv[1], sample()
    differ = sum(check_target(program, values, *row) for row in TARGETS)
    differ += sum(check_half(program, values, *row) for row in HALVES)
    differ += sum(check_table(program, *row) for row in TABLES)
    return 1 if differ else 0


if __name__ == '__main__':
    sys.exit(main())
