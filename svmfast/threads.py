"""Threads: how many to use, how to divide work among them, and how to keep BLAS to one.

Results do not depend on their number.
"""

from __future__ import annotations

import operator
import os
import sys
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from svmfast.errors import OptionError

if TYPE_CHECKING:
    from concurrent.futures import Future

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


def _settle(future: Future[R], call: Callable[[], R]) -> None:
    try:
        future.set_result(call())
    except BaseException as failure:
        future.set_exception(failure)


def _started(call: Callable[[], R]) -> Future[R]:
    """Start a call in a daemon, a thread for which Python's exit does not wait."""
    from concurrent.futures import Future
    from threading import Thread

    future: Future[R] = Future()
    Thread(target=_settle, args=(future, call), daemon=True).start()
    return future


def _awaited(future: Future[R]) -> R:
    """Wait for a result, and look once a second: Python misses a signal that arrives just before it waits."""
    from concurrent.futures import wait

    while not future.done():
        wait([future], timeout=1)
    return future.result()


def map_in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """Compute ``[work(item) for item in items]`` with `threads` threads, which take the items in order.

    The first item's error in that order is raised. An interrupt takes effect at once, without waiting for the
    items that are running.
    """
    tasks = list(items)
    count = min(threads, len(tasks))
    if count <= 1:
        return [work(task) for task in tasks]
    # Not Python's own pool: it fails in a program whose main thread has ended.
    from concurrent.futures import Future
    from threading import Thread

    futures: list[Future[R]] = [Future() for _ in tasks]
    left = iter(list(zip(futures, tasks, strict=True)))

    def run() -> None:
        for future, task in left:
            _settle(future, partial(work, task))

    try:
        for _ in range(count):
            Thread(target=run).start()
        return [_awaited(future) for future in futures]
    finally:
        for _ in left:  # after an error or an interrupt no others are started
            pass


def each_in_threads(work: Callable[[int], R], count: int, threads: int, ahead: int) -> Iterator[R]:
    """Yield ``work(0), work(1), ...`` in this order; at most `ahead` results a thread are held."""
    window = ahead * threads
    for first in range(0, count, window):
        yield from map_in_threads(work, range(first, min(first + window, count)), threads)


def map_with_threads(work: Callable[[T, int], R], items: Iterable[T], threads: int) -> list[R]:
    """Compute ``[work(item, n) for item in items]``: several with one thread each, one with all."""
    tasks = list(items)
    if len(tasks) > 1 and threads > 1:
        return map_in_threads(lambda task: work(task, 1), tasks, threads)
    return [work(task, threads) for task in tasks]


def interruptible(call: Callable[[], R], discard: Callable[[R], object] | None = None) -> R:
    """Run a library's call that cannot be stopped, but let an interrupt take effect at once.

    Python runs signal handlers in the main thread, between two bytecode instructions; so the call is run in
    another thread, in which it then continues. With `discard` it is waited for, and its result is discarded.
    """
    future = _started(call)
    try:
        return _awaited(future)
    except KeyboardInterrupt:
        if discard is not None:
            discard(_awaited(future))
        raise


def prefetch(items: Iterable[T]) -> Iterator[T]:
    """Yield the items of `items` in order; a thread fetches the next one while an item is processed.

    The first two items are fetched without a thread, so that small inputs need not start one. After an early
    end (closed pipe, error) the thread may wait for input forever, which delays nothing.
    """
    iterator = iter(items)
    end: Any = object()
    if (first := next(iterator, end)) is end:
        return
    yield first
    if (second := next(iterator, end)) is end:
        return
    fetched = _started(partial(next, iterator, end))
    yield second
    while (item := _awaited(fetched)) is not end:
        fetched = _started(partial(next, iterator, end))
        yield item


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


def set_openmp_threads(library: Any, *, several: bool) -> None:
    """Set the number of OpenMP threads of a library loaded by ctypes, for calls from this thread.

    It is one; with `several` that of ``OMP_NUM_THREADS``, if set.
    """
    try:
        get_most, set_number = library.omp_get_max_threads, library.omp_set_num_threads
    except AttributeError:
        return
    set_number(get_most() if several and "OMP_NUM_THREADS" in os.environ else 1)


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Limit OpenMP to one thread in the calling thread, because sums depend on the number of threads.

    Enter it after importing the library that uses OpenMP.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield
