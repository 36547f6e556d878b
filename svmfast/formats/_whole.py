"""Reads whole models into memory, up to a limit; every size in a model is checked against its text."""

from __future__ import annotations

from svmfast.errors import CompressedDataError
from svmfast.formats.source import Source
from svmfast.models.memory import Allowance

#: Number of bytes that identify the kind of a file.
KILOBYTE = 1024
_FIRST_BUFFER = 1 << 16
#: Limits on a compressed model: decompressed bytes, and their ratio to the compressed size, which no model
#: text exceeds.
_UNPACKED_BYTES, _UNPACKED_RATIO = 64 << 20, 100


def first_words(opened: Source) -> bytes:
    """Return, without consuming it, the start of an input up to the end of its first word.

    At most a kilobyte is returned.
    """
    seen = opened.peek(1)
    while len(seen) < KILOBYTE and len((seen + b"x").split(None, 1)) < 2:
        more = opened.peek(len(seen) + 1)
        if len(more) == len(seen):
            break
        seen = more
    return seen


def check_unpacked(opened: Source, size: int, least: int = _UNPACKED_BYTES) -> None:
    """Raise CompressedDataError if a compressed input takes `size` bytes of memory, far more than it has."""
    if opened.packing and size > max(least, _UNPACKED_RATIO * opened.consumed):
        what = f"the {opened.packing} data unpacks to more than {_UNPACKED_RATIO} times its size"
        raise CompressedDataError(opened.name, None, what, None, "unpack the file first")


def read_whole(opened: Source, allowance: Allowance, least: int = _UNPACKED_BYTES) -> bytes:
    """Return the rest of an input, decompressed; its length is added to the memory that `allowance` holds.

    The text must fit twice, while it is being read. Up to `least` bytes, compressed data may unpack to any
    multiple of their size, beyond them to no more than a model could be.
    """
    known = None if opened.packing else opened.size
    if known is not None:
        allowance.check(2 * known)
    buffer = bytearray(_FIRST_BUFFER if known is None else known + 1)
    used = 0
    while True:
        if used == len(buffer):
            # Two copies exist while the buffer grows, and when it is converted to bytes.
            most = (allowance.limit - allowance.held) // 2
            allowance.check(2 * (used + 1))
            buffer.extend(bytes(max(1, min(len(buffer), most - used))))
        with memoryview(buffer) as view:
            count = opened.readinto(view[used:])
        if not count:
            break
        used += count
        check_unpacked(opened, used, least)
    with memoryview(buffer) as view:
        text = bytes(view[:used])
    del buffer
    allowance.take(used)
    return text
