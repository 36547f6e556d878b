"""Whole inputs in memory: models are read at once, since every size in them is checked against the file."""

from __future__ import annotations

from svmfast.formats.source import Source, SourceLike, open_source


def read_whole(source: SourceLike) -> tuple[bytes, str]:
    """Return the unpacked content of an input and the name that messages call it by."""
    with open_source(source) as opened:
        return read_up_to(opened, None), opened.name


def read_up_to(opened: Source, limit: int | None) -> bytes:
    """Return the next `limit` unpacked bytes, or all that are left; fewer at the end of the input."""
    parts: list[bytes] = []
    total = 0
    room = max(1 << 16, (opened.size or 0) + 1)
    while limit is None or total < limit:
        buffer = bytearray(room if limit is None else limit - total)
        count = opened.readinto(memoryview(buffer))
        if not count:
            break
        parts.append(bytes(memoryview(buffer)[:count]))
        total += count
    return parts[0] if len(parts) == 1 else b"".join(parts)
