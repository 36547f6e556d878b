"""Prediction of many files by the workers of a Dask cluster.

Workers read inputs and write outputs themselves, so they need the same folders under the same paths. A
worker's output appears complete or not at all; this process records it once the worker reports that it is
finished.
"""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

from svmfast.api.fit import Fit
from svmfast.api.many import Job
from svmfast.api.predictor import Predictor
from svmfast.errors import MissingPackageError, OptionError, SvmfastError, WriteError
from svmfast.options import Reading
from svmfast.progress import Listener

#: Number of retries of a file whose worker fails, and seconds to wait for a scheduler and workers.
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

    Wherever Dask finds the connection closed, an SvmfastError is raised.
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
                raise SvmfastError(f"no scheduler with workers at '{address}': {error}") from error
        yield client


def made_by_cluster(
    address: str,
    predictor: Predictor,
    settings: str,
    reading: Reading,
    keep: Sequence[str],
    jobs: list[Job],
) -> Generator[Job, None, None]:
    """Yield the jobs as they end, each with its counts or an error.

    SvmfastError: the connection to the scheduler was lost; finished outputs are complete and recorded.
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
            futures: dict[Any, Job] = {}
            for job in jobs:
                places = _absolute(job.data), _absolute(job.output)
                future = client.submit(work, *places, key, reading, tuple(keep), retries=RETRIES, pure=False)
                futures[future] = job
            for future in package.as_completed(list(futures)):
                job = futures.pop(future)
                found = _result(future, address)
                future.release()
                if isinstance(found, str):
                    job.error = found
                else:
                    job.counted = found["counted"]
                    for text in found["warnings"]:
                        predictor.listener.warn(text)
                yield job
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


def work(data: str, output: str, key: str, reading: Reading, keep: tuple[str, ...]) -> dict[str, Any] | str:
    """In a worker: predict a file; return the counts, or the reason of a failure."""
    predictor = copy.copy(_PREDICTORS[key])
    predictor.listener = listener = Listener()
    try:
        report = predictor.predict_file(data, output, reading=reading, threads=1, keep=keep)
    except WriteError:
        raise
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


def _gone(address: str) -> SvmfastError:
    return SvmfastError(f"the scheduler '{address}' was lost; run again to continue where this run stopped")
