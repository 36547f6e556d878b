"""Training rows for solvers that process them in working sets, each of which fits in memory.

Rows have *compact* columns: only the columns that occur are kept and numbered from 0. So a solver can use
dense vectors of that width, whatever indices the file has. ``source.columns`` maps them to the original
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, TrainingRowError
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows

#: Number of entries that are renumbered at a time.
COMPACT_ENTRIES = 1 << 20
#: Up to this width, a mark for each column is faster than sorting.
MARKED_COLUMNS = 1 << 20
#: Labels with more distinct values than this are not taken as classes.
MAX_CLASSES = 10_000


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Rows that are in memory together."""

    #: In compact columns.
    rows: Rows
    labels: FloatArray
    #: (n,) position of each row in the whole input, from 0.
    numbers: IntArray

    def between(self, first: int, last: int) -> WorkingSet:
        """Its rows `first` to `last` - 1, sharing memory."""
        return WorkingSet(self.rows[first:last], self.labels[first:last], self.numbers[first:last])

    @classmethod
    def joined(cls, parts: Sequence[WorkingSet]) -> WorkingSet:
        """The rows of several sets, one after another."""
        return cls(
            Rows.concatenate([part.rows for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.numbers for part in parts]),
        )


class WorkingSets(Protocol):
    """Training rows, divided into new working sets for every pass."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_sets(self) -> int:
        """Number of working sets per pass."""

    def working_set(self, seed: int, epoch: int, number: int) -> WorkingSet:
        """Return working set `number` of pass `epoch`; the same for the same arguments."""


@dataclass
class LabelOrder:
    """Distinct labels in order of first occurrence."""

    values: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    #: Number of the first row of each label.
    first: list[int] = field(default_factory=list)
    #: Whether there are more than :data:`MAX_CLASSES` labels; the lists then have only the first ones.
    overflow: bool = False

    def add(self, labels: FloatArray, start: int) -> None:
        """Add the labels of the rows that start at number `start`."""
        found, first, counts = np.unique(labels, return_index=True, return_counts=True)
        known = {value: k for k, value in enumerate(self.values)}
        for k in np.argsort(first):
            value = float(found[k])
            if value in known:
                self.counts[known[value]] += int(counts[k])
            elif len(self.values) == MAX_CLASSES:
                self.overflow = True
                return
            else:
                self.values.append(value)
                self.counts.append(int(counts[k]))
                self.first.append(start + int(first[k]))

    def extend(self, other: LabelOrder, start: int, final: FloatArray | None = None) -> None:
        """Add the labels of the rows that start at number `start`; `final` has those for their numbers."""
        known = {value: k for k, value in enumerate(self.values)}
        values = other.values if final is None else final[np.array(other.values, dtype=np.int64)].tolist()
        self.overflow |= other.overflow
        for value, count, first in zip(values, other.counts, other.first, strict=True):
            if value in known:
                self.counts[known[value]] += count
            elif len(self.values) == MAX_CLASSES:
                self.overflow = True
            else:
                self.values.append(value)
                self.counts.append(count)
                self.first.append(start + first)


def class_labels(found: LabelOrder) -> FloatArray:
    """Return the classes in LIBSVM's order: that of first occurrence, but +1 before -1 if these are all."""
    if found.overflow:
        raise OptionError(f"more than {len(found.values):,} distinct labels; are they values for regression?")
    check_class_labels(np.array(found.values), np.array(found.first))
    values = found.values
    return np.array([1.0, -1.0] if values == [-1.0, 1.0] else values)


def check_class_labels(
    labels: FloatArray, numbers: IntArray | None = None, *, truncate: bool = False
) -> None:
    """Raise TrainingRowError for the first label that is no class: not an integer of 32 bits.

    `numbers` are the labels' rows, from 0; without them, label i is that of row i. With `truncate`, fractions
    are allowed.
    """
    limits = np.iinfo(np.int32)
    beyond = (labels < limits.min) | (labels > limits.max)
    bad = np.flatnonzero(beyond if truncate else beyond | (labels != np.trunc(labels)))
    if not len(bad):
        return
    i = int(bad[0])
    row = 1 + (i if numbers is None else int(numbers[i]))
    if beyond[i]:
        expected = f"an integer from {limits.min} to {limits.max}, LIBSVM's labels"
        raise TrainingRowError(row, "class label out of range", f"{labels[i]:.17g}", expected)
    raise TrainingRowError(
        row,
        "class label is not an integer",
        f"{labels[i]:.17g}",
        "integers for classes, or regression for real targets",
    )


def occurring(rows: Rows) -> NDArray[np.int32]:
    """Return the columns that occur in `rows`, ascending."""
    if rows.n_columns > MARKED_COLUMNS:
        return np.unique(rows.indices)
    marks = np.zeros(rows.n_columns, dtype=bool)
    marks[rows.indices] = True
    return np.flatnonzero(marks).astype(np.int32)


def compact(rows: Rows, columns: NDArray[np.int32]) -> Rows:
    """Return `rows` with each column replaced by its position in `columns`, which must contain it."""
    first = int(rows.indptr[0])
    indptr = rows.indptr - first
    used = slice(first, int(rows.indptr[-1]))
    indices = rows.indices[used]
    if len(columns) and columns[-1] != len(columns) - 1:
        given, indices = indices, np.empty(len(indices), dtype=np.int32)
        for k in range(0, len(given), COMPACT_ENTRIES):  # the result of searchsorted takes twice the bytes
            indices[k : k + COMPACT_ENTRIES] = np.searchsorted(columns, given[k : k + COMPACT_ENTRIES])
    return Rows.trusted(indptr, indices, rows.values[used], len(columns))


def expand(rows: Rows, columns: NDArray[np.int32], n_features: int) -> Rows:
    """Return rows in compact columns with their original columns."""
    return rows.renumbered(columns[rows.indices], n_features)


def chosen(numbers: IntArray, seed: int, share: float) -> BoolArray:
    """Choose about `share` of the rows by a hash of their numbers (SplitMix64), the same ones in every pass.

    `share` is from 0 (none) to 1 (all). Return a mask of the rows.
    """
    if share >= 1:
        return np.ones(len(numbers), dtype=bool)
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(seed % 2**64) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    below: BoolArray = (z >> np.uint64(11)).astype(np.float64) < share * 2.0**53
    return below


def random_order(count: int, *key: int) -> IntArray:
    """Return a permutation of ``range(count)`` that depends only on the key.

    The key are nonnegative integers, for example seed, pass and block.
    """
    return np.random.default_rng(key).permutation(count)
