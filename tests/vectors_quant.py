"""Rows quantised with a scale of their own: scale = round(round(amax + 1e-8) / max), codes = E4M3(round(x * round(1 /
scale))), every rounding to the dtype in which the target does its scale arithmetic."""
import math
from fractions import Fraction

from vectors_numbers import BF16, F32, Random, bf16, e4m3, f32, power_of_two

TARGETS = {  # largest number, its code, whether scale arithmetic has the input's dtype
    'gaudi2': (240, 0x77, True),
    'gaudi3': (448, 0x7E, True),
    'ocp': (448, 0x7E, False),
}
EPSILON = f32(Fraction('1e-8'))  # a Python number that meets a tensor takes part as f32
NAN_CODE = 0x7F
MINUS_ZERO = -0.0


def is_number(x):
    return isinstance(x, Fraction)


def is_negative(x):
    return x < 0 if is_number(x) else math.copysign(1, x) < 0


def amax_of(row):
    if any(isinstance(x, float) and math.isnan(x) for x in row):
        return math.nan
    return max((abs(x) if is_number(x) else Fraction(0) if x == 0 else math.inf) for x in row)


def code_of(x, inverse, steps, last):
    if not is_number(x) and x != 0:
        return NAN_CODE  # NaN, or Inf * 0
    value = Fraction(0) if not is_number(x) else steps(x * inverse)
    return e4m3(value, is_negative(x), last)


def quantise(target, dtype, row):
    largest, last, as_input = TARGETS[target]
    steps = bf16 if as_input and dtype == 'bf16' else f32
    amax = amax_of(row)
    if not is_number(amax):
        finite = 0x7F if math.isnan(amax) else None
        codes = [finite if finite else code_of(x, Fraction(0), steps, last) for x in row]
        return amax, codes
    raised = steps(f32(amax + EPSILON))
    assert raised == steps(amax + EPSILON)  # whether a device rounds once or twice
    scale = steps(raised / largest)
    inverse = steps(1 / scale)
    return scale, [code_of(x, inverse, steps, last) for x in row]


def vector(target, dtype, row, why):
    scale, codes = quantise(target, dtype, row)
    return {'target': target, 'dtype': dtype, 'x': row, 'scale': scale, 'codes': bytes(codes).hex(), 'why': why}


def plain_rows(random, form):
    for count in (1, 3, 8, 32):
        for _ in range(3):
            yield [random.wide(form, -6, 1) for _ in range(count)], 'like activations'
    yield [random.wide(form, -20, 6) for _ in range(32)], 'wide: most codes are 0 or subnormal'
    for exponent in (-40, -30, -27, -24, -18, -17, 10, 60, 100):
        yield [random.wide(form, exponent - 3, exponent) for _ in range(8)], f'near 2^{exponent}'


def corner_rows(form):
    one = Fraction(1)
    step = power_of_two(1 - form[0])
    yield [Fraction(0)] * 4, 'a zero row: no NaN'
    yield [Fraction(0), MINUS_ZERO, Fraction(0)], 'minus zero keeps its sign'
    yield [power_of_two(form[1])] * 2, 'the least subnormal'
    yield [form[2], -form[2], one], 'the largest number'
    yield [one, one / 2, one / 4, one / 1024, -one / 2048, one / 4096], 'down into subnormals and to zero'
    yield [(one + k * step) * sign for k in range(8) for sign in (1, -1)], 'neighbours of 1'
    yield [Fraction(240), Fraction(448), Fraction(-448), Fraction(232), Fraction(416)], 'the largest codes'
    yield [Fraction(448), Fraction(17, 16), Fraction(19, 16), Fraction(1, 1024), Fraction(3, 1024)], 'ties, on 448'
    yield [Fraction(240), Fraction(17, 16), Fraction(19, 16), Fraction(1, 1024), Fraction(3, 1024)], 'ties, on 240'
    yield [one, math.nan, -one, Fraction(0)], 'a NaN spoils its row'
    yield [one, math.inf, -one, Fraction(0), -math.inf], 'an Inf: the scale is Inf, the rest 0'


def vectors():
    random = Random(2)
    for dtype, form in (('bf16', BF16), ('f32', F32)):
        for row, why in [*corner_rows(form), *plain_rows(random, form)]:
            for target in TARGETS:
                yield vector(target, dtype, row, why)
