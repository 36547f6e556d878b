"""Has the workers of a Dask cluster read the training rows, with the checks and errors of one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from svmfast.commands.cluster import Workers, check_wanted
from svmfast.commands.cluster_rows import ClusterRows, Summary
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.files_read import FilesRead
from svmfast.formats.parts import HeldPart, Piece, Shape, divided, read_to_error, shape_of
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

    def read_files(self, paths: Sequence[str]) -> ClusterRows:
        """The rows of files; errors are those of one process, if need be with the host's name."""
        workers, names_classes = self.workers, self.classes is not None
        places = [workers.path(path) for path in paths]
        batches = [places[k : k + _FILES] for k in range(0, len(places), _FILES)]
        calls = (workers.submit(_shapes, batch, self.reading) for batch in batches)
        parts = divided([shape for shapes in workers.in_order(calls) for shape in shapes])
        # A scaling may be large.
        reading = self.reading if self.reading.scale is None else workers.share(self.reading)
        held = [workers.submit(_hold, part, reading, names_classes) for part in parts]
        return self.rows(held, [sum(piece.size for piece in part) for part in parts])

    def rows(self, held: Sequence[Any], sizes: Iterable[int]) -> ClusterRows:
        """The rows of parts that workers hold; `sizes` are for the progress."""
        *ends, total = accumulate(sizes, initial=0)
        summaries: list[Summary] = []
        calls = (self.workers.submit(_summary, one) for one in held)
        for end, part in zip(ends, self.workers.in_order(calls), strict=True):
            self.progress(end, total, "read")
            self._add(part)
            summaries.append(part)
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
        self.workers.result(self.workers.submit(read_to_error, path, self.reading, classes))
        raise AssertionError(f"{path}: differs from what was read before")


# In a worker:


def _shapes(paths: Sequence[str], reading: Reading) -> list[Shape]:
    return [shape_of(path, reading) for path in paths]


def _hold(pieces: tuple[Piece, ...], reading: Reading, names_classes: bool) -> HeldPart:
    part = HeldPart(pieces, reading, names_classes)
    part.spool(check_wanted)
    return part


def _summary(part: HeldPart) -> Summary:
    spool = part.spool(check_wanted)
    of_rows = spool.n_features, spool.n_bytes, spool.columns, spool.labels
    return Summary(part.pieces, *of_rows, part.classes)
