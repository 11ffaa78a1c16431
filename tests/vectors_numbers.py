"""Binary formats from their definition: rounding of exact fractions to the nearest number, ties to the even one."""
import math
import struct
from fractions import Fraction

F32 = (24, -149, Fraction((2**24 - 1) * 2**104))  # digits, exponent of the least subnormal, largest finite
BF16 = (8, -133, Fraction((2**8 - 1) * 2**120))


def power_of_two(exponent):
    return Fraction(2)**exponent


def nearest(value, form):
    """value (a Fraction, or a float that is not finite) rounded to a format."""
    digits, least, largest = form
    if isinstance(value, float):
        return value
    magnitude = abs(value)
    if magnitude == 0:
        return value
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - digits
    while magnitude >= power_of_two(exponent + digits):
        exponent += 1
    while magnitude < power_of_two(exponent + digits - 1):
        exponent -= 1
    unit = power_of_two(max(exponent, least))
    rounded = round(magnitude / unit) * unit  # round() of a fraction takes ties to even
    if rounded > largest:
        return math.inf if value > 0 else -math.inf
    return rounded if value > 0 else -rounded


def f32(value):
    return nearest(value, F32)


def bf16(value):
    return nearest(value, BF16)


def from_bits(bits):
    """An f32 number as a Fraction, or as a float where it is not finite; and whether its sign bit is set."""
    number = struct.unpack('<f', struct.pack('<I', bits))[0]
    return (Fraction(number) if math.isfinite(number) else number), bits >= 2**31


def to_bits(number):
    return struct.unpack('<I', struct.pack('<f', number))[0]


def e4m3_magnitude(code):
    """What the low seven bits of a code mean: 4 bits of exponent with bias 7, 3 bits of fraction."""
    exponent, fraction = divmod(code, 8)
    if exponent == 0:
        return Fraction(fraction, 512)
    return (1 + Fraction(fraction, 8)) * power_of_two(exponent - 7)


MAGNITUDES = [e4m3_magnitude(code) for code in range(0x7F)]


def e4m3(value, negative, last):
    """The code nearest to a finite value among 0..last, ties to the even code; beyond the last: the last."""
    magnitude = abs(value)
    best = min(range(last + 1), key=lambda code: (abs(MAGNITUDES[code] - magnitude), code % 2))
    return best + (0x80 if negative else 0)


class Random:
    """Reproducible on every Python: Weyl steps, mixed by multiplication."""

    def __init__(self, seed):
        self.state = seed

    def below(self, count):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (self.state ^ (self.state >> 31)) * 0xD6E8FEB86659FD93 % 2**64
        return (mixed >> 32) * count >> 32

    def pick(self, choices):
        return choices[self.below(len(choices))]

    def wide(self, form, low, high):
        """A number of a format with an exponent from low to high, either sign."""
        digits = form[0]
        fraction = Fraction(2**(digits - 1) + self.below(2**(digits - 1)), 2**(digits - 1))
        return fraction * power_of_two(low + self.below(high - low + 1)) * self.pick((1, -1))
