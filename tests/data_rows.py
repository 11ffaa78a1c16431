"""The rows that tests/data_*.py fill and make_data.py writes: broken files and legal ones."""

ROWS = []  # broken files
LEGAL = []  # legal ones: name, content, lines


def row(name, content, status, offset, tensor, sentence):
    ROWS.append((name, content, status, offset, tensor, sentence))


def legal(file, content, *tensors, **metadata):
    """Each tensor: name, dtype, shape, values in C order."""
    lines = [
        f'{file} | {tensor} | {dtype} | {list(shape)} | {" ".join(map(repr, values))}'
        for tensor, dtype, shape, values in tensors
    ]
    lines += [f'{file} | {key} | = | {value} |' for key, value in metadata.items()]
    LEGAL.append((file, content, lines or [f'{file} | - | none | - | -']))
