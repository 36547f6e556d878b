"""svm-scale's range files: the limits to which each column's values are scaled."""

from __future__ import annotations

import math
import re

import numpy as np

from svmfast.errors import DataFormatError, UnsupportedError
from svmfast.formats.source import SourceLike, open_source
from svmfast.models.memory import MEMORY, Allowance
from svmfast.models.scaling import ColumnRanges, Scaling, TargetRange
from svmfast.values import MOST

#: Bytes per column: both ends of its range, offset and factor, its scaled zero as computed and as read back.
_COLUMN_BYTES = 64
#: Bytes per line while a file is read: its text, and an index and two numbers as Python's objects.
_LINE_BYTES = 300
_NUMBER = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_LETTER, _X = re.compile("([xy])"), re.compile("x")
_PAIR = re.compile(rf"{_NUMBER}[ \t]+{_NUMBER}")
_COLUMN = re.compile(rf"\+?([0-9]{{1,10}})[ \t]+{_NUMBER}[ \t]+{_NUMBER}")


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
    FileAccessError, InputError, MemoryLimitError
    """
    with open_source(source) as opened:
        allowance = Allowance(memory, opened.name, "range file")
        text = opened.read_whole(allowance)
        allowance.take(_LINE_BYTES * text.count(b"\n"))
        lines = _Lines(text, opened.name)
    target = None
    if lines.next(_LETTER, "'x' or 'y'")[1] == "y":
        target = TargetRange(*lines.limits(), *lines.numbers(_PAIR, "two numbers"))
        lines.next(_X, "'x'")
    lower, upper = lines.limits()
    columns: list[int] = []
    ends: list[list[float]] = []
    while not lines.ended:
        above = columns[-1] + 1 if columns else 0
        expected = f"an index from {above + 1} to {MOST}, a minimum and a maximum"
        index, *both = lines.numbers(_COLUMN, expected)
        if not (above < index <= MOST and both[0] <= both[1]):
            raise lines.fault(expected)
        columns.append(int(index) - 1)
        ends.append(both)
    width = columns[-1] + 1 if columns else 0
    allowance.take(width * _COLUMN_BYTES)
    extremes = np.zeros((2, width))
    if columns:
        extremes[:, columns] = np.array(ends).T
    return Scaling.from_ranges(extremes[0], extremes[1], lower, upper, target=target)


def read_scaling(source: SourceLike, *, memory: int = MEMORY) -> Scaling:
    """Read a scaling from svm-scale's range file, or from a model that carries one."""
    from svmfast.formats.detect import file_kind
    from svmfast.formats.model_files import open_model

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

    @property
    def ended(self) -> bool:
        return self._at == len(self._lines)

    def fault(self, expected: str) -> DataFormatError:
        """An error about the line that was read last."""
        line = self._lines[self._at - 1] if self._at <= len(self._lines) else None
        token = None if line is None else line.strip(" \t")[:60]
        what = "not a line of svm-scale's range file" if token else "a line is missing"
        return DataFormatError(self._name, self._at, what, token or None, f"expected {expected}")

    def next(self, form: re.Pattern[str], expected: str) -> re.Match[str]:
        """Read a line that has this form."""
        self._at += 1
        if self._at <= len(self._lines) and (found := form.fullmatch(self._lines[self._at - 1].strip(" \t"))):
            return found
        raise self.fault(expected)

    def numbers(self, form: re.Pattern[str], expected: str) -> list[float]:
        """Read a line of finite numbers."""
        found = [float(word) for word in self.next(form, expected).groups()]
        if not all(map(math.isfinite, found)):
            raise self.fault(expected)
        return found

    def limits(self) -> tuple[float, float]:
        """Read a line with two ascending numbers."""
        expected = "a lower limit and an upper one above it"
        lower, upper = self.numbers(_PAIR, expected)
        if not lower < upper:
            raise self.fault(expected)
        return lower, upper
