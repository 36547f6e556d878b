"""Prediction of many files in one run: one output for each."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from svmfast.commands.cluster import check_scheduler, connected
from svmfast.commands.data_check import DataCheck
from svmfast.commands.file_names import files_of, is_many, no_files
from svmfast.commands.functions import takes
from svmfast.commands.predict import SUFFIX, ManyOptions, PredictionOptions
from svmfast.commands.predictor import Predictor
from svmfast.display import count
from svmfast.errors import FileAccessError, OptionError, SvmfastError, WriteError
from svmfast.evaluation.prediction_report import PredictionReport
from svmfast.figures import Figures, computed, figure
from svmfast.formats.target import check_folder, reported
from svmfast.models.base import Model
from svmfast.options import Reading, as_reading, divided
from svmfast.progress import Listener
from svmfast.threads import thread_count
from svmfast.values import without_query


@dataclass(eq=False)
class FileResult(Figures):
    """The result for one input."""

    data: str = figure("The input.")
    output: str = figure("The output.")
    status: Literal["predicted", "skipped", "failed"] = figure(
        "predicted, skipped (its output exists) or failed.", default="failed"
    )
    #: None unless the file was predicted.
    report: PredictionReport | None = figure("", default=None, spread=True, optional=True)

    @computed.figure("Remarks of the reader of the data.", optional=True)
    def notes(self) -> list[str] | None:
        """Remarks of the reader of the data; None unless the file was predicted."""
        return None if self.report is None else self.report.notes

    error: str | None = figure("The reason for a failure, in one line.", default=None)


@dataclass(frozen=True)
class FilesReport(Figures):
    """The results for many files, in the order in which they were given."""

    #: Of all rows that were predicted together.
    total: PredictionReport = figure("", spread=True)
    files_predicted: int = figure("Files predicted by this run.")
    files_skipped: int = figure("Files that were left out because their outputs exist.")
    files_failed: int = figure("Files that could not be predicted.")
    files: list[FileResult] = figure(
        "Of a run with many files: every file, with the figures of its own rows."
    )

    def lines(self) -> list[str]:
        return self.total.lines()

    def heading(self) -> str:
        """The number of files by status, as a sentence."""
        parts = [f"{self.files_predicted:,} of {count(len(self.files), 'file')} predicted"]
        parts += [f"{self.files_skipped:,} skipped"] if self.files_skipped else []
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

    The model is read once. An output appears complete or not at all, so `skip_existing` continues a run that
    ended early.

    Parameters
    ----------
    model : Model or path
    data : iterable of path
        A folder stands for its files, and a pattern such as ``in/*.csv`` or ``in/**/*.csv``, if no file has
        that name, for those it matches, sorted. Hidden files and outputs of this run are left out.
    folder : path
        Created if it does not exist.
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
        Two inputs would have one output, or an output is an input.
    WriteError
        An output cannot be written; those before it are complete.
    SvmfastError
        The cluster cannot be reached, or the connection was lost.
    """
    how, predicting = divided(options, ManyOptions, PredictionOptions)
    listener, reading, cores = listener or Listener(), as_reading(reading), thread_count(threads)
    paths, folder = [os.fspath(path) for path in data], os.fspath(folder)
    check_folder(folder)
    if "-" in paths:
        raise OptionError("standard input has no name to derive an output's name from; give files")
    check_scheduler(how.dask)
    predictor = Predictor(model, listener=listener, scale=reading.scale, **vars(predicting))
    reading = replace(reading, scale=None)
    named = (folder, SUFFIX if how.suffix is None else how.suffix, how.relative_to)
    paths, outputs = expanded(paths, *named)
    if outputs:
        what = f"{count(outputs, 'file')} in the folders and patterns of DATA left out"
        listener.note(f"{what}: outputs of other files")
    jobs = planned(paths, *named)
    total = predictor.report(labelled=not reading.unlabelled)
    # Before anything is read: outputs with the same extension have the same faults.
    for output in {os.path.splitext(job.output)[1]: job.output for job in jobs}.values():
        predictor.output.check(output, keep, many=True)
    on_start(predictor)
    left = [job for job in jobs if _needs_work(job, how.skip_existing)]
    settled = [job for job in jobs if job.status == "skipped" or job.error is not None]
    if how.dask is not None or how.skip_existing:
        # The first table sets the order of columns, whatever is left out and wherever others are read.
        scaled = replace(reading, scale=predictor.scaling)
        DataCheck(predictor.model, scaled, listener, predictor.column_order).find_first(paths, keep)
    if how.dask is None or not left:
        made = _made_here(predictor, reading, keep, cores, left)
    else:
        made = _made_by_workers(how.dask, predictor, reading, keep, left)
    with closing(made):  # no worker writes on after an interrupt
        for ended, job in enumerate(chain(settled, made), 1):
            if job.report is not None:
                job.status = "predicted"
                total.merge(job.report)
            elif job.status == "failed":
                on_failure(job)
            listener.progress(ended, len(jobs), "files")
    statuses = [job.status for job in jobs]
    counts = (statuses.count("predicted"), statuses.count("skipped"), statuses.count("failed"))
    return FilesReport(total, *counts, files=jobs)


def expanded(data: Sequence[str], folder: str, suffix: str, relative_to: str | None) -> tuple[list[str], int]:
    """The inputs, with the files of folders and patterns in their place; one without files stays as it is.

    Of these, outputs of others are left out; their number is returned too.
    """
    found: list[tuple[str, bool]] = []
    for path in data:
        found += [(one, one != path) for one in files_of(path)] or [(path.rstrip(os.sep) or path, False)]
    if not any(is_match for _, is_match in found):
        return [path for path, _ in found], 0
    made = set()
    for path, _ in found:
        output = os.path.realpath(os.path.join(folder, _name(path, suffix, relative_to)))
        if output != os.path.realpath(path):
            made.add(output)
    left = [path for path, is_match in found if not (is_match and os.path.realpath(path) in made)]
    return left, len(found) - len(left)


def planned(data: Sequence[str], folder: str, suffix: str, relative_to: str | None) -> list[FileResult]:
    """An unpredicted result for each input.

    Refuse two inputs with one output, and an output that is an input or no regular file.
    """
    if os.path.basename(suffix) != suffix:
        raise OptionError(f"`suffix` is '{suffix}'; expected the end of a name, such as '{SUFFIX}'")
    named: dict[str, str] = {}
    for path in data:
        name = _name(path, suffix, relative_to)
        first = named.setdefault(name, path)
        if os.path.realpath(first) != os.path.realpath(path):
            raise OptionError(
                f"'{first}' and '{path}' would both be written to '{os.path.join(folder, name)}'; "
                "give `relative_to`, a folder that contains both"
            )
    jobs = [FileResult(path, os.path.join(folder, name)) for name, path in named.items()]
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
    named = without_query(path)
    name = os.path.basename(named)
    if relative_to is not None:
        name = os.path.relpath(named, relative_to)
        if name.split(os.sep)[0] == os.pardir:
            raise OptionError(f"'{path}' is not in '{relative_to}' (`relative_to`)")
    return name if suffix and name.endswith(suffix) else name + suffix


def _key(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _needs_work(job: FileResult, skip_existing: bool) -> bool:
    """Whether a file is to be predicted; make the folder of its output."""
    if skip_existing and os.path.isfile(job.output):
        job.status = "skipped"
        return False
    if is_many(job.data):
        job.error = str(no_files(job.data))
        return False
    with reported(job.output):
        os.makedirs(os.path.dirname(job.output) or os.curdir, exist_ok=True)
    return True


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


def _made_by_workers(
    address: str, predictor: Predictor, reading: Reading, keep: Sequence[str], jobs: list[FileResult]
) -> Generator[FileResult, None, None]:
    """Yield the jobs as the workers of a cluster end them; finished outputs are complete."""
    with connected(address, "run again with `skip_existing` to continue") as workers:
        shared = workers.share(predictor)
        places = ((workers.path(job.data), workers.path(job.output)) for job in jobs)
        calls = [workers.submit(predicted_by_worker, *two, shared, reading, tuple(keep)) for two in places]
        for number, found in workers.as_ended(calls):
            job = jobs[number]
            if isinstance(found, WriteError):
                raise found
            if isinstance(found, SvmfastError):
                job.error = str(found)
            else:
                job.report, heard = found
                job.report.model = predictor.model
                for text in heard:
                    predictor.listener.warn(text)
            yield job


def predicted_by_worker(
    data: str, output: str, shared: Predictor, reading: Reading, keep: tuple[str, ...]
) -> tuple[PredictionReport, list[str]]:
    """In a worker: predict a file; return its counts, without the model, and warnings."""
    predictor = copy.copy(shared)
    predictor.listener = listener = Listener()
    report = predictor.predict_file(data, output, reading=reading, threads=1, keep=keep)
    report.model = None  # type: ignore[assignment]
    return report, listener.warnings
