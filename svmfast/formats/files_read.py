"""Files whose rows follow one another: an error of a row becomes one of its file and line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from svmfast.errors import DataFormatError, EmptyDataError, SingleClassError, TrainingRowError
from svmfast.formats.dataset import Notes


@dataclass
class _File:
    path: str
    #: Number of its first row, from 0, among all rows.
    first: int
    n_rows: int
    notes: Notes
    first_line: int


class FilesRead:
    """The files that were read, in order; `called` names the rows of several files in messages."""

    def __init__(self, called: str) -> None:
        self._called = called
        self._files: list[_File] = []
        self._empty: EmptyDataError | None = None
        self.n_rows = 0

    @property
    def name(self) -> str:
        """What is read, in messages."""
        return self._files[0].path if len(self._files) == 1 else self._called

    def add(self, path: str, n_rows: int, notes: Notes, first_line: int = 0, begins: bool = True) -> None:
        """Append a file, with the line of its first row (0: without lines), or more rows of the last one."""
        if begins:
            self._files.append(_File(path, self.n_rows, n_rows, notes, first_line))
        else:
            self._files[-1].n_rows += n_rows
            self._files[-1].notes += notes
        self.n_rows += n_rows

    def add_empty(self, error: EmptyDataError, begins: bool = True) -> None:
        """Append a file, or more of the last one, in which there are no rows."""
        self._empty = error
        self.add(error.path, 0, Notes(), begins=begins)

    def finish(self, note: Callable[[str], None]) -> None:
        """Remark on every file; raise EmptyDataError if none has rows."""
        if self._empty is not None and not self.n_rows:
            raise self._empty
        for file in self._files:
            for text in file.notes.messages() if file.n_rows else ["there are no rows"]:
                note(f"{file.path}: {text}")

    @contextmanager
    def naming_lines(self) -> Iterator[None]:
        """Turn an error of a row into one of its line, and an error of all rows into one of the input."""
        try:
            yield
        except SingleClassError as error:
            raise DataFormatError(self.name, None, error.what, None, error.expected) from error
        except TrainingRowError as error:
            place = bisect_right([one.first for one in self._files], error.row - 1) - 1
            file = self._files[place]
            row = error.row - file.first
            skipped = file.notes.comment_lines or file.notes.blank_lines or not file.first_line
            line = None if skipped else file.first_line + row - 1
            what = f"row {row}: {error.what}" if skipped else error.what
            raise DataFormatError(file.path, line, what, error.token, f"expected {error.expected}") from error
