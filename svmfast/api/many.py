"""Prediction of many files in one run: one output for each; finished files are skipped."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from svmfast import __version__
from svmfast.api.fit import ColumnOrder
from svmfast.api.functions import takes
from svmfast.api.jobs import Job, Plan, files_in
from svmfast.api.listener import Listener
from svmfast.api.predictor import Predictor
from svmfast.commands.predict import SUFFIX, ManyOptions, PredictionOptions
from svmfast.display import count
from svmfast.errors import FileAccessError, OptionError, SvmfastError, WriteError
from svmfast.evaluation.prediction_report import PredictionReport
from svmfast.figures import Figures, computed, figure
from svmfast.formats.done import DoneList, stamp
from svmfast.formats.parts import PART_BYTES
from svmfast.models.memory import MEMORY, Allowance
from svmfast.options import Reading, divided
from svmfast.threads import thread_count

#: Bytes of a name in a list, besides its text: as bytes and as a string.
_NAME_BYTES = 128
#: A compressed list of this size may unpack to any multiple of its size.
_UNPACKED_BYTES = 1 << 20

if TYPE_CHECKING:
    from svmfast.models.base import Model


@dataclass(frozen=True)
class FileResult(Figures):
    """The result for one input."""

    data: str = figure("The input.")
    output: str = figure("The output.")
    status: Literal["predicted", "skipped", "failed"] = figure(
        "predicted, skipped (finished by an earlier run) or failed."
    )
    #: None if the file failed.
    report: PredictionReport | None = figure("", default=None, spread=True, optional=True)

    @computed.figure("Remarks of the reader of the data.", optional=True)
    def notes(self) -> list[str] | None:
        """Remarks of the reader of the data; None if the file failed."""
        return None if self.report is None else self.report.notes

    error: str | None = figure("The reason for a failure, in one line.", default=None)


@dataclass(frozen=True, repr=False)
class FilesReport(Figures):
    """The results for many files, in the order in which they were given."""

    #: Of all rows together, including those of files finished earlier.
    total: PredictionReport = figure("", spread=True)

    @computed.figure("Files predicted by this run.")
    def files_predicted(self) -> int:
        """How many files this run predicted."""
        return self.number("predicted")

    @computed.figure("Files that an earlier run had finished.")
    def files_skipped(self) -> int:
        """How many files an earlier run had finished."""
        return self.number("skipped")

    @computed.figure("Files that could not be predicted.")
    def files_failed(self) -> int:
        """How many files could not be predicted."""
        return self.number("failed")

    files: list[FileResult] = figure(
        "Of a run with many files: every file, with the figures of its own rows."
    )

    def __repr__(self) -> str:
        return "\n".join([f"<{self.sentence()}>", *self.total.lines()])

    def number(self, status: str) -> int:
        """How many files have a status."""
        return sum(one.status == status for one in self.files)

    def sentence(self) -> str:
        """The number of files by status, as a sentence."""
        earlier, failed = self.number("skipped"), self.number("failed")
        parts = [f"{self.number('predicted'):,} of {count(len(self.files), 'file')} predicted"]
        parts += [f"{earlier:,} finished earlier"] if earlier else []
        parts += [f"{failed:,} failed"] if failed else []
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
    part_bytes: int = PART_BYTES,
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
    part_bytes : int
        With `dask`: files of at least twice this size are divided into parts of about this size, which are
        line ranges of LIBSVM's text or row groups of Parquet.
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
    ClusterError
        The cluster cannot be reached, or the connection was lost.
    """
    how, predicting = divided(options, ManyOptions, PredictionOptions)
    listener, reading, cores = listener or Listener(), reading or Reading(), thread_count(threads)
    paths = [os.fspath(path) for path in data]
    if "-" in paths:
        raise OptionError("standard input has no name to derive an output's name from; give files")
    predictor = Predictor(model, listener=listener, identify=True, scale=reading.scale, **vars(predicting))
    reading = replace(reading, scale=None)
    suffix = SUFFIX if how.suffix is None else how.suffix
    plan = Plan.of(paths, os.fspath(folder), suffix, how.relative_to)
    total = predictor.report(labelled=not reading.unlabelled)
    # Before anything is read: outputs with the same extension have the same faults.
    for place in {os.path.splitext(name)[1]: name for _, name in plan.pairs}.values():
        predictor.output.check(place, keep, many=True)
    results: list[FileResult] = []
    settings = made_with(predictor, reading, keep)
    with DoneList(plan.folder, clear=how.overwrite) as done:
        done.remove_unfinished(name for _, name in plan.pairs)
        on_start(predictor)
        work = partial(_made_here, predictor, reading, keep, cores)
        if how.dask is not None:
            cluster = (how.dask, predictor, done, settings, reading, keep, part_bytes)
            work = partial(_made_by_cluster, *cluster)
        for result in _results(plan, done, settings, work, predictor, total):
            results.append(result)
            if result.report is not None:
                total.merge(result.report.state(), earlier=result.status == "skipped")
            if result.status == "failed":
                on_failure(result)
            listener.progress(len(results), len(plan.pairs), "files")
            if listener.on_status is not None:
                listener.on_status("files", count(total.rows, "row"))
    order = {path: number for number, (path, _) in enumerate(plan.pairs)}
    return FilesReport(total, sorted(results, key=lambda one: order[one.data]))


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


def made_with(predictor: Predictor, reading: Reading, keep: Sequence[str]) -> str:
    """A hash of everything but the input that determines an output and its counts.

    The counts of another version may have other names and cannot be added, so its outputs are made again.
    """
    counted = _keys(predictor.report(labelled=True).state())
    text = repr((__version__, counted, sorted(predictor.settings().items()), reading, tuple(keep)))
    return hashlib.sha256(text.encode()).hexdigest()


def _keys(value: Any) -> Any:
    """The names in nested dictionaries."""
    return {name: _keys(inner) for name, inner in sorted(value.items())} if isinstance(value, dict) else None


def _results(
    plan: Plan,
    done: DoneList,
    settings: str,
    made: Callable[[list[Job]], Iterator[Job]],
    predictor: Predictor,
    total: PredictionReport,
) -> Iterator[FileResult]:
    """Yield the results of files that are finished already, then those that `made` computes."""
    jobs = []
    for path, name in plan.pairs:
        place = os.path.join(plan.folder, name)
        if os.path.isdir(path):
            error = FileAccessError(path, None, "is a folder", None, f"give its files: {files_in(path)}")
            yield FileResult(path, place, "failed", error=str(error))
            continue
        # The state before reading is recorded, so an input that changes meanwhile is predicted again.
        made_from = {"input": [os.path.realpath(path), stamp(path)], "settings": settings}
        known = None if made_from["input"][1] is None else done.find(name, made_from)
        if known is not None:
            yield FileResult(path, place, "skipped", total.of(known))
            continue
        _make_folder(place)
        jobs.append(Job(path, place, name, made_from))
    names, of = done.columns(settings, [job.name for job in jobs]) or (None, "")
    predictor.column_order = ColumnOrder(names, of, lambda *it: done.add_columns(settings, *it))
    for job in made(jobs):
        if job.counted is None:
            yield FileResult(job.path, job.place, "failed", error=job.error)
            continue
        done.add(job.name, job.made_from, job.counted)
        yield FileResult(job.path, job.place, "predicted", total.of(job.counted))


def _made_here(
    predictor: Predictor, reading: Reading, keep: Sequence[str], threads: int, jobs: list[Job]
) -> Iterator[Job]:
    for job in jobs:
        try:
            report = predictor.predict_file(job.path, job.place, reading=reading, threads=threads, keep=keep)
            job.counted = report.state()
        except WriteError:
            raise  # the next file would fail as well, for example on a full disk
        except SvmfastError as error:
            job.error = str(error)
        except OSError as error:
            job.error = str(FileAccessError(job.path, None, error.strerror or str(error)))
        yield job


def _made_by_cluster(
    address: str,
    predictor: Predictor,
    done: DoneList,
    settings: str,
    reading: Reading,
    keep: Sequence[str],
    part_bytes: int,
    jobs: list[Job],
) -> Iterator[Job]:
    from svmfast.api.cluster import run_jobs

    if not jobs:
        return
    order = predictor.column_order
    # Workers take files in any order; which one is the first must not depend on that.
    how = replace(reading, scale=predictor.scaling)
    order.find_first((job.path for job in jobs), how, keep, predictor.listener.note, predictor.model)
    key = order.key(settings)
    for job in run_jobs(address, jobs, predictor, done, key, reading, keep, part_bytes=part_bytes):
        for text in job.warnings:
            predictor.listener.warn(text)
        yield job


def _make_folder(place: str) -> None:
    try:
        os.makedirs(os.path.dirname(place) or os.curdir, exist_ok=True)
    except OSError as error:
        raise WriteError(place, error.strerror or str(error)) from error
