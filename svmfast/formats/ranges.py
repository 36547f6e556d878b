"""What ``scale -r`` reads: svm-scale's range files, and maps of rows, which are like them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from svmfast.display import count
from svmfast.errors import DataFormatError, UnsupportedError
from svmfast.formats.source import Source, SourceLike, open_source
from svmfast.models.mapped import LinearMap
from svmfast.models.memory import MEMORY, Allowance
from svmfast.models.scaling import ColumnRanges, Scaling, TargetRange
from svmfast.values import MOST

#: Bytes per column: both ends of its range, offset and factor, its scaled zero as computed and as read back.
_COLUMN_BYTES = 64
#: Bytes per line while a file is read: its text, and an index and two numbers as Python's objects; then of
#: further numbers.
_LINE_BYTES, _NUMBER_BYTES = 300, 32
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LETTER, _X = re.compile("[xy]"), re.compile("x")
_PAIR = re.compile(rf"{_NUMBER}[ \t]+{_NUMBER}")
_COLUMN = re.compile(rf"\+?[0-9]{{1,10}}(?:[ \t]+{_NUMBER})+")
#: The first line of a map; its first word tells that the file is one.
_MAP = "svmfast-map 1"
_SIZE = {name: re.compile(f"{name}[ \\t]+0*([1-9][0-9]{{0,9}})") for name in ("coordinates", "features")}


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
        lines = _Lines(opened, Allowance(memory, opened.name, "range file"))
    target = None
    if lines.next(_LETTER, "'x' or 'y'")[0] == "y":
        target = TargetRange(*lines.limits(), *lines.numbers(_PAIR, "two numbers"))
        lines.next(_X, "'x'")
    lower, upper = lines.limits()
    columns, ends = lines.columns(2, "a minimum and a maximum", lambda both: 0 <= both[1] - both[0] < np.inf)
    width = columns[-1] + 1 if columns else 0
    lines.allowance.take(width * _COLUMN_BYTES)
    extremes = np.zeros((2, width))
    if columns:
        extremes[:, columns] = np.array(ends).T
    return Scaling.from_ranges(extremes[0], extremes[1], lower, upper, target=target)


def read_map(source: SourceLike, *, memory: int = MEMORY) -> LinearMap:
    """Read a map (docs/model-format.md); the errors are those of :func:`read_ranges`."""
    with open_source(source) as opened:
        lines = _Lines(opened, Allowance(memory, opened.name, "map"), "a map of rows")
    lines.next(re.compile(_MAP), f"'{_MAP}'")
    r, d = (int(lines.next(form, f"'{name} N', N from 1")[1]) for name, form in _SIZE.items())
    expected = f"a center and {count(r, 'number')} of single precision"
    # Greater numbers become infinite.
    columns, numbers = lines.columns(1 + r, expected, lambda row: max(map(abs, row)) < 2**128 - 2**103, d)
    center, *matrix = np.array(numbers, np.float32).T
    found = LinearMap(np.array(columns, np.int64), np.array(matrix), center)
    lines.allowance.take(found.working_bytes)
    return found


def read_restored(source: SourceLike, *, memory: int = MEMORY) -> Scaling | LinearMap:
    """Read a range file or a map."""
    from svmfast.formats.detect import detect

    with open_source(source) as opened:
        if detect(opened) not in ("data", "empty", "pickle"):
            expected = "expected a range file of svm-scale; a model scales the rows that it predicts"
            raise DataFormatError(opened.name, None, "a model, not a range file", None, expected)
        is_map = opened.first_words().split()[:1] == [_MAP.split()[0].encode()]
        return read_map(opened, memory=memory) if is_map else read_ranges(opened, memory=memory)


def read_scaling(source: SourceLike, *, memory: int = MEMORY) -> Scaling:
    """Read a scaling from svm-scale's range file, or from a model that carries one."""
    from svmfast.formats.detect import detect
    from svmfast.formats.model_files import open_model

    with open_source(source) as opened:
        if detect(opened) in ("data", "empty"):
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


def map_bytes(map: LinearMap) -> bytes:
    """The file of a map: each number is the shortest decimal of its single precision."""
    (r, d), numbers = map.matrix.shape, np.vstack([map.center, map.matrix]).T
    lines = [_MAP, f"coordinates {r}", f"features {d}"]
    for column, row in zip(map.features.tolist(), numbers, strict=True):
        lines.append(f"{column + 1} {' '.join(row.astype(str))}")
    return "\n".join([*lines, ""]).encode()


class _Lines:
    """Reads a file line by line."""

    def __init__(self, opened: Source, allowance: Allowance, kind: str = "svm-scale's range file") -> None:
        text = opened.read_whole(allowance)
        allowance.take(_LINE_BYTES * text.count(b"\n"))
        self._lines = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "backslashreplace").splitlines()
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        self._at, self._name, self._kind, self.allowance = 0, opened.name, kind, allowance

    def fault(self, expected: str) -> DataFormatError:
        """An error about the line that was read last."""
        line = self._lines[self._at - 1] if self._at <= len(self._lines) else None
        token = None if line is None else line.strip(" \t")[:60]
        what = f"not a line of {self._kind}" if token else "a line is missing"
        return DataFormatError(self._name, self._at, what, token or None, f"expected {expected}")

    def next(self, form: re.Pattern[str], expected: str) -> re.Match[str]:
        """Read a line that has this form."""
        self._at += 1
        if self._at <= len(self._lines) and (found := form.fullmatch(self._lines[self._at - 1].strip(" \t"))):
            return found
        raise self.fault(expected)

    def numbers(self, form: re.Pattern[str], expected: str) -> list[float]:
        """Read a line of finite numbers."""
        found = [float(word) for word in self.next(form, expected)[0].split()]
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

    def columns(
        self, width: int, expected: str, holds: Callable[[list[float]], bool], lines: int | None = None
    ) -> tuple[list[int], list[list[float]]]:
        """Read the other lines, of which there are `lines`: an index, and `width` numbers that must hold.

        The indices ascend from 1; the columns are returned.
        """
        columns: list[int] = []
        numbers: list[list[float]] = []
        lines = len(self._lines) - self._at if lines is None else lines
        for _ in range(lines):
            above = columns[-1] + 1 if columns else 0
            wanted = f"an index from {above + 1} to {MOST}, {expected}"
            index, *found = self.numbers(_COLUMN, wanted)
            if not (above < index <= MOST and len(found) == width and holds(found)):
                raise self.fault(wanted)
            self.allowance.take(_NUMBER_BYTES * (width - 2))
            columns.append(int(index) - 1)
            numbers.append(found)
        if self._at < len(self._lines):
            self._at += 1
            raise self.fault(f"no more than {lines} features")
        return columns, numbers
