"""Prediction of many files by the workers of a Dask cluster: files, or parts of large ones.

Workers read inputs and write outputs themselves, so they need the same folders under the same paths. A
worker's output appears complete or not at all; this process records it once the worker reports that it is
finished.
"""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import shutil
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from svmfast.api.fit import Fit
from svmfast.api.many import Job
from svmfast.api.predictor import Predictor
from svmfast.errors import (
    ClusterError,
    EmptyDataError,
    InputError,
    MissingPackageError,
    OptionError,
    SvmfastError,
    WriteError,
)
from svmfast.formats.answers import table_form
from svmfast.formats.parts import FilePart, parts_of, stream_part
from svmfast.formats.target import write_atomic
from svmfast.options import Reading
from svmfast.progress import Listener

if TYPE_CHECKING:
    from svmfast.formats.done import DoneList

#: Number of retries of a part whose worker fails, and seconds to wait for a scheduler and workers.
RETRIES, PATIENCE = 2, 30
_LOCAL = "local:"
#: In a worker: its predictors, by the hash of their model and options.
_PREDICTORS: dict[str, Predictor] = {}


def _absolute(path: str) -> str:
    """A path for workers; unlike ``os.path.abspath``, the same file where ``..`` follows a link."""
    return os.path.join(os.getcwd(), path)


@contextlib.contextmanager
def _connected(package: Any, address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at ``HOST:PORT``, or of N workers started here (``local:N``).

    Wherever Dask finds the connection closed, a ClusterError is raised.
    """
    with contextlib.ExitStack() as stack:
        if address.startswith(_LOCAL):
            number = address.removeprefix(_LOCAL)
            if not (number.isascii() and number.isdigit() and int(number) > 0):
                raise OptionError(f"`dask` is '{address}'; expected a scheduler's address, or local:N")
            # One thread per worker, so that workers do not compete for cores.
            cluster = stack.enter_context(
                package.LocalCluster(
                    n_workers=int(number), threads_per_worker=1, dashboard_address=None, silence_logs=50
                )
            )
            client = stack.enter_context(package.Client(cluster))
        else:
            try:
                client = stack.enter_context(package.Client(address, timeout=PATIENCE))
                client.wait_for_workers(1, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                raise ClusterError(f"no scheduler with workers at '{address}': {error}") from error
        yield client


@dataclass
class _Divided:
    """A job and its parts; `ended` are the counts of those that have ended, by their numbers."""

    job: Job
    done: DoneList
    parts: list[FilePart]
    ended: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all parts have ended."""
        return len(self.ended) == len(self.parts)

    def name(self, part: FilePart) -> str:
        """The name of a part's output in the folder: a hidden file next to the whole one."""
        folder, name = os.path.split(self.job.name)
        end = ".arrow" if table_form(self.job.name) else ""
        return os.path.join(folder, f".{name}.part-{part.number:05}{end}")

    def made_from(self, part: FilePart) -> dict[str, Any]:
        """The record of what a part is made from."""
        return {**self.job.made_from, "part": [part.begin, part.end, list(part.groups), part.of]}

    def left(self) -> Iterator[tuple[FilePart, str]]:
        """Yield the parts that are not finished, with their outputs; count those that are."""
        for part in self.parts:
            if part.of == 1:
                yield part, _absolute(self.job.output)
                continue
            known = self.done.find(self.name(part), self.made_from(part))
            if known is None:
                yield part, os.path.join(_absolute(self.done.folder), self.name(part))
            else:
                self.ended[part.number] = known

    def take(self, part: FilePart, found: dict[str, Any] | str, listener: Listener) -> None:
        """Add a worker's counts or error for a part, and a finished part to the list of outputs."""
        if isinstance(found, str):
            self.job.error = self.job.error or found
            self.ended[part.number] = {}
            return
        self.ended[part.number] = found["counted"]
        for text in found["warnings"]:
            listener.warn(text)
        if part.of > 1:
            self.done.add(self.name(part), self.made_from(part), found["counted"])

    def finished(self, predictor: Predictor) -> Job:
        """The job after its last part: the outputs of the parts are joined, and deleted."""
        job, places = self.job, [os.path.join(self.done.folder, self.name(part)) for part in self.parts]
        if job.error is None and self.parts[0].of == 1:
            job.counted = self.ended[0]
            return job
        if job.error is None and not sum(counted["rows"] for counted in self.ended.values()):
            what = "there are no rows"
            job.error = str(EmptyDataError(job.data, None, what, None, "expected at least one"))
        if job.error is None:
            _join(places, job.output)
            total = predictor.report(labelled=True)
            for part in self.parts:
                total.merge(self.ended[part.number])
                total.notes += self.ended[part.number]["notes"]
            job.counted = total.state()
        for place in places:
            with contextlib.suppress(OSError):
                os.unlink(place)
        return job


def made_by_cluster(
    address: str,
    predictor: Predictor,
    done: DoneList,
    settings: str,
    reading: Reading,
    keep: Sequence[str],
    part_bytes: int,
    jobs: list[Job],
) -> Generator[Job, None, None]:
    """Yield the jobs as they end, each with its counts or an error.

    ClusterError: the connection to the scheduler was lost; finished outputs are complete and recorded.
    """
    try:
        import distributed
    except ImportError:
        raise MissingPackageError("a cluster is run", "distributed", "dask") from None
    package: Any = distributed
    # Workers take files in any order; which one is the first must not depend on that.
    how, order = replace(reading, scale=predictor.scaling), predictor.column_order
    Fit(predictor.model, how, predictor.listener, order).find_first((job.data for job in jobs), keep)
    key = order.key(settings)
    try:
        with _connected(package, address) as client:
            plugin = _plugin(package, key, pickle.dumps(predictor))
            client.register_plugin(plugin)
            futures: dict[Any, tuple[_Divided, FilePart]] = {}
            for job in jobs:
                divided = _Divided(job, done, parts_of(_absolute(job.data), reading, part_bytes))
                for part, output in divided.left():
                    future = client.submit(
                        work, part, output, key, reading, tuple(keep), retries=RETRIES, pure=False
                    )
                    futures[future] = divided, part
                if divided.complete:
                    yield divided.finished(predictor)
            for future in package.as_completed(list(futures)):
                divided, part = futures.pop(future)
                found = _result(future, address)
                future.release()
                divided.take(part, found, predictor.listener)
                if divided.complete:
                    yield divided.finished(predictor)
            client.unregister_worker_plugin(plugin.name)
    except (package.comm.CommClosedError, package.core.RPCClosed) as error:
        raise _gone(address) from error


def _plugin(package: Any, key: str, pickled: bytes) -> Any:
    """The plugin that sends a predictor to every worker once, also to workers that join later."""
    from svmfast import __version__ as version

    class Loading(package.WorkerPlugin):  # type: ignore[misc] # its base exists once Dask is imported
        name = f"svmfast-{key}"

        def setup(self, worker: Any) -> None:
            load(key, version, pickled)

        def teardown(self, worker: Any) -> None:
            unload(key)

    return Loading()


def load(key: str, version: str, pickled: bytes) -> None:
    """In a worker: keep the predictor in this process."""
    from svmfast import __version__

    if __version__ != version:
        raise RuntimeError(f"the worker has svmfast {__version__}; expected {version}")
    _PREDICTORS[key] = pickle.loads(pickled)


def unload(key: str) -> None:
    """In a worker: forget the predictor."""
    _PREDICTORS.pop(key, None)


def work(
    part: FilePart, output: str, key: str, reading: Reading, keep: tuple[str, ...]
) -> dict[str, Any] | str:
    """In a worker: predict a file or a part of one; return the counts, or the reason of a failure."""
    predictor = copy.copy(_PREDICTORS[key])
    predictor.listener = listener = Listener()
    try:
        if part.of == 1:
            report = predictor.predict_file(part.path, output, reading=reading, threads=1, keep=keep)
        else:
            how = replace(reading, scale=predictor.scaling)
            with stream_part(part, how, keep=keep) as stream:
                report = predictor.predict_stream(
                    stream, output, reading=how, threads=1, keep=keep, first=part.first
                )
    except WriteError:
        raise
    except InputError as error:
        return str(part.located(error))
    except SvmfastError as error:
        return str(error)
    return {"counted": report.state(), "warnings": listener.warnings}


def _result(future: Any, address: str) -> dict[str, Any] | str:
    """The result of a future, or the reason for its file's failure.

    Dask computes a result again if its worker is lost; ``future.result`` waits for it.
    """
    try:
        found: dict[str, Any] | str = future.result()
    except WriteError:
        raise
    except Exception as error:
        if future.status == "error":
            return f"failed on its worker: {type(error).__name__}: {' '.join(str(error).split())}"
        raise _gone(address) from error
    return found


def _gone(address: str) -> ClusterError:
    return ClusterError(f"the scheduler '{address}' was lost; run again to continue where this run stopped")


def _join(places: Sequence[str], output: str) -> None:
    form = table_form(output)
    with write_atomic(_absolute(output)) as out:
        if form is None:
            for place in places:
                with open(place, "rb") as file:
                    shutil.copyfileobj(file, out, 1 << 20)
        else:
            from svmfast.formats.table_output import join_tables

            join_tables(places, out, form)
