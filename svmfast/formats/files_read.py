"""Files whose rows follow one another: an error of a row becomes one of its file and line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from svmfast.errors import DataFormatError, EmptyDataError, SingleClassError, TrainingRowError
from svmfast.formats.dataset import Notes


class _File(NamedTuple):
    path: str
    #: Number of its first row, from 0, among all rows.
    first: int
    notes: Notes
    first_line: int


class FilesRead:
    """The files that were read, in order; `called` names the rows of several files in messages."""

    def __init__(self, called: str) -> None:
        self._called = called
        self._files: list[_File] = []
        self.n_rows = 0

    @property
    def name(self) -> str:
        """What is read, in messages."""
        return self._files[0].path if len(self._files) == 1 else self._called

    def add(self, path: str, n_rows: int, notes: Notes, first_line: int) -> None:
        """Append a file, with the line of its first row (0 if it has no lines)."""
        self._files.append(_File(path, self.n_rows, notes, first_line))
        self.n_rows += n_rows

    @contextmanager
    def allowing_none(self, path: str, count: int, note: Callable[[str], None]) -> Iterator[None]:
        """Read the next of `count` files: several may include files without rows, which a remark names."""
        try:
            yield
        except EmptyDataError as error:
            self.add(path, 0, Notes(), 0)
            if len(self._files) == count and not self.n_rows:
                raise
            note(f"{path}: {error.what}")

    @contextmanager
    def naming_lines(self) -> Iterator[None]:
        """Turn an error of a row into one of its line, and an error of all rows into one of the input."""
        try:
            yield
        except SingleClassError as error:
            raise DataFormatError(self.name, None, error.what, None, error.expected) from error
        except TrainingRowError as error:
            place = bisect_right([one.first for one in self._files], error.row - 1) - 1
            path, first, notes, first_line = self._files[place]
            row = error.row - first
            skipped = notes.comment_lines or notes.blank_lines or not first_line
            line = None if skipped else first_line + row - 1
            what = f"row {row}: {error.what}" if skipped else error.what
            raise DataFormatError(path, line, what, error.token, f"expected {error.expected}") from error
