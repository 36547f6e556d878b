"""Prediction of many files by the workers of a Dask cluster.

Workers read inputs and write outputs themselves, so they need the same folders under the same paths. A
worker's output appears complete or not at all.
"""

from __future__ import annotations

import contextlib
import copy
import os
import warnings
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from svmfast import __version__
from svmfast.commands.many import FileResult
from svmfast.commands.predictor import Predictor
from svmfast.errors import MissingPackageError, SvmfastError, WriteError
from svmfast.evaluation.prediction_report import PredictionReport
from svmfast.options import Reading
from svmfast.progress import Listener
from svmfast.values import is_uri

#: Number of retries of a file whose worker fails, and seconds to wait for a scheduler and workers.
RETRIES, PATIENCE = 2, 30
_LOCAL = "local:"
#: Counts of a file, and warnings.
Done = tuple[PredictionReport, list[str]]


def _absolute(path: str) -> str:
    """A path for workers; unlike ``os.path.abspath``, the same file where ``..`` follows a link."""
    return path if is_uri(path) else os.path.join(os.getcwd(), path)


@contextlib.contextmanager
def _connected(package: Any, address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at ``HOST:PORT``, or of N workers started here (``local:N``).

    Wherever Dask finds the connection closed, an SvmfastError is raised.
    """
    with contextlib.ExitStack() as stack:
        if address.startswith(_LOCAL):
            # One thread per worker, so that workers do not compete for cores.
            cluster = stack.enter_context(
                package.LocalCluster(
                    n_workers=int(address.removeprefix(_LOCAL)),
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=50,
                )
            )
            client = stack.enter_context(package.Client(cluster))
        else:
            try:
                client = stack.enter_context(package.Client(address, timeout=PATIENCE))
                client.wait_for_workers(1, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                raise SvmfastError(f"no scheduler with workers at '{address}': {error}") from error
        yield client


def made_by_cluster(
    address: str,
    predictor: Predictor,
    reading: Reading,
    keep: Sequence[str],
    jobs: list[FileResult],
) -> Generator[FileResult, None, None]:
    """Yield the jobs as they end, each with its report or an error.

    SvmfastError: the connection to the scheduler was lost; finished outputs are complete.
    """
    try:
        import distributed
    except ImportError:
        raise MissingPackageError("a cluster is run", "distributed", "dask") from None
    package: Any = distributed
    how = (reading, tuple(keep), __version__)
    try:
        with _connected(package, address) as client:
            # A task, which workers that take the place of lost ones can run again.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # it is large
                shared = client.submit(copy.copy, predictor, pure=False)
            futures: dict[Any, FileResult] = {}
            for job in jobs:
                places = _absolute(job.data), _absolute(job.output)
                future = client.submit(work, *places, shared, *how, retries=RETRIES, pure=False)
                futures[future] = job
            for future in package.as_completed(list(futures)):
                job = futures.pop(future)
                found = _result(future, address)
                future.release()
                if isinstance(found, str):
                    job.error = found
                else:
                    job.report, heard = found
                    job.report.model = predictor.model
                    for text in heard:
                        predictor.listener.warn(text)
                yield job
    except (package.comm.CommClosedError, package.core.RPCClosed) as error:
        raise _gone(address) from error


def work(
    data: str, output: str, shared: Predictor, reading: Reading, keep: tuple[str, ...], version: str
) -> Done | str:
    """In a worker: predict a file; return what is known of it, or the reason of a failure."""
    if __version__ != version:
        raise RuntimeError(f"the worker has svmfast {__version__}; expected {version}")
    predictor = copy.copy(shared)
    predictor.listener = listener = Listener()
    try:
        report = predictor.predict_file(data, output, reading=reading, threads=1, keep=keep)
    except WriteError:
        raise
    except SvmfastError as error:
        return str(error)
    report.model = None  # type: ignore[assignment] # not sent back
    return report, listener.warnings


def _result(future: Any, address: str) -> Done | str:
    """The result of a future, or the reason for its file's failure.

    Dask computes a result again if its worker is lost; ``future.result`` waits for it.
    """
    try:
        found: Done | str = future.result()
    except WriteError:
        raise
    except Exception as error:
        if future.status == "error":
            return f"failed on its worker: {type(error).__name__}: {' '.join(str(error).split())}"
        raise _gone(address) from error
    return found


def _gone(address: str) -> SvmfastError:
    return SvmfastError(f"the scheduler '{address}' was lost; run again with `skip_existing` to continue")
