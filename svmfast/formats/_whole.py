"""Whole inputs in memory: models are read at once, since every size in them is checked against the file."""

from __future__ import annotations

from svmfast.formats.source import Source, SourceLike, open_source


def read_whole(source: SourceLike) -> tuple[bytes, str, int]:
    """Return the unpacked content of an input, the name that messages call it by, and its stored bytes."""
    with open_source(source) as opened:
        return read_up_to(opened, None), opened.name, opened.consumed


def read_up_to(opened: Source, limit: int | None) -> bytes:
    """Return the next `limit` unpacked bytes, or all that are left; fewer at the end of the input."""
    buffer = bytearray(max(1 << 16, (opened.size or 0) + 1) if limit is None else limit)
    used = 0
    while limit is None or used < limit:
        if used == len(buffer):
            buffer.extend(bytes(len(buffer)))
        with memoryview(buffer) as view:
            count = opened.readinto(view[used:])
        if not count:
            break
        used += count
    with memoryview(buffer) as view:
        return bytes(view[:used])
