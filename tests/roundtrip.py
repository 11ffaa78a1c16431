"""Files of the real writers are read bit for bit, and real readers read what the library writes.

usage: roundtrip.py LIST_DUMP FP8MOE

Needs numpy, ml_dtypes and safetensors. The torch part runs where torch can be imported, and says that
it is skipped where not: torch is a download of gigabytes, so the build does not fetch it by itself
(BUILD/venv-roundtrip/bin/pip install torch). LIST_DUMP (list_dump.c) prints what it reads with a SHA-256 over dtype, shape and
elements, which is computed here from the arrays that were saved; FP8MOE judges the pairs that torch writes.
"""
import collections
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import safetensors.numpy

PROGRAM, COMMAND = sys.argv[1:]
FOLDER = Path(tempfile.mkdtemp(prefix='fp8moe-roundtrip-'))
RANDOM = np.random.default_rng(7)
done = collections.Counter()

NUMPY = {
    'BOOL': np.bool_,
    'U8': np.uint8,
    'I8': np.int8,
    'U16': np.uint16,
    'I16': np.int16,
    'U32': np.uint32,
    'I32': np.int32,
    'U64': np.uint64,
    'I64': np.int64,
    'F16': np.float16,
    'F32': np.float32,
    'F64': np.float64,
    'C64': np.complex64,
}
ML_DTYPES = {
    'F8_E4M3': ml_dtypes.float8_e4m3fn,
    'F8_E4M3FNUZ': ml_dtypes.float8_e4m3fnuz,
    'F8_E5M2': ml_dtypes.float8_e5m2,
    'F8_E5M2FNUZ': ml_dtypes.float8_e5m2fnuz,
    'F8_E8M0': ml_dtypes.float8_e8m0fnu,
    'BF16': ml_dtypes.bfloat16,
}


def fingerprint(dtype, shape, data):
    return hashlib.sha256(f'{dtype} {list(shape)}\n'.encode() + data).hexdigest()


def little_bytes(array):
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder('<'), copy=False).tobytes()


def run(path, *options):
    result = subprocess.run([PROGRAM, str(path), *options], stdout=subprocess.PIPE, encoding='utf-8')
    return result.returncode, result.stdout.splitlines()


def check(writer, path, want, *options, metadata=None):
    """`want`: name -> (dtype, shape, little-endian bytes in C order)."""
    status, lines = run(path, *options)
    got = {line.split('\t')[0]: line.split('\t')[1:] for line in lines if not line.startswith('=')}
    pairs = dict(line[1:].split('\t') for line in lines if line.startswith('='))
    expected = {
        name: [dtype, str(list(shape)), fingerprint(dtype, shape, data)]
        for name, (dtype, shape, data) in want.items()
    }
    if status or got != expected or (metadata is not None and pairs != metadata):
        sys.exit(f'{writer}: {path.name} {options}: status {status}\n got {got} {pairs}\nwant {expected} {metadata}')
    done[writer] += len(want)


def refuse(writer, path, words, *options):
    status, lines = run(path, *options)
    if status != 1 or words not in '\n'.join(lines):
        sys.exit(f'{writer}: {path.name} should be refused with "{words}": {status} {lines}')
    done[writer] += 1


def values(dtype, shape):
    """Any bit patterns (of a truth value: 0 and 1)."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return RANDOM.integers(0, 2, shape).astype(np.bool_)
    count = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(RANDOM.bytes(count), dtype).reshape(shape)


SHAPES = [(), (1, ), (5, ), (0, 3), (3, 0), (4, 6), (2, 3, 5), (1, 2, 1, 3, 2)]


def layouts(array):
    """Contiguous, Fortran order, other byte order, and views that numpy writes in one of these."""
    yield array
    yield np.asfortranarray(array)
    yield array.T
    if array.dtype.itemsize > 1 and array.dtype.kind in 'iufc':
        yield array.astype(array.dtype.newbyteorder('>'))
        yield np.asfortranarray(array.astype(array.dtype.newbyteorder('>')))
    if array.ndim == 2:
        yield array[::2, 1:]
        yield array[::-1]


def numpy_part():
    for dtype, kind in NUMPY.items():
        for shape in SHAPES:
            for array in layouts(values(kind, shape)):
                path = FOLDER / 'array.npy'
                np.save(path, array)
                check('numpy.save', path, {'array': (dtype, array.shape, little_bytes(array))})
    array = values(np.float32, (3, 4))
    for version in ((1, 0), (2, 0), (3, 0)):
        path = FOLDER / 'version.npy'
        with open(path, 'wb') as file:
            np.lib.format.write_array(file, array, version)
        check('numpy.save', path, {'version': ('F32', (3, 4), little_bytes(array))})
    for name, array, words in (('object', np.array([{}]), 'object array'), ('text', np.array(['a']),
                                                                            'an array of text'),
                               ('struct', np.zeros(2, [('a', 'f4'), ('b', 'i2')]),
                                'structured array'), ('long', np.zeros(2, np.longdouble),
                                                      'is not read'), ('c16', np.zeros(2, complex), 'is not read')):
        path = FOLDER / f'{name}.npy'
        np.save(path, array, allow_pickle=True)
        refuse('numpy.save', path, words)


def npz_part():
    arrays = {f'{dtype}{i}': values(kind, shape) for dtype, kind in NUMPY.items() for i, shape in enumerate(SHAPES)}
    arrays['fortran'] = np.asfortranarray(values(np.float64, (40, 30)))
    arrays['zeros'] = np.zeros((300, 1000), np.float32)
    arrays['folder/name \u00fc'] = values(np.int16, (7, ))
    names = {np.dtype(kind): dtype for dtype, kind in NUMPY.items()}
    want = {name: (names[array.dtype], array.shape, little_bytes(array)) for name, array in arrays.items()}
    for writer in (np.savez, np.savez_compressed):
        path = FOLDER / 'arrays.npz'
        writer(path, **arrays)
        check('numpy.' + writer.__name__, path, want)
    whole = path.read_bytes()
    for cut in RANDOM.integers(0, len(whole), 60):
        (FOLDER / 'cut.npz').write_bytes(whole[:cut])
        status, lines = run(FOLDER / 'cut.npz')
        if status != 1 or not lines:
            sys.exit(f'npz cut off at {cut} of {len(whole)} bytes: {status} {lines}')


def ml_dtypes_part():
    for dtype, kind in ML_DTYPES.items():
        for shape in SHAPES:
            array = values(kind, shape)
            path = FOLDER / 'array.npy'
            np.save(path, array)
            want = {'array': (dtype, array.shape, array.tobytes())}
            if array.dtype.str.endswith('f1'):
                refuse('ml_dtypes', path, 'may be any FP8 type')
                np.save(path, array.view(np.uint8))
            elif array.size:
                refuse('ml_dtypes', path, 'ambiguous')
            check('ml_dtypes', path, want, '--as', f'array={dtype}')
            np.save(path, array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8))
            check('ml_dtypes', path, want, '--as', f'array={dtype}')


def safetensors_part():
    kinds = {**NUMPY, **ML_DTYPES}
    path = FOLDER / 'all.safetensors'
    arrays = {
        f'{dtype}{i}': (dtype, values(kind, shape))
        for dtype, kind in kinds.items()
        for i, shape in enumerate(SHAPES)
    }
    want = {name: (dtype, array.shape, array.tobytes()) for name, (dtype, array) in arrays.items()}
    header, data = {'__metadata__': {'who': 'me \u00fc'}}, b''
    for name, (dtype, shape, content) in want.items():
        header[name] = {'dtype': dtype, 'shape': list(shape), 'data_offsets': [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, 'little') + text + data)
    read = dict(safetensors.deserialize(path.read_bytes()))  # that the hand-made file is one
    if {name: bytes(item['data']) for name, item in read.items()} != {name: item[2] for name, item in want.items()}:
        sys.exit('the real reader reads the hand-made file otherwise')
    check('safetensors', path, want, metadata={'who': 'me \u00fc'})
    for dtype in NUMPY:
        if dtype == 'C64':
            continue  # the package's numpy part has no name for it
        some = {name: array for name, (kind, array) in arrays.items() if kind == dtype}
        safetensors.numpy.save_file(some, path, metadata={'a': 'b'})
        check('safetensors', path, {name: want[name] for name in some}, metadata={'a': 'b'})
    written_part(path, want)


def written_part(path, want):
    """What the library writes: from .npy arrays in every layout, read by the real reader."""
    for dtype, kind in NUMPY.items():
        for shape in SHAPES:
            for array in layouts(values(kind, shape)):
                np.save(FOLDER / 'x.npy', array)
                check('written', FOLDER / 'x.npy', {'x': (dtype, array.shape, little_bytes(array))}, '--write',
                      str(path))
                content = path.read_bytes()
                (name, item), = safetensors.deserialize(content)
                if (name, item['dtype'], list(item['shape']), bytes(item['data'])) != ('x', dtype, list(array.shape),
                                                                                       little_bytes(array)):
                    sys.exit(f'written {dtype} {array.shape} is read as {item}')
                if int.from_bytes(content[:8], 'little') % 8:
                    sys.exit('the header is not padded to 8 bytes')
    with safetensors.safe_open(path, 'np') as file:
        if file.metadata() != {'made_by': 'list_dump "\\ \u00fc'}:
            sys.exit(f'metadata is read as {file.metadata()}')


# ---- torch ----


def torch_part():
    try:
        import torch
    except ImportError:
        print('SKIPPED: the torch part, torch is not installed in this environment')
        return
    names = {
        torch.bool: 'BOOL',
        torch.uint8: 'U8',
        torch.int8: 'I8',
        torch.int16: 'I16',
        torch.int32: 'I32',
        torch.int64: 'I64',
        torch.float16: 'F16',
        torch.bfloat16: 'BF16',
        torch.float32: 'F32',
        torch.float64: 'F64',
        torch.complex64: 'C64',
        torch.float8_e4m3fn: 'F8_E4M3',
        torch.float8_e5m2: 'F8_E5M2'
    }
    for extra, dtype in (('uint16', 'U16'), ('uint32', 'U32'), ('uint64', 'U64'), ('float8_e4m3fnuz', 'F8_E4M3FNUZ'),
                         ('float8_e5m2fnuz', 'F8_E5M2FNUZ'), ('float8_e8m0fnu', 'F8_E8M0')):
        if hasattr(torch, extra):
            names[getattr(torch, extra)] = dtype

    def tensor(dtype, shape):
        size = torch.empty((), dtype=dtype).element_size()
        array = values(np.bool_ if dtype == torch.bool else np.uint8, (int(np.prod(shape)) * size, ))
        return torch.from_numpy(array.copy()).view(dtype).reshape(shape)

    def elements(t):
        return t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b''

    def want(tensors):
        return {name: (names[t.dtype], tuple(t.shape), elements(t)) for name, t in tensors.items()}

    def save(value, **options):
        path = FOLDER / 'value.pt'
        torch.save(value, path, **options)
        return path

    for protocol in (2, 3, 4, 5):
        for dtype in names:
            base = tensor(dtype, (6, 8))
            views = {
                'base': base,
                'transposed': base.t(),
                'slice': base[1:4, 2:7],
                'steps': base[::2, ::3],
                'row': base[3],
                'scalar': base[2, 5],
                'empty': base[:0],
                'repeated': base[1].expand(3, 8),
                'cube': tensor(dtype, (2, 3, 4)).permute(2, 0, 1),
                'own': base.clone()
            }
            path = save(views, pickle_protocol=protocol)
            check('torch.save', path, want(views), metadata={})
            check('torch.save', save(base.t(), pickle_protocol=protocol), want({'value': base.t()}))
        nested_part(torch, save, want, tensor, protocol)
    torch_safetensors_part(torch, names, tensor, want)
    torch_files_part(torch, save, want, tensor)
    pairs_part(torch)


def nested_part(torch, save, want, tensor, protocol):
    weight = torch.nn.Parameter(tensor(torch.float32, (3, 2)))
    carrying = torch.nn.Parameter(tensor(torch.bfloat16, (2, )), requires_grad=False)
    carrying.loader = 'some attribute'
    linear = torch.nn.Linear(4, 3)
    value = {
        'layer': [weight, {
            'x': carrying
        }],
        'list': (weight, 1, 'text'),
        'state': linear.state_dict(),
        'T': 16,
        'rank': -1,
        'share': 0.1,
        'name': 'm\u00fc',
        'on': True,
        'none': None,
        'size': torch.Size([2, 3]),
        'dtype': torch.float8_e4m3fn,
        5: weight
    }
    tensors = {
        'layer.0': weight,
        'layer.1.x': carrying,
        'list.0': weight,
        'state.weight': linear.weight,
        'state.bias': linear.bias,
        '5': weight
    }
    pairs = {'T': '16', 'rank': '-1', 'share': '0.1', 'name': 'm\u00fc', 'on': 'true'}
    check('torch.save', save(value, pickle_protocol=protocol), want(tensors), metadata=pairs)

    class Saved:
        """A tensor of a device that has no storage of its own, as torch saves it."""
        def __init__(self, function, *arguments):
            self.made_of = function, arguments

        def __reduce__(self):
            return self.made_of

    t, half = tensor(torch.int32, (3, 5)), tensor(torch.bfloat16, (4, 3))
    half = torch.where(half.isnan(), torch.zeros_like(half), half)
    utils = torch._utils
    value = {
        'cpu': Saved(utils._rebuild_device_tensor_from_cpu_tensor, t, t.dtype, 'hpu:0', False),
        'numpy': Saved(utils._rebuild_device_tensor_from_numpy, t.numpy(), t.dtype, 'hpu:0', False),
        'fortran': Saved(utils._rebuild_device_tensor_from_numpy,
                         t.t().numpy(), t.dtype, 'hpu:0', False),
        'bf16': Saved(utils._rebuild_device_tensor_from_numpy,
                      half.float().numpy(), half.dtype, 'hpu:0', False)
    }
    check('torch.save', save(value, pickle_protocol=protocol),
          want({
              'cpu': t,
              'numpy': t,
              'fortran': t.t(),
              'bf16': half
          }))


def torch_safetensors_part(torch, names, tensor, want):
    import safetensors.torch
    tensors = {str(dtype): tensor(dtype, (3, 4)) for dtype in names if dtype != torch.complex64}
    path = FOLDER / 'torch.safetensors'
    safetensors.torch.save_file(tensors, path)
    check('safetensors.torch', path, want(tensors))
    run(path, '--write', str(FOLDER / 'copy.safetensors'))
    for name, t in safetensors.torch.load_file(FOLDER / 'copy.safetensors').items():
        if not torch.equal(t.view(torch.uint8), tensors[name].view(torch.uint8)):
            sys.exit(f'the copy of {name} differs')


def torch_files_part(torch, save, want, tensor):
    """Other containers: zipped again, without CRCs, the old format, what is refused."""
    value = {'x': tensor(torch.float32, (50, 40)), 'y': torch.zeros(1000)}
    path = save(value)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(FOLDER / 'again.pt', 'w', method) as new:
            for name in reversed(old.namelist()):
                new.writestr('other root/' + name.split('/', 1)[1], old.read(name))
        check('zipped again', FOLDER / 'again.pt', want(value))
    if hasattr(torch.serialization, 'set_crc32_options'):
        torch.serialization.set_crc32_options(False)
        check('torch without CRC', save(value), want(value))
        torch.serialization.set_crc32_options(True)
    buffer = io.BytesIO()
    torch.save(value, buffer)
    (FOLDER / 'buffer.pt').write_bytes(buffer.getvalue())
    check('torch.save', FOLDER / 'buffer.pt', want(value))
    refuse('torch', save(value, _use_new_zipfile_serialization=False), 'before 1.6')
    refuse('torch', save({'x': torch.eye(2).to_sparse()}), '_rebuild_sparse_tensor')
    refuse('torch', save(torch.nn.Linear(2, 2)), 'Linear')
    refuse('torch', save({'x': torch.zeros(2, dtype=torch.complex64).conj()}), 'conjugate')
    refuse('torch', save({'x': torch.zeros(2, device='meta')}), '_rebuild_meta_tensor')


def pairs_part(torch):
    """Upstream's old dumps {stock, custom, T, rank}, named moecomb_T*_n*_r*.pt: both commands know what to do."""
    for tokens in (1, 16):
        stock = (torch.randn(tokens, 256) * 0.01).to(torch.bfloat16)
        for rank, custom, verdict in ((0, stock.clone(), 'same'), (1, stock * 1.5, 'different')):
            path = FOLDER / f'moecomb_T{tokens}_n1_r{rank}.pt'
            torch.save({'stock': stock, 'custom': custom, 'T': tokens, 'rank': rank}, path)
            for command in ('verify', 'compare'):
                result = subprocess.run([COMMAND, command, str(path)], stdout=subprocess.PIPE, encoding='utf-8')
                if result.returncode != ('same', 'different').index(verdict) or not result.stdout.startswith(verdict):
                    sys.exit(f'{command} {path.name}: {verdict} is wanted, not {result.returncode}\n{result.stdout}')
                done['pairs'] += 1


def main():
    numpy_part()
    npz_part()
    ml_dtypes_part()
    safetensors_part()
    torch_part()
    for path in FOLDER.iterdir():
        path.unlink()
    FOLDER.rmdir()
    print(', '.join(f'{writer}: {count}' for writer, count in done.items()))


if __name__ == '__main__':
    main()
