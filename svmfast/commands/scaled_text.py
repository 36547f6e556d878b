"""The rows of a file, scaled while they are read, as svm-scale prints them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from svmfast.display import count, named_labels
from svmfast.errors import DataFormatError, FileAccessError, NotFiniteError, OptionError
from svmfast.evaluation.describe import describe_scaling
from svmfast.figures import Figures, figure
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.data import check_replayable, read_through
from svmfast.formats.dataset import naming_file
from svmfast.formats.ranges import ranges_bytes, read_restored
from svmfast.formats.svmlight import Dataset
from svmfast.formats.target import write_atomic
from svmfast.models.mapped import LinearMap
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.options import Reading
from svmfast.progress import Listener
from svmfast.rows import Rows
from svmfast.solvers.column_extremes import ColumnExtremes
from svmfast.threads import map_in_threads, prefetch

if TYPE_CHECKING:
    from svmfast.commands.scale import ScaleOptions

#: Least number of rows that a thread formats at a time.
_ROWS_A_PIECE = 512


@dataclass(frozen=True, kw_only=True)
class ScaleReport(Figures):
    """The report of :func:`svmfast.scale`."""

    rows: int = figure("Rows.")
    features: int = figure("Features: the largest index.")
    values: int = figure("Values stored before scaling.", key="stored_values")
    scaled_values: int = figure("Values stored after scaling.")
    unseen: tuple[int, ...] = figure(
        "Features, from 1, that the range file or map does not contain; they are scaled to 0, or ignored.",
        key="unseen_features",
    )
    scaling: Scaling | None = figure("The scaling that was applied.", value=describe_scaling, optional=True)
    map: tuple[int, int] | None = figure(
        "Numbers of coordinates and features of the map that was applied.", optional=True
    )
    #: The names of the data and of the range file.
    data: str
    restore: str | None

    def heading(self) -> str:
        return f"scaled {count(self.rows, 'row')}, {count(self.features, 'feature')}"

    def lines(self) -> list[str]:
        """The warnings in svm-scale's words."""
        kind, now = ("scaling factor", "scaled to 0") if self.map is None else ("map", "ignored")
        found = [
            f"WARNING: feature index {index} appeared in file {self.data} was not seen in the {kind} "
            f"file {self.restore}. The feature is {now}."
            for index in self.unseen
        ]
        if self.map is None and self.scaled_values > self.values:
            found += [
                f"WARNING: original #nonzeros {self.values}",
                f"       > new      #nonzeros {self.scaled_values}",
                "If feature values are non-negative and sparse, use -l 0 rather than the default -l -1",
            ]
        return found


def scaled(
    path: str,
    output: str | os.PathLike[str],
    asked: ScaleOptions,
    reading: Reading,
    threads: int,
    listener: Listener,
) -> ScaleReport:
    """Write the scaled rows of a file, in bounded memory."""
    labels, restore, seen = asked.labels, asked.restore, ColumnExtremes(asked.memory)
    restored = None if restore is None else read_restored(restore, memory=asked.memory)
    given, map = (None, restored) if isinstance(restored, LinearMap) else (restored, None)
    usual = {"labels": None, "lower": -1, "upper": 1}
    changed = [name for name, value in usual.items() if getattr(asked, name) != value]
    if map is not None and changed:
        raise OptionError(f"`{changed[0]}`: {restore} is a map, which has no limits and changes no labels")
    for name in changed if given is not None else ():
        if name != "labels":
            listener.note(f"`{name}` is not used: {restore} has the limits")
    # Names of classes become labels when all of them are known: not in one pass, and not to be scaled.
    classes = TrainingClasses() if labels is None and restored is None else None
    twice = restored is None or (labels is not None and given is not None and given.target is None)
    if twice:
        check_replayable(path)
    since = os.path.getmtime(path) if os.path.isfile(path) else None
    if restored is None and reading.missing == "mean":
        from svmfast.commands.training import with_means

        reading = with_means(reading, path, threads)
    blocks = read_through(path, reading, threads, listener.progress, classes=classes)
    blocks = _in_order(blocks, restored, reading, listener)
    if twice:
        with naming_file(path, "expected values closer to each other"):
            given = _scaling_of(blocks, given, seen, (asked.lower, asked.upper), labels)
        blocks = _unchanged(path, since, read_through(path, reading, threads, classes=classes))
        if classes is not None and classes.names is not None:
            meaning = named_labels({float(label): name for label, name in enumerate(classes.names)})
            listener.note(f"{path}: labels stand for classes: {meaning}")
            blocks = (replace(block, labels=classes.final(block.labels)) for block in blocks)
        if asked.save is not None and given.ranges is not None:
            with write_atomic(asked.save) as file:
                file.write(ranges_bytes(given.ranges, given.target))
    change = map or given
    assert change is not None
    texts = _texts(prefetch(blocks), change, reading.unlabelled, threads, None if twice else seen, listener)
    written = _write(texts, output)
    return ScaleReport(
        rows=seen.rows,
        features=max(seen.width, len(change)),
        values=seen.values,
        scaled_values=written,
        unseen=() if restore is None else _unseen(change, seen),
        scaling=given,
        map=None if map is None else map.matrix.shape,
        data=path,
        restore=None if restore is None else os.fspath(restore),
    )


def _scaling_of(
    blocks: Iterable[Dataset],
    given: Scaling | None,
    seen: ColumnExtremes,
    limits: tuple[float, float],
    labels: tuple[float, float] | None,
) -> Scaling:
    """The scaling of the rows, which are added to `seen`; a given one gets that of their labels."""
    least, greatest = np.inf, -np.inf
    for block in prefetch(blocks):
        seen.add(block.rows)
        least, greatest = min(least, block.labels.min()), max(greatest, block.labels.max())
    ranges = seen.result()
    target = None if labels is None else TargetRange(*labels, float(least), float(greatest))
    if given is None:
        return Scaling.from_ranges(*ranges, *limits, target=target)
    return replace(given, target=target)


def _unseen(change: Scaling | LinearMap, seen: ColumnExtremes) -> tuple[int, ...]:
    """The indices, from 1, of the columns that vary in the data but are not in a range file or map."""
    low, high = seen.result()
    if isinstance(change, LinearMap):
        known = change.features
    else:
        assert change.ranges is not None
        known = np.flatnonzero(change.ranges.minimum != change.ranges.maximum)
    return tuple((np.setdiff1d(np.flatnonzero(low != high), known) + 1).tolist())


def _in_order(
    blocks: Iterable[Dataset], given: Scaling | LinearMap | None, reading: Reading, heard: Listener
) -> Iterator[Dataset]:
    """Yield the blocks; remark that a given file, which has no names, takes columns in their order."""
    for number, block in enumerate(blocks):
        if not number and given is not None and block.columns is not None:
            from svmfast.commands.data_check import DataCheck

            DataCheck(None, replace(reading, scale=given), heard).columns(block.path, block.columns)
        yield block


def _unchanged(path: str, since: float | None, blocks: Iterator[Dataset]) -> Iterator[Dataset]:
    yield from blocks
    if since is not None and os.path.getmtime(path) != since:
        raise FileAccessError(path, None, "changed between two readings")


def _write(texts: Iterator[list[tuple[bytes, int]]], output: str | os.PathLike[str]) -> int:
    """Write the scaled rows, and return their number of values."""
    total = 0
    # The first block is read and scaled before the output is touched.
    first = next(texts, [])
    with write_atomic(output) as out:
        for pieces in chain([first], texts):
            for text, count in pieces:
                out.write(text)
                total += count
            out.flush()
    return total


def _texts(
    blocks: Iterable[Dataset],
    change: Scaling | LinearMap,
    unlabelled: bool,
    threads: int,
    seen: ColumnExtremes | None,
    listener: Listener,
) -> Iterator[list[tuple[bytes, int]]]:
    """Yield the text of scaled rows with its number of values, and add the rows to `seen` if it is given."""
    for block in blocks:
        for note in block.notes.messages():
            listener.note(f"{block.path}: {note}")
        if seen is not None:
            seen.add(block.rows)
        size = min(max(_ROWS_A_PIECE, -(-len(block) // threads)), change.most_rows)
        labels = change.apply_labels(block.labels) if isinstance(change, Scaling) else block.labels

        def text(
            start: int, rows: Rows = block.rows, labels: Any = labels, size: int = size
        ) -> tuple[bytes, int]:
            some = slice(start, start + size)
            return change.text(rows[some], None if unlabelled else labels[some])

        try:
            for begin in range(0, len(block), size * threads):
                end = min(begin + size * threads, len(block))
                yield map_in_threads(text, range(begin, end, size), threads)
        except NotFiniteError as error:
            expected = "expected values closer to the ranges"
            raise DataFormatError(block.path, None, str(error), None, expected) from error
