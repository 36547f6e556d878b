"""Prediction of many files in one run: one output for each; finished files are skipped."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from svmfast import __version__
from svmfast.commands.fit import ColumnOrder
from svmfast.commands.functions import takes
from svmfast.commands.predict import SUFFIX, ManyOptions, PredictionOptions
from svmfast.commands.predictor import Predictor
from svmfast.display import count
from svmfast.errors import FileAccessError, OptionError, SvmfastError, WriteError
from svmfast.evaluation.prediction_report import PredictionReport
from svmfast.figures import Figures, computed, figure
from svmfast.formats import done as finished
from svmfast.formats.done import DoneList, stamp
from svmfast.models.memory import MEMORY, Allowance
from svmfast.options import Reading, divided
from svmfast.progress import Listener
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.models.base import Model

#: Bytes of a name in a list, besides its text: as bytes and as a string.
_NAME_BYTES = 128
#: A compressed list of this size may unpack to any multiple of its size.
_UNPACKED_BYTES = 1 << 20


@dataclass(eq=False)
class FileResult(Figures):
    """The result for one input."""

    data: str = figure("The input.")
    output: str = figure("The output.")
    status: Literal["predicted", "skipped", "failed"] = figure(
        "predicted, skipped (finished by an earlier run) or failed.", default="failed"
    )
    #: None if the file failed.
    report: PredictionReport | None = figure("", default=None, spread=True, optional=True)

    @computed.figure("Remarks of the reader of the data.", optional=True)
    def notes(self) -> list[str] | None:
        """Remarks of the reader of the data; None if the file failed."""
        return None if self.report is None else self.report.notes

    error: str | None = figure("The reason for a failure, in one line.", default=None)
    #: The output's path relative to the folder, and its record in the list of finished outputs.
    name: str = ""
    made_from: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class FilesReport(Figures):
    """The results for many files, in the order in which they were given."""

    #: Of all rows together, including those of files finished earlier.
    total: PredictionReport = figure("", spread=True)
    files_predicted: int = figure("Files predicted by this run.")
    files_skipped: int = figure("Files that an earlier run had finished.")
    files_failed: int = figure("Files that could not be predicted.")
    files: list[FileResult] = figure(
        "Of a run with many files: every file, with the figures of its own rows."
    )

    def __repr__(self) -> str:
        return "\n".join([f"<{self.sentence()}>", *self.total.lines()])

    def sentence(self) -> str:
        """The number of files by status, as a sentence."""
        parts = [f"{self.files_predicted:,} of {count(len(self.files), 'file')} predicted"]
        parts += [f"{self.files_skipped:,} finished earlier"] if self.files_skipped else []
        parts += [f"{self.files_failed:,} failed"] if self.files_failed else []
        return ", ".join(parts)


@takes(ManyOptions, PredictionOptions)
def predict_files(
    model: Model | str | os.PathLike[str],
    data: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    reading: Reading | None = None,
    keep: Sequence[str] = (),
    threads: int | None = None,
    listener: Listener | None = None,
    on_failure: Callable[[FileResult], None] = lambda result: None,
    on_start: Callable[[Predictor], None] = lambda predictor: None,
    **options: Any,
) -> FilesReport:
    """Predict the rows of many files, each into its own output; a file that fails does not stop the others.

    The model is read once. An output appears complete or not at all. A repeated run, even after the process
    was killed, writes only outputs that are missing or were made from another input, model or options.

    Parameters
    ----------
    model : Model or path
    data : iterable of path
    folder : path
        Created if it does not exist. Only one run at a time may write to it.
    {options}
    keep : sequence of str
        Columns of tables that are copied to the outputs, which must be tables too.
    on_failure : callable
        Called with the result of a file as soon as the file has failed.
    on_start : callable
        Called with the Predictor before the first file.

    Returns
    -------
    FilesReport

    Raises
    ------
    OptionError
        Two inputs would have one output, an output is an input, or another run writes into the folder.
    WriteError
        An output cannot be written; those before it are complete.
    SvmfastError
        The cluster cannot be reached, or the connection was lost.
    """
    how, predicting = divided(options, ManyOptions, PredictionOptions)
    listener, reading, cores = listener or Listener(), reading or Reading(), thread_count(threads)
    paths, folder = [os.fspath(path) for path in data], os.fspath(folder)
    if "-" in paths:
        raise OptionError("standard input has no name to derive an output's name from; give files")
    predictor = Predictor(model, listener=listener, identify=True, scale=reading.scale, **vars(predicting))
    reading = replace(reading, scale=None)
    jobs = planned(paths, folder, SUFFIX if how.suffix is None else how.suffix, how.relative_to)
    total = predictor.report(labelled=not reading.unlabelled)
    # Before anything is read: outputs with the same extension have the same faults.
    for name in {os.path.splitext(job.name)[1]: job.name for job in jobs}.values():
        predictor.output.check(name, keep, many=True)
    settings = _made_with(predictor, reading, keep)
    with DoneList(folder, clear=how.overwrite) as done:
        done.remove_unfinished(job.name for job in jobs)
        on_start(predictor)
        # Those that need no work come first.
        left = [job for job in jobs if not _is_settled(job, done, settings, total)]
        settled = [job for job in jobs if job.report is not None or job.error is not None]
        names, of = done.columns(settings, [job.name for job in left]) or (None, "")
        order = ColumnOrder(None if names is None else tuple(names), of, names is not None)
        predictor.column_order = order
        if how.dask is None or not left:
            made = _made_here(predictor, reading, keep, cores, left)
        else:
            from svmfast.commands.cluster import made_by_cluster

            made = made_by_cluster(how.dask, predictor, total, reading, keep, left)
        with closing(made):  # no worker writes on after the list of outputs is closed
            for ended, job in enumerate(chain(settled, made), 1):
                if names is None and order.names is not None:
                    names = [*order.names]
                    done.add_columns(settings, names, order.of)
                if job.report is None:
                    on_failure(job)
                else:
                    state = job.report.state()
                    if job.status != "skipped":
                        job.status = "predicted"
                        done.add(job.name, job.made_from, state)
                    total.merge(state, earlier=job.status == "skipped")
                listener.progress(ended, len(jobs), "files")
    statuses = [job.status for job in jobs]
    counts = (statuses.count("predicted"), statuses.count("skipped"), statuses.count("failed"))
    return FilesReport(total, *counts, files=jobs)


def planned(data: Sequence[str], folder: str, suffix: str, relative_to: str | None) -> list[FileResult]:
    """An unpredicted result for each input, whose output has the same name in every run.

    Refuse two inputs with one output, and an output that is an input or no regular file.
    """
    if os.path.basename(suffix) != suffix:
        raise OptionError(f"`suffix` is '{suffix}'; expected the end of a name, such as '{SUFFIX}'")
    named: dict[str, str] = {}
    for path in data:
        name = _name(path, suffix, relative_to)
        if name == finished.NAME:
            raise OptionError(
                f"the output of '{path}' would be '{finished.NAME}', the list of finished outputs"
            )
        first = named.setdefault(name, path)
        if os.path.realpath(first) != os.path.realpath(path):
            raise OptionError(
                f"'{first}' and '{path}' would both be written to '{os.path.join(folder, name)}'; "
                "give `relative_to`, a folder that contains both"
            )
    jobs = [FileResult(path, os.path.join(folder, name), name=name) for name, path in named.items()]
    inputs = {key: job.data for job in jobs if (key := _key(job.data)) is not None}
    for job in jobs:
        place = job.output
        # A pipe or a device has no end.
        if os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)):
            raise OptionError(f"the output '{place}' is not a regular file; remove it")
        same = inputs.get(_key(place) or (0, 0))
        if same is not None:
            raise OptionError(f"the output '{place}' is the input '{same}' itself; it would be lost")
    return jobs


def _name(path: str, suffix: str, relative_to: str | None) -> str:
    name = os.path.basename(path)
    if not name:
        raise OptionError(f"'{path}' is a folder's name; give its files: {os.path.join(path, '*')}")
    if relative_to is not None:
        name = os.path.relpath(path, relative_to)
        if name.split(os.sep)[0] == os.pardir:
            raise OptionError(f"'{path}' is not in '{relative_to}' (`relative_to`)")
    return name if suffix and name.endswith(suffix) else name + suffix


def _key(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def listed(source: str | os.PathLike[str], *, memory: int = MEMORY) -> list[str]:
    """The names in a list: one per line or, if it contains a NUL byte, each terminated by one.

    `memory` limits the bytes of the names.
    """
    from svmfast.formats.source import open_source

    with open_source(source) as opened:
        allowance = Allowance(memory, opened.name, "list")
        text = opened.read_whole(allowance, _UNPACKED_BYTES)
        needed = _NAME_BYTES * sum(map(text.count, (b"\n", b"\r", b"\0")))
        opened.check_unpacked(len(text) + needed, 64 * _UNPACKED_BYTES)
        allowance.check(len(text) + needed)
    names = text.split(b"\0") if b"\0" in text else text.splitlines()
    return [os.fsdecode(name) for name in names if name]


def _made_with(predictor: Predictor, reading: Reading, keep: Sequence[str]) -> str:
    """A hash of everything but the input that determines an output and its counts.

    The counts of another version may have other names and cannot be added, so its outputs are made again.
    """
    counted = _keys(predictor.report(labelled=True).state())
    text = repr((__version__, counted, sorted(predictor.settings().items()), reading, tuple(keep)))
    return hashlib.sha256(text.encode()).hexdigest()


def _keys(value: Any) -> Any:
    """The names in nested dictionaries."""
    return {name: _keys(inner) for name, inner in sorted(value.items())} if isinstance(value, dict) else None


def _is_settled(job: FileResult, done: DoneList, settings: str, total: PredictionReport) -> bool:
    """Whether a job needs no work: its input is a folder, or an earlier run has finished it."""
    if os.path.isdir(job.data):
        advice = f"give its files: {os.path.join(job.data, '*')}"
        job.error = str(FileAccessError(job.data, None, "is a folder", None, advice))
        return True
    # The state before reading is recorded, so an input that changes meanwhile is predicted again.
    seen = stamp(job.data)
    job.made_from = {"input": [os.path.realpath(job.data), seen], "settings": settings}
    known = None if seen is None else done.find(job.name, job.made_from)
    if known is not None:
        job.status, job.report = "skipped", total.of(known)
        return True
    try:
        os.makedirs(os.path.dirname(job.output) or os.curdir, exist_ok=True)
    except OSError as error:
        raise WriteError(job.output, error.strerror or str(error)) from error
    return False


def _made_here(
    predictor: Predictor, reading: Reading, keep: Sequence[str], threads: int, jobs: list[FileResult]
) -> Generator[FileResult, None, None]:
    for job in jobs:
        try:
            found = predictor.predict_file(job.data, job.output, reading=reading, threads=threads, keep=keep)
            job.report = found
        except WriteError:
            raise  # the next file would fail as well, for example on a full disk
        except SvmfastError as error:
            job.error = str(error)
        except OSError as error:
            job.error = str(FileAccessError(job.data, None, error.strerror or str(error)))
        yield job
