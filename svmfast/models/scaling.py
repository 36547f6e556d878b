"""The scaling of a model's rows: what svm-scale or a scaler of scikit-learn did to the training rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from svmfast import _core
from svmfast.caches import Cacheless, cached
from svmfast.display import count, fault_of_name
from svmfast.errors import MemoryLimitError, ModelContentError, NotFiniteError
from svmfast.models.encoding import Encoding, numbered
from svmfast.models.scale_ranges import ColumnRanges as ColumnRanges
from svmfast.models.scale_ranges import TargetRange as TargetRange
from svmfast.models.scale_ranges import finite_vector
from svmfast.models.sizes import expect
from svmfast.options import MEMORY
from svmfast.rows import MAX_COLUMNS, FloatArray, IntArray, Rows

#: Number of significant digits that svm-scale prints (``%g``).
SVM_SCALE_DIGITS = 6
#: Number of entries that zeros may become at a time, where rows are scaled in blocks.
_BLOCK_ENTRIES = 1 << 18
_TIMED_BLOCKS = 8
_ENTRY_BYTES = 12
#: Of a column whose range is learned: the range, the map and a model's file of both.
_LEARNED_BYTES = 256
#: This many significant digits distinguish all float64 numbers.
MAX_DIGITS = 17


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
    encoding : Encoding or None
        The d features by columns and categories. Readers of tables and of dense arrays apply it; LIBSVM's
        text and sparse matrices have the features themselves.
    """

    offset: FloatArray
    factor: FloatArray
    clip: tuple[float, float] | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    ranges: ColumnRanges | None = None
    target: TargetRange | None = None
    digits: int | None = None
    class_labels: tuple[float, ...] | None = field(default=None, compare=False)
    label_column: str | None = None
    boolean_classes: bool = False
    missing: FloatArray | None = None
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        for name in ("offset", "factor") if self.missing is None else ("offset", "factor", "missing"):
            object.__setattr__(self, name, finite_vector(name, getattr(self, name)))
        d = len(self.offset)
        expect("factor", len(self.factor) == d, f"{len(self.factor)} values", f"{d}, as in offset")
        expect("offset", d < MAX_COLUMNS, f"{d} columns", f"fewer than {MAX_COLUMNS}")
        if self.ranges is not None:
            n = len(self.ranges.minimum)
            expect("minimum", n == d, f"{n} values", f"{d}, one for each column")
            same = all(map(np.array_equal, self.ranges.as_affine(), (self.offset, self.factor)))
            expect("factor", same, "another map than that of the ranges", "the same map in both forms")
        if self.clip is not None:
            low, high = map(float, self.clip)
            holds = math.isfinite(low) and math.isfinite(high) and low <= high
            expect("clip_lower", holds, "not the ends of an interval", "finite numbers, the lower one first")
            object.__setattr__(self, "clip", (low, high))
        if self.digits is not None:
            holds = 1 <= self.digits <= MAX_DIGITS
            expect("digits", holds, f"{self.digits}", f"a number from 1 to {MAX_DIGITS}")
        self._check_names("feature_names")
        n = d if self.feature_names is None else len(self.feature_names)
        expect("feature_names", n == d, f"{n} names", f"{d}, one for each column")
        n = d if self.encoding is None else len(self.encoding.features)
        expect("encoding", n == d, f"{n} features", f"{d}, as in offset")
        self._check_names("class_names")
        words = not self.boolean_classes or set(self.class_names or ()) <= {"False", "True"}
        expect("boolean_classes", words, "other names of classes", "False and True")

    def _check_names(self, name: str) -> None:
        given = getattr(self, name)
        if given is None:
            return
        names = tuple(map(str, given))  # an array's truth is ambiguous
        for one in names:
            fault = fault_of_name(one)
            if fault is not None:
                raise ModelContentError(name, fault, "printable text", one)
        expect(name, len(set(names)) == len(names), "the same name twice", "distinct names")
        object.__setattr__(self, name, names)

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

        Columns whose `minimum` and `maximum`, both ``(d,)``, are equal are dropped.
        """
        low, high = np.asarray(minimum, dtype=np.float64), np.asarray(maximum, dtype=np.float64)
        ranges = ColumnRanges(low, high, float(lower), float(upper))
        return cls(*ranges.as_affine(), ranges=ranges, target=target, digits=digits)

    @classmethod
    def learned(cls, rows: Rows, limits: tuple[float, float], memory: int = MEMORY) -> Scaling:
        """Make the map that svm-scale learns from these rows, for an interval; `memory` limits its bytes."""
        d = rows.n_columns
        if _LEARNED_BYTES * d > memory:
            what = f"a scaling of {count(d, 'column')}"
            raise MemoryLimitError(what, _LEARNED_BYTES * d, memory, "allow more memory")
        extremes = _core.ColumnExtremes()
        extremes.add(rows, d)
        return cls.from_ranges(*extremes.result(), *limits)

    def __len__(self) -> int:
        return len(self.offset)

    def __repr__(self) -> str:
        return f"<scaling of {count(len(self), 'column')}>"

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """The columns of a table that hold what the features are made of, if they have names."""
        found = None if self.encoding is None else self.encoding.columns
        return self.feature_names if found is None else None if found == numbered(len(found)) else found

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
        zeros, ones = np.zeros(len(self)), np.ones(len(self))
        return replace(self, offset=zeros, factor=ones, ranges=None, clip=None, target=None, digits=None)

    def widened(self, width: int, names: Sequence[str] | None = None) -> Scaling:
        """Take the same map with columns appended up to `width`, and with these names of columns.

        Columns beyond the known ones are not changed, or with `ranges`, are dropped, as before. A scaling
        that clips must have as many columns: others would be clipped as well.
        """
        more, ranges = width - len(self), self.ranges
        if ranges is not None:  # equal ends drop a column
            low, high = (np.pad(ends, (0, more)) for ends in (ranges.minimum, ranges.maximum))
            ranges = replace(ranges, minimum=low, maximum=high)
        offset, factor = np.pad(self.offset, (0, more)), np.pad(self.factor, (0, more))
        factor[len(self) :] = ranges is None
        columns = None if names is None else tuple(names)
        return replace(self, offset=offset, factor=factor, ranges=ranges, feature_names=columns)

    def with_map(self, other: Scaling) -> Scaling:
        """Take the map of `other`, which has svm-scale's ranges, and keep the names."""
        wide = other.widened(len(self))
        return replace(self, offset=wide.offset, factor=wide.factor, ranges=wide.ranges, digits=wide.digits)

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
        last = *(self.clip or (-math.inf, math.inf)), self.digits or 0
        if self.ranges is None:
            return _core.ScalingMap(self.offset, self.factor, False, 0.0, 0.0, *last)
        return _core.ScalingMap(
            self.ranges.minimum, self.ranges.maximum, True, self.ranges.lower, self.ranges.upper, *last
        )

    def apply(
        self,
        rows: Rows,
        *,
        first: int | IntArray = 1,
        memory: int = MEMORY,
        copies: float = 1,
        held: int = 0,
    ) -> Rows:
        """Scale rows; zeros are not stored.

        `first` is the number of the first row, or those of all rows, for messages. `memory` limits the bytes
        for zeros that become values in `copies` copies of the scaled rows, with the `held` bytes of other
        rows: more is a MemoryLimitError. A scaled value that is not finite is a NotFiniteError.
        """
        if self.is_identity:
            return rows
        more = self.zero_bytes(rows, copies)
        if more and held + more > memory:
            what = f"scaling {count(len(rows), 'row')}, since 0 moves in {count(self.moved_zeros, 'column')},"
            what += " and working on them" * (copies > 1)
            raise MemoryLimitError(what, held + more, memory, "allow more memory, or scale the file before")
        with _named_overflow(first):
            indptr, indices, values = self.native.apply(rows)
        return Rows.trusted(indptr, indices, values, self.width(rows))

    def zero_bytes(self, rows: Rows, copies: float = 1) -> int:
        """Bound the bytes of zeros that become values, in `copies` copies of the scaled rows."""
        return max(0, int(copies * _ENTRY_BYTES * (len(rows) * self.moved_zeros - rows.nnz)))

    def width(self, rows: Rows) -> int:
        """The number of columns of rows after scaling."""
        return len(self) if self.ranges is not None else max(len(self), rows.n_columns)

    def text(self, rows: Rows, labels: FloatArray | None) -> tuple[bytes, int]:
        """Write the text that svm-scale writes for rows and labels already scaled; count its values.

        None writes rows without labels.
        """
        with _named_overflow():
            arrays = self.native.apply(rows)
        first = np.empty((0, len(rows))) if labels is None else np.ascontiguousarray(labels)[np.newaxis]
        return _core.write_rows(first, *arrays, 1, 6), len(arrays[2])

    def apply_labels(self, labels: FloatArray) -> FloatArray:
        """Scale the labels of data, ``(n,)``; `labels` themselves if there is no `target`."""
        return labels if self.target is None else self.target.apply(labels)

    def same_map(self, other: Scaling | None) -> bool:
        """Whether `other` scales every row and label to the same numbers; names may differ.

        Values for missing ones must agree if both have them.
        """
        if other is None:
            return False
        missing = {} if self.missing is not None and other.missing is not None else {"missing": None}
        bare = {**_NAMELESS, **missing}
        return replace(self, **bare).digest() == replace(other, **bare).digest()  # type: ignore[arg-type]

    def digest(self) -> str:
        """Hash the map and its names."""
        import hashlib  # imported on use, to save start-up time

        # As plain values, without the labels, which the model stores.
        fields = asdict(
            replace(self, class_labels=None),
            dict_factory=lambda pairs: {
                name: (one + 0.0).tolist() if isinstance(one, np.ndarray) else one for name, one in pairs
            },
        )
        return hashlib.sha256(repr(fields).encode()).hexdigest()


def identity(width: int) -> Scaling:
    """Make the scaling that changes no row, with so many columns."""
    return Scaling(np.zeros(width), np.ones(width))


@contextmanager
def _named_overflow(first: int | IntArray = 1) -> Iterator[None]:
    """Turn the error of the native loops into one that names row and feature."""
    try:
        yield
    except OverflowError as error:
        _, row, _, column = str(error).split()
        number = int(row) + first if isinstance(first, int) else first[int(row)]
        raise NotFiniteError(
            f"row {number}: the scaled value of feature {int(column) + 1} leaves the range of floating point"
        ) from error


#: What names something and does not change a row.
_NAMELESS = {"feature_names": None, "class_names": None, "label_column": None, "boolean_classes": False}
