"""A part of a plain text file: the lines that begin between two places."""

from __future__ import annotations

import io
from typing import IO, Any

from svmfast.errors import FileAccessError
from svmfast.formats.source import Source

_READ = 1 << 16


def section(opened: Source, first: int, last: int) -> Source:
    """The lines that begin at bytes `first` to `last` - 1 of a file, as a source of their own."""
    try:
        lines = _Lines(opened, first, last)
    except OSError as error:
        raise FileAccessError(opened.name, None, f"cannot be read: {error.strerror or error}") from error
    return Source(lines, opened.name, owned=True).plain()


class _Lines(io.RawIOBase):
    def __init__(self, opened: Source, first: int, last: int) -> None:
        self._opened, self._file = opened, opened.remote
        if self._file is None:
            assert opened.path is not None
            self._file = open(opened.path, "rb", buffering=0)  # noqa: SIM115 (closed by close())
        begin, end = (_line_start(self._file, place) for place in (first, last))
        self._file.seek(begin)
        self._left = end - begin

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        with memoryview(view) as room:
            count: int = self._file.readinto(room[: self._left])
        if not count and self._left:
            raise FileAccessError(self._opened.name, None, "became shorter while it was read")
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        self._opened.close()
        super().close()


def _line_start(file: IO[bytes], place: int) -> int:
    """Where the first line begins at or after a place: after a newline, or at the end of the file."""
    if place == 0:
        return 0
    place -= 1
    file.seek(place)
    while text := file.read(_READ):
        if (found := text.find(b"\n")) >= 0:
            return place + found + 1
        place += len(text)
    return place
