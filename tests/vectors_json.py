"""How vectors are written: one a line, so that a difference is readable. JSON has no NaN and no infinity; they stand
as "nan", "inf" and "-inf"."""
import json
import math
from fractions import Fraction


def plain(value):
    """A value as JSON may hold it. Fractions must be doubles exactly."""
    if isinstance(value, Fraction):
        number = float(value)
        assert Fraction(number) == value, value
        return plain(number)
    if isinstance(value, float):
        if math.isnan(value):
            return 'nan'
        if math.isinf(value):
            return 'inf' if value > 0 else '-inf'
        return int(value) if value == int(value) and abs(value) < 2**53 and math.copysign(1, value) > 0 else value
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    return value


def text_of(name, vectors):
    lines = [json.dumps(plain(vector), allow_nan=False) for vector in vectors]
    return '{"schema": "fp8moe.vectors.%s/1", "vectors": [\n%s\n]}\n' % (name, ',\n'.join(lines))
