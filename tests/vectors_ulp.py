"""Upstream's distance of two outputs, with every row of its table of corners: E4M3FN codes apart on one side of zero,
|a - b| * 512 across it, a relative error where a magnitude is beyond 448."""
import math
from fractions import Fraction

from vectors_numbers import F32, Random, e4m3, f32, from_bits, to_bits

NAN, MINUS_NAN, INF, MINUS_INF = 0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000
MINUS_ZERO = 0x80000000
LEAST_SUM = f32(Fraction('1e-9'))


def is_nan(x):
    return isinstance(x, float) and math.isnan(x)


def is_finite(x):
    return isinstance(x, Fraction)


def beyond(x):
    return not is_nan(x) and abs(x) > 448


def code(x, negative):
    return (0x80 if negative else 0) + 0x7F if is_nan(x) else e4m3(x, negative, 0x7E)


def ulp(a_bits, b_bits):
    (a, a_negative), (b, b_negative) = from_bits(a_bits), from_bits(b_bits)
    if beyond(a) or beyond(b):
        return 0
    if a_negative == b_negative:
        return abs(code(a, a_negative) - code(b, b_negative))
    return math.nan if is_nan(a) or is_nan(b) else f32(abs(f32(a - b)) * 512)


def relative(a_bits, b_bits):
    a, b = from_bits(a_bits)[0], from_bits(b_bits)[0]
    if is_finite(a) != is_finite(b):
        return 1
    if not is_finite(a) or not (beyond(a) or beyond(b)):
        return 0
    difference, total = f32(a - b), f32(abs(a) + abs(b))
    if not is_finite(total):
        return 0 if is_finite(difference) else math.nan
    return f32(abs(difference) / max(total, LEAST_SUM))


def pair(a, b, why):
    a, b = (x if isinstance(x, int) else to_bits(float(x)) for x in (a, b))
    return {'a': f'{a:08x}', 'b': f'{b:08x}', 'ulp': ulp(a, b), 'relative': relative(a, b), 'why': why}


CORNERS = [
    (1.0, 1.0, 0, 'equal'), (0.0, MINUS_ZERO, 0, 'zeros of both signs'),
    (2.0**-11, 2.0**-12, 0, 'tiny, one sign: both codes are 0'),
    (2.0**-10, 0.0, 0, 'half of the least subnormal is a tie, and 0 is even'),
    (3 * 2.0**-10, 2.0**-9, 1, 'a tie between codes 1 and 2 goes to 2'),
    (416.0, 448.0, 1, 'one step apart at the end'), (448.0, 448.0, 0, 'exactly 448 is in range'),
    (448.0, 0.0, 126, 'the largest distance on one side'), (-448.0, -416.0, 1, 'the same below zero'),
    (450.0, 448.0, 0, 'would round to 448, but counts as beyond'), (464.0, 448.0, 0, 'the tie between 448 and NaN'),
    (1000.0, 1.0, 0, 'far beyond: the relative error has it'), (1000.0, 1100.0, 0, 'a relative error just below 0.05'),
    (1000.0, 1106.0, 0, 'and just above'), (500.0, -500.0, 0, 'beyond, on both sides'),
    (3e38, -3e38, 0, 'a difference and a sum beyond f32'), (3e38, 2e38, 0, 'a sum beyond f32'),
    (NAN, NAN, 0, 'NaN and NaN: silent'), (MINUS_NAN, MINUS_NAN, 0, 'the same below zero'),
    (NAN, MINUS_NAN, math.nan, 'NaNs of both signs: the maximum is lost'),
    (NAN, -1.0, math.nan, 'NaN and the other sign: the maximum is lost'),
    (MINUS_NAN, 0.0, math.nan, 'NaN and plus zero'), (NAN, 1.0, 71, 'NaN and the same sign: 127 less the code'),
    (NAN, 448.0, 1, 'NaN is one code beyond 448'), (NAN, 500.0, 0, 'NaN and beyond: no ULP, not finite'),
    (NAN, -500.0, 0, 'the same across zero'),
    (INF, INF, 0, 'Inf and Inf: silent'), (INF, MINUS_INF, 0, 'opposite infinities: silent'),
    (INF, NAN, 0, 'Inf and NaN: silent'), (MINUS_INF, NAN, 0, 'the same across zero'),
    (INF, 1.0, 0, 'Inf and finite'), (INF, 500.0, 0, 'Inf and beyond'),
    (-1e-3, 1e-3, None, 'across zero: 1.02'), (-2.0**-9, 2.0**-9, 2, 'across zero: exactly the bar'),
    (MINUS_ZERO, 2.0**-8, 2, 'minus zero is the other side'), (-448.0, 448.0, 458752, 'across zero, as far as it goes'),
    (2.0**-149, MINUS_ZERO, None, 'the least f32'),
]


def corners():
    for a, b, want, why in CORNERS:
        vector = pair(a, b, why)
        assert want is None or vector['ulp'] == want or (is_nan(vector['ulp']) and is_nan(want)), (vector, want)
        yield vector
        yield dict(vector, a=vector['b'], b=vector['a'])


def every_step():
    """Each code's number against the next, and against the tie between them."""
    codes = [from_bits(to_bits(float(Fraction(2)**(c // 8 - 7) * (8 + c % 8) / 8 if c >= 8 else Fraction(c, 512))))[0]
             for c in range(0x7F)]
    for low, high in zip(codes, codes[1:]):
        yield pair(float(low), float(high), 'neighbours')
        yield pair(float((low + high) / 2), float(high), 'a tie and what is above')


def anything():
    random = Random(3)
    for _ in range(200):
        a = float(random.wide(F32, -14, 10))
        b = a * (1 + random.below(200) / 1000) if random.below(2) else float(random.wide(F32, -14, 10))
        yield pair(a, b, 'any')


def tensor(pairs, why):
    """All pairs as one tensor: what upstream reduces them to, and whether it warns."""
    def largest(values):
        return math.nan if any(is_nan(value) for value in values) else max(values)

    ulps, relatives = largest([p['ulp'] for p in pairs]), largest([p['relative'] for p in pairs])
    return {'pairs': [[p['a'], p['b']] for p in pairs], 'ulp': ulps, 'relative': relatives, 'warns_ulp': ulps > 2,
            'warns_relative': float(relatives) > 0.05, 'why': why}


def tensors():
    two, three = pair(-2.0**-9, 2.0**-9, ''), pair(0.0, 3 * 2.0**-9, '')
    yield tensor([two, pair(1.0, 1.0, '')], 'exactly 2 is quiet')
    yield tensor([two, three], '3 is not')
    yield tensor([three, pair(NAN, -1.0, '')], 'one NaN across zero hides every other mismatch')
    yield tensor([three, pair(NAN, NAN, '')], 'NaN on both sides hides nothing')
    yield tensor([two, pair(1000.0, 1100.0, '')], 'beyond 448 by less than 5 percent')
    yield tensor([two, pair(1000.0, 1106.0, '')], 'and by more')
    yield tensor([two, pair(INF, MINUS_INF, '')], 'opposite infinities are quiet')
    yield tensor([two, pair(NAN, 1.0, '')], 'NaN on one side, same sign: both warn')


def vectors():
    yield from corners()
    yield from every_step()
    yield from anything()
    yield from tensors()
