"""``scale`` from Python: a streaming svm-scale."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from svmfast.api.listener import Listener
from svmfast.display import named_labels
from svmfast.errors import DataFormatError, NotFiniteError, OptionError
from svmfast.formats.ranges import ranges_bytes, read_ranges
from svmfast.formats.replay import ReplayableInput, read_through
from svmfast.formats.svmlight import Dataset
from svmfast.formats.target import write_atomic
from svmfast.formats.training_classes import TrainingClasses
from svmfast.models.memory import MEMORY
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.options import Reading
from svmfast.prefetch import prefetch
from svmfast.rows import Rows
from svmfast.solvers.column_extremes import ColumnExtremes
from svmfast.threads import map_in_threads, thread_count

#: Least number of rows that a thread formats at a time.
_ROWS_A_PIECE = 512


@dataclass(frozen=True)
class ScaleReport:
    """The report of :func:`scale`.

    Attributes
    ----------
    scaling : Scaling
    rows, features : int
    values, scaled_values : int
        Number of stored values before and after scaling.
    unseen : tuple of int
        Indices (from 1) of features that the range file does not contain; they are scaled to 0.
    data, restore : str or None
        The files, for the messages.
    """

    scaling: Scaling
    rows: int
    features: int
    values: int
    scaled_values: int
    unseen: tuple[int, ...] = ()
    data: str = "-"
    restore: str | None = None

    def lines(self) -> list[str]:
        """Return the warnings in svm-scale's words."""
        found = [
            f"WARNING: feature index {index} appeared in file {self.data} was not seen in the scaling factor "
            f"file {self.restore}. The feature is scaled to 0."
            for index in self.unseen
        ]
        if self.scaled_values > self.values:
            found += [
                f"WARNING: original #nonzeros {self.values}",
                f"       > new      #nonzeros {self.scaled_values}",
                "If feature values are non-negative and sparse, use -l 0 rather than the default -l -1",
            ]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the figures that docs/json.md describes."""
        from svmfast.evaluation.describe import describe_scaling

        return {
            "rows": self.rows,
            "features": self.features,
            "stored_values": self.values,
            "scaled_values": self.scaled_values,
            "unseen_features": list(self.unseen),
            "scaling": describe_scaling(self.scaling),
        }


def scale(
    data: str | os.PathLike[str],
    output: str | os.PathLike[str] = "-",
    *,
    lower: float = -1.0,
    upper: float = 1.0,
    labels: tuple[float, float] | None = None,
    save: str | os.PathLike[str] | None = None,
    restore: str | os.PathLike[str] | None = None,
    reading: Reading | None = None,
    threads: int | None = None,
    memory: int = MEMORY,
    listener: Listener | None = None,
) -> ScaleReport:
    """Scale the columns of a file as svm-scale does, with the same bytes as output, in bounded memory.

    Parameters
    ----------
    data, output : path
        ``-`` stands for standard input and standard output. Without `restore` the data are read twice; data
        from a pipe are kept in a temporary file.
    lower, upper : float
        A column's smallest value becomes `lower`, its largest `upper`; a constant column is dropped.
    labels : pair of float, optional
        Also scale the labels to this interval (``svm-scale -y``).
    save : path, optional
        Write the ranges to this file.
    restore : path, optional
        Use the ranges and limits in this file instead of the data's ranges, `lower` and `upper`.
    reading : Reading, optional
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The output does not
        depend on it.
    memory : int
        Limit on the memory for the columns' ranges, in bytes.
    listener : Listener, optional

    Returns
    -------
    ScaleReport
        Its `scaling` can be passed to ``svmfast.approximate(..., scale=)`` and the other methods.

    Raises
    ------
    OptionError, DataFormatError, MemoryLimitError
    """
    if not lower < upper:
        raise OptionError(f"`lower` is {lower:g} and `upper` {upper:g}; expected the lower one first")
    if labels is not None and not labels[0] < labels[1]:
        raise OptionError(f"`labels` are {labels[0]:g} and {labels[1]:g}; expected the lower one first")
    if save is not None and restore is not None:
        raise OptionError("`save` and `restore` exclude each other")
    listener, reading, cores, path = (
        listener or Listener(),
        reading or Reading(),
        thread_count(threads),
        os.fspath(data),
    )
    given = None if restore is None else read_ranges(restore, memory=memory)
    # Names of classes become labels when all of them are known: not in one pass, and not to be scaled.
    classes = TrainingClasses() if labels is None and given is None else None
    labels_of_data = labels is not None and (given is None or given.target is None)
    seen = ColumnExtremes(memory)
    with ReplayableInput(path) as replayable:
        if given is None and reading.missing == "mean":
            from svmfast.api.missing import with_means

            reading = with_means(reading, replayable.source(), cores)
        if given is None or labels_of_data:
            least, greatest = np.inf, -np.inf
            for block in prefetch(
                _in_order(
                    replayable.datasets(reading, cores, listener.progress, classes=classes),
                    given,
                    reading,
                    listener,
                )
            ):
                seen.add(block.rows)
                least, greatest = min(least, block.labels.min()), max(greatest, block.labels.max())
            ranges = seen.result()
            target = None if labels is None else TargetRange(*labels, float(least), float(greatest))
            if given is None:
                given = Scaling.from_ranges(*ranges, lower, upper, target=target)
            else:
                given = given.with_target(target)
            blocks: Iterable[Dataset] = replayable.datasets(reading, cores, classes=classes)
            if classes is not None and classes.names is not None:
                meaning = named_labels({float(label): name for label, name in enumerate(classes.names)})
                listener.note(f"{path}: labels stand for classes: {meaning}")
                blocks = (replace(block, labels=classes.final(block.labels)) for block in blocks)
            seen_before = True
        else:
            blocks = _in_order(
                read_through(path, reading, cores, listener.progress), given, reading, listener
            )
            seen_before = False
        if save is not None:
            assert given.ranges is not None, "it was computed from the data"
            with write_atomic(save) as file:
                file.write(ranges_bytes(given.ranges, given.target))
        written = _write(prefetch(blocks), given, output, cores, None if seen_before else seen, listener)
    unseen: tuple[int, ...] = ()
    if restore is not None:
        low, high = seen.result()
        missing = low != high
        assert given.ranges is not None, "it was read from a range file"
        known = len(given)
        missing[:known] &= (given.ranges.minimum == given.ranges.maximum)[: len(missing)]
        unseen = tuple((np.flatnonzero(missing) + 1).tolist())
    name = None if restore is None else os.fspath(restore)
    width = max(seen.width, len(given))
    return ScaleReport(given, seen.rows, width, seen.values, written, unseen, path, name)


def _in_order(
    blocks: Iterable[Dataset], given: Scaling | None, reading: Reading, heard: Listener
) -> Iterator[Dataset]:
    """Yield the blocks; remark that a given range file, which has no names, takes columns in their order."""
    for number, block in enumerate(blocks):
        if not number and given is not None and block.columns is not None:
            from svmfast.api.column_order import ColumnOrder

            read = replace(reading, scale=given)
            ColumnOrder().check(block.path, block.columns, read, heard.note)
        yield block


def _write(
    blocks: Iterable[Dataset],
    scaling: Scaling,
    output: str | os.PathLike[str],
    threads: int,
    seen: ColumnExtremes | None,
    listener: Listener,
) -> int:
    """Write the scaled rows, add them to `seen` if it is given, and return their number of values."""
    total = 0
    texts = _texts(blocks, scaling, threads, seen, listener)
    # The first block is read and scaled before the output is touched.
    first: list[tuple[bytes, int]] = next(texts, [])
    with write_atomic(output) as out:
        for pieces in chain([first], texts):
            for text, count in pieces:
                out.write(text)
                total += count
            out.flush()
    return total


def _texts(
    blocks: Iterable[Dataset],
    scaling: Scaling,
    threads: int,
    seen: ColumnExtremes | None,
    listener: Listener,
) -> Iterator[list[tuple[bytes, int]]]:
    for block in blocks:
        for note in block.notes.messages():
            listener.note(f"{block.path}: {note}")
        if seen is not None:
            seen.add(block.rows)
        size = min(max(_ROWS_A_PIECE, -(-len(block) // threads)), scaling.most_rows)
        labels = scaling.apply_labels(block.labels)

        def text(
            start: int, rows: Rows = block.rows, labels: Any = labels, size: int = size
        ) -> tuple[bytes, int]:
            return scaling.text(rows[start : start + size], labels[start : start + size])

        try:
            for begin in range(0, len(block), size * threads):
                end = min(begin + size * threads, len(block))
                yield map_in_threads(text, range(begin, end, size), threads)
        except NotFiniteError as error:
            raise DataFormatError(
                block.path, None, str(error), None, "expected values closer to the ranges"
            ) from error
