"""Outputs: written under a temporary name, renamed when complete, compressed if the extension says so."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from svmfast.errors import WriteError
from svmfast.formats.packing import Packer, packing_of
from svmfast.values import is_uri

#: Bytes of an output's name that its temporary name contains, so that the latter is not too long.
_SHOWN_NAME = 100
#: Number of symbolic links that are followed before a cycle is assumed, as in Linux.
_MAX_LINKS = 40

_OWN_DESCRIPTOR = re.compile(r"/dev/fd/(\d+)|/proc/self/fd/(\d+)")
_NAMED_DESCRIPTOR = {"/dev/stdout": 1, "/dev/stderr": 2}


class Writer(Protocol):
    """Anything that accepts bytes."""

    def write(self, data: Any, /) -> int:
        """Write all of `data`."""

    def flush(self) -> None:
        """Pass everything to the operating system."""


class Output:
    """The file that :func:`write_atomic` yields: accepts bytes, and reports every failure as WriteError."""

    def __init__(self, file: Writer, shown: str, packer: Packer | None) -> None:
        self._file, self._shown, self._packer = file, shown, packer
        #: Bytes written to the file; if it is compressed, complete only after the ``with`` block.
        self.stored = 0

    def write(self, data: Any, /) -> int:
        """Write all of `data`; return its size."""
        self._store(data if self._packer is None else self._packer.pack(data))
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Pass everything to the operating system; compressed output is only complete at its end."""
        with reported(self._shown):
            self._file.flush()

    def finish(self) -> None:
        """Compress and write the remaining text."""
        if self._packer is not None:
            self._store(self._packer.finish())
        self.flush()

    def _store(self, data: Any) -> None:
        with reported(self._shown):
            self._file.write(data)
        self.stored += memoryview(data).nbytes


@contextlib.contextmanager
def reported(shown: str) -> Iterator[None]:
    """Turn the operating system's error about an output into a WriteError."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_stdout(shown):
            raise
        raise WriteError(shown, error.strerror or str(error)) from error


@contextlib.contextmanager
def write_atomic(path: str | os.PathLike[str]) -> Iterator[Output]:
    """Open an output that appears complete or not at all.

    A regular file is written in the same folder under a hidden name, and renamed if the block ends without an
    exception; otherwise it is removed, and an existing file is not changed. A symbolic link is followed: the
    file it points to is replaced, and the link remains. The permissions of an existing file are kept. ``-``
    is standard output. Devices, named pipes and the process's own descriptors (``/dev/stdout``,
    ``/dev/fd/3``) are written directly. A file whose name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``
    is compressed; the same content gives the same bytes.

    A WriteError: opening, writing, closing or renaming failed, for example because the disk is full. An
    OptionError: no module is installed that compresses the file. A BrokenPipeError: the reader of standard
    output has closed it; for other pipes this is a WriteError.
    """
    shown = os.fspath(path)
    packer = _packer(shown)
    with _opened(shown) as file:
        output = Output(file, shown, packer)
        yield output
        output.finish()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the errors that :func:`write_atomic` would raise after hours of work; change nothing."""
    shown = os.fspath(path)
    _packer(shown)
    if shown == "-" or _descriptor(shown) is not None:
        return
    place, mode = _checked_place(shown)
    # The reader of a pipe must not see it opened and closed.
    if mode is None or stat.S_ISREG(mode):
        with contextlib.suppress(_Unused), _replacing(place, shown, mode):
            raise _Unused


def check_folder(path: str) -> None:
    """Raise WriteError for a folder of outputs that is a file or a URI."""
    check_local(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise WriteError(path, os.strerror(errno.ENOTDIR))


def check_local(path: str) -> None:
    """Raise WriteError for a URI: stores cannot write a file that is complete or absent."""
    if is_uri(path):
        raise WriteError(path, "outputs are files of this machine; copy them when they are complete")


class _Unused(Exception):
    """Leaves a trial block, so that the file it opened is removed again."""


def write_together(files: Sequence[tuple[str | os.PathLike[str], bytes]]) -> int:
    """Write files that belong together, and return their size; none appears before all are written.

    They appear in their order. The errors are those of :func:`write_atomic`.
    """
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(write_atomic(path)) for path, _ in reversed(files)]
        for output, (_, content) in zip(outputs, reversed(files), strict=True):
            output.write(content)
            output.flush()
    return sum(output.stored for output in outputs)


def stored_size(path: str | os.PathLike[str], content: bytes) -> int:
    """Size in bytes of a file of this name and content, compressed if the name says so."""
    packer = _packer(os.fspath(path))
    return len(content) if packer is None else len(packer.pack(content)) + len(packer.finish())


def _packer(shown: str) -> Packer | None:
    packing = packing_of(shown)
    return None if packing is None else Packer(packing)


def is_stdout(path: str) -> bool:
    """Whether an output is standard output, under any of its names."""
    return path == "-" or _descriptor(path) == 1


def _descriptor(shown: str) -> int | None:
    own = _OWN_DESCRIPTOR.fullmatch(shown)
    return int(own[1] or own[2]) if own else _NAMED_DESCRIPTOR.get(shown)


@contextlib.contextmanager
def _opened(shown: str) -> Iterator[Writer]:
    if shown == "-":
        if sys.stdout is None:
            raise WriteError("-", "standard output is closed")
        yield getattr(sys.stdout, "buffer", sys.stdout)
        return
    file: int | str | None = _descriptor(shown)
    mode: int | None = stat.S_IFCHR
    if isinstance(file, int):
        # Opening /dev/stdout again would start at offset 0 of a redirected file; its descriptor does not.
        if sys.stdout is not None:
            sys.stdout.flush()
        with reported(shown):
            file = os.dup(file)
    else:
        file, mode = _checked_place(shown)
    replaces = isinstance(file, str) and (mode is None or stat.S_ISREG(mode))
    with _replacing(str(file), shown, mode) if replaces else _buffered(file, shown) as writer:
        yield writer


def _checked_place(shown: str) -> tuple[str, int | None]:
    """The path of the file to which any links lead, and its mode, or None if there is no file yet."""
    mode = None
    check_local(shown)
    with reported(shown):
        place = _place_of(shown)
        with contextlib.suppress(FileNotFoundError):
            mode = os.stat(place).st_mode
    if mode is not None and stat.S_ISDIR(mode):
        raise WriteError(shown, os.strerror(errno.EISDIR))
    if mode is not None and stat.S_ISREG(mode) and not os.access(place, os.W_OK):
        raise WriteError(shown, os.strerror(errno.EACCES))
    return place, mode


def _place_of(path: str) -> str:
    """Follow symbolic links to the file itself.

    ``os.path.realpath`` is not used, because it also returns a file name for ``none/`` and ``none/../file``.
    """
    for _ in range(_MAX_LINKS):
        folder, name = os.path.split(path)
        if name in ("", os.curdir, os.pardir):
            # This is the name of a folder, whether or not it exists.
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR if path else errno.ENOENT))
        folder = os.path.realpath(folder or os.curdir, strict=True)
        place = os.path.join(folder, name)
        if not os.path.islink(place):
            return place
        path = os.path.join(folder, os.readlink(place))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


@contextlib.contextmanager
def _buffered(file: int | str, shown: str) -> Iterator[Writer]:
    with reported(shown):
        writer = open(file, "wb", buffering=1 << 16)  # noqa: SIM115 (closed below)
    try:
        yield writer
        with reported(shown):
            writer.close()
    except BaseException:
        # The exception that is being raised matters more than an error while closing.
        with contextlib.suppress(OSError, ValueError):
            writer.close()
        raise


@contextlib.contextmanager
def _replacing(place: str, shown: str, mode: int | None) -> Iterator[Writer]:
    folder, name = os.path.split(place)
    temporary = os.path.join(folder, f".{_start_of(name)}.{os.urandom(6).hex()}.svmfast.tmp")
    # O_EXCL: never an existing file. 0o666: the umask sets the permissions, as for any new file.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        # Inside the try block, so that the file is removed even if a signal arrives right after opening it.
        with reported(shown):
            descriptor = os.open(temporary, flags, 0o666)
        with _buffered(descriptor, shown) as writer:
            yield writer
        with reported(shown):
            if mode is not None:
                os.chmod(temporary, mode & 0o777)  # set-user-ID is not for new content
            os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _start_of(name: str) -> str:
    begin = name[:_SHOWN_NAME]
    while len(os.fsencode(begin)) > _SHOWN_NAME:
        begin = begin[:-1]
    return begin
