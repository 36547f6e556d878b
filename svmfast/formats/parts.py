"""Training rows of files in parts, each of which a worker reads alone.

LIBSVM's text is divided at lines and Parquet at row groups; any other file is read in one piece. Small files
share a part. How rows are divided changes no result: see :mod:`svmfast.solvers.row_blocks`.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from svmfast.errors import EmptyDataError, InputError
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.data import check_replayable, recognized, stream_data
from svmfast.formats.dataset import Notes
from svmfast.formats.spool import Spool
from svmfast.options import PLAIN, Reading
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.training_data import expand

#: Bytes of a part, most parts (a worker keeps a file open for each), and least parts for each thread of the
#: workers.
PART_BYTES, MOST_PARTS, LEAST_PARTS = 32 << 20, 512, 2
#: Bytes of rows that are collected before they are written to the temporary file of a part.
_COLLECTED = 8 << 20
#: Compressed text may be this many times as long.
_UNPACKED = 4


@dataclass(frozen=True)
class Shape:
    """Where a file can be divided: bytes or row groups, by the sizes of the pieces; () if it cannot be."""

    path: str
    #: Bytes, if it was unpacked.
    size: int
    pieces: tuple[int, ...] = ()
    #: Whether a piece can be divided further, at any byte.
    text: bool = False


@dataclass(frozen=True)
class Piece:
    """A file, or its bytes or row groups `place[0]` to ``place[1]`` - 1."""

    path: str
    size: int
    place: tuple[int, int] | None = None


class PieceRead(NamedTuple):
    """What is known of a piece after it was read."""

    path: str
    #: Whether the file begins with it.
    begins: bool
    n_rows: int
    notes: Notes
    first_line: int
    #: The names of features, if it is a table.
    columns: tuple[str, ...] | None
    width: int
    #: Why there are no rows.
    empty: EmptyDataError | None = None


def shape_of(path: str, reading: Reading) -> Shape:
    """Look at a file that workers will read."""
    check_replayable(path)
    opened, kind = recognized(path, reading)
    with opened:
        size = opened.size or 0
        if kind is None and not opened.packing:
            return Shape(path, size, (size,), text=True)
        if kind != "parquet":
            return Shape(path, size * (_UNPACKED if opened.packing else 1))
        from svmfast.formats.tables import TableStream

        with TableStream(opened, kind, reading, labels=False) as stream:
            return Shape(path, sum(stream.group_bytes), tuple(stream.group_bytes))


def divided(shapes: Sequence[Shape], threads: int) -> list[tuple[Piece, ...]]:
    """Divide files into parts of about the same size, for so many threads of the workers."""
    size = sum(one.size for one in shapes)
    target = max(min(PART_BYTES, size // (LEAST_PARTS * threads)), size // MOST_PARTS, 1)
    parts: list[list[Piece]] = [[]]
    held = 0
    for piece in (piece for shape in shapes for piece in _pieces(shape, target)):
        if held + piece.size > target and held:
            parts.append([])
            held = 0
        held += piece.size
        last, place = parts[-1][-1:], piece.place
        if last and place and last[0].path == piece.path and last[0].place:
            parts[-1][-1] = Piece(piece.path, last[0].size + piece.size, (last[0].place[0], place[1]))
        else:
            parts[-1].append(piece)
    return [tuple(part) for part in parts]


def _pieces(shape: Shape, target: int) -> Iterable[Piece]:
    if shape.text:
        count = max(1, -(-shape.size // target))
        ends = [shape.size * k // count for k in range(count + 1)]
        return [Piece(shape.path, b - a, (a, b)) for a, b in pairwise(ends)]
    if len(shape.pieces) < 2:
        return [Piece(shape.path, shape.size)]
    return [Piece(shape.path, size, (k, k + 1)) for k, size in enumerate(shape.pieces)]


class HeldPart:
    """The rows of a part, held by the worker that read them in a temporary file.

    Pickled, it only says what to read: the rows do not travel, and another worker that gets it reads them
    again. `names_classes`: labels of tables may be names, which get provisional numbers.
    """

    def __init__(self, pieces: tuple[Piece, ...], reading: Reading, names_classes: bool) -> None:
        self._given = pieces, reading, names_classes
        self._spool: Spool | None = None
        self._lock = allocate_lock()
        #: What was read.
        self.pieces: list[PieceRead] = []
        self.classes = TrainingClasses() if names_classes else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given

    def __sizeof__(self) -> int:
        # For Dask, which then prefers to move a task to the rows.
        held = sum(piece.size for piece in self._given[0]) if self._spool is None else self._spool.n_bytes
        return object.__sizeof__(self) + held

    def __del__(self) -> None:
        if self._spool is not None:
            self._spool.close()

    def spool(self, wanted: Callable[[], None] = lambda: None) -> Spool:
        """The rows, which are read now unless they are held; `wanted` is called often, and may raise."""
        with self._lock:
            if self._spool is None:
                pieces, reading, _ = self._given
                spool = Spool(_COLLECTED, in_file=True)
                try:
                    self.pieces = [self._read(piece, reading, spool, wanted) for piece in pieces]
                    self._spool = spool.finish()
                except BaseException:
                    spool.close()
                    raise
            return self._spool

    def _read(self, piece: Piece, reading: Reading, spool: Spool, wanted: Callable[[], None]) -> PieceRead:
        before, classes = spool.n_rows, deepcopy(self.classes)
        first_line, width, columns, notes, empty = 0, 0, None, Notes(), None
        try:
            with stream_data(piece.path, reading, classes=self.classes, place=piece.place) as stream:
                for block in stream:
                    wanted()
                    spool.add(block.rows, block.labels)
                    first_line, columns = first_line or block.first_line, block.columns
                    width = max(width, block.rows.n_columns)
                notes = stream.notes
        except EmptyDataError as error:
            empty = error
        except InputError:
            if piece.place is not None:
                read_to_error(piece.path, reading, classes)
            raise
        begins = piece.place is None or piece.place[0] == 0
        count = spool.n_rows - before
        return PieceRead(piece.path, begins, count, notes, first_line, columns, width, empty)


class HeldRows(HeldPart):
    """Rows that a worker has computed, held in a temporary file; pickled, they travel."""

    def __init__(
        self, rows: Rows, labels: FloatArray, classes: TrainingClasses | None, read: PieceRead
    ) -> None:
        super().__init__((), PLAIN, False)
        self.classes, self.pieces = classes, [read]
        self._spool = Spool(_COLLECTED, in_file=True)
        self._spool.add(rows, labels)
        self._spool.finish()

    def __reduce__(self) -> tuple[Any, ...]:
        spool = self.spool()
        held = spool.rows_between(0, spool.n_rows)
        rows = expand(held.rows, spool.columns, spool.n_features)
        return type(self), (rows, held.labels, self.classes, *self.pieces)


def read_to_error(path: str, reading: Reading, classes: TrainingClasses | None) -> None:
    """Read a file from its start, for an error with the line in it; `classes` are those before it."""
    with stream_data(path, reading, classes=classes) as stream:
        for _ in stream:
            pass
