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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svmfast.api.jobs import Job
from svmfast.api.listener import Listener
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
from svmfast.formats.parts import Part, parts_of, stream_part
from svmfast.formats.target import write_atomic
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.formats.done import DoneList

#: Number of retries of a part whose worker fails, and seconds to wait for a scheduler and workers.
RETRIES, PATIENCE = 2, 30
_LOCAL = "local:"
#: In a worker: its predictors, by the hash of their model and options.
_PREDICTORS: dict[str, Predictor] = {}


def distributed() -> Any:
    """The package ``distributed``; raises MissingPackageError if it is not installed."""
    try:
        import distributed as package
    except ImportError:
        raise MissingPackageError("a cluster is run", "distributed", "dask") from None
    return package


def absolute(path: str) -> str:
    """A path for workers; unlike ``os.path.abspath``, the same file where ``..`` follows a link."""
    return os.path.join(os.getcwd(), path)


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at ``HOST:PORT``, or of N workers started here (``local:N``)."""
    package = distributed()
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


def _part_name(job: Job, number: int) -> str:
    """The name of a part's output in the folder: a hidden file next to the whole one."""
    folder, name = os.path.split(job.name)
    end = ".arrow" if table_form(job.name) else ""
    return os.path.join(folder, f".{name}.part-{number:05}{end}")


def _part_made_from(job: Job, part: Part) -> dict[str, Any]:
    """The record of what a part is made from."""
    return {**job.made_from, "part": [part.begin, part.end, list(part.groups), part.of]}


class Loading:
    """The Dask plugin that sends a predictor to every worker once, also to workers that join later."""

    def __init__(self, key: str, version: str, pickled: bytes) -> None:
        self.name = f"svmfast-{key}"
        self.key, self.version, self.pickled = key, version, pickled

    def setup(self, worker: Any) -> None:
        """Keep the predictor in the worker's process."""
        from svmfast import __version__

        if __version__ != self.version:
            raise RuntimeError(f"the worker has svmfast {__version__}; expected {self.version}")
        _PREDICTORS[self.key] = pickle.loads(self.pickled)

    def teardown(self, worker: Any) -> None:
        """Remove the predictor."""
        _PREDICTORS.pop(self.key, None)


def run_jobs(
    address: str,
    jobs: Sequence[Job],
    predictor: Predictor,
    done: DoneList,
    key: str,
    reading: Reading,
    keep: Sequence[str],
    *,
    part_bytes: int,
) -> Iterator[Job]:
    """Yield the jobs as they end, each with its counts or an error.

    ClusterError: the connection to the scheduler was lost; finished outputs are complete and recorded.
    """
    package = distributed()
    from svmfast import __version__

    with _not_lost(package, address), connected(address) as client:
        loading = _plugin(package, Loading(key, __version__, pickle.dumps(predictor)))
        client.register_plugin(loading)
        futures: dict[Any, tuple[Job, Part]] = {}
        for job in jobs:
            job.parts = parts_of(absolute(job.path), reading, part_bytes)
            for part, output in _left_to_do(job, done):
                future = client.submit(
                    work, part, output, key, reading, tuple(keep), retries=RETRIES, pure=False
                )
                futures[future] = job, part
            if len(job.ended) == len(job.parts):
                yield _joined(job, done, predictor)
        for future in package.as_completed(list(futures)):
            job, part = futures.pop(future)
            found = _result(future, address)
            future.release()
            _take(job, part, found, done)
            if len(job.ended) == len(job.parts):
                if job.error is not None:
                    _remove_parts(job, done)
                if job.error is None and part.of == 1:
                    job.counted = job.ended[0]
                yield job if job.error or job.counted else _joined(job, done, predictor)
        client.unregister_worker_plugin(loading.name)


@contextlib.contextmanager
def _not_lost(package: Any, address: str) -> Iterator[None]:
    """Raise ClusterError where Dask finds the connection to the scheduler closed, in whatever call."""
    try:
        yield
    except (package.comm.CommClosedError, package.core.RPCClosed) as error:
        raise _gone(address) from error


def _left_to_do(job: Job, done: DoneList) -> Iterator[tuple[Part, str]]:
    """Yield the parts of a job that are not finished, with their outputs; count those that are."""
    for part in job.parts:
        if part.of == 1:
            yield part, absolute(job.place)
            continue
        name = _part_name(job, part.number)
        known = done.find(name, _part_made_from(job, part))
        if known is None:
            yield part, os.path.join(absolute(done.folder), name)
        else:
            job.ended[part.number] = known


def _take(job: Job, part: Part, found: dict[str, Any] | str, done: DoneList) -> None:
    """Add a worker's counts or error for a part to the job, and a finished part to the list of outputs."""
    if isinstance(found, str):
        job.error = job.error or found
        job.ended[part.number] = {}
        return
    job.ended[part.number] = found["counted"]
    job.warnings += found["warnings"]
    if part.of > 1:
        done.add(_part_name(job, part.number), _part_made_from(job, part), found["counted"])


def _plugin(package: Any, loading: Loading) -> Any:
    """Return `loading` as an instance of Dask's plugin class, which exists only once Dask is imported."""

    def setup(self: Any, worker: Any) -> None:
        loading.setup(worker)

    def teardown(self: Any, worker: Any) -> None:
        loading.teardown(worker)

    made = type("LoadingPlugin", (package.WorkerPlugin,), {"setup": setup, "teardown": teardown})()
    made.name = loading.name
    return made


def work(part: Part, output: str, key: str, reading: Reading, keep: tuple[str, ...]) -> dict[str, Any] | str:
    """In a worker: predict a file or a part of one; return the counts, or the reason of a failure."""
    listener = Listener()
    predictor = copy.copy(_PREDICTORS[key])
    predictor.listener = listener
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


def _places_of_parts(job: Job, done: DoneList) -> list[str]:
    return [os.path.join(done.folder, _part_name(job, part.number)) for part in job.parts]


def _remove_parts(job: Job, done: DoneList) -> None:
    for place in _places_of_parts(job, done):
        with contextlib.suppress(OSError):
            os.unlink(place)


def _joined(job: Job, done: DoneList, predictor: Predictor) -> Job:
    """Join the parts of an output and delete them."""
    places = _places_of_parts(job, done)
    rows = sum(counted["rows"] for counted in job.ended.values())
    if not rows:
        job.error = str(EmptyDataError(job.path, None, "there are no rows", None, "expected at least one"))
        _remove_parts(job, done)
        return job
    form = table_form(job.place)
    with write_atomic(absolute(job.place)) as out:
        if form is None:
            for place in places:
                with open(place, "rb") as file:
                    shutil.copyfileobj(file, out, 1 << 20)
        else:
            from svmfast.formats.table_output import join_tables

            join_tables(places, out, form)
    _remove_parts(job, done)
    total = predictor.report(labelled=True)
    for part in job.parts:
        total.merge(job.ended[part.number])
        total.notes += job.ended[part.number]["notes"]
    job.counted = total.state()
    return job
