"""Rows and bytes as a stream delivers them."""

from svmfast.formats.source import open_source


def blocks_of(rows, size):
    """Yield consecutive slices of at most `size` rows."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def everything(source, size=1000):
    """Return the bytes of a source, read in pieces of at most this size."""
    with open_source(source) as opened:
        out, view = bytearray(), memoryview(bytearray(size))
        while count := opened.readinto(view):
            out += view[:count]
        return bytes(out)
