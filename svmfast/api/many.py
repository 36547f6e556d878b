"""Prediction of many files in one process: one output each, and only what is not finished already."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from svmfast import __version__
from svmfast.api.listener import Listener
from svmfast.api.predictor import Predictor
from svmfast.display import count
from svmfast.errors import FileAccessError, OptionError, SvmfastError, WriteError
from svmfast.formats.done import NAME, DoneList, stamp
from svmfast.options import Reading
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.evaluation.prediction_report import PredictionReport
    from svmfast.models.base import Model

#: Appended to an input's name.
SUFFIX = ".out"


@dataclass(frozen=True)
class FileResult:
    """What became of one input.

    Attributes
    ----------
    data, output : str
    status : {"predicted", "skipped", "failed"}
        skipped: finished by an earlier run.
    counted : dict or None
        What a :class:`PredictionReport` counted; None of a failed one.
    error : str or None
        Why it failed: one line.
    """

    data: str
    output: str
    status: Literal["predicted", "skipped", "failed"]
    counted: dict[str, Any] | None = None
    error: str | None = None


@dataclass(frozen=True, repr=False)
class FilesReport:
    """What became of many files, in the order in which they were given.

    Attributes
    ----------
    files : list of FileResult
    total : PredictionReport
        Of all rows together, those of files finished earlier included.
    """

    files: list[FileResult]
    total: PredictionReport = field(repr=False)

    def __repr__(self) -> str:
        return "\n".join([f"<{self.sentence()}>", *self.total.lines()])

    def number(self, status: str) -> int:
        """Return how many files have a status."""
        return sum(one.status == status for one in self.files)

    def sentence(self) -> str:
        """Return how many files there are, by what became of them."""
        earlier, failed = self.number("skipped"), self.number("failed")
        parts = [f"{self.number('predicted'):,} of {count(len(self.files), 'file')} predicted"]
        parts += [f"{earlier:,} finished earlier"] if earlier else []
        parts += [f"{failed:,} failed"] if failed else []
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md: those of all rows, and a list of the files."""
        listed: list[dict[str, Any]] = []
        for one in self.files:
            entry: dict[str, Any] = {"data": one.data, "output": one.output, "status": one.status}
            if one.counted is not None:
                own = self.total.empty()
                own.merge(one.counted)
                entry |= own.to_dict()
                entry["notes"] = one.counted["notes"]
            listed.append({**entry, "error": one.error})
        return {
            **self.total.to_dict(),
            "files_predicted": self.number("predicted"),
            "files_skipped": self.number("skipped"),
            "files_failed": self.number("failed"),
            "files": listed,
        }


@dataclass(frozen=True)
class Plan:
    """Inputs and the names of their outputs below a folder, the same whenever they are given."""

    folder: str
    pairs: list[tuple[str, str]]

    @classmethod
    def of(cls, data: Sequence[str], folder: str, suffix: str, relative_to: str | None) -> Plan:
        """Name the outputs.

        Raises
        ------
        OptionError
            Two inputs would have one output, or an output is an input.
        """
        if os.path.basename(suffix) != suffix:
            raise OptionError(f"`suffix` is '{suffix}'; expected the end of a name, such as '{SUFFIX}'")
        named: dict[str, str] = {}
        for path in data:
            name = _name(path, suffix, relative_to)
            if name == NAME:
                raise OptionError(f"the output of '{path}' would be '{NAME}', the list of what is finished")
            first = named.setdefault(name, path)
            if os.path.abspath(first) != os.path.abspath(path):
                raise OptionError(
                    f"'{first}' and '{path}' would both be written to '{os.path.join(folder, name)}'; "
                    "give `relative_to`, a folder that holds both"
                )
        plan = cls(folder, [(path, name) for name, path in named.items()])
        plan.keep_inputs()
        return plan

    def keep_inputs(self) -> None:
        """Refuse an output that is an input under whatever name."""
        inputs = {key: path for path, _ in self.pairs if (key := _key(path)) is not None}
        for _, name in self.pairs:
            place = os.path.join(self.folder, name)
            same = inputs.get(_key(place) or (0, 0))
            if same is not None:
                raise OptionError(f"the output '{place}' is the input '{same}' itself; it would be lost")


def predict_files(
    model: Model | str | os.PathLike[str],
    data: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    suffix: str = SUFFIX,
    relative_to: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    reading: Reading | None = None,
    keep: Sequence[str] = (),
    threads: int | None = None,
    listener: Listener | None = None,
    on_failure: Callable[[FileResult], None] = lambda result: None,
    on_start: Callable[[Predictor], None] = lambda predictor: None,
    **options: Any,
) -> FilesReport:
    """Predict the rows of many files, each into a file of its own; a failing one does not stop the others.

    The model is read once. An output appears complete or not at all. Run again, also after the process was
    killed, it makes only what is missing, or was made from an input, a model or options that have changed.

    Parameters
    ----------
    model : Model or path
    data : iterable of path
    folder : path
        Made if it is not there. One run at a time writes into it.
    suffix : str
        Appended to an input's name, unless it ends so already.
    relative_to : path, optional
        A folder that holds all inputs: outputs keep their places below it. By default all stand side by side.
    overwrite : bool
        Make every output again.
    reading : Reading, optional
        How the rows are written.
    keep : sequence of str
        Columns of tables that are copied to the outputs, tables as well.
    threads : int, optional
    listener : Listener, optional
    on_failure : callable
        Takes the result of a file that failed, at once.
    on_start : callable
        Takes the Predictor before the first file.
    **options
        Of :class:`Predictor`: ``probability``, ``decision_values``, ``certify``, ...

    Returns
    -------
    FilesReport

    Raises
    ------
    OptionError
        Two inputs would have one output, an output is an input, or another run writes into the folder.
    WriteError
        An output cannot be written; those before it are there.
    """
    heard, reading, cores = listener or Listener(), reading or Reading(), thread_count(threads)
    paths = [os.fspath(path) for path in data]
    if "-" in paths:
        raise OptionError("standard input has no name that an output could have; give files")
    predictor = Predictor(model, listener=heard, identify=True, scale=reading.scale, **options)
    reading = replace(reading, scale=None)
    base = None if relative_to is None else os.fspath(relative_to)
    plan = Plan.of(paths, os.fspath(folder), suffix, base)
    total = predictor.report(labelled=not reading.unlabelled)
    results: list[FileResult] = []
    settings = made_with(predictor, reading, keep)
    with DoneList(plan.folder, anew=overwrite) as done:
        done.remove_unfinished(name for _, name in plan.pairs)
        on_start(predictor)
        for result in _results(predictor, plan, done, settings, reading, keep, cores):
            results.append(result)
            if result.counted is not None:
                total.merge(result.counted)
            if result.status == "failed":
                on_failure(result)
            heard.progress(len(results), len(plan.pairs), "files")
            if heard.on_status is not None:
                heard.on_status("files", count(total.rows, "row"))
    return FilesReport(results, total)


def listed(source: str | os.PathLike[str]) -> list[str]:
    """Return the names of a list: one a line, or, where there is a NUL byte, each ended by one.

    Parameters
    ----------
    source : path
        ``-`` is standard input.
    """
    from svmfast.formats.source import open_source

    text = bytearray()
    with open_source(source) as opened:
        room = memoryview(bytearray(1 << 16))
        while size := opened.readinto(room):
            text += room[:size]
    names = text.split(b"\0") if b"\0" in text else text.splitlines()
    return [os.fsdecode(bytes(name)) for name in names if name]


def made_with(predictor: Predictor, reading: Reading, keep: Sequence[str]) -> str:
    """Return a hash of all that decides an output beside its input."""
    text = repr((__version__, sorted(predictor.settings().items()), reading, tuple(keep)))
    return hashlib.sha256(text.encode()).hexdigest()


def _results(
    predictor: Predictor,
    plan: Plan,
    done: DoneList,
    settings: str,
    reading: Reading,
    keep: Sequence[str],
    threads: int,
) -> Iterator[FileResult]:
    for path, name in plan.pairs:
        place = os.path.join(plan.folder, name)
        # Looked at before it is read: an input that changes meanwhile is not finished.
        made_from = {"input": [os.path.abspath(path), stamp(path)], "settings": settings}
        known = None if made_from["input"][1] is None else done.find(name, made_from)
        if known is not None:
            yield FileResult(path, place, "skipped", known)
            continue
        try:
            _make_folder(place)
            report = predictor.predict_file(path, place, reading=reading, threads=threads, keep=keep)
        except WriteError:
            raise  # of a full disk the next file would have no more
        except SvmfastError as error:
            yield FileResult(path, place, "failed", error=str(error))
            continue
        except OSError as error:
            failure = FileAccessError(path, None, error.strerror or str(error))
            yield FileResult(path, place, "failed", error=str(failure))
            continue
        counted = report.state()
        done.add(name, made_from, counted)
        yield FileResult(path, place, "predicted", counted)


def _make_folder(place: str) -> None:
    try:
        os.makedirs(os.path.dirname(place) or os.curdir, exist_ok=True)
    except OSError as error:
        raise WriteError(place, error.strerror or str(error)) from error


def _name(path: str, suffix: str, relative_to: str | None) -> str:
    name = os.path.basename(path)
    if not name:
        raise OptionError(f"'{path}' is a folder's name; give files")
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
