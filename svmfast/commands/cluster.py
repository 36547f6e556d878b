"""Work on the workers of a Dask cluster: one function of many arguments, retried where a worker is lost.

Workers read inputs and write outputs themselves, so they need the same folders under the same paths.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import multiprocessing
import os
import platform
import re
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from svmfast import __version__
from svmfast.errors import InputError, MissingPackageError, OptionError, SvmfastError, WriteError
from svmfast.threads import interruptible, thread_count
from svmfast.values import is_uri

#: Number of retries of a call whose worker fails, and seconds to wait for a scheduler and workers.
RETRIES, PATIENCE = 2, 30
#: Priority of calls that are run before others.
_SOON = 1 << 40
#: Calls for each thread of the workers that may have ended before an earlier one, whose result is awaited.
AHEAD = 16
_LOCAL = "local:"
_LOCAL_CONFIG = {
    # The memory of a block is used again for the next one.
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
    "distributed.worker.profile.enabled": False,
}
#: Rows that a worker holds are in files already, and would be read again where a call is moved to.
_HOLDING = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.scheduler.work-stealing": False,
}


def check_scheduler(address: str | None) -> None:
    """Refuse the value of an option `dask` that is neither an address nor ``local:N``."""
    if address is not None and not re.fullmatch(r"local:[1-9][0-9]{0,5}|(?!local:).*", address):
        raise OptionError(f"`dask` is '{address}'; expected a scheduler's address, or local:N")


@contextlib.contextmanager
def connected(
    address: str | None, advice: str = "run again", *, holds_rows: bool = False
) -> Iterator[Workers]:
    """Yield the workers of the scheduler at ``HOST:PORT``, or N workers started here (``local:N``).

    Without an address they are those of the caller's client. SvmfastError: the scheduler cannot be reached,
    or wherever Dask finds that the connection was closed; then with `advice`. `holds_rows`: calls return
    rows that local workers hold.
    """
    try:
        import distributed
    except ImportError:
        raise MissingPackageError("a cluster is run", "distributed", "dask") from None
    package: Any = distributed
    lost = "the scheduler" + (f" '{address}'" if address else "") + f" was lost; {advice}"
    local = address is not None and address.startswith(_LOCAL)
    with contextlib.ExitStack() as stack:
        if address is None:
            try:
                client = package.get_client()
            except ValueError:
                raise OptionError("there is no Dask client; start one, or give `dask`") from None
        elif local:
            folder = stack.enter_context(TemporaryDirectory(prefix="svmfast-", ignore_cleanup_errors=True))
            cluster = _local_cluster(package, int(address.removeprefix(_LOCAL)), holds_rows, folder)
            client = stack.enter_context(package.Client(stack.enter_context(cluster)))
        else:
            stack.enter_context(package.utils.silence_logging_cmgr(50))
            try:
                client = stack.enter_context(package.Client(address, timeout=PATIENCE))
                client.wait_for_workers(1, timeout=PATIENCE)
            except (OSError, ValueError, MemoryError) as error:
                what = "the answer is not Dask's" if isinstance(error, MemoryError) else error
                raise SvmfastError(f"no scheduler with workers at '{address}': {what}") from error
        try:
            _check_versions(client)
            yield Workers(client, lost, local=local)
        except (package.comm.CommClosedError, package.core.RPCClosed) as error:
            raise SvmfastError(lost) from error


def _check_versions(client: Any) -> None:
    """Refuse workers without the installed svmfast: they might fail to read a call, and never answer."""
    versions = client.get_versions(packages=["svmfast"])
    expected = versions["client"]["packages"]["svmfast"]
    for place, found in versions["workers"].items():
        version = found["packages"]["svmfast"]
        if version != expected:
            has = f"svmfast {version}" if version else "no svmfast"
            raise SvmfastError(f"the worker at {place} has {has}; expected {expected or 'none'}")


def _local_cluster(package: Any, n_workers: int, holds_rows: bool, folder: str) -> Any:
    """Start workers on this machine, with files in a folder; SvmfastError: they cannot be started."""
    import dask

    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SvmfastError(
            "each worker of `dask` runs the main script once more; expected the call under "
            "if __name__ == '__main__':"
        )
    how: dict[str, Any] = {
        "n_workers": thread_count(n_workers),
        "threads_per_worker": 1,  # so that workers do not compete for cores
        "dashboard_address": "127.0.0.1:0",  # any free port; the usual one may be in use
        "scheduler_kwargs": {"dashboard": False},
        "silence_logs": 50,
        "local_directory": folder,  # also of workers that take the place of others
    }
    settings = _LOCAL_CONFIG | (_HOLDING if holds_rows else {}) | {"temporary-directory": folder}

    def start() -> Any:
        # Workers inherit the mask of this thread: interrupts are for the process that starts them.
        resource_tracker.ensure_running()  # unblocks interrupts, if it is the first
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        return package.LocalCluster(**how)

    with dask.config.set(settings):
        try:
            return interruptible(start, lambda cluster: cluster.close())
        except (RuntimeError, OSError) as error:
            raise SvmfastError(f"workers of `dask` cannot be started: {error}") from error


@dataclass(frozen=True)
class _Failure:
    """An error of svmfast, which is not retried, and the host of the worker."""

    error: SvmfastError
    host: str


class Workers:
    """The workers of a cluster that a Dask client is connected to; `lost` says that it is not any more."""

    def __init__(self, client: Any, lost: str, *, local: bool) -> None:
        self.client, self._lost, self._local = client, lost, local
        self._numbers = count()

    def path(self, path: str) -> str:
        """A path for workers; unlike ``os.path.abspath``, the same file where ``..`` follows a link."""
        return path if self._local or is_uri(path) else os.path.join(os.getcwd(), path)

    def share(self, value: Any) -> Any:
        """Send an object to the workers once; what is returned stands for it in the arguments of calls."""
        # A task, which workers that take the place of lost ones can run again.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it is large
            return self.client.submit(copy.copy, value, pure=False)

    def submit(
        self, work: Callable[..., Any], *given: Any, at: Sequence[str] = (), soon: bool = False
    ) -> Any:
        """Start a call; what is returned stands for the result in the arguments of others.

        It is run by one of the workers `at` these addresses, unless they are lost. Calls are run in their
        order, those that are wanted `soon` before others.
        """
        # Dask learns from the names of keys how long calls take.
        how: dict[str, Any] = {"key": f"{work.__name__.strip('_')}-{uuid4().hex}", "retries": RETRIES}
        how["priority"] = soon * _SOON - next(self._numbers)  # Dask begins with the last ones
        if at:
            how |= {"workers": list(at), "allow_other_workers": True}
        return self.client.submit(_call, __version__, work, *given, **how)

    def compute(self, work: Callable[..., Any], partitions: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Start a call for each tuple of delayed objects, whose results nobody else keeps."""
        from dask.delayed import delayed

        call = delayed(_call, pure=False)
        found: list[Any] = self.client.compute(
            [call(__version__, work, *given) for given in partitions], retries=RETRIES
        )
        return found

    def threads(self) -> list[str]:
        """The address of its worker for each thread of the workers."""
        return [place for place, n in self.client.nthreads().items() for _ in range(n)]

    def holders(self, calls: Sequence[Any]) -> list[Sequence[str]]:
        """The addresses of the workers that hold the result of each call."""
        found = self.client.who_has(calls)
        return [found.get(one.key, ()) for one in calls]

    def as_ended(self, calls: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the number of each call and its result, or its error, as they end; all are started first."""
        import distributed

        package: Any = distributed
        numbers = {future: number for number, future in enumerate(calls)}
        for future in package.as_completed(list(numbers)):
            found = self._outcome(future)
            future.release()
            yield numbers.pop(future), found

    def in_order(self, calls: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of calls in their order; raise the first error.

        They are started, as `calls` yields them, while results are taken, so that few are waiting.
        """
        most = AHEAD * max(1, len(self.threads()))
        started: deque[Any] = deque()
        for call in calls:
            started.append(call)
            if len(started) == most:
                yield self.result(started.popleft())
        while started:
            yield self.result(started.popleft())

    def result(self, future: Any) -> Any:
        """The result of a call; raise its error."""
        found = self._outcome(future)
        if isinstance(found, SvmfastError):
            raise found
        return found

    def _outcome(self, future: Any) -> Any:
        """The result of a call, or its error. Dask calls again if the worker is lost."""
        try:
            found = future.result()
        except Exception as error:
            if future.status != "error":
                raise SvmfastError(self._lost) from error
            text = " ".join(str(error).split())
            return SvmfastError(f"failed on its worker: {type(error).__name__}: {text}")
        if not isinstance(found, _Failure):
            return found
        failed = found.error
        if found.host != platform.node() and isinstance(failed, InputError | WriteError):
            failed.args = (f"{failed} (on {found.host})",)
        return failed


def _call(version: str, work: Callable[..., Any], *given: Any) -> Any:
    """In a worker: the result, or the failure of this call or of one whose result it takes."""
    if __version__ != version:
        raise RuntimeError(f"the worker has svmfast {__version__}; expected {version}")
    failed = [one for one in given if isinstance(one, _Failure)]
    if failed:
        return failed[0]
    try:
        return work(*given)
    except SvmfastError as error:
        return _Failure(error, platform.node())


def check_wanted() -> None:
    """In a worker: end a call whose result nobody waits for any more, after an error or an interrupt."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    if task is None or task.state == "cancelled":
        # Dask's frames and the error refer to each other, and to the rows; an idle worker would keep them.
        worker.loop.add_callback(worker.loop.call_later, 1, gc.collect)
        raise RuntimeError("cancelled")
