#!/usr/bin/env python3
"""Make data/hostile, broken files named after what is broken, and data/legal, files that are rare but
right; in each folder expected.txt says what reading them must give.

    python3 tests/make_data.py            write the files
    python3 tests/make_data.py --check    fail where the committed files are not what this makes

Standard library only and no randomness: the same bytes everywhere. A broken file's row is what opening
it must say: status | byte offset | tensor | sentence (offset -1: none). A legal file's rows are its
tensors, name | dtype | shape | values, and its metadata, key | = | value. test_hostile.c and
test_legal.c replay the tables; the fuzz targets start from the files.
"""
import json
import struct
import sys
import zlib
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / 'data'

ROWS = []   # broken files
LEGAL = []  # legal ones: name, content, lines


def row(name, content, status, offset, tensor, sentence):
    ROWS.append((name, content, status, offset, tensor, sentence))


def legal(file, content, *tensors, **metadata):
    """Each tensor: name, dtype, shape, values in C order."""
    lines = [f'{file} | {tensor} | {dtype} | {list(shape)} | {" ".join(map(repr, values))}'
             for tensor, dtype, shape, values in tensors]
    lines += [f'{file} | {key} | = | {value} |' for key, value in metadata.items()]
    LEGAL.append((file, content, lines or [f'{file} | - | none | - | -']))


# ---- safetensors ----

def entry(dtype='F32', shape=(1,), offsets=(0, 4), **others):
    return {'dtype': dtype, 'shape': list(shape), 'data_offsets': list(offsets), **others}


def container(header, data=b'', length=None):
    """The bytes of a safetensors file; `header` may be an object, text or bytes."""
    if not isinstance(header, (str, bytes)):
        header = json.dumps(header, separators=(',', ':'))
    if isinstance(header, str):
        header = header.encode()
    return struct.pack('<Q', len(header) if length is None else length) + header + data


def safetensors(name, content, offset, tensor, sentence, status='format'):
    row(name + '.safetensors', content, status, offset, tensor, sentence)


def one(header_entry, data=bytes(4)):
    return container({'w': header_entry}, data)


def make_safetensors():
    not_one = 'is no file of tensors: neither safetensors, npy, npz nor a zip-based .pt'
    safetensors('empty', b'', -1, '', 'is empty (0 bytes)', 'io')
    safetensors('length-cut-off', bytes(7), 0, '', not_one)
    safetensors('nothing-after-length', struct.pack('<Q', 2), 0, '', not_one)
    safetensors('text', b'this is not a file of tensors at all\n', 0, '', not_one)
    safetensors('git-lfs-pointer', b'version https://git-lfs.github.com/spec/v1\noid sha256:00\n', 0, '',
                'is a Git LFS pointer: the file itself was not fetched (git lfs pull)')
    safetensors('nine-bytes', container('{'), 0, '', 'a safetensors file has at least 10 bytes, this one 9')
    safetensors('header-length-0', container('{}', length=0), 0, '', 'header length 0 leaves no room for {}')
    safetensors('header-length-1', container('{}', length=1), 0, '', 'header length 1 leaves no room for {}')
    safetensors('header-past-end', container('{}', length=3), 0, '', 'truncated header: needs 3 bytes, has 2')
    safetensors('header-over-limit', container('{}', length=100000001), 0, '',
                'header length 100000001, at most 100000000 are read')
    safetensors('header-length-2-to-63', container('{}', length=1 << 63), 0, '',
                'header length 9223372036854775808, at most 100000000 are read')
    safetensors('header-length-max', container('{}', length=(1 << 64) - 1), 0, '',
                'header length 18446744073709551615, at most 100000000 are read')
    safetensors('header-starts-with-space', container(' {}'), 8, '',
                "the header starts with byte 0x20 instead of '{'")
    safetensors('header-is-array', container('[] '), 8, '', "the header starts with byte 0x5B instead of '{'")
    safetensors('padding-of-newlines', container('{}\n'), 10, '',
                "the header ends with byte 0x0A: only spaces may follow its '}'")
    safetensors('padding-of-zeros', container(b'{}\0\0'), 11, '',
                "the header ends with byte 0x00: only spaces may follow its '}'")
    safetensors('header-followed-by-text', container('{}x}'), 10, '',
                "expected nothing after the value in JSON, found 'x'")
    safetensors('header-cut-off', container('{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'), 61, '',
                "JSON ends where ',' or '}' was expected")
    safetensors('header-not-utf-8', container(b'{"\xff":{}}'), 10, '', 'a string is not valid UTF-8')
    safetensors('header-nested-deep', container('{"w":' + '[' * 200 + '}'), 76, '',
                'JSON is nested deeper than 64 levels')
    text = json.dumps(entry())
    safetensors('name-twice', container('{"w":%s,"w":%s}' % (text, text), bytes(4)), 68, '',
                'the key "w" appears twice in one object')
    safetensors('name-twice-escaped', container('{"w":%s,"\\u0077":%s}' % (text, text), bytes(4)), 68, '',
                'the key "w" appears twice in one object')
    safetensors('key-twice-in-entry', container('{"w":{"dtype":"F32","dtype":"F32"}}'), 28, '',
                'the key "dtype" appears twice in one object')
    safetensors('name-with-nul', container('{"a\\u0000b":%s}' % text, bytes(4)), 11, '',
                'a string holds the character U+0000')
    safetensors('name-with-escape-character', container('{"\\u001b[2J":%s}' % text, bytes(4)), 76, '',
                "a tensor's name holds the control character 0x1B")
    safetensors('name-too-long', container({'n' * 5000: entry()}, bytes(4)), 5061, '',
                "a tensor's name of 5000 bytes, at most 4096 are read")
    make_metadata()
    make_entries()
    make_ranges()


def make_metadata():
    safetensors('metadata-is-array', container({'__metadata__': []}), 24, '',
                '__metadata__ must be an object, is an array')
    safetensors('metadata-is-null', container({'__metadata__': None}), 24, '',
                '__metadata__ must be an object, is null')
    safetensors('metadata-value-is-number', container({'__metadata__': {'n': 3}}), 29, '',
                '__metadata__ value of "n" must be a string, is a whole number')
    safetensors('metadata-value-is-object', container({'__metadata__': {'n': {}}}), 29, '',
                '__metadata__ value of "n" must be a string, is an object')
    safetensors('metadata-twice', container('{"__metadata__":{},"__metadata__":{}}'), 27, '',
                'the key "__metadata__" appears twice in one object')


def make_entries():
    whole = 'must be an array of whole numbers, is'
    safetensors('entry-is-number', container({'w': 3}), 13, 'w', "a tensor's entry must be an object, is a whole number")
    safetensors('dtype-missing', container({'w': {'shape': [1], 'data_offsets': [0, 4]}}, bytes(4)), -1, 'w',
                "the tensor's entry has no dtype")
    safetensors('dtype-is-number', one(entry(32)), 22, 'w', 'dtype must be a string, is a whole number')
    safetensors('dtype-unknown', one(entry('F9_X')), 22, 'w', 'unknown dtype "F9_X"')
    safetensors('dtype-lower-case', one(entry('f32')), 22, 'w', 'unknown dtype "f32"')
    safetensors('dtype-of-numpy', one(entry('V8', (4,))), 22, 'w', 'unknown dtype "V8"')
    safetensors('dtype-empty', one(entry('')), 22, 'w', 'unknown dtype ""')
    safetensors('shape-missing', container({'w': {'dtype': 'F32', 'data_offsets': [0, 4]}}, bytes(4)), -1, 'w',
                "the tensor's entry has no shape")
    safetensors('shape-is-number', container('{"w":{"dtype":"F32","shape":1,"data_offsets":[0,4]}}', bytes(4)),
                36, 'w', f'shape {whole} a whole number')
    safetensors('shape-negative', one(entry(shape=(-1,))), 37, 'w', 'shape holds -1')
    safetensors('shape-fraction', one(entry(shape=(4.5,))), 37, 'w',
                'shape holds a number that is no whole number below 2^63')
    safetensors('shape-with-exponent', container('{"w":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}', bytes(4)),
                37, 'w', 'shape holds a number that is no whole number below 2^63')
    safetensors('shape-is-true', one(entry(shape=(True,))), 37, 'w', 'shape must be whole numbers, is a truth value')
    safetensors('shape-2-to-63', one(entry(shape=(1 << 63,))), 37, 'w', 'shape holds 9223372036854775808, beyond 2^63-1')
    safetensors('shape-2-to-64-and-1', one(entry(shape=((1 << 64) + 1,))), 37, 'w',
                'shape holds a number that is no whole number below 2^63')
    safetensors('shape-of-9-dimensions', one(entry(shape=(1,) * 9)), 36, 'w',
                'a tensor of 9 dimensions, at most 8 are read', 'unsupported')
    size = "the shape's size in bits does not fit 64 bits"
    safetensors('shape-overflows', one(entry(shape=(1 << 32, 1 << 32), offsets=(0, 0)), b''), 36, 'w', size)
    safetensors('shape-overflows-in-bytes', one(entry(shape=(1 << 61,), offsets=(0, 0)), b''), 36, 'w', size)
    safetensors('shape-overflows-behind-zero', one(entry(shape=(0, 1 << 62, 1 << 62), offsets=(0, 0)), b''), 36, 'w', size)
    safetensors('half-a-byte', one(entry('F4', (3,), (0, 2)), bytes(2)), 35, 'w',
                '3 elements of F4 end in the middle of a byte')
    safetensors('offsets-missing', container({'w': {'dtype': 'F32', 'shape': [1]}}, bytes(4)), -1, 'w',
                "the tensor's entry has no data_offsets")
    safetensors('offsets-one-number', one(entry(offsets=(0,))), 55, 'w', 'data_offsets must be two numbers, are 1')
    safetensors('offsets-three-numbers', one(entry(offsets=(0, 4, 4))), 55, 'w', 'data_offsets must be two numbers, are 3')
    safetensors('offsets-negative', one(entry(offsets=(-4, 0))), 56, 'w', 'data_offsets holds -4')
    safetensors('offsets-reversed', one(entry(offsets=(4, 0))), 55, 'w', 'data_offsets end at 0 before they begin at 4')
    safetensors('offsets-2-to-63', one(entry(offsets=(0, 1 << 63))), 58, 'w',
                'data_offsets holds 9223372036854775808, beyond 2^63-1')
    safetensors('offsets-2-to-64-and-4', one(entry(offsets=(0, (1 << 64) + 4))), 58, 'w',
                'data_offsets holds a number that is no whole number below 2^63')
    safetensors('range-too-small', one(entry(shape=(1000, 1000))), 63, 'w',
                'data_offsets span 4 bytes, F32 of shape [1000, 1000] takes 4000000')
    safetensors('range-too-large', one(entry(offsets=(0, 8)), bytes(8)), 55, 'w',
                'data_offsets span 8 bytes, F32 of shape [1] takes 4')


def make_ranges():
    def two(first, second, data):
        return container({'a': entry(offsets=first), 'b': entry(offsets=second)}, data)
    last = (1 << 63) - 1
    safetensors('hole-at-start', one(entry(offsets=(4, 8)), bytes(8)), 55, 'w',
                'data bytes 0 to 3 before it belong to no tensor')
    safetensors('hole-between', two((0, 4), (8, 12), bytes(12)), 108, 'b',
                'data bytes 4 to 7 before it belong to no tensor')
    safetensors('range-at-end-of-64-bits', one(entry(offsets=(last - 4, last))), 55, 'w',
                'data bytes 0 to 9223372036854775802 before it belong to no tensor')
    safetensors('same-range-twice', two((0, 4), (0, 4), bytes(4)), 108, 'b',
                'its bytes from 0 on overlap those of "a", which end at 4')
    safetensors('ranges-overlap', two((0, 4), (2, 6), bytes(6)), 108, 'b',
                'its bytes from 2 on overlap those of "a", which end at 4')
    safetensors('ranges-overlap-out-of-order', two((2, 6), (0, 4), bytes(6)), 55, 'a',
                'its bytes from 2 on overlap those of "b", which end at 4')
    empty = container({'a': entry(), 'b': entry(shape=(0,), offsets=(2, 2))}, bytes(4))
    safetensors('empty-tensor-within-another', empty, 108, 'b', 'its bytes from 2 on overlap those of "a", which end at 4')
    safetensors('data-truncated', two((0, 4), (4, 8), bytes(6)), 121, '', 'truncated: needs 8 data bytes, has 6')
    safetensors('data-missing', one(entry(), b''), 62, '', 'truncated: needs 4 data bytes, has 0')
    safetensors('data-left-over', one(entry(), bytes(5)), 66, '', '1 bytes after the last tensor belong to none')
    safetensors('data-without-tensors', container('{}', bytes(3)), 10, '', '3 bytes after the last tensor belong to none')


# ---- numpy ----

PLAIN = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"


def npy_bytes(header, data=bytes(8), version=(1, 0), length=None):
    """An array file; the header's text is padded as numpy does unless it already ends with a newline."""
    header = header.encode('latin1')
    wide = version[0] > 1
    if not header.endswith(b'\n'):
        header += b' ' * (-(len(header) + (13 if wide else 11)) % 64) + b'\n'
    size = struct.pack('<I' if wide else '<H', len(header) if length is None else length)
    return b'\x93NUMPY' + bytes(version) + size + header + data


def npy(name, content, offset, sentence, status='format', tensor=None):
    row(name + '.npy', content, status, offset, name if tensor is None else tensor, sentence)


def npy_descr(descr):
    return npy_bytes(PLAIN.replace("'<f4'", descr))


def npy_shape(shape):
    return npy_bytes(PLAIN.replace('(2,)', shape))


def make_npy():
    npy('mark-only', b'\x93NUMPY', 0, 'the npy header is truncated')
    npy('version-4', npy_bytes(PLAIN, version=(4, 0)), 6, 'version 4.0 of the npy format, only 1.0, 2.0 and 3.0 are read',
        'unsupported')
    npy('version-1.1', npy_bytes(PLAIN, version=(1, 1)), 6, 'version 1.1 of the npy format, only 1.0, 2.0 and 3.0 are read',
        'unsupported')
    npy('header-past-end', npy_bytes(PLAIN, length=200), 8, 'the npy header is truncated')
    npy('header-over-limit', npy_bytes(PLAIN, version=(2, 0), length=65537), 8,
        'npy header of 65537 bytes, at most 65536 are read')
    npy('header-of-4-gigabytes', npy_bytes(PLAIN, version=(3, 0), length=(1 << 32) - 1), 8,
        'npy header of 4294967295 bytes, at most 65536 are read')
    npy('header-is-list', npy_bytes('[]'), 10, 'the npy header is no dictionary')
    npy('header-does-not-end', npy_bytes("{'descr': '<f4',\n"), 27, 'expected a string in the npy header')
    npy('header-followed-by-text', npy_bytes(PLAIN + ' x'), 68, 'something follows the dictionary of the npy header')
    npy('comma-missing', npy_bytes(PLAIN.replace("False, ", "False ")), 50, "expected ',' or '}' in the npy header")
    npy('colon-missing', npy_bytes(PLAIN.replace(':', ' ', 1)), 20, "expected ':' in the npy header")
    npy('key-unknown', npy_bytes(PLAIN.replace("'shape'", "'shapes'")), 59, "unknown key 'shapes' in the npy header")
    npy('key-twice', npy_bytes(PLAIN.replace("'fortran_order': False", "'descr': '<f4'")), 34,
        'a key appears twice in the npy header')
    npy('descr-missing', npy_bytes("{'fortran_order': False, 'shape': (2,)}"), 10, 'the npy header has no descr')
    npy('order-missing', npy_bytes("{'descr': '<f4', 'shape': (2,)}"), 10, 'the npy header has no fortran_order')
    npy('shape-key-missing', npy_bytes("{'descr': '<f4', 'fortran_order': False}"), 10, 'the npy header has no shape')
    npy('order-is-number', npy_bytes(PLAIN.replace('False', '0')), 44, 'fortran_order must be True or False')
    npy('string-does-not-end', npy_bytes("{'descr\n"), 17, 'unexpected character in a string of the npy header')
    npy('string-with-escape', npy_descr("'<f\\x34'"), 23, 'unexpected character in a string of the npy header')
    npy('shape-is-list', npy_shape('[2]'), 60, 'the shape must be a tuple of whole numbers')
    npy('shape-no-tuple', npy_shape('(2)'), 63, 'the shape is no tuple: (6) is a number, (6,) is one')
    npy('shape-negative-number', npy_shape('(-2,)'), 61, 'the shape must be a tuple of whole numbers')
    npy('shape-with-two-commas', npy_shape('(2,,)'), 63, 'the shape must be a tuple of whole numbers')
    npy('shape-with-type-name', npy_shape('(np.int64(2),)'), 61, 'the shape must be a tuple of whole numbers')
    npy('shape-beyond-64-bits', npy_shape('(9223372036854775808,)'), 80, 'a dimension of the shape is beyond 2^63-1')
    npy('shape-product-overflows', npy_shape('(4294967296, 4294967296)'), 60, "the shape's size in bits does not fit 64 bits")
    npy('shape-overflow-behind-zero', npy_shape('(0, 4611686018427387904, 8)'), 60,
        "the shape's size in bits does not fit 64 bits")
    npy('dimensions-9', npy_shape('(1, 1, 1, 1, 1, 1, 1, 1, 2)'), 60, 'a tensor of 9 dimensions, at most 8 are read',
        'unsupported')
    npy('object-array', npy_descr("'|O'"), 24, "dtype '|O': an object array holds pickled Python objects, which are not read",
        'unsupported')
    npy('structured-array', npy_descr("[('x', '<f4')]"), 20, 'a structured array: only arrays of one number type are read',
        'unsupported')
    npy('text-array', npy_descr("'<U5'"), 25, "dtype '<U5': an array of text", 'unsupported')
    npy('bytes-array', npy_descr("'|S5'"), 25, "dtype '|S5': an array of byte strings", 'unsupported')
    npy('date-array', npy_descr("'<M8[ns]'"), 29, "dtype '<M8[ns]': an array of dates", 'unsupported')
    npy('descr-f1', npy_descr("'<f1'"), 25, "dtype '<f1': it may be any FP8 type: save the codes as uint8 "
        '(array.view(numpy.uint8)) and say which they are (--as NAME=e4m3fn)', 'unsupported')
    npy('descr-f16', npy_descr("'<f16'"), 26, "dtype '<f16' is not read", 'unsupported')
    npy('descr-of-native-order', npy_descr("'=f4'"), 25, "dtype '=f4' is not read", 'unsupported')
    npy('descr-without-order', npy_descr("'|f4'"), 25, "dtype '|f4' is not read", 'unsupported')
    npy('descr-empty', npy_descr("''"), 22, "dtype '' is not read", 'unsupported')
    npy('untyped-bytes', npy_bytes(PLAIN.replace('<f4', '|V1'), bytes(2)), -1,
        'the file names no type for these elements of 1 byte(s), which is ambiguous: say which (--as NAME=e4m3fn)', 'dtype')
    npy('untyped-pairs', npy_bytes(PLAIN.replace('<f4', '|V2'), bytes(4)), -1,
        'the file names no type for these elements of 2 byte(s), which is ambiguous: say which (--as NAME=bf16)', 'dtype')
    npy('data-truncated', npy_bytes(PLAIN, bytes(7)), 135, 'truncated: needs 8 data bytes, has 7')
    npy('data-left-over', npy_bytes(PLAIN, bytes(9)), 136, '1 bytes follow the array')
    npy('data-of-2-to-59-bytes', npy_shape('(144115188075855872,)'), 136,
        'truncated: needs 576460752303423488 data bytes, has 8')


# ---- zip and npz ----

def deflated(content, last=True):
    """Raw deflate in stored blocks: what every inflater reads, and the same bytes everywhere."""
    block = struct.pack('<BHH', last, len(content), len(content) ^ 0xFFFF)
    return block + content


def zip_entry(name, content=b'', data=None, **others):
    """An entry, deflated where `data` is its packed content; `others` overrides what both headers say, and
    with local_ or central_ before it what one of them says."""
    name = name.encode() if isinstance(name, str) else name
    fields = {'flags': 0, 'method': 0 if data is None else 8, 'crc': zlib.crc32(content), 'name': name,
              'packed': len(content if data is None else data), 'unpacked': len(content), 'extra': b''}
    local, central = dict(fields), dict(fields)
    for key, value in others.items():
        side, _, field = key.partition('_')
        for target, sides in ((local, 'local'), (central, 'central')):
            if side not in ('local', 'central'):
                target[key] = value
            elif side == sides:
                target[field] = value
    return local, central, content if data is None else data


def common_fields(f):
    return struct.pack('<HHHHHIIIHH', 20, f['flags'], f['method'], 0, 0x21, f['crc'], f['packed'], f['unpacked'],
                       len(f['name']), len(f['extra']))


def archive(*entries, comment=b'', **end):
    """The bytes of a zip file; `end` overrides fields of the end record."""
    body, directory = b'', b''
    for local, central, data in entries:
        offset = central.get('offset', len(body))
        directory += b'PK\1\2' + struct.pack('<H', 20) + common_fields(central)
        directory += struct.pack('<HHHII', 0, 0, 0, 0, offset) + central['name'] + central['extra']
        body += local.get('mark', b'PK\3\4') + common_fields(local) + local['name'] + local['extra'] + data
    f = {'disk': 0, 'count': len(entries), 'size': len(directory), 'offset': len(body), **end}
    tail = struct.pack('<HHHHIIH', f['disk'], f['disk'], f['count'], f['count'], f['size'], f['offset'], len(comment))
    return body + directory + f.get('between', b'') + b'PK\5\6' + tail + comment


def npz(name, content, offset, tensor, sentence, status='format'):
    row(name + '.npz', content, status, offset, tensor, sentence)


def make_zip():
    array = npy_bytes(PLAIN)
    a, b = zip_entry('a.npy', array), zip_entry('b.npy', array)
    whole = archive(a)
    directory = whole.index(b'PK\1\2')
    end = whole.index(b'PK\5\6')
    no_end = 'the zip archive has no end record: it is truncated or something follows it'
    npz('zip-truncated', whole[:-1], len(whole) - 1, '', no_end)
    npz('zip-followed-by-a-byte', whole + b'\0', len(whole) + 1, '', no_end)
    npz('zip-of-two-disks', archive(a, disk=1), end, '', 'a zip archive of several disks', 'unsupported')
    npz('zip-directory-size', archive(a, size=end - directory - 1), end, '',
        f'the zip directory of {end - directory - 1} bytes at {directory} does not end at its end record')
    npz('zip-directory-offset-max', archive(a, offset=0xFFFFFFFF), end, '',
        f'the zip directory of {end - directory} bytes at 4294967295 does not end at its end record')
    npz('zip-gap-before-end-record', archive(a, between=b'gap'), end + 3, '',
        f'the zip directory of {end - directory} bytes at {directory} does not end at its end record')
    npz('zip-count-too-large', archive(a, count=2), end, '', f'2 entries do not fit a zip directory of {end - directory} bytes')
    npz('zip-count-too-small', archive(a, b, count=1), archive(a, b).index(b'PK\1\2') + 51, '',
        'the zip directory holds more than its 1 entries')
    npz('zip-directory-mark', whole.replace(b'PK\1\2', b'PK\1\3'), directory, '', 'no zip directory record here')
    long_name = whole[:directory + 28] + b'\xff\xff' + whole[directory + 30:]
    npz('zip-name-past-end', long_name, directory, '', "a zip directory record runs past the directory's end")
    locator = b'PK\6\7' + struct.pack('<IQI', 0, 1 << 63, 1)
    npz('zip64-record-missing', archive(a, between=locator), end, '', 'no ZIP64 end record where its locator says')
    npz('zip64-of-two-disks', archive(a, between=b'PK\6\7' + struct.pack('<IQI', 1, 0, 2)), end, '',
        'a zip archive of several disks', 'unsupported')
    record = b'PK\6\6' + struct.pack('<QHHIIQQQQ', 44, 45, 45, 0, 0, 1 << 40, 1 << 40, end - directory, directory)
    npz('zip64-count-2-to-40', archive(a, between=record + b'PK\6\7' + struct.pack('<IQI', 0, end, 1)), end, '',
        'a zip archive of 1099511627776 entries, at most 1000000 are read')
    make_zip_entries(array)
    make_zip_data(array)


def make_zip_entries(array):
    size = len(array)
    def one_entry(name, offset, sentence, status='format', tensor='a.npy', **others):
        npz(name, archive(zip_entry('a.npy', array, **others)), offset, tensor, sentence, status)
    start = 30 + len('a.npy') + size
    one_entry('zip-entry-encrypted', start, 'the zip entry is encrypted', 'unsupported', flags=1)
    one_entry('zip-entry-method-12', start, 'zip compression method 12 is not read, only stored and deflated entries',
              'unsupported', method=12)
    one_entry('zip-entry-without-zip64-sizes', start, 'the zip entry lacks its ZIP64 sizes', packed=0xFFFFFFFF)
    one_entry('zip-entry-short-zip64-sizes', start, 'the zip entry lacks its ZIP64 sizes', packed=0xFFFFFFFF,
              unpacked=0xFFFFFFFF, central_extra=struct.pack('<HHQ', 1, 8, size))
    one_entry('zip-entry-zip64-2-to-63', start, 'a stored zip entry of two different sizes', unpacked=0xFFFFFFFF,
              central_extra=struct.pack('<HHQ', 1, 8, 1 << 63))
    one_entry('zip-entry-stored-with-two-sizes', start, 'a stored zip entry of two different sizes', unpacked=size + 1)
    one_entry('zip-entry-ratio', start, f'a zip entry of {size} bytes cannot unpack to 300000', method=8, unpacked=300000)
    one_entry('zip-entry-over-64-gigabytes', start,
              'a compressed zip entry of 68719476737 bytes, at most 68719476736 are unpacked', 'unsupported', method=8,
              packed=0x10000000, unpacked=0xFFFFFFFF, central_extra=struct.pack('<HHQ', 1, 8, (1 << 36) + 1))
    no_name = "a zip entry's name is empty or holds a NUL"
    npz('zip-entry-without-name', archive(zip_entry('', array)), 30 + size, '', no_name)
    npz('zip-entry-name-with-nul', archive(zip_entry('a\0.npy', array)), 36 + size, '', no_name)
    npz('zip-entry-name-not-utf-8', archive(zip_entry(b'\xff.npy', array)), 35 + 128, '', "a tensor's name is not valid UTF-8")
    one_entry('zip-local-header-elsewhere', 1, 'no local zip header where the directory says', central_offset=1)
    one_entry('zip-local-header-past-end', 0xFFFFFFFE, 'no local zip header where the directory says',
              central_offset=0xFFFFFFFE)
    npz('zip-local-header-mark', archive(zip_entry('a.npy', array), zip_entry('b.npy', array, local_mark=b'PK\3\5')),
        35 + size, 'b.npy', 'no local zip header where the directory says')
    one_entry('zip-local-name-differs', 0, 'the local zip header names another entry than the directory', local_name=b'b.npy')
    one_entry('zip-local-crc-differs', 0, 'the local zip header and the directory differ', local_crc=1)
    one_entry('zip-local-size-differs', 0, 'the local zip header and the directory differ', local_packed=1)
    one_entry('zip-local-flags-differ', 0, 'the local zip header and the directory differ', local_flags=8)
    one_entry('zip-entry-runs-into-directory', 35, "the zip entry's bytes run into the directory", packed=size + 1,
              unpacked=size + 1)
    again = zip_entry('b.npy', array)
    again[1]['offset'] = 0
    again[1]['name'] = b'a.npy'
    npz('zip-entries-on-same-bytes', archive(zip_entry('a.npy', array), again), 0, 'a.npy',
        'the zip entry lies on the bytes of another')
    npz('zip-name-twice', archive(zip_entry('a.npy', array), zip_entry('a.npy', array)), 35 + size, 'a.npy',
        'two zip entries have this name')


def make_zip_data(array):
    size = len(array)
    def one_entry(name, offset, tensor, sentence, data=None, **others):
        npz(name, archive(zip_entry('a.npy', array, data, **others)), offset, tensor, sentence)
    crc = zlib.crc32(array)
    wrong = f'the zip entry is damaged: its CRC-32 is {crc:08x}, the directory says 00000001'
    one_entry('zip-crc-stored', 35, 'a.npy', wrong, crc=1)
    one_entry('zip-crc-deflated', 35, 'a.npy', wrong, deflated(array), crc=1)
    # the offset of damaged data is where the inflater stopped: behind the byte it could not use
    one_entry('zip-deflate-block-type', 36, 'a.npy', 'the compressed data of the zip entry is damaged', b'\x07' + bytes(size))
    one_entry('zip-deflate-truncated', 35 + 5 + size - 1, 'a.npy', 'the compressed data of the zip entry is truncated',
              deflated(array)[:-1])
    exact = f'the zip entry does not unpack to exactly its {size} bytes'
    one_entry('zip-deflate-too-short', 35, 'a.npy', exact, deflated(array[:-4]))
    one_entry('zip-deflate-too-long', 35, 'a.npy', exact, deflated(array + b'x'))
    one_entry('zip-deflate-followed-by-byte', 35, 'a.npy', exact, deflated(array) + b'x')
    npz('zip-without-arrays', archive(zip_entry('word/document.xml', b'<xml/>')), -1, '',
        'is a zip archive without .npy entries and without data.pkl: neither npz nor .pt')
    npz('member-is-object-array', archive(zip_entry('a.npy', npy_descr("'|O'"))), 35 + 24, 'a',
        "dtype '|O': an object array holds pickled Python objects, which are not read", 'unsupported')
    npz('member-truncated', archive(zip_entry('a.npy', array[:-1])), 35 + size - 1, 'a', 'truncated: needs 8 data bytes, has 7')
    npz('member-truncated-deflated', archive(zip_entry('a.npy', array[:-1], deflated(array[:-1]))), -1, 'a',
        'truncated: needs 8 data bytes, has 7')
    npz('member-is-no-array', archive(zip_entry('a.npy', b'not an array at all')), 35, 'a',
        "is no npy file: it lacks numpy's mark")
    npz('member-of-untyped-bytes', archive(zip_entry('a.npy', npy_bytes(PLAIN.replace('<f4', '|V1'), bytes(2)))), -1, 'a',
        'the file names no type for these elements of 1 byte(s), which is ambiguous: say which (--as NAME=e4m3fn)', 'dtype')


# ---- torch's .pt ----

def name_of(module, name):
    return b'c' + module.encode() + b'\n' + name.encode() + b'\n'


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return b'X' + struct.pack('<I', len(value)) + value


def number(value):
    if 0 <= value < 256:
        return b'K' + bytes([value])
    if -(1 << 31) <= value < 1 << 31:
        return b'J' + struct.pack('<i', value)
    return b'\x8a\x08' + struct.pack('<q', value)


def group(*items):
    return b'(' + b''.join(items) + b't'


def numbers(*values):
    return group(*map(number, values))


def storage(kind='FloatStorage', key='0', size=4, module='torch'):
    return group(text('storage'), name_of(module, kind), text(key), text('cpu'), number(size)) + b'Q'


NO_HOOKS = b'\x89' + name_of('collections', 'OrderedDict') + b')R'
REBUILD = name_of('torch._utils', '_rebuild_tensor_v2')


def tensor(on=None, offset=number(0), shape=numbers(4), stride=numbers(1), more=b''):
    """_rebuild_tensor_v2 on a storage of four floats."""
    return REBUILD + group(storage() if on is None else on, offset, shape, stride, NO_HOOKS, more) + b'R'


def dictionary(*pairs):
    return b'}(' + b''.join(text(key) + value for key, value in pairs) + b'u'


def pickled(value, protocol=2):
    return b'\x80' + bytes([protocol]) + value + b'.'


def pt_archive(pickle, **others):
    entries = [zip_entry('x/data.pkl', pickle)]
    others = others or {'data/0': bytes(16)}
    entries += [zip_entry('x/' + name, content) for name, content in others.items()]
    return archive(*entries)


def pt(name, pickle, at, tensor_name, sentence, status='format', **others):
    """`at` is a byte offset in the pickle, or bytes that are found once in it."""
    content = pt_archive(pickle, **others)
    if at is None:
        offset = -1
    else:
        if isinstance(at, bytes):
            assert pickle.count(at) == 1, (name, at, pickle)
            at = pickle.index(at)
        offset = content.index(b'x/data.pkl') + len('x/data.pkl') + at
    row(name + '.pt', content, status, offset, tensor_name, sentence)


def make_pt():
    again = 'load it and torch.save() it again'
    row('legacy-format.pt', b'\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.', 'unsupported', 0, '',
        f'a .pt file in the format of torch before 1.6, one pickle without zip: {again}')
    row('bare-pickle.pt', pickled(dictionary(('x', number(1)))), 'unsupported', 0, '',
        f'a bare Python pickle, not a zip-based .pt: {again}')
    row('two-pickles.pt', archive(zip_entry('a/data.pkl', pickled(b'N')), zip_entry('b/data.pkl', pickled(b'N'))), 'format',
        -1, '', 'the archive holds 2 data.pkl, a .pt file has one')
    order = pt_archive(pickled(tensor()), **{'data/0': bytes(16), 'byteorder': b'middle'})
    row('byte-order-middle.pt', order, 'format', order.index(b'middle'), '',
        'the byteorder record says neither little nor big')
    make_calls()
    make_machines()
    make_tensors()
    make_names()
    make_arrays()


def make_calls():
    def refused(name, pickle, at, named):
        pt(name, pickle, at, '', f'the pickle names {named}, which is none of what a file of tensors needs: nothing was run',
           'unsupported')
    refused('calls-os-system', pickled(name_of('os', 'system') + group(text('touch pwned')) + b'R'), 2, 'os.system')
    refused('calls-posix-system', pickled(name_of('posix', 'system') + group(text('touch pwned')) + b'R'), 2, 'posix.system')
    refused('calls-builtins-eval', pickled(b'\x8c\x08builtins\x8c\x04eval\x93' + text('1') + b'\x85R', 4), b'\x93',
            'builtins.eval')
    refused('calls-getattr', pickled(name_of('builtins', 'getattr') + b'.'), 2, 'builtins.getattr')
    refused('names-sparse-tensor', pickled(name_of('torch._utils', '_rebuild_sparse_tensor')), 2,
            'torch._utils._rebuild_sparse_tensor')
    refused('names-namespace', pickled(name_of('argparse', 'Namespace') + b')\x81'), 2, 'argparse.Namespace')
    refused('names-dotted-path', pickled(b'\x8c\x05torch\x8c\x0dserialization\x93', 4), b'\x93', 'torch.serialization')
    refused('names-with-control-characters', pickled(name_of('o\x1b[2Js', 'sy\0stem')), 2, 'o?[2Js.sy?stem')
    refused('names-very-long', pickled(name_of('m' * 300, 'x')), 2, 'm' * 159)
    packed = pickled(name_of('os', 'system'))
    row('calls-os-system-deflated.pt', archive(zip_entry('x/data.pkl', packed, deflated(packed))), 'unsupported', -1, '',
        'the pickle names os.system, which is none of what a file of tensors needs: nothing was run')
    pt('instance-opcode', pickled(b'(ios\nsystem\n'), 3, '', 'pickle opcode 0x69, which no writer of tensors uses',
       'unsupported')
    pt('extension-opcode', pickled(b'\x82\x01'), 2, '', 'pickle opcode 0x82, which no writer of tensors uses', 'unsupported')
    pt('persistent-id-as-text', pickled(b'P0\n'), 2, '', 'pickle opcode 0x50, which no writer of tensors uses', 'unsupported')
    pt('calls-a-string', pickled(text('os.system') + b')R'), b'R', '', 'the pickle calls what is no name')
    pt('calls-without-tuple', pickled(REBUILD + b']R'), b'R', '', 'the pickle calls with what is no tuple')
    pt('names-with-numbers', pickled(b'K\1K\2\x93', 4), b'\x93', '', 'the pickle names something with what are no strings')


def make_machines():
    ends, empty = 'the pickle ends within a value', 'the pickle takes a value from an empty stack'
    pt('pickle-empty', b'', 0, '', 'the pickle ends without its STOP')
    pt('pickle-protocol-0', b"(dp0\n.", 0, '', 'a pickle of protocol 0 or 1, only 2 to 5 are read', 'unsupported')
    pt('pickle-protocol-6', pickled(b'N', 6), 0, '', 'pickle protocol 6, only 2 to 5 are read', 'unsupported')
    pt('pickle-protocol-twice', pickled(b'\x80\x02N'), 2, '', 'the pickle states its protocol again')
    pt('pickle-without-stop', pickled(b'N')[:-1], 3, '', 'the pickle ends without its STOP')
    pt('pickle-followed-by-byte', pickled(b'N') + b'N', 3, '', 'something follows the pickle')
    pt('pickle-of-two-values', pickled(b'NN'), 4, '', 'the pickle leaves more or less than one value')
    pt('pickle-of-no-value', pickled(b''), 2, '', 'the pickle leaves more or less than one value')
    pt('pickle-open-mark', pickled(b'N('), 4, '', 'the pickle leaves more or less than one value')
    pt('pickle-number-cut-off', pickled(b'J\1\1')[:-1], 2, '', ends)
    pt('pickle-string-past-end', pickled(b'X\xff\xff\xff\xffab'), 2, '', ends)
    pt('pickle-string-of-2-to-63', pickled(b'\x8d' + struct.pack('<Q', 1 << 63) + b'ab'), 2, '', ends)
    pt('pickle-name-cut-off', pickled(b'ctorch\nFloat')[:-1], 2, '', ends)
    pt('pickle-string-not-utf-8', pickled(text(b'\xed\xa0\x80')), 2, '', 'a string of the pickle is not valid UTF-8')
    pt('pickle-frame-past-end', pickled(b'\x95' + struct.pack('<Q', 100) + b'N', 4), 2, '',
       'a frame of the pickle runs past its end')
    pt('pickle-integer-of-9-bytes', pickled(b'\x8a\x09' + bytes(9)), 2, '', 'the pickle holds an integer beyond 64 bits',
       'unsupported')
    pt('pickle-set', pickled(b'\x8f', 4), 2, '', 'the pickle holds a set, which is none of what a file of tensors needs',
       'unsupported')
    pt('pickle-frozen-set', pickled(b'(\x91', 4), 3, '',
       'the pickle holds a set, which is none of what a file of tensors needs', 'unsupported')
    pt('pickle-outside-buffer', pickled(b'\x97', 5), 2, '', "the pickle's bytes are in a buffer outside of it", 'unsupported')
    pt('pickle-pops-nothing', pickled(b'0N'), 2, '', empty)
    pt('pickle-sets-one-item-of-nothing', pickled(b'K\1s'), 4, '', empty)
    pt('pickle-tuple-of-too-few', pickled(b'N\x87'), 3, '', empty)
    pt('pickle-takes-below-mark', pickled(b'N(\x85'), 4, '', empty)
    pt('pickle-remembers-nothing', pickled(b'q\0N'), 2, '', empty)
    pt('pickle-closes-nothing', pickled(b't'), 2, '', 'the pickle closes what it never opened')
    pt('pickle-appends-to-nothing', pickled(b'(K\1e'), 5, '', 'the pickle appends to what is no list')
    pt('pickle-appends-to-dict', pickled(b'}K\1a'), 5, '', 'the pickle appends to what is no list')
    pt('pickle-sets-item-of-list', pickled(b']K\1K\2s'), 7, '', 'the pickle sets an item of what is no dictionary')
    pt('pickle-key-without-value', pickled(b'}(K\1u'), 6, '', 'a dictionary of the pickle has a key without a value')
    pt('pickle-recalls-nothing', pickled(b'h\0'), 2, '', 'the pickle recalls a value it never remembered')
    pt('pickle-recall-cut-off', pickled(b'Nq\0h')[:-1], 5, '', ends)
    pt('pickle-recalls-gap', pickled(b'Nq\2h\1'), 5, '', 'the pickle recalls a value it never remembered')
    pt('pickle-remembers-at-4-billion', pickled(b'Nr\xff\xff\xff\xff'), 3, '',
       'the pickle remembers a value under an absurd number')
    pt('pickle-state-of-number', pickled(b'K\1}b'), 5, '', 'the pickle sets the state of a plain value')
    pt('pickle-state-of-nothing', pickled(b'}b'), 3, '', empty)
    pt('pickle-frame-cut-off', pickled(b'\x95' + bytes(3), 4)[:-1], 2, '', ends)
    pt('pickle-marks-nested-deep', pickled(b'(' * 65), 66, '', 'the pickle is nested deeper than 64 levels')
    ordered = name_of('collections', 'OrderedDict')
    pt('ordered-dict-of-number', pickled(ordered + b'K\1\x85R'), b'R', '',
       'an OrderedDict made of something other than a list of pairs', 'unsupported')
    pt('ordered-dict-of-two-arguments', pickled(ordered + b']]\x86R'), b'R', '',
       'an OrderedDict made of something other than a list of pairs', 'unsupported')
    pt('ordered-dict-of-singles', pickled(ordered + b'](K\1\x85e\x85R'), b'R', '', 'an OrderedDict made of what are no pairs')
    encode = name_of('_codecs', 'encode')
    pt('encode-as-utf-8', pickled(encode + group(text('a'), text('utf-8')) + b'R'), b'R', '',
       '_codecs.encode of something other than a text as latin1', 'unsupported')
    pt('encode-no-bytes', pickled(encode + group(text('\u0100'), text('latin1')) + b'R'), b'R', '',
       '_codecs.encode of characters that are no bytes')
    bomb = b'](' + encode + b'q\0' + group(text('a' * 200), text('latin1')) + b'q\1R' + b'h\0h\1R' * 20 + b'e'
    pt('encode-again-and-again', pickled(bomb), pickled(bomb).index(b'h\0h\1R') + 4, '', 'the pickle decodes a text twice')


def make_tensors():
    def one(name, value, at, sentence, status='format', **others):
        pt(name, pickled(dictionary(('w', value))), at, 'w', sentence, status, **others)

    def call_at(value):
        """The offset of the last call, which makes the tensor."""
        return pickled(dictionary(('w', value))).rindex(b'R')
    def on(kind='FloatStorage', key='0', size=4, module='torch'):
        return tensor(storage(kind, key, size, module))
    key = text('1')
    one('storage-missing', on(key='1'), key, 'the archive has no entry x/data/1 for a storage')
    one('storage-key-with-path', on(key='../data/0'), text('../data/0'),
        'the archive has no entry x/data/../data/0 for a storage')
    def id_at(value):
        return pickled(dictionary(('w', value))).index(b'Q') - 1
    fits = 'a storage of {} elements of {} does not fit its entry of 16 bytes'
    one('storage-too-large', on(size=5), id_at(on()), fits.format(5, 'F32'))
    one('storage-too-small', on(size=3), id_at(on()), fits.format(3, 'F32'))
    big = on(size=1 << 62)
    one('storage-size-overflows', big, id_at(big), fits.format(1 << 62, 'F32'))
    half = on('HalfStorage')
    one('storage-of-other-type', half, id_at(half), fits.format(4, 'F16'))
    negative = on(size=-4)
    one('storage-size-negative', negative, b'J\xfc\xff\xff\xff', 'the size of a storage must be a whole number of at least 0')
    no_storage = 'a storage must be (\'storage\', type, key, device, size)'
    bare = tensor(text('0') + b'Q')
    one('storage-id-is-string', bare, b'Q', "a tensor's storage is no storage")
    module = tensor(group(text('module'), name_of('torch', 'FloatStorage'), text('0'), text('cpu'), number(4)) + b'Q')
    one('storage-id-of-module', module, id_at(module), no_storage)
    short = tensor(group(text('storage'), name_of('torch', 'FloatStorage'), text('0'), text('cpu')) + b'Q')
    one('storage-id-of-4', short, id_at(short), no_storage)
    dtype = tensor(group(text('storage'), name_of('torch', 'float32'), text('0'), text('cpu'), number(4)) + b'Q')
    one('storage-type-is-dtype', dtype, id_at(dtype), no_storage)
    key_number = tensor(group(text('storage'), name_of('torch', 'FloatStorage'), number(7), text('cpu'), number(4)) + b'Q')
    one('storage-key-is-number', key_number, b'K\7', 'the key of a storage must be a string')
    one('storage-is-number', tensor(number(7)), b'K\7', "a tensor's storage is no storage")
    make_views(one, call_at)
    make_rebuilds(one, call_at)


def make_views(one, call_at):
    beyond = 'a tensor reaches beyond the end of its storage'
    for name, value in {
            'view-one-too-long': tensor(shape=numbers(5)),
            'view-offset-one-too-far': tensor(offset=number(1)),
            'view-stride-too-far': tensor(shape=numbers(2, 2), stride=numbers(3, 1)),
            'view-offset-2-to-62': tensor(offset=number(1 << 62)),
            'view-offset-overflows': tensor(offset=number((1 << 63) - 1), shape=numbers(2)),
            'view-stride-overflows': tensor(shape=numbers(3, 2), stride=numbers((1 << 62) + 1, 1)),
            'view-reach-is-2-to-63': tensor(offset=number((1 << 63) - 1), shape=numbers(1)),
    }.items():
        one(name, value, call_at(value), beyond)
    value = tensor(shape=numbers(1 << 40), stride=numbers(0))
    one('view-repeats-2-to-40', value, call_at(value), 'a tensor that repeats its storage without end', 'unsupported')
    value = tensor(shape=numbers(1 << 62, 4), stride=numbers(0, 0))
    one('view-elements-overflow', value, call_at(value), "the shape's size in bits does not fit 64 bits")
    value = tensor(shape=numbers(2, 2))
    one('view-strides-missing', value, call_at(value), 'a tensor has not as many strides as dimensions')
    minus = b'J\xff\xff\xff\xff'
    one('view-offset-negative', tensor(offset=number(-1)), minus, 'the offset of a tensor must be a whole number of at least 0')
    one('view-shape-negative', tensor(shape=numbers(-1)), minus, 'the shape of a tensor must be a whole number of at least 0')
    one('view-stride-negative', tensor(stride=numbers(-1)), minus, 'the strides of a tensor must be a whole number of at least 0')
    one('view-shape-is-number', tensor(shape=number(7)), b'K\7', 'the shape of a tensor must be a tuple')
    one('view-shape-of-strings', tensor(shape=group(text('four'))), text('four'),
        'the shape of a tensor must be a whole number of at least 0')
    nine = numbers(*[1] * 8 + [7])
    one('view-of-9-dimensions', tensor(shape=nine), pickled(dictionary(('w', tensor(shape=nine)))).index(b'K\7t') + 2,
        'a tensor of 9 dimensions, at most 8 are read', 'unsupported')
    negated = dictionary(('neg', b'\x88'))
    value = tensor(more=negated)
    one('view-negated', value, pickled(dictionary(('w', value))).index(b'}(' + text('neg')),
        'a tensor with a negative or conjugate bit: save a clone of it', 'unsupported')
    few = REBUILD + group(storage(), number(0), numbers(4)) + b'R'
    one('rebuild-with-three-arguments', few, call_at(few), '_rebuild_tensor_v2 has 3 arguments, needs 4')


def make_rebuilds(one, call_at):
    third = name_of('torch._utils', '_rebuild_tensor_v3')
    value = third + group(storage(), number(0), numbers(4), numbers(1), NO_HOOKS, number(7)) + b'R'
    one('rebuild-v3-dtype-is-number', value, b'K\7', "a tensor's dtype is no dtype")
    untyped = storage('UntypedStorage', size=16, module='torch.storage')
    value = third + group(untyped, number(0), numbers(3), numbers(1), NO_HOOKS, name_of('torch', 'float64')) + b'R'
    one('rebuild-v3-beyond-untyped-storage', value, call_at(value), 'a tensor reaches beyond the end of its storage')
    parameter = name_of('torch._utils', '_rebuild_parameter')
    one('parameter-of-number', parameter + group(number(7), b'\x89') + b'R', b'K\7', 'a tensor made from what is no tensor')
    cpu = name_of('torch._utils', '_rebuild_device_tensor_from_cpu_tensor')
    one('device-tensor-dtype-is-number', cpu + group(tensor(), number(7)) + b'R', b'K\7', "a tensor's dtype is no dtype")
    value = cpu + group(tensor(), name_of('torch', 'bfloat16'), text('hpu'), b'\x89') + b'R'
    convert = 'a tensor that is to be converted to another dtype when it is loaded'
    one('device-tensor-converted', value, call_at(value), convert, 'unsupported')
    from_type = name_of('torch._tensor', '_rebuild_from_type_v2')
    value = from_type + group(number(7), name_of('torch', 'Tensor'), b')', b'N') + b'R'
    one('from-type-without-function', value, call_at(value),
        '_rebuild_from_type_v2 needs a function, a tensor type and arguments')
    value = from_type + group(name_of('torch', 'Size'), name_of('torch', 'Tensor'), b')', b'N') + b'R'
    one('from-type-of-size', value, call_at(value), 'a tensor made from what is no tensor')
    nested = REBUILD, group(storage(), number(0), numbers(4), numbers(1))
    for _ in range(70):
        nested = from_type, nested[0] + name_of('torch', 'Tensor') + nested[1] + b'\x87'
    one('types-nested-deep', b''.join(nested) + b'R', call_at(b''.join(nested) + b'R'), 'a tensor within a tensor without end')
    wrapped = tensor()
    for _ in range(70):
        wrapped = parameter + wrapped + b'\x85R'
    one('parameters-nested-deep', wrapped, pickled(dictionary(('w', wrapped))).rindex(b'R') - 2 * 65,
        'a tensor within a tensor without end')


def make_names():
    pt('key-is-tuple', pickled(b'}(' + numbers(1, 2) + b'K\3u'), b't', '',
       'a dictionary key that is neither a string nor an integer', 'unsupported')
    pt('key-with-nul', pickled(dictionary(('a\0b', tensor()))), None, '', "a tensor's name holds a NUL")
    pt('key-with-control-character', pickled(dictionary(('a\x1bb', number(1)))), None, '',
       'a metadata key holds the control character 0x1B')
    pt('key-too-long', pickled(dictionary(('k' * 5000, tensor()))), None, '',
       "a tensor's name of 5000 bytes, at most 4096 are read")
    many = pickled(dictionary(('k' * 4000, b'](' + tensor() + b'q\0' + b'h\0' * 16999 + b'e')))
    pt('names-take-too-much', many, None, '', "the tensors' names take more than 67108864 bytes")
    twice = pickled(dictionary(('a.b', tensor()), ('a', dictionary(('b', tensor())))))
    content = pt_archive(twice)
    row('name-twice-by-nesting.pt', content, 'format', content.index(b'x/data/0') + 8, 'a.b', 'two tensors have this name')
    pt('list-that-holds-itself', pickled(b']q\0h\0a'), 2, '', 'the pickle is nested too deep, or contains itself')
    # thirty lists, each holding the one before it twice: 2^30 values in 300 bytes
    lists = [b'](' + (b'NN' if level == 0 else b'h%ch%c' % (level - 1, level - 1)) + b'eq%c0' % level for level in range(30)]
    left, level = 1000001, 29  # which value is one too many: that of this number, from the top down
    while left > 1:
        left, level = left - 1, level - 1
        below = (4 << level) - 1  # values in a list of this level
        left -= below if left > below else 0
    pt('lists-that-hold-lists-twice', pickled(b''.join(lists) + b'h\x1d'), 2 + len(b''.join(lists[:level])), '',
       'the pickle unfolds to too many values')


def make_arrays():
    def numpy_array(data=b'C\x08' + bytes(8), shape=numbers(2), dtype='f4', order='<', state=None):
        made = name_of('numpy', 'dtype') + group(text(dtype), b'\x89', b'\x88') + b'R' + group(number(3), text(order)) + b'b'
        if state is None:
            state = group(number(1), shape, made, b'\x89', data)
        return name_of('numpy.core.multiarray', '_reconstruct') + group(name_of('numpy', 'ndarray'), numbers(0), b'C\1b') + \
            b'R' + state + b'b'

    def device(array, dtype='float32'):
        return name_of('torch._utils', '_rebuild_device_tensor_from_numpy') + \
            group(array, name_of('torch', dtype), text('hpu:0'), b'\x89') + b'R'

    def one(name, value, at, sentence, status='format'):
        pt(name, pickled(dictionary(('w', value))), at, 'w', sentence, status)
    size = 'the data of a numpy array are not the bytes its shape asks for'
    one('array-too-short', device(numpy_array(b'C\x07' + bytes(7))), b'C\x07', size)
    one('array-too-long', device(numpy_array(b'C\x09' + bytes(9))), b'C\x09', size)
    one('array-data-is-text', device(numpy_array(text('12345678'))), text('12345678'), size)
    value = device(numpy_array(shape=numbers(1 << 62, 1 << 62)))
    one('array-shape-overflows', value, pickled(dictionary(('w', value))).index(b't' + name_of('numpy', 'dtype')),
        "the shape's size in bits does not fit 64 bits")
    value = device(numpy_array(dtype='O8', order='|'))
    one('array-of-objects', value, pickled(dictionary(('w', value))).index(text('O8')) + len(text('O8')) + 3,
        'a numpy array of a dtype that is not read', 'unsupported')
    value = device(numpy_array(state=number(7)))
    one('array-without-state', value, pickled(dictionary(('w', value))).index(b'tRK\7b') + 1,
        'a numpy array without its shape, dtype, order and data')
    from_numpy = name_of('torch._utils', '_rebuild_device_tensor_from_numpy')
    one('array-dtype-is-number', from_numpy + group(numpy_array(), number(7)) + b'R', b'K\7t', "a tensor's dtype is no dtype")
    value = device(numpy_array(state=group(number(1), numbers(2), number(7), b'\x89', b'C\0')))
    one('array-of-dtype-7', value, b'K\7', 'the dtype of a numpy array is no dtype')
    made = name_of('numpy', 'dtype') + group(text('f4'), b'\x89', b'\x88') + b'R'
    buffer = name_of('numpy.core.numeric', '_frombuffer') + group(b'C\0', made, numbers(0), text('K')) + b'R'
    one('array-order-k', device(buffer), text('K'), "the order of a numpy array must be 'C' or 'F'")
    value = device(numpy_array(), 'float16')
    one('array-converted', value, pickled(dictionary(('w', value))).rindex(b'R'),
        'a tensor that is to be converted to another dtype when it is loaded', 'unsupported')
    value = device(numpy_array(b'C\x08' + struct.pack('<2f', 1.0, 1.001)), 'bfloat16')
    one('array-no-bf16-numbers', value, pickled(dictionary(('w', value))).rindex(b'R'),
        'a bf16 tensor saved as f32 numbers that are no bf16 numbers', 'unsupported')
    value = device(tensor())
    one('array-is-tensor', value, pickled(dictionary(('w', value))).rindex(b'R' + name_of('torch', 'float32')),
        'a tensor made from what is no numpy array')


# ---- files that are rare but right ----

def make_legal():
    make_legal_npy()
    make_legal_zip()
    make_legal_pt()


def make_legal_npy():
    numbers_of = [1.5, -2.0, 0.25, 4.0, -8.0, 0.0]
    def header(descr, shape, order=False):
        return str({'descr': descr, 'fortran_order': order, 'shape': shape})
    little, big = struct.pack('<6f', *numbers_of), struct.pack('>6f', *numbers_of)
    for version in ((1, 0), (2, 0), (3, 0)):
        name = f'version-{version[0]}'
        legal(name + '.npy', npy_bytes(header('<f4', (2, 3)), little, version), (name, 'F32', (2, 3), numbers_of))
    legal('big-endian.npy', npy_bytes(header('>f4', (2, 3)), big), ('big-endian', 'F32', (2, 3), numbers_of))
    by_column = struct.pack('<6f', *(numbers_of[i] for i in (0, 3, 1, 4, 2, 5)))
    legal('fortran-order.npy', npy_bytes(header('<f4', (2, 3), True), by_column),
          ('fortran-order', 'F32', (2, 3), numbers_of))
    cube = [i * 6 + j * 2 + k for k in range(2) for j in range(3) for i in range(2)]  # [2, 3, 2], first index fastest
    legal('fortran-order-big-endian.npy', npy_bytes(header('>i2', (2, 3, 2), True), struct.pack('>12h', *cube)),
          ('fortran-order-big-endian', 'I16', (2, 3, 2), list(range(12))))
    legal('fortran-order-empty.npy', npy_bytes(header('<f8', (3, 0, 2), True), b''),
          ('fortran-order-empty', 'F64', (3, 0, 2), []))
    for descr, dtype, code, values in (
            ('|b1', 'BOOL', '3?', [0, 1, 1]), ('|i1', 'I8', '3b', [-128, 0, 127]), ('|u1', 'U8', '3B', [0, 56, 255]),
            ('<i2', 'I16', '<3h', [-32768, 0, 32767]), ('<u2', 'U16', '<3H', [0, 1, 65535]),
            ('<i4', 'I32', '<3i', [-2147483648, 0, 2147483647]), ('<u4', 'U32', '<3I', [0, 1, 4294967295]),
            ('<i8', 'I64', '<3q', [-9007199254740992, 0, 9007199254740992]), ('<u8', 'U64', '<3Q', [0, 1, 9007199254740992]),
            ('<f2', 'F16', '<3e', [0.5, -65504.0, 0.0000152587890625]), ('>f8', 'F64', '>3d', [0.1, -1e300, 5e-324]),
            ('>u2', 'U16', '>3H', [0, 1, 65534])):
        name = 'dtype-' + dtype.lower() + ('-big-endian' if descr[0] == '>' else '')
        legal(name + '.npy', npy_bytes(header(descr, (3,)), struct.pack(code, *values)), (name, dtype, (3,), values))
    odd = "{ \"shape\" :(2L ,3L,) ,'fortran_order' : False,\n 'descr':\"<f4\" , }\n"
    legal('header-spelled-oddly.npy', npy_bytes(odd, little), ('header-spelled-oddly', 'F32', (2, 3), numbers_of))
    eight = (1, 1, 1, 1, 1, 1, 2, 3)
    legal('dimensions-8.npy', npy_bytes(header('<f4', eight), little), ('dimensions-8', 'F32', eight, numbers_of))
    legal('scalar.npy', npy_bytes(header('<f4', ()), struct.pack('<f', 5.0)), ('scalar', 'F32', (), [5.0]))


def make_legal_zip():
    array = npy_bytes(PLAIN, struct.pack('<2f', 1.0, 2.0))
    size, a = len(array), ('a', 'F32', (2,), [1.0, 2.0])
    in_extra, both = 0xFFFFFFFF, struct.pack('<HHQQ', 1, 16, size, size)
    legal('empty.npz', archive())
    legal('comment.npz', archive(zip_entry('a.npy', array), comment=b'made by hand: PK\5\6 is not the end'), a)
    legal('deflated.npz', archive(zip_entry('a.npy', array, deflated(array[:50], False) + deflated(array[50:]))), a)
    legal('sizes-behind-data.npz', archive(zip_entry('a.npy', array, flags=8, local_crc=0, local_packed=0, local_unpacked=0)), a)
    wide = struct.pack('<HHQQ', 1, 16, 0, 0)
    legal('sizes-behind-data-zip64.npz', archive(zip_entry('a.npy', array, flags=8, local_crc=0, local_packed=in_extra,
                                                           local_unpacked=in_extra, local_extra=wide)), a)
    legal('zip64-local.npz', archive(zip_entry('a.npy', array, local_packed=in_extra, local_unpacked=in_extra, local_extra=both)), a)
    other = struct.pack('<HH4s', 0x4246, 4, b'ZZZZ')
    offset = struct.pack('<HHQQQ', 1, 24, size, size, 0)
    legal('zip64-directory.npz', archive(zip_entry('a.npy', array, central_packed=in_extra, central_unpacked=in_extra,
                                                   central_offset=in_extra, local_extra=other, central_extra=other + offset)), a)
    one = archive(zip_entry('a.npy', array))
    start, end = one.index(b'PK\1\2'), one.index(b'PK\5\6')
    record = b'PK\6\6' + struct.pack('<QHHIIQQQQ', 44, 45, 45, 0, 0, 1, 1, end - start, start)
    legal('zip64-end-record.npz', archive(zip_entry('a.npy', array), count=0xFFFF, size=in_extra, offset=in_extra,
                                          between=record + b'PK\6\7' + struct.pack('<IQI', 0, end, 1)), a)
    legal('other-entries.npz', archive(zip_entry('folder/'), zip_entry('folder/b.npy', array), zip_entry('readme.txt', b'text'),
                                       zip_entry('\u00fc.npy', array, flags=0x800)),
          ('folder/b',) + a[1:], ('\u00fc',) + a[1:])


def make_legal_pt():
    floats = struct.pack('<6f', 0, 1, 2, 3, 4, 5)
    codes = bytes([0x38, 0x40, 0x30, 0xB8])
    def data(*storages, **others):
        return {**{f'data/{i}': content for i, content in enumerate(storages)}, **others}
    def six(**where):
        return tensor(storage(size=6), **where)
    def keep(stem, value, storages, *tensors, protocol=2, **metadata):
        legal(stem + '.pt', pt_archive(pickled(value, protocol), **storages), *tensors, **metadata)
    keep('bare-tensor', six(shape=numbers(2, 3), stride=numbers(3, 1)), data(floats), ('bare-tensor', 'F32', (2, 3), range(6)))
    views = dictionary(('rows', six(shape=numbers(2, 3), stride=numbers(3, 1))), ('transposed', six(shape=numbers(3, 2), stride=numbers(1, 3))),
                       ('every_other', six(offset=number(1), shape=numbers(2), stride=numbers(2))),
                       ('repeated', six(offset=number(4), shape=numbers(3, 2), stride=numbers(0, 1))),
                       ('scalar', six(offset=number(5), shape=b')', stride=b')')),
                       ('nothing', six(offset=number(6), shape=numbers(0, 4), stride=numbers(4, 1))))
    keep('views-of-one-storage', views, data(floats), ('rows', 'F32', (2, 3), range(6)), ('transposed', 'F32', (3, 2), (0, 3, 1, 4, 2, 5)),
         ('every_other', 'F32', (2,), (1, 3)), ('repeated', 'F32', (3, 2), (4, 5) * 3), ('scalar', 'F32', (), (5,)),
         ('nothing', 'F32', (0, 4), ()))
    nested = dictionary(('layer', b'](' + six() + dictionary(('x', six())) + b'e'), ('pair', group(six(), number(3))), ('empty', b'}'))
    four = ('F32', (4,), range(4))
    keep('nested', nested, data(floats), ('layer.0',) + four, ('layer.1.x',) + four, ('pair.0',) + four)
    number_key = b'}(' + number(-7) + six() + b'u'
    keep('number-as-key', number_key, data(floats), ('-7',) + four)
    scalars = dictionary(('T', number(16)), ('rank', number(3)), ('big', number(-(1 << 40))), ('half', b'G' + struct.pack('>d', 0.1)),
                         ('on', b'\x88'), ('off', b'\x89'), ('none', b'N'), ('name', text('a \u00fc')), ('stock', six()))
    keep('scalars', scalars, data(floats), ('stock',) + four, T=16, rank=3, big=-(1 << 40), half=0.1, on='true', off='false', name='a \u00fc')
    make_legal_storages(keep, data, codes)
    make_legal_wrappers(keep, data, floats, six, four)
    make_legal_protocols(floats, six, four)


def make_legal_storages(keep, data, codes):
    def on(kind, size, count):
        return tensor(storage(kind, size=size), shape=numbers(count))
    for kind, dtype, code, values in (
            ('Double', 'F64', '<2d', (0.1, -3.0)), ('Half', 'F16', '<2e', (0.5, -2.0)), ('Long', 'I64', '<2q', (3, -1)),
            ('Int', 'I32', '<2i', (3, -1)), ('Short', 'I16', '<2h', (3, -1)), ('Char', 'I8', '2b', (3, -1)),
            ('Byte', 'U8', '2B', (3, 255)), ('Bool', 'BOOL', '2?', (1, 0))):
        keep('storage-' + dtype.lower(), dictionary(('x', on(kind + 'Storage', 2, 2))), data(struct.pack(code, *values)),
             ('x', dtype, (2,), values))
    bf16 = struct.pack('<2H', 0x3F80, 0xC020)
    keep('storage-bf16', dictionary(('x', on('BFloat16Storage', 2, 2))), data(bf16), ('x', 'BF16', (2,), (1.0, -2.5)))
    keep('storage-bf16-big-endian', dictionary(('x', on('BFloat16Storage', 2, 2))), data(struct.pack('>2H', 0x3F80, 0xC020), byteorder=b'big'),
         ('x', 'BF16', (2,), (1.0, -2.5)))
    keep('byte-order-little', dictionary(('x', on('BFloat16Storage', 2, 2))), data(bf16, byteorder=b'little'),
         ('x', 'BF16', (2,), (1.0, -2.5)))
    keep('storage-e4m3fn-typed', dictionary(('x', on('Float8_e4m3fnStorage', 4, 4))), data(codes),
         ('x', 'F8_E4M3', (4,), (1.0, 2.0, 0.5, -1.0)))
    third = name_of('torch._utils', '_rebuild_tensor_v3')
    def untyped(dtype, size, count, offset=0, module='torch.storage'):
        return third + group(storage('UntypedStorage', size=size, module=module), number(offset), numbers(count), numbers(1), NO_HOOKS,
                             name_of('torch', dtype)) + b'R'
    keep('storage-e4m3fn-untyped', dictionary(('x', untyped('float8_e4m3fn', 4, 3, 1))), data(codes), ('x', 'F8_E4M3', (3,), (2.0, 0.5, -1.0)))
    keep('storage-e5m2-untyped', dictionary(('x', untyped('float8_e5m2', 4, 4, module='torch'))), data(bytes([0x3C, 0x40, 0x38, 0xBC])),
         ('x', 'F8_E5M2', (4,), (1.0, 2.0, 0.5, -1.0)))
    keep('storage-u16-untyped', dictionary(('x', untyped('uint16', 4, 1, 1))), data(struct.pack('<2H', 1, 65535)), ('x', 'U16', (1,), (65535,)))


def make_legal_wrappers(keep, data, floats, six, four):
    def call(module, name, *arguments):
        return name_of(module, name) + group(*arguments) + b'R'
    hooks = name_of('collections', 'OrderedDict') + b')R'
    state = dictionary(('weight_loader', text('x')))
    keep('parameter', dictionary(('x', call('torch._utils', '_rebuild_parameter', six(), b'\x88', hooks))), data(floats), ('x',) + four)
    keep('parameter-with-state', dictionary(('x', call('torch._utils', '_rebuild_parameter_with_state', six(), b'\x88', hooks, state))),
         data(floats), ('x',) + four)
    inner = group(storage(size=6), number(2), numbers(4), numbers(1), NO_HOOKS)
    typed = call('torch._tensor', '_rebuild_from_type_v2', REBUILD, name_of('torch.nn.parameter', 'Parameter'), inner, state)
    keep('from-type', dictionary(('x', typed)), data(floats), ('x', 'F32', (4,), (2, 3, 4, 5)))
    oldest = call('torch._utils', '_rebuild_tensor', storage(size=6), number(0), numbers(4), numbers(1))
    keep('rebuild-tensor-1', dictionary(('x', oldest)), data(floats), ('x',) + four)
    metadata = tensor(storage(size=6), more=b'}')
    keep('tensor-with-empty-metadata', dictionary(('x', metadata)), data(floats), ('x',) + four)
    size = call('torch', 'Size', numbers(2, 3))
    keep('shape-as-torch-size', dictionary(('x', six(shape=size, stride=numbers(3, 1)))), data(floats), ('x', 'F32', (2, 3), range(6)))
    cpu = call('torch._utils', '_rebuild_device_tensor_from_cpu_tensor', six(), name_of('torch', 'float32'), text('hpu:0'), b'\x89')
    keep('device-tensor-from-cpu', dictionary(('x', cpu)), data(floats), ('x',) + four)

    def dtype(code, order):
        return call('numpy', 'dtype', text(code), b'\x89', b'\x88') + group(number(3), text(order)) + b'b'

    def array(content, code, order, fortran=b'\x89', core='numpy.core'):
        made = name_of(core + '.multiarray', '_reconstruct') + group(name_of('numpy', 'ndarray'), numbers(0), b'C\1b') + b'R'
        return made + group(number(1), numbers(2, 3), dtype(code, order), fortran, content) + b'b'

    def device(value, wanted='float32'):
        return dictionary(('x', call('torch._utils', '_rebuild_device_tensor_from_numpy', value, name_of('torch', wanted), text('hpu:0'), b'\x89')))

    def plain(content):
        return b'C' + bytes([len(content)]) + content
    by_rows, six_of = ('x', 'F32', (2, 3), range(6)), struct.pack('>6f', 0, 1, 2, 3, 4, 5)
    by_column = struct.pack('<6f', 0, 3, 1, 4, 2, 5)
    latin1 = call('_codecs', 'encode', text(floats.decode('latin1')), text('latin1'))
    keep('device-tensor-from-numpy', device(array(plain(floats), 'f4', '<')), data(), by_rows)
    keep('device-tensor-as-latin1', device(array(latin1, 'f4', '<')), data(), by_rows)
    keep('device-tensor-big-endian', device(array(plain(six_of), 'f4', '>', core='numpy._core')), data(), by_rows)
    keep('device-tensor-fortran', device(array(plain(by_column), 'f4', '<', b'\x88')), data(), by_rows)
    keep('device-tensor-bf16', device(array(plain(floats), 'f4', '<'), 'bfloat16'), data(), ('x', 'BF16') + by_rows[2:])
    keep('device-tensor-bf16-big-endian', device(array(plain(six_of), 'f4', '>'), 'bfloat16'), data(), ('x', 'BF16') + by_rows[2:])
    keep('device-tensor-bf16-fortran', device(array(plain(by_column), 'f4', '<', b'\x88'), 'bfloat16'), data(), ('x', 'BF16') + by_rows[2:])
    buffer = call('numpy.core.numeric', '_frombuffer', b'\x96' + struct.pack('<Q', 24) + by_column, dtype('f4', '<'), numbers(2, 3), text('F'))
    keep('device-tensor-from-buffer', device(buffer), data(), by_rows, protocol=5)


def make_legal_protocols(floats, six, four):
    def keep(name, pickle, root='x/', data=None):
        entries = [zip_entry(root + 'data.pkl', pickle, data), zip_entry(root + 'version', b'3\n'), zip_entry(root + 'data/0', floats)]
        legal(name + '.pt', archive(*entries), ('x',) + four)
    plain = pickled(dictionary(('x', six())))
    keep('root-of-any-name', plain, 'moe dump rank 3/')
    keep('root-missing', plain, '')
    keep('root-of-two-folders', plain, 'a/b/')
    keep('pickle-deflated', plain, data=deflated(plain))
    entries = [zip_entry('x/data/0', floats, deflated(floats)), zip_entry('x/data.pkl', plain)]
    legal('storage-deflated.pt', archive(*entries), ('x',) + four)

    def short(value):
        return b'\x8c' + bytes([len(value)]) + value.encode() + b'\x94'

    def named(module, name):
        return short(module) + short(name) + b'\x93\x94'
    stored = b'(' + short('storage') + named('torch', 'FloatStorage') + short('0') + short('cpu') + b'K\6tQ'
    call = named('torch._utils', '_rebuild_tensor_v2') + b'(' + stored + b'K\0K\4\x85K\1\x85\x89' + named('collections', 'OrderedDict') + b')RtR'
    body = b'}\x94' + short('x') + call + b's'
    for protocol in (4, 5):
        keep(f'protocol-{protocol}', pickled(b'\x95' + struct.pack('<Q', len(body) + 1) + body, protocol))
    keep('protocol-3', pickled(dictionary(('x', six())), 3))
    pairs = name_of('collections', 'OrderedDict') + b'](' + group(text('x'), six()) + b'e\x85R'
    keep('ordered-dict-of-pairs', pickled(pairs + dictionary(('_metadata', b'}')) + b'b'))
    keep('other-opcodes', pickled(b'N0(N1' + b'}2q\x050r\x06\0\0\x000j\x06\0\0\0' + b'U\1x' + six() + b's'))


# ---- writing or checking ----

def files():
    make_safetensors()
    make_npy()
    make_zip()
    make_pt()
    make_legal()
    table = ['# file | status | byte offset | tensor | sentence      (made by tests/make_data.py)']
    for name, content, status, offset, tensor_name, sentence in ROWS:
        table.append(f'{name} | {status} | {offset} | {tensor_name} | {sentence}')
        yield 'hostile/' + name, content
    yield 'hostile/expected.txt', ('\n'.join(table) + '\n').encode()
    table = ['# file | tensor | dtype | shape | values, or file | key | = | value |      (made by tests/make_data.py)']
    for name, content, lines in LEGAL:
        table += lines
        yield 'legal/' + name, content
    yield 'legal/expected.txt', ('\n'.join(table) + '\n').encode()


def main():
    check = sys.argv[1:] == ['--check']
    wrong = []
    wanted = dict(files())
    for name, content in wanted.items():
        path = DATA / name
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            wrong.append(name)
    for folder in ('hostile', 'legal'):
        wrong += [f'{folder}/{path.name}' for path in (DATA / folder).iterdir() if f'{folder}/{path.name}' not in wanted]
    if wrong:
        sys.exit('not what tests/make_data.py makes: ' + ', '.join(sorted(wrong)))
    print(f'{len(ROWS)} broken files, {len(LEGAL)} legal ones')


if __name__ == '__main__':
    main()
