"""Inputs of commands: models with their warnings, and data that must be seen more than once."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from svmfast.cli.messages import remarks, warning
from svmfast.cli.options import DataFormat
from svmfast.errors import DataFormatError, RowWidthError, SingleClassError, TrainingRowError
from svmfast.progress import Progress, silent

if TYPE_CHECKING:
    from svmfast.evaluation.scale import ScaleCheck
    from svmfast.formats.detect import LoadedModel
    from svmfast.formats.source import SourceLike
    from svmfast.formats.svmlight import Dataset, Notes
    from svmfast.methods.common.row_sample import RowSample
    from svmfast.models.base import Model
    from svmfast.rows import FloatArray, Rows

#: Bytes of a pipe that are looked at before it is kept.
_START = 1024


def open_model(
    source: SourceLike, memory: int, quiet: bool = False, *, allow_edited: bool = False
) -> LoadedModel:
    """Read a model of any kind, in at most `memory` bytes, and print what its reader has to remark."""
    from svmfast.formats import detect

    loaded = detect.open_model(source, memory=memory, allow_edited=allow_edited)
    remarks(loaded.warnings, quiet)
    if loaded.edited:
        warning(f"{loaded.path}: changed after svmfast wrote it: nothing that it claims of itself is used")
    return loaded


class ReplayableInput:
    """An input that can be read from its start as often as wanted.

    A file is opened anew each time. A pipe cannot be, so its bytes are kept in a temporary file that nobody
    else sees; memory stays bounded.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._spool: _Named | None = None
        self._stack = ExitStack()

    def source(self) -> object:
        """Return what the readers of ``formats`` take, standing at the start of the input."""
        if self.path != "-" and _is_regular(self.path):
            return self.path
        if self._spool is None:
            self._spool = self._fill()
        self._spool.seek(0)
        return self._spool

    def _fill(self) -> _Named:
        import shutil
        from tempfile import TemporaryFile

        spool: IO[bytes] = self._stack.enter_context(TemporaryFile())  # noqa: SIM115 (closed by the stack)
        if self.path == "-":
            pipe: Any = sys.stdin.buffer
        else:
            pipe = self._stack.enter_context(open(self.path, "rb", buffering=0))  # noqa: SIM115
        start = pipe.read(_START)
        _refuse_binary(self.path, start)
        spool.write(start)
        shutil.copyfileobj(pipe, spool, 1 << 20)
        # Messages about the content must name the input, not a file the user never heard of.
        return _Named(spool, self.path)

    def datasets(self, how: DataFormat, jobs: int, progress: Progress = silent) -> Iterator[Dataset]:
        """Yield the input's rows and labels, block by block, from the first on."""
        yield from read_through(self.source(), how, jobs, progress)

    def __enter__(self) -> ReplayableInput:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def read_through(
    source: object, how: DataFormat, jobs: int, progress: Progress = silent
) -> Iterator[Dataset]:
    """Yield the rows and labels of an input, block by block, and tell of the progress."""
    from svmfast.formats.svmlight import stream_svmlight

    with stream_svmlight(source, threads=jobs, **how.reading()) as stream:
        for block in stream:
            yield block
            progress(stream.bytes_read, stream.bytes_total, "read")


def read_sample(
    paths: Sequence[str],
    limit: int,
    seed: int,
    how: DataFormat,
    jobs: int,
    quiet: bool,
    progress: Progress,
    model: Model,
) -> RowSample | None:
    """Return at most `limit` rows of all ``--data`` files, drawn at random; None of none.

    Any amount may stream by. The rows are held against the model that they are for: a table of too few
    columns is refused, rows of another scale are one warning.
    """
    if not paths:
        return None
    from svmfast.methods.common.row_sample import RowSample

    sample = RowSample(limit, seed)
    for path in paths:
        first = True
        for block in read_through(path, how, jobs, progress):
            if first and len(block.rows):
                check_width(how, path, model, block.rows)
                first = False
            remarks((f"{path}: {text}" for text in block.notes.messages()), quiet)
            sample.add(block.rows, block.labels)
    warn_of_scale("--data", model, sample.result()[0])
    return sample


def labels_of(sample: RowSample | None, how: DataFormat) -> tuple[Rows | None, FloatArray | None]:
    """Return the rows of a sample, and their labels unless they have none."""
    if sample is None:
        return None, None
    rows, labels = sample.result()
    return rows, None if how.unlabelled else labels


def remark_sample(sample: RowSample | None, quiet: bool) -> None:
    """Say how many rows of --data are used where that is not all of them."""
    if sample is not None and sample.seen > sample.limit:
        remarks([f"{sample.limit:,} of {sample.seen:,} rows of --data are used (--rows)"], quiet)


def check_width(how: DataFormat, path: str, model: Model, rows: Rows) -> None:
    """Refuse a table that lacks features of a model, and warn of one with more (``--dense`` only).

    A row of a table has a value for every feature, so with fewer values than the model has features it is not
    a row of what the model was made from: a label may have been taken for a feature, or the other way round.

    Raises
    ------
    DataFormatError
        There are too few values.
    """
    if not how.dense or rows.n_columns == model.n_features:
        return
    found, wanted = rows.n_columns, model.n_features
    place = "in a row" if how.unlabelled else "behind the label"
    other = "; as many as features with --unlabelled" if not how.unlabelled and found + 1 == wanted else ""
    if found < wanted:
        expected = f"the model has {wanted} features{other}"
        raise RowWidthError(path, None, f"{found} values {place}", None, expected)
    also = "; as many as features behind a label, without --unlabelled" if how.unlabelled else ""
    warning(
        f"{path}: {found} values {place}, the model has {wanted} features"
        + (also if found == wanted + 1 else "")
    )


def _refuse_binary(path: str, start: bytes) -> None:
    """Refuse what cannot be text by its start: a device that never ends would fill the disk."""
    from svmfast.formats.source import is_packed

    if b"\0" in start and not is_packed(start):
        raise DataFormatError(path, None, "not text: it begins with NUL bytes", None, "expected LIBSVM data")


def warn_of_scale(path: str, model: Model, rows: Rows) -> bool:
    """Warn, with -q too, where the first rows are of another scale than the model's vectors; tell whether."""
    from svmfast.evaluation.scale import ScaleCheck

    check = ScaleCheck(model)
    check.add(rows)
    return say_scale(path, check)


def say_scale(path: str, check: ScaleCheck) -> bool:
    """Print what a check of rows that have gone by has found; tell whether there was anything to print."""
    found = check.verdict()
    if found is not None:
        warning(f"{path}: {found}")
    return found is not None


class _Named:
    """A binary file under another name."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self.readinto = file.readinto  # type: ignore[attr-defined]
        self.seek, self.tell, self.fileno = file.seek, file.tell, file.fileno


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True  # opening it will say what is wrong


@contextmanager
def naming_lines(path: str, notes: Notes, first_line: int) -> Iterator[None]:
    """Turn a row's number into a line of the file, and name the file whose rows are of a single class."""
    try:
        yield
    except TrainingRowError as error:
        skipped = notes.comment_lines or notes.blank_lines
        line = None if skipped else first_line + error.row - 1
        what = f"row {error.row}: {error.what}" if skipped else error.what
        raise DataFormatError(path, line, what, error.token, f"expected {error.expected}") from error
    except SingleClassError as error:
        raise DataFormatError(path, None, error.what, None, error.expected) from error
