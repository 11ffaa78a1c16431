"""Broken and rare .pt files, their pickles written opcode by opcode (the letters of Python's pickletools)."""
import struct

from data_numpy import archive, deflated, zip_entry
from data_rows import legal, row


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
    row('two-pickles.pt', archive(zip_entry('a/data.pkl', pickled(b'N')), zip_entry('b/data.pkl', pickled(b'N'))),
        'format', -1, '', 'the archive holds 2 data.pkl, a .pt file has one')
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
        pt(name, pickle, at, '',
           f'the pickle names {named}, which is none of what a file of tensors needs: nothing was run', 'unsupported')

    refused('calls-os-system', pickled(name_of('os', 'system') + group(text('touch pwned')) + b'R'), 2, 'os.system')
    refused('calls-posix-system', pickled(name_of('posix', 'system') + group(text('touch pwned')) + b'R'), 2,
            'posix.system')
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
    row('calls-os-system-deflated.pt', archive(zip_entry('x/data.pkl', packed, deflated(packed))), 'unsupported', -1,
        '', 'the pickle names os.system, which is none of what a file of tensors needs: nothing was run')
    pt('instance-opcode', pickled(b'(ios\nsystem\n'), 3, '', 'pickle opcode 0x69, which no writer of tensors uses',
       'unsupported')
    pt('extension-opcode', pickled(b'\x82\x01'), 2, '', 'pickle opcode 0x82, which no writer of tensors uses',
       'unsupported')
    pt('persistent-id-as-text', pickled(b'P0\n'), 2, '', 'pickle opcode 0x50, which no writer of tensors uses',
       'unsupported')
    pt('calls-a-string', pickled(text('os.system') + b')R'), b'R', '', 'the pickle calls what is no name')
    pt('calls-without-tuple', pickled(REBUILD + b']R'), b'R', '', 'the pickle calls with what is no tuple')
    pt('names-with-numbers', pickled(b'K\1K\2\x93', 4), b'\x93', '',
       'the pickle names something with what are no strings')


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
    pt('pickle-integer-of-9-bytes', pickled(b'\x8a\x09' + bytes(9)), 2, '',
       'the pickle holds an integer beyond 64 bits', 'unsupported')
    pt('pickle-set', pickled(b'\x8f', 4), 2, '',
       'the pickle holds a set, which is none of what a file of tensors needs', 'unsupported')
    pt('pickle-frozen-set', pickled(b'(\x91', 4), 3, '',
       'the pickle holds a set, which is none of what a file of tensors needs', 'unsupported')
    pt('pickle-outside-buffer', pickled(b'\x97', 5), 2, '', "the pickle's bytes are in a buffer outside of it",
       'unsupported')
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
    pt('ordered-dict-of-singles', pickled(ordered + b'](K\1\x85e\x85R'), b'R', '',
       'an OrderedDict made of what are no pairs')
    encode = name_of('_codecs', 'encode')
    pt('encode-as-utf-8', pickled(encode + group(text('a'), text('utf-8')) + b'R'), b'R', '',
       '_codecs.encode of something other than a text as latin1', 'unsupported')
    pt('encode-no-bytes', pickled(encode + group(text('\u0100'), text('latin1')) + b'R'), b'R', '',
       '_codecs.encode of characters that are no bytes')
    bomb = b'](' + encode + b'q\0' + group(text('a' * 200), text('latin1')) + b'q\1R' + b'h\0h\1R' * 20 + b'e'
    pt('encode-again-and-again', pickled(bomb),
       pickled(bomb).index(b'h\0h\1R') + 4, '', 'the pickle decodes a text twice')


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
    one('storage-size-negative', negative, b'J\xfc\xff\xff\xff',
        'the size of a storage must be a whole number of at least 0')
    no_storage = 'a storage must be (\'storage\', type, key, device, size)'
    bare = tensor(text('0') + b'Q')
    one('storage-id-is-string', bare, b'Q', "a tensor's storage is no storage")
    module = tensor(group(text('module'), name_of('torch', 'FloatStorage'), text('0'), text('cpu'), number(4)) + b'Q')
    one('storage-id-of-module', module, id_at(module), no_storage)
    short = tensor(group(text('storage'), name_of('torch', 'FloatStorage'), text('0'), text('cpu')) + b'Q')
    one('storage-id-of-4', short, id_at(short), no_storage)
    dtype = tensor(group(text('storage'), name_of('torch', 'float32'), text('0'), text('cpu'), number(4)) + b'Q')
    one('storage-type-is-dtype', dtype, id_at(dtype), no_storage)
    key_number = tensor(
        group(text('storage'), name_of('torch', 'FloatStorage'), number(7), text('cpu'), number(4)) + b'Q')
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
    one('view-offset-negative', tensor(offset=number(-1)), minus,
        'the offset of a tensor must be a whole number of at least 0')
    one('view-shape-negative', tensor(shape=numbers(-1)), minus,
        'the shape of a tensor must be a whole number of at least 0')
    one('view-stride-negative', tensor(stride=numbers(-1)), minus,
        'the strides of a tensor must be a whole number of at least 0')
    one('view-shape-is-number', tensor(shape=number(7)), b'K\7', 'the shape of a tensor must be a tuple')
    one('view-shape-of-strings', tensor(shape=group(text('four'))), text('four'),
        'the shape of a tensor must be a whole number of at least 0')
    nine = numbers(*[1] * 8 + [7])
    one('view-of-9-dimensions', tensor(shape=nine),
        pickled(dictionary(('w', tensor(shape=nine)))).index(b'K\7t') + 2,
        'a tensor of 9 dimensions, at most 8 are read', 'unsupported')
    negated = dictionary(('neg', b'\x88'))
    value = tensor(more=negated)
    one('view-negated', value,
        pickled(dictionary(('w', value))).index(b'}(' + text('neg')),
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
    one('parameter-of-number', parameter + group(number(7), b'\x89') + b'R', b'K\7',
        'a tensor made from what is no tensor')
    cpu = name_of('torch._utils', '_rebuild_device_tensor_from_cpu_tensor')
    one('device-tensor-dtype-is-number', cpu + group(tensor(), number(7)) + b'R', b'K\7',
        "a tensor's dtype is no dtype")
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
    one('types-nested-deep', b''.join(nested) + b'R', call_at(b''.join(nested) + b'R'),
        'a tensor within a tensor without end')
    wrapped = tensor()
    for _ in range(70):
        wrapped = parameter + wrapped + b'\x85R'
    one('parameters-nested-deep', wrapped,
        pickled(dictionary(('w', wrapped))).rindex(b'R') - 2 * 65, 'a tensor within a tensor without end')


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
    row('name-twice-by-nesting.pt', content, 'format',
        content.index(b'x/data/0') + 8, 'a.b', 'two tensors have this name')
    pt('list-that-holds-itself', pickled(b']q\0h\0a'), 2, '', 'the pickle is nested too deep, or contains itself')
    # thirty lists, each holding the one before it twice: 2^30 values in 300 bytes
    lists = [
        b'](' + (b'NN' if level == 0 else b'h%ch%c' % (level - 1, level - 1)) + b'eq%c0' % level for level in range(30)
    ]
    left, level = 1000001, 29  # which value is one too many: that of this number, from the top down
    while left > 1:
        left, level = left - 1, level - 1
        below = (4 << level) - 1  # values in a list of this level
        left -= below if left > below else 0
    pt('lists-that-hold-lists-twice', pickled(b''.join(lists) + b'h\x1d'), 2 + len(b''.join(lists[:level])), '',
       'the pickle unfolds to too many values')


def make_arrays():
    def numpy_array(data=b'C\x08' + bytes(8), shape=numbers(2), dtype='f4', order='<', state=None):
        made = name_of('numpy', 'dtype') + group(text(dtype), b'\x89', b'\x88') + b'R' + group(number(3),
                                                                                               text(order)) + b'b'
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
    one('array-shape-overflows', value,
        pickled(dictionary(('w', value))).index(b't' + name_of('numpy', 'dtype')),
        "the shape's size in bits does not fit 64 bits")
    value = device(numpy_array(dtype='O8', order='|'))
    one('array-of-objects', value,
        pickled(dictionary(('w', value))).index(text('O8')) + len(text('O8')) + 3,
        'a numpy array of a dtype that is not read', 'unsupported')
    value = device(numpy_array(state=number(7)))
    one('array-without-state', value,
        pickled(dictionary(('w', value))).index(b'tRK\7b') + 1,
        'a numpy array without its shape, dtype, order and data')
    from_numpy = name_of('torch._utils', '_rebuild_device_tensor_from_numpy')
    one('array-dtype-is-number', from_numpy + group(numpy_array(), number(7)) + b'R', b'K\7t',
        "a tensor's dtype is no dtype")
    value = device(numpy_array(state=group(number(1), numbers(2), number(7), b'\x89', b'C\0')))
    one('array-of-dtype-7', value, b'K\7', 'the dtype of a numpy array is no dtype')
    made = name_of('numpy', 'dtype') + group(text('f4'), b'\x89', b'\x88') + b'R'
    buffer = name_of('numpy.core.numeric', '_frombuffer') + group(b'C\0', made, numbers(0), text('K')) + b'R'
    one('array-order-k', device(buffer), text('K'), "the order of a numpy array must be 'C' or 'F'")
    value = device(numpy_array(), 'float16')
    one('array-converted', value,
        pickled(dictionary(('w', value))).rindex(b'R'),
        'a tensor that is to be converted to another dtype when it is loaded', 'unsupported')
    value = device(numpy_array(b'C\x08' + struct.pack('<2f', 1.0, 1.001)), 'bfloat16')
    one('array-no-bf16-numbers', value,
        pickled(dictionary(('w', value))).rindex(b'R'), 'a bf16 tensor saved as f32 numbers that are no bf16 numbers',
        'unsupported')
    value = device(tensor())
    one('array-is-tensor', value,
        pickled(dictionary(('w', value))).rindex(b'R' + name_of('torch', 'float32')),
        'a tensor made from what is no numpy array')


# ---- files that are rare but right ----


def make_legal_pt():
    floats = struct.pack('<6f', 0, 1, 2, 3, 4, 5)
    codes = bytes([0x38, 0x40, 0x30, 0xB8])

    def data(*storages, **others):
        return {**{f'data/{i}': content for i, content in enumerate(storages)}, **others}

    def six(**where):
        return tensor(storage(size=6), **where)

    def keep(stem, value, storages, *tensors, protocol=2, **metadata):
        legal(stem + '.pt', pt_archive(pickled(value, protocol), **storages), *tensors, **metadata)

    keep('bare-tensor', six(shape=numbers(2, 3), stride=numbers(3, 1)), data(floats),
         ('bare-tensor', 'F32', (2, 3), range(6)))
    views = dictionary(('rows', six(shape=numbers(2, 3), stride=numbers(3, 1))),
                       ('transposed', six(shape=numbers(3, 2), stride=numbers(1, 3))),
                       ('every_other', six(offset=number(1), shape=numbers(2), stride=numbers(2))),
                       ('repeated', six(offset=number(4), shape=numbers(3, 2), stride=numbers(0, 1))),
                       ('scalar', six(offset=number(5), shape=b')', stride=b')')),
                       ('nothing', six(offset=number(6), shape=numbers(0, 4), stride=numbers(4, 1))))
    keep('views-of-one-storage', views, data(floats), ('rows', 'F32', (2, 3), range(6)),
         ('transposed', 'F32', (3, 2), (0, 3, 1, 4, 2, 5)), ('every_other', 'F32', (2, ), (1, 3)),
         ('repeated', 'F32', (3, 2), (4, 5) * 3), ('scalar', 'F32', (), (5, )), ('nothing', 'F32', (0, 4), ()))
    nested = dictionary(('layer', b'](' + six() + dictionary(('x', six())) + b'e'), ('pair', group(six(), number(3))),
                        ('empty', b'}'))
    four = ('F32', (4, ), range(4))
    keep('nested', nested, data(floats), ('layer.0', ) + four, ('layer.1.x', ) + four, ('pair.0', ) + four)
    number_key = b'}(' + number(-7) + six() + b'u'
    keep('number-as-key', number_key, data(floats), ('-7', ) + four)
    scalars = dictionary(('T', number(16)), ('rank', number(3)), ('big', number(-(1 << 40))),
                         ('half', b'G' + struct.pack('>d', 0.1)), ('on', b'\x88'), ('off', b'\x89'), ('none', b'N'),
                         ('name', text('a \u00fc')), ('stock', six()))
    keep('scalars',
         scalars,
         data(floats), ('stock', ) + four,
         T=16,
         rank=3,
         big=-(1 << 40),
         half=0.1,
         on='true',
         off='false',
         name='a \u00fc')
    pair = dictionary(('stock', tensor(storage('BFloat16Storage', size=4), shape=numbers(2, 2), stride=numbers(2, 1))),
                      ('custom', tensor(storage('BFloat16Storage', key='1', size=4), shape=numbers(2, 2),
                                        stride=numbers(2, 1))), ('T', number(2)), ('rank', number(0)))
    keep('moecomb_T2_n1_r0', pair, data(struct.pack('<4H', 0x3F80, 0xC020, 0x3F00, 0x4080),
                                        struct.pack('<4H', 0x3F80, 0xC020, 0x3F00, 0x4100)),
         ('stock', 'BF16', (2, 2), (1.0, -2.5, 0.5, 4.0)), ('custom', 'BF16', (2, 2), (1.0, -2.5, 0.5, 8.0)), T=2, rank=0)
    make_legal_storages(keep, data, codes)
    make_legal_wrappers(keep, data, floats, six, four)
    make_legal_protocols(floats, six, four)


def make_legal_storages(keep, data, codes):
    def on(kind, size, count):
        return tensor(storage(kind, size=size), shape=numbers(count))

    for kind, dtype, code, values in (('Double', 'F64', '<2d', (0.1, -3.0)), ('Half', 'F16', '<2e', (0.5, -2.0)),
                                      ('Long', 'I64', '<2q', (3, -1)), ('Int', 'I32', '<2i', (3, -1)),
                                      ('Short', 'I16', '<2h', (3, -1)), ('Char', 'I8', '2b', (3, -1)),
                                      ('Byte', 'U8', '2B', (3, 255)), ('Bool', 'BOOL', '2?', (1, 0))):
        keep('storage-' + dtype.lower(), dictionary(('x', on(kind + 'Storage', 2, 2))),
             data(struct.pack(code, *values)), ('x', dtype, (2, ), values))
    bf16 = struct.pack('<2H', 0x3F80, 0xC020)
    keep('storage-bf16', dictionary(('x', on('BFloat16Storage', 2, 2))), data(bf16), ('x', 'BF16', (2, ), (1.0, -2.5)))
    keep('storage-bf16-big-endian', dictionary(('x', on('BFloat16Storage', 2, 2))),
         data(struct.pack('>2H', 0x3F80, 0xC020), byteorder=b'big'), ('x', 'BF16', (2, ), (1.0, -2.5)))
    keep('byte-order-little', dictionary(('x', on('BFloat16Storage', 2, 2))), data(bf16, byteorder=b'little'),
         ('x', 'BF16', (2, ), (1.0, -2.5)))
    keep('storage-e4m3fn-typed', dictionary(('x', on('Float8_e4m3fnStorage', 4, 4))), data(codes),
         ('x', 'F8_E4M3', (4, ), (1.0, 2.0, 0.5, -1.0)))
    third = name_of('torch._utils', '_rebuild_tensor_v3')

    def untyped(dtype, size, count, offset=0, module='torch.storage'):
        return third + group(storage('UntypedStorage', size=size, module=module), number(offset), numbers(count),
                             numbers(1), NO_HOOKS, name_of('torch', dtype)) + b'R'

    keep('storage-e4m3fn-untyped', dictionary(('x', untyped('float8_e4m3fn', 4, 3, 1))), data(codes),
         ('x', 'F8_E4M3', (3, ), (2.0, 0.5, -1.0)))
    keep('storage-e5m2-untyped', dictionary(('x', untyped('float8_e5m2', 4, 4, module='torch'))),
         data(bytes([0x3C, 0x40, 0x38, 0xBC])), ('x', 'F8_E5M2', (4, ), (1.0, 2.0, 0.5, -1.0)))
    keep('storage-u16-untyped', dictionary(('x', untyped('uint16', 4, 1, 1))), data(struct.pack('<2H', 1, 65535)),
         ('x', 'U16', (1, ), (65535, )))


def make_legal_wrappers(keep, data, floats, six, four):
    def call(module, name, *arguments):
        return name_of(module, name) + group(*arguments) + b'R'

    hooks = name_of('collections', 'OrderedDict') + b')R'
    state = dictionary(('weight_loader', text('x')))
    keep('parameter', dictionary(('x', call('torch._utils', '_rebuild_parameter', six(), b'\x88', hooks))),
         data(floats), ('x', ) + four)
    keep('parameter-with-state',
         dictionary(('x', call('torch._utils', '_rebuild_parameter_with_state', six(), b'\x88', hooks, state))),
         data(floats), ('x', ) + four)
    inner = group(storage(size=6), number(2), numbers(4), numbers(1), NO_HOOKS)
    typed = call('torch._tensor', '_rebuild_from_type_v2', REBUILD, name_of('torch.nn.parameter', 'Parameter'), inner,
                 state)
    keep('from-type', dictionary(('x', typed)), data(floats), ('x', 'F32', (4, ), (2, 3, 4, 5)))
    oldest = call('torch._utils', '_rebuild_tensor', storage(size=6), number(0), numbers(4), numbers(1))
    keep('rebuild-tensor-1', dictionary(('x', oldest)), data(floats), ('x', ) + four)
    metadata = tensor(storage(size=6), more=b'}')
    keep('tensor-with-empty-metadata', dictionary(('x', metadata)), data(floats), ('x', ) + four)
    size = call('torch', 'Size', numbers(2, 3))
    keep('shape-as-torch-size', dictionary(('x', six(shape=size, stride=numbers(3, 1)))), data(floats),
         ('x', 'F32', (2, 3), range(6)))
    cpu = call('torch._utils', '_rebuild_device_tensor_from_cpu_tensor', six(), name_of('torch', 'float32'),
               text('hpu:0'), b'\x89')
    keep('device-tensor-from-cpu', dictionary(('x', cpu)), data(floats), ('x', ) + four)

    def dtype(code, order):
        return call('numpy', 'dtype', text(code), b'\x89', b'\x88') + group(number(3), text(order)) + b'b'

    def array(content, code, order, fortran=b'\x89', core='numpy.core'):
        made = name_of(core + '.multiarray', '_reconstruct') + group(name_of('numpy', 'ndarray'), numbers(0),
                                                                     b'C\1b') + b'R'
        return made + group(number(1), numbers(2, 3), dtype(code, order), fortran, content) + b'b'

    def device(value, wanted='float32'):
        return dictionary(('x',
                           call('torch._utils', '_rebuild_device_tensor_from_numpy', value, name_of('torch', wanted),
                                text('hpu:0'), b'\x89')))

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
    keep('device-tensor-bf16-big-endian', device(array(plain(six_of), 'f4', '>'), 'bfloat16'), data(),
         ('x', 'BF16') + by_rows[2:])
    keep('device-tensor-bf16-fortran', device(array(plain(by_column), 'f4', '<', b'\x88'), 'bfloat16'), data(),
         ('x', 'BF16') + by_rows[2:])
    buffer = call('numpy.core.numeric', '_frombuffer', b'\x96' + struct.pack('<Q', 24) + by_column, dtype('f4', '<'),
                  numbers(2, 3), text('F'))
    keep('device-tensor-from-buffer', device(buffer), data(), by_rows, protocol=5)


def make_legal_protocols(floats, six, four):
    def keep(name, pickle, root='x/', data=None):
        entries = [
            zip_entry(root + 'data.pkl', pickle, data),
            zip_entry(root + 'version', b'3\n'),
            zip_entry(root + 'data/0', floats)
        ]
        legal(name + '.pt', archive(*entries), ('x', ) + four)

    plain = pickled(dictionary(('x', six())))
    keep('root-of-any-name', plain, 'moe dump rank 3/')
    keep('root-missing', plain, '')
    keep('root-of-two-folders', plain, 'a/b/')
    keep('pickle-deflated', plain, data=deflated(plain))
    entries = [zip_entry('x/data/0', floats, deflated(floats)), zip_entry('x/data.pkl', plain)]
    legal('storage-deflated.pt', archive(*entries), ('x', ) + four)

    def short(value):
        return b'\x8c' + bytes([len(value)]) + value.encode() + b'\x94'

    def named(module, name):
        return short(module) + short(name) + b'\x93\x94'

    stored = b'(' + short('storage') + named('torch', 'FloatStorage') + short('0') + short('cpu') + b'K\6tQ'
    call = named('torch._utils', '_rebuild_tensor_v2') + b'(' + stored + b'K\0K\4\x85K\1\x85\x89' + named(
        'collections', 'OrderedDict') + b')RtR'
    body = b'}\x94' + short('x') + call + b's'
    for protocol in (4, 5):
        keep(f'protocol-{protocol}', pickled(b'\x95' + struct.pack('<Q', len(body) + 1) + body, protocol))
    keep('protocol-3', pickled(dictionary(('x', six())), 3))
    pairs = name_of('collections', 'OrderedDict') + b'](' + group(text('x'), six()) + b'e\x85R'
    keep('ordered-dict-of-pairs', pickled(pairs + dictionary(('_metadata', b'}')) + b'b'))
    keep('other-opcodes', pickled(b'N0(N1' + b'}2q\x050r\x06\0\0\x000j\x06\0\0\0' + b'U\1x' + six() + b's'))
