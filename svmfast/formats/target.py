"""Where results go: beside their place first, and into it only when they are complete."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any, Protocol

from svmfast.errors import WriteError

_OWN_DESCRIPTOR = re.compile(r"/dev/fd/(\d+)|/proc/self/fd/(\d+)")
_NAMED_DESCRIPTOR = {"/dev/stdout": 1, "/dev/stderr": 2}


class Writer(Protocol):
    """What :func:`write_atomic` gives: accepts bytes, and reports every failure as WriteError."""

    def write(self, data: Any, /) -> int:
        """Write all of `data`."""

    def flush(self) -> None:
        """Hand everything to the system."""


class _Reporting(io.FileIO):
    """A file whose write errors say which output failed. A closed pipe stays a BrokenPipeError."""

    def __init__(self, file: int | str, shown: str) -> None:
        super().__init__(file, "wb")
        self.shown = shown

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise WriteError(self.shown, error.strerror or str(error)) from error


class _StandardOutput:
    """``sys.stdout.buffer`` with the errors of :class:`_Reporting`."""

    def __init__(self) -> None:
        if sys.stdout is None:
            raise WriteError("-", "standard output is closed")
        self._file: Any = getattr(sys.stdout, "buffer", sys.stdout)

    def write(self, data: Any, /) -> int:
        with _reported("-"):
            self._file.write(data)
        return len(data)

    def flush(self) -> None:
        with _reported("-"):
            self._file.flush()


@contextlib.contextmanager
def _reported(shown: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WriteError(shown, error.strerror or str(error)) from error


@contextlib.contextmanager
def write_atomic(path: str | os.PathLike[str]) -> Iterator[Writer]:
    """Open an output that appears complete or not at all.

    A regular file is written beside its place under a hidden name and renamed when the block ends well; when
    it does not, nothing is left and what stood there before stays. ``-`` is standard output. Devices, named
    pipes and the process's own descriptors (``/dev/stdout``, ``/dev/fd/3``) are written directly.

    Parameters
    ----------
    path : str or os.PathLike
        The output. A symbolic link is followed: the file it points to is replaced, the link stays. The
        permissions of a file that exists are kept.

    Yields
    ------
    Writer
        ``write(bytes)`` and ``flush()``.

    Raises
    ------
    WriteError
        Opening, writing, closing or renaming failed, a full disk included.
    BrokenPipeError
        The reader of a pipe has gone; passed on untouched, since it is not an error of the output.
    """
    shown = os.fspath(path)
    if shown == "-":
        output = _StandardOutput()
        yield output
        output.flush()
        return
    own = _OWN_DESCRIPTOR.fullmatch(shown)
    descriptor = int(own[1] or own[2]) if own else _NAMED_DESCRIPTOR.get(shown)
    if descriptor is not None:
        # Opening /dev/stdout anew would start at offset 0 of a redirected file; its descriptor does not.
        if sys.stdout is not None:
            sys.stdout.flush()
        with _reported(shown):
            copy = os.dup(descriptor)
        with _buffered(copy, shown) as writer:
            yield writer
        return
    place = os.path.realpath(shown)
    with _reported(shown):
        mode = _mode_of(place)
    if mode is not None and stat.S_ISDIR(mode):
        raise WriteError(shown, "Is a directory")
    if mode is not None and not stat.S_ISREG(mode):
        with _buffered(place, shown) as writer:
            yield writer
        return
    if mode is not None and not os.access(place, os.W_OK):
        raise WriteError(shown, "Permission denied")
    with _replacing(place, shown, mode) as writer:
        yield writer


def _mode_of(place: str) -> int | None:
    try:
        return os.stat(place).st_mode
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _buffered(file: int | str, shown: str) -> Iterator[Writer]:
    with _reported(shown):
        raw = _Reporting(file, shown)
    writer = io.BufferedWriter(raw, 1 << 16)
    try:
        yield writer
        with _reported(shown):
            writer.close()
    except BaseException:
        # The failure that is on its way matters more than one of closing.
        with contextlib.suppress(OSError, WriteError, ValueError):
            writer.close()
        raise


@contextlib.contextmanager
def _replacing(place: str, shown: str, mode: int | None) -> Iterator[Writer]:
    folder, name = os.path.split(place)
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(6).hex()}.tmp")
    try:
        # Inside the block: a signal may come between the opening and the next line, and nothing must stay.
        with _reported(shown):
            # O_EXCL: never another's file; 0o666 leaves the permissions to the umask, as for any new file.
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666
            )
        with _buffered(descriptor, shown) as writer:
            yield writer
        with _reported(shown):
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
