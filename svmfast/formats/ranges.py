"""svm-scale's range files: the limits to which each column's values are scaled."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from svmfast.errors import DataFormatError, UnsupportedError
from svmfast.formats.source import SourceLike, open_source
from svmfast.models.memory import MEMORY, Allowance
from svmfast.models.scaling import ColumnRanges, Scaling, TargetRange
from svmfast.values import MOST, Real, Whole

#: Bytes per column: both ends of its range, offset and factor, its scaled zero as computed and as read back.
_COLUMN_BYTES = 64
#: Bytes per line while a file is read: its text, and an index and two numbers as Python's objects.
_LINE_BYTES = 300


def read_ranges(source: SourceLike, *, memory: int = MEMORY) -> Scaling:
    """Read the file that ``svm-scale -s`` writes.

    Parameters
    ----------
    source : path, ``-``, bytes or binary file object
        Plain or compressed.
    memory : int
        Limit on the memory for the scaling, in bytes.

    Returns
    -------
    Scaling
        With svm-scale's arithmetic and the six digits of its output.

    Raises
    ------
    DataFormatError
        The file is not a valid range file; the message has line and token.
    FileAccessError, CompressedDataError, MemoryLimitError
    """
    with open_source(source) as opened:
        allowance = Allowance(memory, opened.name, "range file")
        text = opened.read_whole(allowance)
        allowance.take(_LINE_BYTES * text.count(b"\n"))
        lines = _Lines(text, opened.name)
    target = None
    if lines.word("'x' or 'y'") == "y":
        limits = lines.limits("the limits of the labels")
        target = TargetRange(*limits, *lines.numbers())
        if lines.word("'x'") != "x":
            raise lines.fault("no limits of the columns", "y", "'x'")
    lower, upper = lines.limits("the limits")
    columns: list[int] = []
    ends: list[tuple[float, float]] = []
    while (found := lines.column()) is not None:
        index, least, most = found
        if columns and index <= columns[-1] + 1:
            expected = f"one above {columns[-1] + 1}"
            raise lines.fault("indices are not in ascending order", str(index), expected)
        if most < least:
            raise lines.fault("the maximum is below the minimum", f"{most:g}", f"at least {least:g}")
        columns.append(index - 1)
        ends.append((least, most))
    width = columns[-1] + 1 if columns else 0
    allowance.take(width * _COLUMN_BYTES)
    both = np.zeros((2, width))
    if columns:
        both[:, columns] = np.array(ends).T
    return Scaling.from_ranges(both[0], both[1], lower, upper, target=target)


def read_scaling(source: SourceLike, *, memory: int = MEMORY) -> Scaling:
    """Read a scaling from svm-scale's range file, or from a model that carries one."""
    from svmfast.formats.detect import file_kind, open_model

    with open_source(source) as opened:
        if file_kind(opened.first_words()) not in ("svmfast-model", "libsvm-model"):
            return read_ranges(opened, memory=memory)
        scaling = open_model(opened, memory=memory).model.scaling
        if scaling is None:
            raise UnsupportedError(f"{opened.name}: the model carries no scaling", "give a range file")
        return scaling


def ranges_bytes(ranges: ColumnRanges, target: TargetRange | None = None) -> bytes:
    """The file that ``svm-scale -s`` writes."""
    lines = []
    if target is not None:
        lines += ["y", f"{target.lower:.17g} {target.upper:.17g}"]
        lines.append(f"{target.minimum:.17g} {target.maximum:.17g}")
    lines += ["x", f"{ranges.lower:.17g} {ranges.upper:.17g}"]
    for column in np.flatnonzero(ranges.minimum != ranges.maximum).tolist():
        lines.append(f"{column + 1} {ranges.minimum[column]:.17g} {ranges.maximum[column]:.17g}")
    return "\n".join([*lines, ""]).encode()


class _Lines:
    """Reads a range file line by line."""

    def __init__(self, text: bytes, name: str) -> None:
        self._lines = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "backslashreplace").splitlines()
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        self._at, self._name = 0, name

    def fault(self, what: str, token: str | None, expected: str) -> DataFormatError:
        """An error about the line that was read last."""
        return DataFormatError(self._name, self._at or None, what, token, f"expected {expected}")

    def word(self, expected: str) -> str:
        """Read a line with one letter, x or y."""
        words = self._next(expected)
        if words not in (["x"], ["y"]):
            raise self.fault("not a range file of svm-scale", " ".join(words)[:60], expected)
        return words[0]

    def numbers(self) -> tuple[float, float]:
        """Read a line with two numbers."""
        one, other = self._words("two numbers", 2)
        return self._number(one), self._number(other)

    def limits(self, what: str) -> tuple[float, float]:
        """Read a line with two ascending numbers."""
        lower, upper = self.numbers()
        if not lower < upper:
            raise self.fault(f"{what} are not in order", f"{upper:g}", "lower, then upper")
        return lower, upper

    def column(self) -> tuple[int, float, float] | None:
        """Read a line with an index and two numbers; return None at the end."""
        if self._at == len(self._lines):
            return None
        word, least, most = self._words("an index, a minimum and a maximum", 3)
        index: Any = Whole(1, MOST).of_text(word)
        if index is None:
            raise self.fault("not an index", word, f"a whole number from 1 to {MOST}")
        return index, self._number(least), self._number(most)

    def _words(self, expected: str, count: int) -> list[str]:
        words = self._next(expected)
        if len(words) != count:
            raise self.fault(f"{len(words)} values", " ".join(words)[:60], expected)
        return words

    def _next(self, expected: str) -> list[str]:
        self._at += 1
        if self._at > len(self._lines):
            raise self.fault("the file ends early", None, expected)
        return re.split(r"[ \t]+", self._lines[self._at - 1].strip(" \t"))

    def _number(self, word: str) -> float:
        found: Any = Real().of_text(word)
        if found is None:
            raise self.fault("not a number", word, "a finite decimal number")
        return float(found)
