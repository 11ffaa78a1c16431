"""Broken safetensors files."""
import json
import struct

from data_rows import row


def entry(dtype='F32', shape=(1, ), offsets=(0, 4), **others):
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
    safetensors('header-starts-with-space', container(' {}'), 8, '', "the header starts with byte 0x20 instead of '{'")
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
    safetensors('metadata-value-is-number', container({'__metadata__': {
        'n': 3
    }}), 29, '', '__metadata__ value of "n" must be a string, is a whole number')
    safetensors('metadata-value-is-object', container({'__metadata__': {
        'n': {}
    }}), 29, '', '__metadata__ value of "n" must be a string, is an object')
    safetensors('metadata-twice', container('{"__metadata__":{},"__metadata__":{}}'), 27, '',
                'the key "__metadata__" appears twice in one object')


def make_entries():
    whole = 'must be an array of whole numbers, is'
    safetensors('entry-is-number', container({'w': 3}), 13, 'w',
                "a tensor's entry must be an object, is a whole number")
    safetensors('dtype-missing', container({'w': {
        'shape': [1],
        'data_offsets': [0, 4]
    }}, bytes(4)), -1, 'w', "the tensor's entry has no dtype")
    safetensors('dtype-is-number', one(entry(32)), 22, 'w', 'dtype must be a string, is a whole number')
    safetensors('dtype-unknown', one(entry('F9_X')), 22, 'w', 'unknown dtype "F9_X"')
    safetensors('dtype-lower-case', one(entry('f32')), 22, 'w', 'unknown dtype "f32"')
    safetensors('dtype-of-numpy', one(entry('V8', (4, ))), 22, 'w', 'unknown dtype "V8"')
    safetensors('dtype-empty', one(entry('')), 22, 'w', 'unknown dtype ""')
    safetensors('shape-missing', container({'w': {
        'dtype': 'F32',
        'data_offsets': [0, 4]
    }}, bytes(4)), -1, 'w', "the tensor's entry has no shape")
    safetensors('shape-is-number', container('{"w":{"dtype":"F32","shape":1,"data_offsets":[0,4]}}', bytes(4)), 36, 'w',
                f'shape {whole} a whole number')
    safetensors('shape-negative', one(entry(shape=(-1, ))), 37, 'w', 'shape holds -1')
    safetensors('shape-fraction', one(entry(shape=(4.5, ))), 37, 'w',
                'shape holds a number that is no whole number below 2^63')
    safetensors('shape-with-exponent', container('{"w":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}', bytes(4)),
                37, 'w', 'shape holds a number that is no whole number below 2^63')
    safetensors('shape-is-true', one(entry(shape=(True, ))), 37, 'w', 'shape must be whole numbers, is a truth value')
    safetensors('shape-2-to-63', one(entry(shape=(1 << 63, ))), 37, 'w',
                'shape holds 9223372036854775808, beyond 2^63-1')
    safetensors('shape-2-to-64-and-1', one(entry(shape=((1 << 64) + 1, ))), 37, 'w',
                'shape holds a number that is no whole number below 2^63')
    safetensors('shape-of-9-dimensions', one(entry(shape=(1, ) * 9)), 36, 'w',
                'a tensor of 9 dimensions, at most 8 are read', 'unsupported')
    size = "the shape's size in bits does not fit 64 bits"
    safetensors('shape-overflows', one(entry(shape=(1 << 32, 1 << 32), offsets=(0, 0)), b''), 36, 'w', size)
    safetensors('shape-overflows-in-bytes', one(entry(shape=(1 << 61, ), offsets=(0, 0)), b''), 36, 'w', size)
    safetensors('shape-overflows-behind-zero', one(entry(shape=(0, 1 << 62, 1 << 62), offsets=(0, 0)), b''), 36, 'w',
                size)
    safetensors('half-a-byte', one(entry('F4', (3, ), (0, 2)), bytes(2)), 35, 'w',
                '3 elements of F4 end in the middle of a byte')
    safetensors('offsets-missing', container({'w': {
        'dtype': 'F32',
        'shape': [1]
    }}, bytes(4)), -1, 'w', "the tensor's entry has no data_offsets")
    safetensors('offsets-one-number', one(entry(offsets=(0, ))), 55, 'w', 'data_offsets must be two numbers, are 1')
    safetensors('offsets-three-numbers', one(entry(offsets=(0, 4, 4))), 55, 'w',
                'data_offsets must be two numbers, are 3')
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
    empty = container({'a': entry(), 'b': entry(shape=(0, ), offsets=(2, 2))}, bytes(4))
    safetensors('empty-tensor-within-another', empty, 108, 'b',
                'its bytes from 2 on overlap those of "a", which end at 4')
    safetensors('data-truncated', two((0, 4), (4, 8), bytes(6)), 121, '', 'truncated: needs 8 data bytes, has 6')
    safetensors('data-missing', one(entry(), b''), 62, '', 'truncated: needs 4 data bytes, has 0')
    safetensors('data-left-over', one(entry(), bytes(5)), 66, '', '1 bytes after the last tensor belong to none')
    safetensors('data-without-tensors', container('{}', bytes(3)), 10, '',
                '3 bytes after the last tensor belong to none')
