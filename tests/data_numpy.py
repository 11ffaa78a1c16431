"""Broken and rare npy, zip and npz files."""
import struct
import zlib

from data_rows import legal, row

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
    npy('version-4', npy_bytes(PLAIN, version=(4, 0)), 6,
        'version 4.0 of the npy format, only 1.0, 2.0 and 3.0 are read', 'unsupported')
    npy('version-1.1', npy_bytes(PLAIN, version=(1, 1)), 6,
        'version 1.1 of the npy format, only 1.0, 2.0 and 3.0 are read', 'unsupported')
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
    npy('shape-product-overflows', npy_shape('(4294967296, 4294967296)'), 60,
        "the shape's size in bits does not fit 64 bits")
    npy('shape-overflow-behind-zero', npy_shape('(0, 4611686018427387904, 8)'), 60,
        "the shape's size in bits does not fit 64 bits")
    npy('dimensions-9', npy_shape('(1, 1, 1, 1, 1, 1, 1, 1, 2)'), 60, 'a tensor of 9 dimensions, at most 8 are read',
        'unsupported')
    npy('object-array', npy_descr("'|O'"), 24,
        "dtype '|O': an object array holds pickled Python objects, which are not read", 'unsupported')
    npy('structured-array', npy_descr("[('x', '<f4')]"), 20,
        'a structured array: only arrays of one number type are read', 'unsupported')
    npy('text-array', npy_descr("'<U5'"), 25, "dtype '<U5': an array of text", 'unsupported')
    npy('bytes-array', npy_descr("'|S5'"), 25, "dtype '|S5': an array of byte strings", 'unsupported')
    npy('date-array', npy_descr("'<M8[ns]'"), 29, "dtype '<M8[ns]': an array of dates", 'unsupported')
    npy(
        'descr-f1', npy_descr("'<f1'"), 25, "dtype '<f1': it may be any FP8 type: save the codes as uint8 "
        '(array.view(numpy.uint8)) and say which they are (--as NAME=e4m3fn)', 'unsupported')
    npy('descr-f16', npy_descr("'<f16'"), 26, "dtype '<f16' is not read", 'unsupported')
    npy('descr-of-native-order', npy_descr("'=f4'"), 25, "dtype '=f4' is not read", 'unsupported')
    npy('descr-without-order', npy_descr("'|f4'"), 25, "dtype '|f4' is not read", 'unsupported')
    npy('descr-empty', npy_descr("''"), 22, "dtype '' is not read", 'unsupported')
    npy('untyped-bytes', npy_bytes(PLAIN.replace('<f4', '|V1'), bytes(2)), -1,
        'the file names no type for these elements of 1 byte(s), which is ambiguous: say which (--as NAME=e4m3fn)',
        'dtype')
    npy('untyped-pairs', npy_bytes(PLAIN.replace('<f4', '|V2'), bytes(4)), -1,
        'the file names no type for these elements of 2 byte(s), which is ambiguous: say which (--as NAME=bf16)',
        'dtype')
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
    fields = {
        'flags': 0,
        'method': 0 if data is None else 8,
        'crc': zlib.crc32(content),
        'name': name,
        'packed': len(content if data is None else data),
        'unpacked': len(content),
        'extra': b''
    }
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
    npz('zip-count-too-large', archive(a, count=2), end, '',
        f'2 entries do not fit a zip directory of {end - directory} bytes')
    npz('zip-count-too-small', archive(a, b, count=1),
        archive(a, b).index(b'PK\1\2') + 51, '', 'the zip directory holds more than its 1 entries')
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
    one_entry('zip-entry-method-12',
              start,
              'zip compression method 12 is not read, only stored and deflated entries',
              'unsupported',
              method=12)
    one_entry('zip-entry-without-zip64-sizes', start, 'the zip entry lacks its ZIP64 sizes', packed=0xFFFFFFFF)
    one_entry('zip-entry-short-zip64-sizes',
              start,
              'the zip entry lacks its ZIP64 sizes',
              packed=0xFFFFFFFF,
              unpacked=0xFFFFFFFF,
              central_extra=struct.pack('<HHQ', 1, 8, size))
    one_entry('zip-entry-zip64-2-to-63',
              start,
              'a stored zip entry of two different sizes',
              unpacked=0xFFFFFFFF,
              central_extra=struct.pack('<HHQ', 1, 8, 1 << 63))
    one_entry('zip-entry-stored-with-two-sizes', start, 'a stored zip entry of two different sizes', unpacked=size + 1)
    one_entry('zip-entry-ratio',
              start,
              f'a zip entry of {size} bytes cannot unpack to 300000',
              method=8,
              unpacked=300000)
    one_entry('zip-entry-over-64-gigabytes',
              start,
              'a compressed zip entry of 68719476737 bytes, at most 68719476736 are unpacked',
              'unsupported',
              method=8,
              packed=0x10000000,
              unpacked=0xFFFFFFFF,
              central_extra=struct.pack('<HHQ', 1, 8, (1 << 36) + 1))
    no_name = "a zip entry's name is empty or holds a NUL"
    npz('zip-entry-without-name', archive(zip_entry('', array)), 30 + size, '', no_name)
    npz('zip-entry-name-with-nul', archive(zip_entry('a\0.npy', array)), 36 + size, '', no_name)
    npz('zip-entry-name-not-utf-8', archive(zip_entry(b'\xff.npy', array)), 35 + 128, '',
        "a tensor's name is not valid UTF-8")
    one_entry('zip-local-header-elsewhere', 1, 'no local zip header where the directory says', central_offset=1)
    one_entry('zip-local-header-past-end',
              0xFFFFFFFE,
              'no local zip header where the directory says',
              central_offset=0xFFFFFFFE)
    npz('zip-local-header-mark', archive(zip_entry('a.npy', array), zip_entry('b.npy', array, local_mark=b'PK\3\5')),
        35 + size, 'b.npy', 'no local zip header where the directory says')
    one_entry('zip-local-name-differs',
              0,
              'the local zip header names another entry than the directory',
              local_name=b'b.npy')
    one_entry('zip-local-crc-differs', 0, 'the local zip header and the directory differ', local_crc=1)
    one_entry('zip-local-size-differs', 0, 'the local zip header and the directory differ', local_packed=1)
    one_entry('zip-local-flags-differ', 0, 'the local zip header and the directory differ', local_flags=8)
    one_entry('zip-entry-runs-into-directory',
              35,
              "the zip entry's bytes run into the directory",
              packed=size + 1,
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
    one_entry('zip-deflate-block-type', 36, 'a.npy', 'the compressed data of the zip entry is damaged',
              b'\x07' + bytes(size))
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
    npz('member-truncated', archive(zip_entry('a.npy', array[:-1])), 35 + size - 1, 'a',
        'truncated: needs 8 data bytes, has 7')
    npz('member-truncated-deflated', archive(zip_entry('a.npy', array[:-1], deflated(array[:-1]))), -1, 'a',
        'truncated: needs 8 data bytes, has 7')
    npz('member-is-no-array', archive(zip_entry('a.npy', b'not an array at all')), 35, 'a',
        "is no npy file: it lacks numpy's mark")
    npz('member-of-untyped-bytes', archive(zip_entry('a.npy', npy_bytes(PLAIN.replace('<f4', '|V1'), bytes(2)))), -1,
        'a', 'the file names no type for these elements of 1 byte(s), which is ambiguous: say which (--as NAME=e4m3fn)',
        'dtype')


# ---- files that are rare but right ----


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
    for descr, dtype, code, values in (('|b1', 'BOOL', '3?', [0, 1, 1]), ('|i1', 'I8', '3b', [-128, 0,
                                                                                              127]), ('|u1', 'U8', '3B',
                                                                                                      [0, 56, 255]),
                                       ('<i2', 'I16', '<3h', [-32768, 0, 32767]), ('<u2', 'U16', '<3H', [0, 1, 65535]),
                                       ('<i4', 'I32', '<3i', [-2147483648, 0,
                                                              2147483647]), ('<u4', 'U32', '<3I', [0, 1, 4294967295]),
                                       ('<i8', 'I64', '<3q', [-9007199254740992, 0, 9007199254740992
                                                              ]), ('<u8', 'U64', '<3Q', [0, 1, 9007199254740992]),
                                       ('<f2', 'F16', '<3e', [0.5, -65504.0, 0.0000152587890625]),
                                       ('>f8', 'F64', '>3d', [0.1, -1e300,
                                                              5e-324]), ('>u2', 'U16', '>3H', [0, 1, 65534])):
        name = 'dtype-' + dtype.lower() + ('-big-endian' if descr[0] == '>' else '')
        legal(name + '.npy', npy_bytes(header(descr, (3, )), struct.pack(code, *values)), (name, dtype, (3, ), values))
    odd = "{ \"shape\" :(2L ,3L,) ,'fortran_order' : False,\n 'descr':\"<f4\" , }\n"
    legal('header-spelled-oddly.npy', npy_bytes(odd, little), ('header-spelled-oddly', 'F32', (2, 3), numbers_of))
    eight = (1, 1, 1, 1, 1, 1, 2, 3)
    legal('dimensions-8.npy', npy_bytes(header('<f4', eight), little), ('dimensions-8', 'F32', eight, numbers_of))
    legal('scalar.npy', npy_bytes(header('<f4', ()), struct.pack('<f', 5.0)), ('scalar', 'F32', (), [5.0]))


def make_legal_zip():
    array = npy_bytes(PLAIN, struct.pack('<2f', 1.0, 2.0))
    size, a = len(array), ('a', 'F32', (2, ), [1.0, 2.0])
    in_extra, both = 0xFFFFFFFF, struct.pack('<HHQQ', 1, 16, size, size)
    legal('empty.npz', archive())
    legal('comment.npz', archive(zip_entry('a.npy', array), comment=b'made by hand: PK\5\6 is not the end'), a)
    legal('deflated.npz', archive(zip_entry('a.npy', array, deflated(array[:50], False) + deflated(array[50:]))), a)
    legal('sizes-behind-data.npz',
          archive(zip_entry('a.npy', array, flags=8, local_crc=0, local_packed=0, local_unpacked=0)), a)
    wide = struct.pack('<HHQQ', 1, 16, 0, 0)
    legal(
        'sizes-behind-data-zip64.npz',
        archive(
            zip_entry('a.npy',
                      array,
                      flags=8,
                      local_crc=0,
                      local_packed=in_extra,
                      local_unpacked=in_extra,
                      local_extra=wide)), a)
    legal('zip64-local.npz',
          archive(zip_entry('a.npy', array, local_packed=in_extra, local_unpacked=in_extra, local_extra=both)), a)
    other = struct.pack('<HH4s', 0x4246, 4, b'ZZZZ')
    offset = struct.pack('<HHQQQ', 1, 24, size, size, 0)
    legal(
        'zip64-directory.npz',
        archive(
            zip_entry('a.npy',
                      array,
                      central_packed=in_extra,
                      central_unpacked=in_extra,
                      central_offset=in_extra,
                      local_extra=other,
                      central_extra=other + offset)), a)
    one = archive(zip_entry('a.npy', array))
    start, end = one.index(b'PK\1\2'), one.index(b'PK\5\6')
    record = b'PK\6\6' + struct.pack('<QHHIIQQQQ', 44, 45, 45, 0, 0, 1, 1, end - start, start)
    legal(
        'zip64-end-record.npz',
        archive(zip_entry('a.npy', array),
                count=0xFFFF,
                size=in_extra,
                offset=in_extra,
                between=record + b'PK\6\7' + struct.pack('<IQI', 0, end, 1)), a)
    legal(
        'other-entries.npz',
        archive(zip_entry('folder/'), zip_entry('folder/b.npy', array), zip_entry('readme.txt', b'text'),
                zip_entry('\u00fc.npy', array, flags=0x800)), ('folder/b', ) + a[1:], ('\u00fc', ) + a[1:])
