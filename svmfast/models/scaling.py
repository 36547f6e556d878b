"""The scaling of a model's rows: what svm-scale or a scaler of scikit-learn did to the training rows.

Over 400 lines, because it is one class, with the checks of its parts and its record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmfast import _core
from svmfast.caches import Cacheless, cached
from svmfast.display import count, fault_of_name, listed, shown
from svmfast.errors import MemoryLimitError, ModelContentError, NotFiniteError
from svmfast.models.base import Array, ArrayField, Scalar, ScalarField
from svmfast.models.sizes import expect
from svmfast.options import MEMORY
from svmfast.rows import MAX_COLUMNS, FloatArray, Rows

#: Number of significant digits that svm-scale prints (``%g``).
SVM_SCALE_DIGITS = 6
#: Number of entries that zeros may become at a time, where rows are scaled in blocks.
_BLOCK_ENTRIES = 1 << 18
_TIMED_BLOCKS = 8

_ENTRY_BYTES = 12
#: This many significant digits distinguish all float64 numbers.
MAX_DIGITS = 17


@dataclass(frozen=True)
class TargetRange:
    """svm-scale's ``-y``: labels from `minimum` to `maximum` become values from `lower` to `upper`."""

    lower: float
    upper: float
    minimum: float
    maximum: float

    def __post_init__(self) -> None:
        numbers = (self.lower, self.upper, self.minimum, self.maximum)
        expect(
            "y_lower",
            all(map(math.isfinite, numbers)) and self.lower < self.upper,
            "not the limits of a scaled label",
            "finite numbers, lower below upper",
        )

    def apply(self, labels: FloatArray) -> FloatArray:
        """Scale labels in svm-scale's order of operations."""
        span = self.maximum - self.minimum
        with np.errstate(all="ignore"):
            scaled = self.lower + (self.upper - self.lower) * (labels - self.minimum) / span
        scaled = np.where(labels == self.maximum, self.upper, scaled)
        found: FloatArray = np.where(labels == self.minimum, self.lower, scaled)
        if np.any(np.isfinite(labels) & ~np.isfinite(found)):
            raise NotFiniteError("a scaled label leaves the range of floating point")
        return found


@dataclass(frozen=True, eq=False)
class ColumnRanges:
    """svm-scale's map of columns: values from `minimum` to `maximum` get values from `lower` to `upper`."""

    #: (d,) equal for a column that is dropped; svm-scale drops the columns that its range file does not list.
    minimum: FloatArray
    maximum: FloatArray
    lower: float = -1.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum"):
            object.__setattr__(self, name, _vector(name, getattr(self, name)))
        same = self.minimum.shape == self.maximum.shape
        expect("maximum", same, f"{self.maximum.size} values", f"{self.minimum.size}, as in minimum")
        ascending = bool((self.minimum <= self.maximum).all())
        expect("maximum", ascending, "below the minimum", "no value below that of minimum")
        limits = math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper
        expect("lower", limits, "not below upper", "finite limits, lower below upper")

    def as_affine(self) -> tuple[FloatArray, FloatArray]:
        """Compute offset and factor of the same map, both ``(d,)``; the factor of a dropped column is 0."""
        with np.errstate(all="ignore"):
            span = self.maximum - self.minimum
            factor = np.where(span > 0, (self.upper - self.lower) / span, 0.0)
            offset = np.where(span > 0, self.minimum - self.lower * span / (self.upper - self.lower), 0.0)
        # Ranges near the limits of float64 have no such form; they are used in svm-scale's arithmetic only.
        return np.nan_to_num(offset), np.nan_to_num(factor)


@dataclass(frozen=True, eq=False, repr=False)
class Scaling(Cacheless):
    """``z = (x - offset) * factor`` for every column of a row, before a model sees it.

    Attributes
    ----------
    offset, factor : (d,) float64
        Further columns are not changed, or with `ranges`, are dropped. A factor of 0 drops a column.
    clip : (float, float) or None
        The interval to which the scaled values of the d columns are clipped.
    feature_names : tuple of str or None
        One for each of the d columns.
    class_names : tuple of str or None
        One for each label of the model, in its order.
    ranges : ColumnRanges or None
        The same map in svm-scale's form. If given, it is evaluated in svm-scale's order of operations, so
        that the digits are svm-scale's. Set by :meth:`from_ranges`.
    target : TargetRange or None
        The scaling of the labels of data.
    digits : int or None
        Significant digits to which the scaled values are rounded (6: svm-scale's output); None: not rounded.
    class_labels : tuple of float or None
        The labels that `class_names` name, in the same order. They are set by the model that carries the
        scaling, since its file already stores the labels.
    label_column : str or None
        The column of labels in tables, if it is not called label.
    boolean_classes : bool
        Whether the classes are False and True, whose names are these words.
    missing : (m,) float64 or None
        Values in place of missing ones in the first m columns, before they are scaled. Readers of tables and
        of dense arrays use them; a value that LIBSVM's text or a sparse matrix leaves out is 0.

    Raises
    ------
    ModelContentError
        The parts are inconsistent.
    """

    offset: FloatArray
    factor: FloatArray
    clip: tuple[float, float] | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    ranges: ColumnRanges | None = None
    target: TargetRange | None = None
    digits: int | None = None
    class_labels: tuple[float, ...] | None = None
    label_column: str | None = None
    boolean_classes: bool = False
    missing: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("offset", "factor"):
            object.__setattr__(self, name, _vector(name, getattr(self, name)))
        if self.missing is not None:
            object.__setattr__(self, "missing", _vector("missing", self.missing))
        d = len(self.offset)
        expect("factor", len(self.factor) == d, f"{len(self.factor)} values", f"{d}, as in offset")
        expect("offset", d < MAX_COLUMNS, f"{d} columns", f"fewer than {MAX_COLUMNS}")
        if self.ranges is not None:
            n = len(self.ranges.minimum)
            expect("minimum", n == d, f"{n} values", f"{d}, one for each column")
        if self.clip is not None:
            low, high = map(float, self.clip)
            holds = math.isfinite(low) and math.isfinite(high) and low <= high
            expect("clip_lower", holds, "not the ends of an interval", "finite numbers, the lower one first")
            object.__setattr__(self, "clip", (low, high))
        if self.digits is not None:
            holds = 1 <= self.digits <= MAX_DIGITS
            expect("digits", holds, f"{self.digits}", f"a number from 1 to {MAX_DIGITS}")
        for name, expected in (("feature_names", d), ("class_names", None)):
            self._check_names(name, expected)
        words = not self.boolean_classes or set(self.class_names or ()) <= {"False", "True"}
        expect("boolean_classes", words, "other names of classes", "False and True")

    def _check_names(self, name: str, expected: int | None) -> None:
        names = getattr(self, name)
        if names is None:
            return
        names = tuple(map(str, names))
        object.__setattr__(self, name, names)
        for one in names:
            fault = fault_of_name(one)
            if fault is not None:
                raise ModelContentError(name, fault, "printable text", one)
        expect(name, len(set(names)) == len(names), "the same name twice", "distinct names")
        if expected is not None:
            expect(name, len(names) == expected, f"{len(names)} names", f"{expected}, one for each column")

    @classmethod
    def from_ranges(
        cls,
        minimum: ArrayLike,
        maximum: ArrayLike,
        lower: float = -1.0,
        upper: float = 1.0,
        *,
        target: TargetRange | None = None,
        digits: int | None = SVM_SCALE_DIGITS,
    ) -> Scaling:
        """Make svm-scale's map of columns, by default with the digits of its output.

        Parameters
        ----------
        minimum, maximum : (d,) array_like
            Equal for a column that is dropped.
        lower, upper : float
        target : TargetRange, optional
        digits : int or None
        """
        low, high = np.asarray(minimum, dtype=np.float64), np.asarray(maximum, dtype=np.float64)
        ranges = ColumnRanges(low, high, float(lower), float(upper))
        offset, factor = ranges.as_affine()
        return cls(offset, factor, ranges=ranges, target=target, digits=digits)

    def __len__(self) -> int:
        return len(self.offset)

    def __repr__(self) -> str:
        return f"<scaling: {self.summary}>"

    @property
    def summary(self) -> str:
        """The number of scaled columns, how they are scaled, and the names, in one line."""
        target = "" if self.ranges is None else f" to [{self.ranges.lower:g}, {self.ranges.upper:g}]"
        parts = [] if self.is_identity else [f"{count(len(self), 'column')} scaled{target}"]
        if self.clip is not None:
            parts += [f"clipped to [{self.clip[0]:g}, {self.clip[1]:g}]"]
        if self.digits is not None:
            parts += [count(self.digits, "digit")]
        if self.feature_names is not None:
            parts += ["named features"]
        if self.missing is not None:
            parts += ["missing values replaced"]
        if self.class_names is not None:
            parts += [f"classes {listed([shown(name) for name in self.class_names])}"]
        return ", ".join(parts) or "no change"

    @cached
    def is_identity(self) -> bool:
        """Whether rows are not changed: the scaling has only names."""
        kept = bool((self.offset == 0).all() and (self.factor == 1).all())
        return kept and self.ranges is None and self.clip is None and self.digits is None

    @property
    def names_of_labels(self) -> dict[float, str] | None:
        """The name of each of the model's labels, if its classes have names."""
        if self.class_names is None or self.class_labels is None:
            return None
        return dict(zip(self.class_labels, self.class_names, strict=True))

    def only_names(self) -> Scaling:
        """Keep the names, and change neither rows nor labels."""
        kept = replace(self, offset=np.zeros(len(self)), factor=np.ones(len(self)), ranges=None)
        return replace(kept, clip=None, target=None, digits=None)

    def widened(self, width: int, names: Sequence[str] | None = None) -> Scaling:
        """Take the same map with columns appended up to `width`, and with these names of columns.

        Columns beyond the known ones are not changed, or with `ranges`, are dropped, as before. A scaling
        that clips must have as many columns: others would be clipped as well.
        """
        more = np.zeros(width - len(self))
        ranges = self.ranges
        if ranges is not None:  # equal ends drop a column
            low, high = (np.concatenate([ends, more]) for ends in (ranges.minimum, ranges.maximum))
            ranges = replace(ranges, minimum=low, maximum=high)
        return replace(
            self,
            offset=np.concatenate([self.offset, more]),
            factor=np.concatenate([self.factor, more if ranges is not None else more + 1]),
            ranges=ranges,
            feature_names=None if names is None else tuple(names),
        )

    def naming(self, names: Sequence[str]) -> Scaling:
        """Give the same map these names of columns, of which there is one for every column or more."""
        return self.widened(len(names), names)

    def for_labels(self, labels: Iterable[float] | None) -> Scaling:
        """Take the same map for a model with these labels, with the class names of these labels only."""
        names = self.names_of_labels
        if names is None:
            return self
        mine = tuple(map(float, labels or ()))
        if not mine or not set(names).issuperset(mine):
            return replace(self, class_names=None, class_labels=None)
        return replace(self, class_names=tuple(names[label] for label in mine), class_labels=mine)

    @property
    def moved_zeros(self) -> int:
        """Number of columns in which 0 is scaled to another value, so that every row stores an entry."""
        return int(self.native.moving)

    @property
    def most_rows(self) -> int:
        """Number of rows to scale at a time, so that zeros that become values take bounded memory."""
        return max(1, _BLOCK_ENTRIES // max(1, 0 if self.is_identity else self.moved_zeros))

    @property
    def timed_rows(self) -> int:
        """The most scaled rows that are kept, to time predictions of them."""
        return _TIMED_BLOCKS * self.most_rows

    def blocks(self, rows: Rows) -> Iterator[slice]:
        """Yield slices of at most :attr:`most_rows` rows, one for no rows."""
        for begin in range(0, max(1, len(rows)), self.most_rows):
            yield slice(begin, begin + self.most_rows)

    def parts(self, rows: Rows) -> Iterator[Rows]:
        """Yield the scaled rows of each of the :meth:`blocks`."""
        for part in self.blocks(rows):
            yield self.apply(rows[part], first=part.start + 1)

    @cached
    def native(self) -> _core.ScalingMap:
        """The map in the native form that the loops take."""
        low, high = self.clip or (-math.inf, math.inf)
        ranges, digits = self.ranges, self.digits or 0
        if ranges is None:
            return _core.ScalingMap(self.offset, self.factor, False, 0.0, 0.0, low, high, digits)
        limits = ranges.lower, ranges.upper
        return _core.ScalingMap(ranges.minimum, ranges.maximum, True, *limits, low, high, digits)

    def apply(
        self,
        rows: Rows,
        *,
        first: int | NDArray[np.int64] = 1,
        memory: int = MEMORY,
        copies: float = 1,
        held: int = 0,
    ) -> Rows:
        """Scale rows; zeros are not stored.

        Parameters
        ----------
        rows : Rows of n rows
        first : int or (n,) int64
            The number of the first row, or of every row, for messages.
        memory : int
            Limit on the memory for zeros that become values, in bytes.
        copies : float
            How many times the scaled rows will be in memory.
        held : int
            How much of the memory other rows take.

        Raises
        ------
        NotFiniteError
            A scaled value leaves the range of floating point.
        MemoryLimitError
        """
        if self.is_identity:
            return rows
        more = self.zero_bytes(rows, copies)
        if more and held + more > memory:
            what = f"scaling {count(len(rows), 'row')}, since 0 moves in {count(self.moved_zeros, 'column')},"
            what += " and working on them" * (copies > 1)
            raise MemoryLimitError(what, held + more, memory, "allow more memory, or scale the file before")
        with _named_overflow(first):
            indptr, indices, values = self.native.apply(rows.indptr, rows.indices, rows.values)
        return Rows.trusted(indptr, indices, values, self.width(rows))

    def zero_bytes(self, rows: Rows, copies: float = 1) -> int:
        """Bound the bytes of zeros that become values, in `copies` copies of the scaled rows."""
        return max(0, int(copies * _ENTRY_BYTES * (len(rows) * self.moved_zeros - rows.nnz)))

    def width(self, rows: Rows) -> int:
        """The number of columns of rows after scaling."""
        return len(self) if self.ranges is not None else max(len(self), rows.n_columns)

    def text(self, rows: Rows, labels: FloatArray) -> tuple[bytes, int]:
        """Write the text that svm-scale writes for rows and labels already scaled; count its values."""
        with _named_overflow():
            return self.native.text(np.ascontiguousarray(labels), rows.indptr, rows.indices, rows.values)

    def apply_labels(self, labels: FloatArray) -> FloatArray:
        """Scale the labels of data, ``(n,)``; `labels` themselves if there is no `target`."""
        return labels if self.target is None else self.target.apply(labels)

    def same_map(self, other: Scaling | None) -> bool:
        """Whether `other` scales every row and label to the same numbers; names may differ.

        Values for missing ones must agree if both have them.
        """
        if other is None:
            return False
        mine, theirs = self.stored(), other.stored()
        for part in mine[0], theirs[0]:
            for name in _NAMES:
                part.pop(name, None)
        if self.missing is None or other.missing is None:
            mine[1].pop("missing", None), theirs[1].pop("missing", None)
        return mine[0] == theirs[0] and all(
            np.array_equal(mine[1].get(name, _NOTHING), theirs[1].get(name, _NOTHING))
            for name in (*mine[1], *theirs[1])
        )

    def digest(self) -> str:
        """Hash the map and its names."""
        import hashlib  # imported on use, to save start-up time

        scalars, arrays = self.stored()
        parts = [repr(sorted(scalars.items())).encode()]
        parts += [name.encode() + array.tobytes() for name, array in sorted(arrays.items())]
        return hashlib.sha256(b"\n".join(parts)).hexdigest()

    def stored(self) -> tuple[dict[str, Scalar], dict[str, Array]]:
        """List the scalars and arrays that a file stores."""
        ranges, target, (low, high) = self.ranges, self.target, self.clip or (None, None)
        column = None if self.label_column is None else (self.label_column,)
        given: dict[str, Any] = {
            "lower": None if ranges is None else float(ranges.lower),
            "upper": None if ranges is None else float(ranges.upper),
            **{"clip_lower": low, "clip_upper": high, "digits": self.digits},
            **{f"y_{name}": float(value) for name, value in (vars(target) if target else {}).items()},
            **{"feature_names": _listed(self.feature_names), "class_names": _listed(self.class_names)},
            **{"label_column": _listed(column), "boolean_classes": 1 if self.boolean_classes else None},
        }
        maps = ("offset", "factor") if ranges is None else ("minimum", "maximum")
        arrays = {name: getattr(ranges or self, name) for name in maps}
        if self.missing is not None:
            arrays["missing"] = self.missing
        return {name: value for name, value in given.items() if value is not None}, arrays

    @classmethod
    def from_stored(cls, scalars: Mapping[str, Scalar], arrays: Mapping[str, Array]) -> Scaling:
        """Undo :meth:`stored`; raise ModelContentError if the parts are inconsistent."""
        ranged, affine = (
            _all_or_none(arrays, names) for names in (("minimum", "maximum"), ("offset", "factor"))
        )
        both = "minimum and maximum, or offset and factor"
        expect("minimum", not (ranged and affine), "offset and factor too", f"one map: {both}")
        expect("factor", ranged or affine, "no map", both)
        limits = _all_or_none(scalars, ("lower", "upper"))
        expect("minimum", limits or not ranged, "without its limits", "lower and upper")
        expect("lower", ranged or not limits, "limits without ranges", "minimum and maximum")
        ends = ("clip_lower", "clip_upper")
        clip = tuple(float(scalars[end]) for end in ends) if _all_or_none(scalars, ends) else None
        numbers = [f"y_{field.name}" for field in fields(TargetRange)]
        target = None
        if _all_or_none(scalars, numbers):
            target = TargetRange(*(float(scalars[name]) for name in numbers))
        column = _names("label_column", scalars.get("label_column"))
        expect("label_column", column is None or len(column) == 1, "not one name", "one name")
        ranges, offset, factor = None, arrays.get("offset"), arrays.get("factor")
        if ranged:
            both_ends = float(scalars["lower"]), float(scalars["upper"])
            ranges = ColumnRanges(arrays["minimum"], arrays["maximum"], *both_ends)
            offset, factor = ranges.as_affine()
        assert offset is not None
        assert factor is not None
        return cls(
            offset,
            factor,
            clip,  # type: ignore[arg-type]
            _names("feature_names", scalars.get("feature_names")),
            _names("class_names", scalars.get("class_names")),
            ranges,
            target,
            int(scalars["digits"]) if "digits" in scalars else None,
            label_column=None if column is None else column[0],
            boolean_classes=bool(scalars.get("boolean_classes", 0)),
            missing=arrays.get("missing"),
        )


def identity(width: int) -> Scaling:
    """Make the scaling that changes no row, with so many columns."""
    return Scaling(np.zeros(width), np.ones(width))


@contextmanager
def _named_overflow(first: int | NDArray[np.int64] = 1) -> Iterator[None]:
    """Turn the error of the native loops into one that names row and feature."""
    try:
        yield
    except OverflowError as error:
        _, row, _, column = str(error).split()
        number = int(row) + first if isinstance(first, int) else first[int(row)]
        raise NotFiniteError(
            f"row {number}: the scaled value of feature {int(column) + 1} leaves the range of floating point"
        ) from error


_NOTHING = np.zeros(0)
#: Parts that name something, and do not change a row.
_NAMES = ("feature_names", "class_names", "label_column", "boolean_classes")

#: The fields of a scaling in a file. The two forms of the map are optional, but one of them must be there.
SCALING_SCALARS = (
    *(ScalarField(name, "float", optional=True) for name in ("lower", "upper")),
    *(ScalarField(name, "float", optional=True) for name in ("clip_lower", "clip_upper")),
    ScalarField("digits", "int", optional=True),
    *(ScalarField(f"y_{field.name}", "float", optional=True) for field in fields(TargetRange)),
    *(ScalarField(name, "text", optional=True) for name in ("feature_names", "class_names")),
    ScalarField("label_column", "text", optional=True),
    ScalarField("boolean_classes", "int", optional=True),
)
SCALING_ARRAYS = (
    *(ArrayField(name, "float64", 1, optional=True) for name in ("minimum", "maximum", "offset", "factor")),
    ArrayField("missing", "float64", 1, optional=True),
)


def _vector(name: str, given: NDArray[Any]) -> FloatArray:
    """Copy finite numbers, read-only."""
    values = np.array(given, dtype=np.float64)
    expect(name, values.ndim == 1, f"an array of {values.ndim} dimensions", "one")
    expect(name, bool(np.isfinite(values).all()), "nan or inf among the numbers", "finite numbers")
    values.setflags(write=False)
    return values


def _all_or_none(given: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether all of `names` are given; raise ModelContentError if only some of them are."""
    there = [name in given for name in names]
    if any(there) and not all(there):
        missing, given_one = (names[there.index(one)] for one in (False, True))
        raise ModelContentError(given_one, f"'{missing}' is missing", f"all of {' '.join(names)}, or none")
    return all(there)


def _listed(names: Sequence[str] | None) -> str | None:
    if names is None:
        return None
    import json  # imported on use, to save start-up time

    return json.dumps(list(names))


def _names(name: str, text: Scalar | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    try:
        import json

        names = json.loads(str(text))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ModelContentError(name, "not a list of names", '["name", ...], as JSON writes it')
    return tuple(names)
