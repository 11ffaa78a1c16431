"""Which path a call takes, from upstream's own words: conditions in order, environment and floats as Python reads
them."""
from vectors_numbers import Random

FAVOURABLE = {'method': 'fp8', 'activation': 'silu', 'activation_scheme': 'dynamic', 'block_quant': True, 'gated': True,
              'dispatch': False}


def truth(text):
    return text.lower() in ('1', 'true')


def initial(env, model, tokens, top_k, local, name='HPU_MOE_', any_text=True):
    on = env.get(name + 'GATHER', '')
    yield 'method', model['method'] == 'fp8'
    yield 'gather', on != '' if any_text else truth(on)
    yield 'activation', model['activation'] == 'silu'
    yield 'size', tokens * top_k <= int(env.get(name + 'GATHER_MAX_TP', '64'))


def initial_vllm(env, model, tokens, top_k, local):
    return initial(env, model, tokens, top_k, local, 'VLLM_HPU_MOE_', any_text=False)


def row_scales(env, model):
    yield 'activation', model['activation'] == 'silu'
    yield 'activation_scheme', model['activation_scheme'] != 'static'
    yield 'block_quant', model['block_quant']
    yield 'quant_config', 'QUANT_CONFIG' not in env
    yield 'force_channel', truth(env.get('VLLM_HPU_FORCE_CHANNEL_FP8', 'true'))


def merged(env, model, tokens, top_k, local):
    yield 'method', model['method'] == 'fp8'
    yield 'gather', truth(env.get('VLLM_HPU_MOE_GATHER', 'false'))
    yield from row_scales(env, model)
    yield 'size', tokens * top_k <= local * float(env.get('VLLM_HPU_MOE_GATHER_RATIO', '0.4'))


def fork_dense(env, model, tokens, top_k, local):
    most = int(env.get('VLLM_HPU_MOE_DENSE_MAX_TOKENS', '0'))
    yield 'method', model['method'] == 'fp8'
    yield 'dense', most > 0
    yield from row_scales(env, model)
    yield 'gated', model['gated']
    yield 'dispatch', not model['dispatch']
    yield 'size', tokens <= most


RULES = {
    'initial': {'gather': initial},
    'initial-vllm': {'gather': initial_vllm},
    'v0.26': {},
    'v0.26-backport': {'gather': merged},
    'v0.30': {'gather': merged},
    'dense-fork': {'gather': merged, 'dense': fork_dense},
}

GATHER_ON = {'initial': {'HPU_MOE_GATHER': '1'}, 'v0.26': {}}


def case(upstream, tokens, top_k, local, env=None, **changes):
    """A vector; without an environment the one that asks for the combine and leaves the rest alone."""
    if env is None:
        env = GATHER_ON.get(upstream, {'VLLM_HPU_MOE_GATHER': '1'})
    model = {**FAVOURABLE, **changes}
    path, first_no = 'stock', None
    for name, rule in RULES[upstream].items():
        refused = [condition for condition, holds in rule(env, model, tokens, top_k, local) if not holds]
        if name == 'gather' and refused:
            first_no = refused[0]
        if path == 'stock' and not refused:
            path = name
    return {'upstream': upstream, 'environment': env, 'model': changes, 'tokens': tokens, 'top_k': top_k,
            'local_num_experts': local, 'path': path, 'gathered': min(local, tokens * top_k), 'first_no': first_no}


def limits():
    for local, top_k, largest in ((256, 8, 12), (128, 8, 6), (64, 8, 3), (32, 8, 1), (16, 8, 0), (512, 10, 20),
                                  (8, 2, 1), (64, 10, 2), (128, 10, 5)):
        for tokens in range(1, largest + 3):
            vector = case('v0.30', tokens, top_k, local)
            assert (vector['path'] == 'gather') == (tokens <= largest)
            yield vector


def ratios():
    """Where local * ratio is, or is all but, a whole number."""
    for step in range(1, 21):
        ratio = f'{step * 0.05:.2f}'.rstrip('0') if step < 20 else '1.0'
        env = {'VLLM_HPU_MOE_GATHER': '1', 'VLLM_HPU_MOE_GATHER_RATIO': ratio}
        for local in (20, 60, 100, 140, 260, 300, 420, 660, 1020):
            for near in (-1, 0, 1):
                product = local * step // 20 + near
                if product > 0:
                    yield case('v0.30', product, 1, local, env)


def environments():
    for value in ('1', 'true', 'True', 'TRUE', '0', 'false', 'yes', 'on', '', ' 1', '1 ', '2', 't'):
        yield case('v0.30', 1, 8, 256, {'VLLM_HPU_MOE_GATHER': value})
        yield case('initial-vllm', 1, 8, 256, {'VLLM_HPU_MOE_GATHER': value})
        yield case('initial', 1, 8, 256, {'HPU_MOE_GATHER': value})
        yield case('v0.30', 1, 8, 256, {'VLLM_HPU_MOE_GATHER': '1', 'VLLM_HPU_FORCE_CHANNEL_FP8': value})
        yield case('v0.30', 1, 8, 256, {'VLLM_HPU_MOE_GATHER': '1', 'QUANT_CONFIG': value})
    for ratio in (' 0.4 ', '4e-1', '.4', '1_0', '+0.4', '-0.4', '-0', '0', 'nan', 'inf', '-inf', 'Infinity', '1e400',
                  '1e-400', '0.39999999999999997', '0.40000000000000002', '0.4000000000000001'):
        for tokens in (0, 1, 2, 12, 13, 1000000):
            yield case('v0.30', tokens, 8, 255 if tokens == 2 else 256,
                       {'VLLM_HPU_MOE_GATHER': '1', 'VLLM_HPU_MOE_GATHER_RATIO': ratio})
    for most in ('8', ' 8 ', '+8', '1_6', '0', '-1', '00'):
        for tokens in (0, 1, 2, 16, 17):
            yield case('initial', tokens, 1, 4, {'HPU_MOE_GATHER': 'no', 'HPU_MOE_GATHER_MAX_TP': most})
            yield case('dense-fork', tokens, 8, 8, {'VLLM_HPU_MOE_DENSE_MAX_TOKENS': most})
    yield case('v0.30', 1, 8, 256, {})


def models():
    dense = {'VLLM_HPU_MOE_GATHER': '1', 'VLLM_HPU_MOE_DENSE_MAX_TOKENS': '32'}
    for upstream in RULES:
        for changes in ({'method': 'compressed-tensors'}, {'method': 'mxfp4'}, {'activation': 'gelu'},
                        {'activation_scheme': 'static'}, {'block_quant': False}, {'gated': False}, {'dispatch': True},
                        {'activation': 'swigluoai', 'block_quant': False}):
            for tokens in (1, 100):
                yield case(upstream, tokens, 8, 256, **changes)
            yield case('dense-fork', 20, 8, 256, dense, **changes)


def anything():
    random = Random(1)
    for _ in range(200):
        env = {'VLLM_HPU_MOE_GATHER': '1', 'VLLM_HPU_MOE_GATHER_RATIO': str(random.below(100) / 100)}
        yield case(random.pick(['v0.30', 'v0.26-backport', 'dense-fork']), random.below(65), 1 + random.below(16),
                   1 + random.below(1024), env)


def vectors():
    for maker in (limits, ratios, environments, models, anything):
        yield from maker()
