"""Has the workers of a Dask cluster read the training rows, with the checks and errors of one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from svmfast.commands.cluster import Workers, check_wanted
from svmfast.commands.cluster_rows import ClusterRows, Summary
from svmfast.commands.given import checked_labels, data_of
from svmfast.commands.training import training_labels
from svmfast.display import count
from svmfast.errors import DataFormatError, OptionError, SvmfastError, WrongTypeError
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.dataset import Notes, naming_file
from svmfast.formats.files_read import FilesRead
from svmfast.formats.parts import (
    HeldPart,
    HeldRows,
    Piece,
    PieceRead,
    Shape,
    divided,
    read_to_error,
    shape_of,
)
from svmfast.options import Reading
from svmfast.progress import Progress

#: Files that a worker looks at in one call.
_FILES = 64


@dataclass(eq=False)
class ClusterReader:
    """Reads rows by `workers`, and compares what one process compares while it reads."""

    workers: Workers
    reading: Reading
    #: Gets the names of the classes; None if labels are numbers.
    classes: TrainingClasses | None
    #: Gets the path and the columns of every table.
    see: Callable[[str, Sequence[str] | None], None]
    #: Gets what was read.
    files: FilesRead
    #: Memory of this process.
    memory: int
    note: Callable[[str], None]
    progress: Progress
    _width: int = 0
    _in_files: bool = False

    def read_files(self, paths: Sequence[str]) -> ClusterRows:
        """The rows of files; errors are those of one process, if need be with the host's name."""
        workers, names_classes, self._in_files = self.workers, self.classes is not None, True
        places = [workers.path(path) for path in paths]
        batches = [places[k : k + _FILES] for k in range(0, len(places), _FILES)]
        calls = (workers.submit(_shapes, batch, self.reading) for batch in batches)
        shapes = [shape for some in workers.in_order(calls) for shape in some]
        parts = divided(shapes, max(1, len(workers.threads())))
        # A scaling may be large.
        reading = self.reading if self.reading.scale is None else workers.share(self.reading)
        held = [workers.submit(_hold, part, reading, names_classes) for part in parts]
        return self.rows(held, [sum(piece.size for piece in part) for part in parts])

    def read_collection(self, collection: Any, labels: Any) -> ClusterRows:
        """The rows of a Dask array or DataFrame, whose partitions the workers compute."""
        rows = list(np.ravel(with_whole_rows(collection).to_delayed()))
        if not (labels is None or hasattr(labels, "to_delayed")):
            raise WrongTypeError("`labels`", labels, "a dask array or Series, divided as the rows are")
        values = [None] * len(rows) if labels is None else list(np.ravel(labels.to_delayed()))
        if len(rows) != len(values):
            what = f"{count(len(rows), 'partition')} of rows, {len(values)} of `labels`"
            raise OptionError(f"{what}; expected the same division of both")
        names_classes = self.classes is not None
        how = [(k, self.reading, names_classes) for k in range(len(rows))]
        given = ((*pair, *rest) for pair, rest in zip(zip(rows, values, strict=True), how, strict=True))
        return self.rows(self.workers.compute(_hold_partition, given), [1] * len(rows))

    def rows(self, held: Sequence[Any], sizes: Iterable[int]) -> ClusterRows:
        """The rows of parts that workers hold; `sizes` are for the progress."""
        ends = [*accumulate(sizes)]
        summaries: list[Summary] = []
        calls = (self.workers.submit(_summary, one, soon=True) for one in held)
        for end, part in zip(ends, self.workers.in_order(calls), strict=True):
            self._add(part)
            summaries.append(part)
            self.progress(end, ends[-1], "read")
        self.files.finish(self.note)
        return ClusterRows(self.workers, held, summaries, self.classes, self.memory, self.progress)

    def _add(self, part: Summary) -> None:
        """Compare a part with those before it."""
        if part.classes is not None and self.classes is not None and not self.classes.merge(part.classes):
            self._refuse(next(piece.path for piece in part.pieces if piece.n_rows), self.classes)
        for piece in part.pieces:
            if piece.empty is not None:
                self.files.add_empty(piece.empty, piece.begins)
            else:
                self.files.add(piece.path, piece.n_rows, piece.notes, piece.first_line, piece.begins)
                self.see(piece.path, piece.columns)
            before = 0 if piece.begins else self._width
            if self.reading.dense and before and piece.width not in (0, before):
                self._refuse(piece.path, None)
            self._width = piece.width or before

    def _refuse(self, path: str, classes: TrainingClasses | None) -> None:
        """Read a file again for the error in one of its lines."""
        if self._in_files:
            self.workers.result(self.workers.submit(read_to_error, path, self.reading, classes))
        assert classes is not None
        what, expected = classes.refusal
        raise DataFormatError(path, None, f"label: {what}", None, expected)


def with_whole_rows(collection: Any) -> Any:
    """The collection, an array with all columns in each of its blocks."""
    ndim = getattr(collection, "ndim", 0)
    if not (hasattr(collection, "to_delayed") and isinstance(ndim, int) and ndim == 2):  # not a Delayed
        raise WrongTypeError("the collection", collection, "a two-dimensional dask array, or a DataFrame")
    return collection.rechunk({1: -1}) if hasattr(collection, "rechunk") else collection


# In a worker:


def _shapes(paths: Sequence[str], reading: Reading) -> list[Shape]:
    return [shape_of(path, reading) for path in paths]


def _hold(pieces: tuple[Piece, ...], reading: Reading, names_classes: bool) -> HeldPart:
    part = HeldPart(pieces, reading, names_classes)
    part.spool(check_wanted)
    return part


def _hold_partition(data: Any, labels: Any, number: int, reading: Reading, names_classes: bool) -> HeldRows:
    name = f"partition {number}"
    try:
        return _held(data, labels, name, reading, names_classes)
    except SvmfastError as error:
        error.args = (f"{name}: {str(error).removeprefix('the data: ')}",)
        raise


def _held(data: Any, labels: Any, path: str, reading: Reading, names_classes: bool) -> HeldRows:
    columns: list[Sequence[str]] = []
    classes = TrainingClasses() if names_classes else None
    how: dict[str, Any] = {"labels": labels, "labelled": True, "classes": classes}
    rows, given = data_of(data, reading=reading, see=columns.append, **how)
    if given is None:
        raise OptionError("`labels` are missing: pass them, or their column (`label`)")
    given = given if classes is None else training_labels(given, classes)
    values = checked_labels(rows, given, reading.class_names)
    if reading.scale is not None:
        with naming_file("the data"):
            rows, values = reading.scale.apply(rows), reading.scale.apply_labels(values)
    names = tuple(columns[0]) if columns else None
    return HeldRows(
        rows, values, classes, PieceRead(path, True, len(rows), Notes(), 0, names, rows.n_columns)
    )


def _summary(part: HeldPart) -> Summary:
    spool = part.spool(check_wanted)
    of_rows = spool.n_features, spool.n_bytes, spool.columns, spool.labels
    return Summary(part.pieces, *of_rows, part.classes)
