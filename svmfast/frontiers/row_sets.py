"""The three sets of rows of ``svmfast frontier``: for training, choosing and confirming."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from svmfast.display import count
from svmfast.errors import UnsupportedError
from svmfast.formats.data import read_data, stream_data
from svmfast.formats.svmlight import Dataset, write_svmlight
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.models.scaling import Scaling
from svmfast.options import Reading, changed_words
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, IntArray, Rows

#: Without --test this share of TRAIN is held out, half of it to choose and half to confirm, with at most
#: MOST_HELD_OUT rows in each half.
HELD_OUT, MOST_HELD_OUT = 0.3, 20_000
#: Files in DIR.
TRAIN_PART, CHOOSE_PART, CONFIRM_PART = "train.part", "choose.part", "confirm.part"


@dataclass(frozen=True)
class LabelledRows:
    """Rows with their true labels or values, all nan if they are unknown."""

    rows: Rows
    labels: FloatArray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class RowSets:
    """Rows by their purpose, as read; no row is in two of the sets."""

    #: The file on which candidates are trained, TRAIN or its part, and the options for reading it.
    train: str
    reading: tuple[str, ...]
    #: Rows in TRAIN.
    trained_rows: int
    #: The first rows of `train`, to see whether they are like the model's.
    first: Rows
    #: Halves of TEST; without TEST, parts of TRAIN, which EXACT has seen but the candidates have not.
    choosing: LabelledRows
    confirming: LabelledRows
    #: Without TEST, the rest of TRAIN.
    rest: LabelledRows | None = field(default=None, repr=False)

    def write(self, folder: Path) -> None:
        """Write the parts as LIBSVM data, for the commands and for later inspection.

        They are written in every run, so that they always match the data and the seed.
        """
        parts = {CHOOSE_PART: self.choosing, CONFIRM_PART: self.confirming, TRAIN_PART: self.rest}
        for name, part in parts.items():
            if part is None:
                (folder / name).unlink(missing_ok=True)
            else:
                write_svmlight(folder / name, part.rows, part.labels)


@dataclass(frozen=True)
class Origin:
    """The files of the three sets of rows and their sizes, for the report."""

    #: The file on which EXACT was trained, and the file of which the choosing and the confirming rows are
    #: halves; None if they are parts of `train`.
    train: str
    test: str | None
    trained_rows: int
    choosing_rows: int
    confirming_rows: int

    @property
    def source(self) -> str:
        """The file of the choosing and confirming rows."""
        return self.test or self.train


def read_sets(
    train: str,
    test: str | None,
    folder: Path,
    *,
    seed: int,
    reading: Reading,
    scaling: Scaling | None = None,
    memory: int | None = None,
    threads: int,
    note: Callable[[str], None],
    columns: Callable[[str, Sequence[str] | None, Reading], None],
    progress: Progress = silent,
) -> RowSets:
    """Read the data and divide it; equal data and seed give equal sets.

    `reading` has no scaling, since the sets are raw; of the `scaling` of the model only its names of columns
    and classes are used. `memory` is that of :func:`svmfast.formats.data.read_data`. `note` is called with
    remarks on a file, `columns` with each file's path, its feature columns if it is a table, and how it is
    read. UnsupportedError if there are too few rows.
    """
    named = reading if scaling is None else replace(reading, scale=scaling.only_names())
    features = None
    if test is not None:
        with stream_data(train, named) as stream:
            features = getattr(getattr(stream, "columns", None), "features", None)
        columns(train, features, named)
    dataset = read_data(test or train, named, threads=threads, memory=memory)
    for text in dataset.notes.messages():
        note(f"{test or train}: {text}")
    columns(test or train, dataset.columns, named)
    choosing, confirming, rest = _parts(dataset, test or train, seed, everything=bool(test))
    if test is None:
        place = os.fspath(folder / TRAIN_PART)
        return RowSets(place, (), len(dataset.rows), rest.rows, choosing, confirming, rest)
    first, seen = Rows.empty(), 0
    with stream_data(train, named, threads=threads) as stream:
        for block in stream:
            for text in block.notes.messages():
                note(f"{train}: {text}")
            first = first if seen else block.rows
            seen += len(block.rows)
            progress(stream.bytes_read, stream.bytes_total, "read")
    return RowSets(train, changed_words(reading), seen, first, choosing, confirming)


def _parts(dataset: Dataset, path: str, seed: int, *, everything: bool) -> list[LabelledRows]:
    """Divide rows into choosing and confirming ones and the rest."""
    n = len(dataset.rows)
    half = n // 2 if everything else min(MOST_HELD_OUT, int(n * HELD_OUT / 2))
    group, _ = groups_of(row_keys(dataset.rows))
    first, second, others = divided(group, half, np.random.default_rng(seed), everything=everything)
    if not half or not len(second) or not (everything or len(others)):
        few = "too few different ones" if half else "too few"
        raise UnsupportedError(
            f"{path} has {count(n, 'row')}, {few} to divide into choosing and confirming rows",
            "give more" if everything else "give `test`",
        )

    def part(which: IntArray) -> LabelledRows:
        kept = np.sort(which)  # in the file's order, to keep the order in which labels first occur
        return LabelledRows(dataset.rows.take(kept), dataset.labels[kept])

    return [part(first), part(second), part(others)]


def divided(group: IntArray, half: int, rng: np.random.Generator, *, everything: bool) -> list[IntArray]:
    """Divide n rows at random into two sets of about `half` rows each and the others.

    Equal rows stay together: copies in two sets would confirm a choice by the rows that made it. `group` has
    equal numbers for equal rows, from 0. With `everything`, the second set has all rows that the first lacks.
    """
    n_groups = int(group.max(initial=-1)) + 1
    place = np.argsort(rng.permutation(n_groups))[group]  # of each row's group in a random order
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=n_groups))
    first = int(ends[np.abs(ends - half).argmin()]) if n_groups else 0
    later = ends[ends > first]
    second = int(later[np.abs(later - 2 * half).argmin()]) if len(later) else first
    return np.split(order, [first, len(order) if everything else second])
