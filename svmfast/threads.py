"""Threads: how many to use, how to divide work among them, and how to keep BLAS to one.

Results do not depend on their number: if the system cannot start more, those that run do the work.
"""

from __future__ import annotations

import operator
import os
import sys
import time
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from svmfast.errors import OptionError

if TYPE_CHECKING:
    from threading import Thread

T = TypeVar("T")
R = TypeVar("R")

#: At most this many threads, or this many per core if that is more, are started; others would only use
#: memory.
FEW_THREADS, THREADS_A_CORE = 64, 4


def usable_cores() -> int:
    """Count the cores that this process may use, by its affinity mask."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """The number of threads to use when `threads` are allowed: at most 64, or four per core if more.

    None means the cores that this process may use, limited by ``OMP_NUM_THREADS``, with which schedulers and
    worker pools divide the cores among processes.
    """
    if threads is None:
        return min(usable_cores(), _openmp_limit())
    wanted = operator.index(threads)
    if wanted < 1:
        raise OptionError(f"threads is {threads}; it must be at least 1")
    # Counting the cores takes a tenth of the time for predicting one row.
    if wanted <= FEW_THREADS:
        return wanted
    return min(wanted, max(FEW_THREADS, THREADS_A_CORE * usable_cores()))


def _openmp_limit() -> int:
    """The number that ``OMP_NUM_THREADS`` allows, the first of a list; if unset, ``sys.maxsize``."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isascii() and first.isdigit() and int(first) >= 1 else sys.maxsize


def start_thread(
    run: Callable[[], object], *, name: str | None = None, daemon: bool = False
) -> Thread | None:
    """Start a thread; return None if the system cannot start any more."""
    from threading import Thread

    thread = Thread(target=run, name=name, daemon=daemon)
    try:
        thread.start()
    except (RuntimeError, MemoryError):
        return None
    return thread


def available_threads(wanted: int) -> int:
    """Count how many of `wanted` threads, including the calling one, can run now; found by starting them.

    For libraries that abort or hang the process if they cannot start a thread.
    """
    from threading import Event

    end = Event()
    before = _running()
    started: list[Thread] = []
    try:
        while len(started) < wanted - 1 and (thread := start_thread(end.wait)) is not None:
            started.append(thread)
    finally:
        end.set()
    for thread in started:
        thread.join()
    # A thread is joined a moment before the system has released it.
    for _ in range(100):
        if _running() <= before:
            break
        time.sleep(0.001)
    return 1 + len(started)


def _running() -> int:
    """Count the threads of this process; 0 if the system does not report it."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def _join(thread: Thread) -> None:
    """Wait for a thread; an interrupt that arrives just before Python waits is noticed within a second."""
    while thread.is_alive():
        thread.join(1.0)


def map_in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """Compute ``[work(item) for item in items]`` with `threads` threads, which take the items in order.

    After a failure no others are started, and the first item's error in that order is raised. An interrupt
    takes effect at once, without waiting for the items that are running.
    """
    tasks = list(items)
    count = min(threads, len(tasks))
    if count <= 1:
        return [work(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    failures: dict[int, BaseException] = {}
    left = iter(range(len(tasks)))
    ended = False

    def run() -> None:
        nonlocal ended
        while not ended and (number := next(left, None)) is not None:
            try:
                results[number] = work(tasks[number])
            except BaseException as failure:
                failures[number] = failure
                ended = True

    try:
        started: list[Thread] = []
        while len(started) < count and (thread := start_thread(run)) is not None:
            started.append(thread)
        if not started:
            run()
        for thread in started:
            _join(thread)
    except BaseException:
        ended = True
        raise
    if failures:
        raise failures[min(failures)]
    return results


def map_with_threads(work: Callable[[T, int], R], items: Iterable[T], threads: int) -> list[R]:
    """Compute ``[work(item, n) for item in items]``: several with one thread each, one with all."""
    tasks = list(items)
    if len(tasks) > 1 and threads > 1:
        return map_in_threads(lambda task: work(task, 1), tasks, threads)
    return [work(task, threads) for task in tasks]


def interruptible(call: Callable[[], R]) -> R:
    """Run a library's call that cannot be stopped, but let an interrupt take effect at once.

    Python runs signal handlers in the main thread, between two bytecode instructions; so a call from the main
    thread is run in another thread, in which it then continues.
    """
    from threading import current_thread, main_thread

    if current_thread() is not main_thread():
        return call()
    results: list[R] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as failure:
            failures.append(failure)

    thread = start_thread(run)
    if thread is None:
        return call()
    _join(thread)
    if failures:
        raise failures[0]
    return results[0]


class _OneBlasThread:
    """Limits BLAS to one thread while at least one block of `one_blas_thread` is active in the process."""

    def __init__(self) -> None:
        self._lock, self._inside, self._loaded = allocate_lock(), 0, 0
        self._limits: list[Any] = []
        # A fork while another thread enters or leaves would leave the lock locked in the child.
        os.register_at_fork(
            before=lambda: self._lock.acquire(),
            after_in_parent=lambda: self._lock.release(),
            after_in_child=lambda: self._lock.release(),
        )

    def enter(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            self._inside += 1
            # Searching for libraries takes a millisecond, so it is only done if one may have been loaded.
            if not self._limits or self._loaded != len(sys.modules):
                _let_any_thread_limit_blas()
                self._limits.append(threadpool_limits(1, user_api="blas"))
                self._loaded = len(sys.modules)

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside:
                return
            _let_any_thread_limit_blas()
            while self._limits:
                self._limits.pop().restore_original_limits()
            _let_any_thread_limit_blas()


def _let_any_thread_limit_blas() -> None:
    """From threadpoolctl 3.8 on, only the first thread that sets OpenBLAS's threads may do so."""
    import threadpoolctl

    clear = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_blas = _OneBlasThread()


@contextmanager
def one_blas_thread(*, numpy_only: bool = False) -> Iterator[None]:
    """Limit BLAS to one thread, because the last bits of a product depend on how threads divide it.

    With `numpy_only`, SciPy's BLAS is not loaded first: the limit applies to libraries that are loaded.
    """
    if not numpy_only:
        import scipy.linalg  # noqa: F401
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()


@contextmanager
def blas_threads(threads: int) -> Iterator[None]:
    """Let BLAS use `threads` threads, or as many as can be started; only for measurements of speed."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(available_threads(threads)):
        yield


def set_openmp_threads(library: Any, *, several: bool) -> None:
    """Set the number of OpenMP threads of a library loaded by ctypes, for calls from this thread.

    It is one; with `several` that of ``OMP_NUM_THREADS``, if set, but at most as many as can be started,
    because OpenMP aborts the process if it cannot start a thread.
    """
    try:
        get_most, set_number = library.omp_get_max_threads, library.omp_set_num_threads
    except AttributeError:
        return
    set_number(available_threads(get_most()) if several and "OMP_NUM_THREADS" in os.environ else 1)


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Limit OpenMP to one thread in the calling thread, because sums depend on the number of threads.

    Enter it after importing the library that uses OpenMP.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield
