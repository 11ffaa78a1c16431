"""Router logits to experts and weights. Scores are computed to 60 digits; a case is kept where no comparison and no
rounding to bf16 is so near that an f32 step here or there could change it, so every right router agrees."""
import math
from decimal import Decimal, getcontext
from fractions import Fraction

from vectors_numbers import BF16, Random, bf16

getcontext().prec = 60
NEAR = Fraction(1, 2**17)  # relative; an f32 step is 2^-23
DEFAULT = {'scoring_func': 'softmax', 'renormalize': True, 'n_group': 1, 'topk_group': 1, 'routed_scaling_factor': 1.0}


class TooNear(Exception):
    """Another order of f32 operations might answer otherwise."""


def exponential(x):
    if not isinstance(x, Fraction):
        return math.nan if math.isnan(x) else math.inf if x > 0 else Fraction(0)
    return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def is_finite(x):
    return isinstance(x, Fraction)


def softmax(logits):
    if any(not is_finite(x) and not x == -math.inf for x in logits) or all(x == -math.inf for x in logits):
        return [math.nan] * len(logits)
    largest = max(x for x in logits if is_finite(x))
    terms = [exponential(x - largest) if is_finite(x) else Fraction(0) for x in logits]
    return [term / sum(terms) for term in terms]


def sigmoid(x):
    if is_finite(x):
        return 1 / (1 + exponential(-x))
    return math.nan if math.isnan(x) else Fraction(1 if x > 0 else 0)


def exceeds(a, b):
    """NaN is larger than every number; equal numbers are equal only where they are so by construction."""
    if not is_finite(a) or not is_finite(b):
        a_nan, b_nan = (isinstance(x, float) and math.isnan(x) for x in (a, b))
        return (a_nan and not b_nan) if a_nan or b_nan else a > b
    if a != b and abs(a - b) <= NEAR * max(abs(a), abs(b)):
        raise TooNear
    return a > b


def largest(values, count):
    """Indices of the largest, highest first, equal ones by lowest index."""
    chosen = []
    for _ in range(count):
        best = None
        for i, value in enumerate(values):
            if i not in chosen and (best is None or exceeds(value, values[best])):
                best = i
        chosen.append(best)
    return chosen


def mask_groups(choice, settings, biased):
    size = len(choice) // settings['n_group']
    groups = [choice[g * size:(g + 1) * size] for g in range(settings['n_group'])]
    scores = [sum(group[i] for i in largest(group, 2)) if biased else group[largest(group, 1)[0]] for group in groups]
    kept = largest(scores, settings['topk_group'])
    return [value if e // size in kept else -math.inf for e, value in enumerate(choice)]


def rounded(weight):
    if not is_finite(weight):
        return weight
    if weight and bf16(weight * (1 - NEAR)) != bf16(weight * (1 + NEAR)):
        raise TooNear
    return bf16(weight)


def divide(weight, total):
    if not is_finite(weight) or not is_finite(total) or total == 0:
        return math.nan
    return weight / total


def route(settings, logits, bias, top_k):
    rule = settings['scoring_func']
    scores = softmax(logits) if rule == 'softmax' else [sigmoid(x) for x in logits] if rule == 'sigmoid' else logits
    choice = [s + b if is_finite(s) else s for s, b in zip(scores, bias)] if bias else scores
    if settings['n_group'] > 1:
        choice = mask_groups(choice, settings, bool(bias))
    ids = largest(choice, top_k)
    weights = [scores[e] for e in ids]
    if rule == 'softmax-topk':
        weights = softmax(weights)
    elif rule == 'top1-sigmoid':
        weights = [sigmoid(weights[0])]
    elif settings['renormalize']:
        total = math.nan if not all(map(is_finite, weights)) else sum(weights)
        weights = [divide(weight, total) for weight in weights]
    factor = Fraction(settings['routed_scaling_factor'])
    return ids, [rounded(w * factor if is_finite(w) else w) for w in weights]


def vector(top_k, logits, why, bias=None, **changes):
    settings = {**DEFAULT, **changes}
    ids, weights = route(settings, logits, bias, top_k)
    return {'top_k': top_k, **settings, 'logits': logits, 'bias': bias, 'ids': ids, 'weights': weights, 'why': why}


RULES = [
    ('softmax over all, renormalised', {}, False),
    ('not renormalised', {'renormalize': False}, False),
    ('the factor multiplies once', {'routed_scaling_factor': 2.5}, False),
    ('the factor without renormalising', {'routed_scaling_factor': 2.5, 'renormalize': False}, False),
    ('sigmoid', {'scoring_func': 'sigmoid'}, False),
    ('sigmoid, not renormalised', {'scoring_func': 'sigmoid', 'renormalize': False}, False),
    ('a bias chooses, and does not weigh', {'scoring_func': 'sigmoid'}, True),
    ('a bias on softmax', {}, True),
    ('groups without a bias: the best expert of each', {'n_group': 4, 'topk_group': 2}, False),
    ('groups with a bias: the two best of each', {'scoring_func': 'sigmoid', 'n_group': 4, 'topk_group': 2,
                                                 'routed_scaling_factor': 2.5}, True),
    ('all groups kept', {'n_group': 4, 'topk_group': 4}, False),
    ('softmax of the chosen', {'scoring_func': 'softmax-topk'}, False),
]


def random_rows(random):
    for why, changes, biased in RULES:
        for experts, top_k in ((8, 2), (16, 4), (64, 8), (128, 8)):
            for _ in range(3):
                logits = [random.wide(BF16, -3, 1) for _ in range(experts)]
                bias = [random.wide(BF16, -6, -3) for _ in range(experts)] if biased else None
                yield top_k, logits, why, bias, changes
    for experts in (4, 16, 128):
        logits = [random.wide(BF16, -3, 1) for _ in range(experts)]
        yield 1, logits, 'top-1, then sigmoid', None, {'scoring_func': 'top1-sigmoid'}


def corner_rows():
    def row(*numbers):
        return [Fraction(x) if math.isfinite(x) else x for x in numbers]

    nan, inf = math.nan, math.inf
    sigmoid_raw = {'scoring_func': 'sigmoid', 'renormalize': False}
    chosen = {'scoring_func': 'softmax-topk'}
    yield 2, row(1, 1, 1, 1), 'ties: the lowest ids', None, {}
    yield 2, row(0, 3, 1, 3, 1), 'a tie of the best', None, {}
    yield 3, row(0, 3, 1, 3, 1), 'a tie of the last', None, {}
    yield 2, row(1, 1, 2, 2, 1, 1, 2, 2), 'a tie of groups: the lowest', None, {'n_group': 4, 'topk_group': 1}
    yield 2, row(4, -4, 3, 2.5), 'two best beat one best', row(0, 0, 0, 0), {'scoring_func': 'sigmoid', 'n_group': 2,
                                                                            'topk_group': 1}
    yield 2, row(4, -4, 3, 2.5), 'one best beats two', None, {'n_group': 2, 'topk_group': 1}
    yield 2, row(2, 1, 0, -1), 'a bias may choose the least score', row(-1, 0, 0, 1), {'scoring_func': 'sigmoid'}
    yield 2, row(80, 70, 60, 50), 'far apart', None, {}
    yield 2, row(-inf, 1, -inf, 2), '-Inf scores 0', None, {}
    yield 3, row(-inf, 1, -inf, 2), 'and is chosen last', None, {}
    yield 2, row(-inf, -inf, -inf), 'nothing but -Inf: NaN', None, {}
    yield 2, row(0, nan, 1), 'one NaN: every softmax score is NaN', None, {}
    yield 2, row(0, 1, inf), 'one Inf: every softmax score is NaN', None, {}
    yield 2, row(0, nan, 1, 2), 'sigmoid: NaN is chosen first, its weight is NaN', None, sigmoid_raw
    yield 2, row(0, nan, 1, 2), 'renormalised, every weight is NaN', None, {'scoring_func': 'sigmoid'}
    yield 2, row(0, inf, 1, -inf), 'sigmoid of Inf is 1', None, sigmoid_raw
    yield 2, row(-inf, -inf, -inf), 'scores of 0 renormalise to NaN', None, {'scoring_func': 'sigmoid'}
    yield 3, row(nan, 0, nan, 1, nan, nan), 'four NaN: never one expert twice', None, sigmoid_raw
    yield 2, row(0, nan, 1, 2), 'NaN among the chosen logits', None, chosen
    yield 2, row(0, -inf, 1, 2), 'the least logit is not chosen', None, chosen
    yield 1, row(0, inf, 1), 'sigmoid of the one logit', None, {'scoring_func': 'top1-sigmoid'}
    yield 4, row(0, 1, 2, 3), 'every expert', None, {}


def vectors():
    for top_k, logits, why, bias, changes in [*corner_rows(), *random_rows(Random(4))]:
        try:
            yield vector(top_k, logits, why, bias, **changes)
        except TooNear:
            pass
