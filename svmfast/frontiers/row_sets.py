"""The three sets of rows of ``svmfast frontier``: for training, choosing and confirming."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from svmfast.display import count
from svmfast.errors import UnsupportedError
from svmfast.options import Reading, changed_words
from svmfast.progress import Progress, silent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from svmfast.formats.svmlight import Dataset
    from svmfast.frontiers.measuring import Part
    from svmfast.models.scaling import Scaling
    from svmfast.rows import FloatArray

#: Without --test this share of TRAIN is held out, half of it to choose and half to confirm, with at most
#: MOST_HELD_OUT rows in each half.
HELD_OUT, MOST_HELD_OUT = 0.3, 20_000
#: The most training rows on which EXACT's own score is measured.
MOST_SAMPLED = 2_000
#: Bytes of a scaling that only names columns, and of each column in it, apart from its name.
NAMES, NAME = 4096, 60
#: Files in DIR.
TRAIN_PART, CHOOSE_PART, CONFIRM_PART = "train.part", "choose.part", "confirm.part"


@dataclass(frozen=True)
class RowSets:
    """Rows by their purpose; no row is in two of the sets.

    Attributes
    ----------
    train : str
        The file on which candidates are trained.
    reading : tuple of str
        Options for reading `train`.
    trained_rows : int
        Number of rows in TRAIN.
    columns : int
        Number of columns of the rows of `train`.
    names_bytes : int
        The most bytes that the names of its columns take in a model; 0 if they have none.
    sample : Part
        Some of the rows on which EXACT was trained.
    choosing, confirming : Part
        Halves of TEST; without TEST, parts of TRAIN, which EXACT has seen but the candidates have not.
    rest : Part or None
        Without TEST, the rest of TRAIN.
    raw : RowSets or None
        The same sets before their labels were scaled: the parts that commands read.
    """

    train: str
    reading: tuple[str, ...]
    trained_rows: int
    columns: int
    names_bytes: int
    sample: Part
    choosing: Part
    confirming: Part
    rest: Part | None = field(default=None, repr=False)
    raw: RowSets | None = field(default=None, repr=False)

    def scaled(self, scaling: Scaling, reading: Sequence[str]) -> RowSets:
        """Return the sets with scaled labels; rows are scaled where they are used.

        Commands scale by themselves, by the options `reading`.
        """
        from svmfast.frontiers.measuring import Part

        def part(raw: Part) -> Part:
            return Part(raw.rows, scaling.apply_labels(raw.labels))

        return replace(
            self,
            reading=(*self.reading, *reading),
            columns=max(self.columns, len(scaling)),
            sample=part(self.sample),
            choosing=part(self.choosing),
            confirming=part(self.confirming),
            raw=self,
        )

    def with_labels(self, choosing: FloatArray, confirming: FloatArray) -> RowSets:
        """Return the sets with these labels, where the rows have none: LIBSVM's text needs some."""
        return replace(
            self,
            choosing=replace(self.choosing, labels=choosing),
            confirming=replace(self.confirming, labels=confirming),
            raw=None if self.raw is None else self.raw.with_labels(choosing, confirming),
        )

    def write(self, folder: Path) -> None:
        """Write the parts as LIBSVM data, for the commands and for later inspection.

        They are written in every run, so that they always match the data and the seed.
        """
        from svmfast.formats.svmlight_writer import write_svmlight

        raw = self.raw or self
        parts = ((CHOOSE_PART, raw.choosing), (CONFIRM_PART, raw.confirming), (TRAIN_PART, raw.rest))
        for name, part in parts:
            if part is None:
                (folder / name).unlink(missing_ok=True)
            else:
                write_svmlight(folder / name, part.rows, part.labels)


def read_sets(
    train: str,
    test: str | None,
    folder: Path,
    *,
    seed: int,
    reading: Reading,
    scaling: Scaling | None = None,
    threads: int,
    note: Callable[[str], None],
    columns: Callable[[str, Sequence[str] | None, Reading], None],
    progress: Progress = silent,
) -> RowSets:
    """Read the data and divide it; equal data and seed give equal sets.

    Parameters
    ----------
    train : str
        The file on which EXACT was trained.
    test : str or None
        A file of rows that it has not seen; half of them choose, the other half confirms.
    folder : Path
        Folder of the parts.
    seed : int
    reading : Reading
        Without a scaling, since the sets are raw.
    scaling : Scaling, optional
        The scaling that the model contains; only its names of columns and classes are used.
    threads : int
    note : callable
        Called with remarks on a file.
    columns : callable
        Called with each file's path, its feature columns if it is a table, and how it is read.
    progress : Progress

    Raises
    ------
    UnsupportedError
        There are too few rows.
    """
    import numpy as np

    from svmfast.frontiers.measuring import Part
    from svmfast.methods.common.equal_rows import copied, groups_of, row_keys

    named = reading if scaling is None else replace(reading, scale=scaling.only_names())
    from svmfast.formats.data import stream_data

    if test is not None:
        with stream_data(train, named) as stream:
            features = getattr(getattr(stream, "columns", None), "features", None)
        columns(train, features, named)
        spare = 0 if features is None else NAMES + sum(NAME + len(json.dumps(name)) for name in features)
    dataset = _read(test or train, named, threads, note)
    columns(test or train, dataset.columns, named)
    n = len(dataset.rows)
    half = n // 2 if test else min(MOST_HELD_OUT, int(n * HELD_OUT / 2))
    group, _ = groups_of(row_keys(dataset.rows))
    if (times := copied(group)) is not None:
        note(f"{test or train}: many rows occur {times} times; equal rows stay in one set")
    first, second, others = divided(group, half, np.random.default_rng(seed), everything=bool(test))
    if not half or not len(second) or not (test or len(others)):
        instead = "give more" if test else "give `test`"
        few = "too few different ones" if half else "too few"
        raise UnsupportedError(
            f"{test or train} has {count(n, 'row')}, {few} to divide into choosing and confirming rows",
            instead,
        )

    def part(which: np.ndarray) -> Part:
        kept = np.sort(which)  # in the file's order, to keep the order in which labels first occur
        return Part(dataset.rows.take(kept), dataset.labels[kept])

    choosing, confirming = part(first), part(second)
    if test is None:
        rest = part(others)
        sample = part(others[:MOST_SAMPLED])
        return RowSets(
            os.fspath(folder / TRAIN_PART), (), n, rest.rows.n_columns, 0, sample, choosing, confirming, rest
        )
    from svmfast.methods.common.row_sample import RowSample

    some, width = RowSample(MOST_SAMPLED, seed), 0
    with stream_data(train, named, threads=threads) as stream:
        for block in stream:
            for text in block.notes.messages():
                note(f"{train}: {text}")
            some.add(block.rows, block.labels)
            width = max(width, block.rows.n_columns)
            progress(stream.bytes_read, stream.bytes_total, "read")
    sample = Part(*some.result())
    return RowSets(train, changed_words(reading), some.seen, width, spare, sample, choosing, confirming)


def divided(
    group: NDArray[np.int64], half: int, rng: np.random.Generator, *, everything: bool
) -> list[NDArray[np.int64]]:
    """Divide n rows at random into two sets of about `half` rows each and the others.

    Equal rows stay together: copies in two sets would confirm a choice by the rows that made it.

    Parameters
    ----------
    group : (n,) int64
        Equal numbers for equal rows, from 0.
    half : int
    rng : Generator
    everything : bool
        The second set has all rows that the first one has not.
    """
    import numpy as np

    n_groups = int(group.max(initial=-1)) + 1
    place = np.argsort(rng.permutation(n_groups))[group]  # of each row's group in a random order
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=n_groups))
    first = int(ends[np.abs(ends - half).argmin()]) if n_groups else 0
    later = ends[ends > first]
    second = int(later[np.abs(later - 2 * half).argmin()]) if len(later) else first
    return np.split(order, [first, len(order) if everything else second])


def _read(path: str, reading: Reading, threads: int, note: Callable[[str], None]) -> Dataset:
    from svmfast.formats.data import read_data

    dataset = read_data(path, reading, threads=threads)
    for text in dataset.notes.messages():
        note(f"{path}: {text}")
    return dataset
