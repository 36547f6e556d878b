"""Inputs that are read several times."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Any

from svmfast.errors import DataFormatError

#: Bytes of a pipe that are inspected before it is copied to a file.
_START = 1024


class ReplayableInput:
    """An input that can be read from its start several times.

    A file is opened again each time. A pipe is copied to an unnamed temporary file, so that memory stays
    bounded.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._spool: _Named | None = None
        self._stack = ExitStack()

    def source(self) -> object:
        """Return a source for the readers of ``formats``, positioned at the start of the input."""
        if is_replayable(self.path):
            return self.path
        if self._spool is None:
            self._spool = self._fill()
        self._spool.seek(0)
        return self._spool

    def _fill(self) -> _Named:
        import shutil
        from tempfile import TemporaryFile

        spool: IO[bytes] = self._stack.enter_context(TemporaryFile())  # noqa: SIM115 (closed by the stack)
        if self.path == "-":
            pipe: Any = sys.stdin.buffer
        else:
            pipe = self._stack.enter_context(open(self.path, "rb", buffering=0))  # noqa: SIM115
        start = pipe.read(_START)
        _refuse_binary(self.path, start)
        spool.write(start)
        shutil.copyfileobj(pipe, spool, 1 << 20)
        # Messages about the content name the input, not the temporary file.
        return _Named(spool, self.path)

    def __enter__(self) -> ReplayableInput:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _refuse_binary(path: str, start: bytes) -> None:
    """Refuse input that begins with NUL bytes and so is not text: an endless device would fill the disk."""
    from svmfast.formats.source import is_packed

    if b"\0" in start and not is_packed(start):
        raise DataFormatError(path, None, "not text: it begins with NUL bytes", None, "expected LIBSVM data")


class _Named:
    """A binary file under another name."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self.readinto = file.readinto  # type: ignore[attr-defined]
        self.seek, self.tell, self.fileno = file.seek, file.tell, file.fileno


def is_replayable(path: str | os.PathLike[str]) -> bool:
    """Return whether an input can be opened again: a file, or a path whose opening reports an error."""
    if os.fspath(path) == "-":
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True  # opening it reports the error
