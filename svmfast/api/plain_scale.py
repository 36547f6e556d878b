"""svm-scale of a plain file, without NumPy: its import takes longer than most files do."""

from __future__ import annotations

import os
import stat

from svmfast.errors import SvmfastError
from svmfast.formats.target import write_atomic
from svmfast.solvers.plain_scale import BEHIND, growth_warning, scaled_text
from svmfast.threads import thread_count

#: Size of a file that is held in memory as a whole; larger files are streamed.
MOST_BYTES = 1 << 25
_TABLES = (".csv", ".tsv")


class NotPlainError(Exception):
    """:func:`svmfast.api.scale.scale` is needed; standard output is untouched."""


def scale_plain(
    data: str,
    limits: tuple[float, float],
    labels: tuple[float, float] | None = None,
    *,
    save: str | None = None,
    restore: str | None = None,
    output: str = "-",
    threads: int | None = None,
) -> list[str]:
    """Scale a file as :func:`svmfast.api.scale.scale` does, if nothing in it needs a message.

    Parameters
    ----------
    data : path
    limits : (lower, upper)
    labels : (lower, upper), optional
    save, restore, output : path, optional
    threads : int, optional

    Returns
    -------
    list of str
        svm-scale's warnings.

    Raises
    ------
    NotPlainError
    WriteError, BrokenPipeError
        Standard output cannot be written.
    """
    try:
        _check_apart([path for path in (data, restore, save, None if output == "-" else output) if path])
        text, size = _text(data)
        ranges = None
        if restore is not None:
            file, ranges_size = _text(restore)
            ranges = bytes(file[:ranges_size])
        found = scaled_text(text, size, *limits, labels, ranges, thread_count(threads))
        if found is None:
            raise NotPlainError
        pieces, saved, values, scaled_values = found
        if save is not None:
            _write(save, [saved])
        if output != "-":
            _write(output, pieces)
    except (SvmfastError, OSError, MemoryError) as error:
        raise NotPlainError from error
    if output == "-":
        _write(output, pieces)
    return growth_warning(values, scaled_values)


def _check_apart(paths: list[str]) -> None:
    """Leave standard streams, devices and files with two roles to the command."""
    known = set()
    for path in paths:
        place = os.path.realpath(path)
        if path == "-" or place in known or (os.path.exists(place) and not os.path.isfile(place)):
            raise NotPlainError
        status = os.stat(place) if os.path.exists(place) else None
        if status is not None and status.st_nlink > 1:
            raise NotPlainError
        known.add(place)


def _text(path: str) -> tuple[bytearray, int]:
    """Return the bytes of a file, with padding after them, and their number."""
    if path.lower().endswith(_TABLES):
        raise NotPlainError
    with open(path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        size = status.st_size
        if not stat.S_ISREG(status.st_mode) or not 0 < size <= MOST_BYTES:
            raise NotPlainError
        text = bytearray(size + BEHIND)
        view, read = memoryview(text), 0
        while (count := file.readinto(view[read:])) and read + count <= size:
            read += count
        if read != size or count:
            raise NotPlainError  # it changes
    return text, size


def _write(path: str, pieces: list[bytes]) -> None:
    with write_atomic(path) as file:
        for piece in pieces:
            file.write(piece)
