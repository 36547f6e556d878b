"""Threads: how many there are, work shared out among them, and BLAS kept to one.

Whatever is computed here comes out the same for any number of threads, so fewer of them are never an error:
where the system starts no more (``ulimit -u``, the limits of a container), those that run do the work.
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

#: More threads than this, or than so many a core, are not started: they would only cost memory.
FEW_THREADS, THREADS_A_CORE = 64, 4


def usable_cores() -> int:
    """Return how many cores this process may use: its affinity mask, not the machine's count."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """Return the number of threads to use when `threads` are allowed.

    Parameters
    ----------
    threads : int or None
        None means the cores that this process may use, and at most ``OMP_NUM_THREADS``, by
        which schedulers and worker pools keep their processes apart. Who asks for a number gets it.

    Returns
    -------
    int
        At most 64, or four per core if that is more.

    Raises
    ------
    OptionError
        Less than 1.
    """
    if threads is None:
        return min(usable_cores(), _openmp_limit())
    wanted = operator.index(threads)
    if wanted < 1:
        raise OptionError(f"threads is {threads}; it must be at least 1")
    # Counting the cores takes a tenth of the time of predicting one row.
    if wanted <= FEW_THREADS:
        return wanted
    return min(wanted, max(FEW_THREADS, THREADS_A_CORE * usable_cores()))


def _openmp_limit() -> int:
    """Return the number that ``OMP_NUM_THREADS`` allows: the first of a list; any where there is none."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isascii() and first.isdigit() and int(first) >= 1 else sys.maxsize


def start_thread(
    run: Callable[[], object], *, name: str | None = None, daemon: bool = False
) -> Thread | None:
    """Start a thread; return None where the system has none left."""
    from threading import Thread

    thread = Thread(target=run, name=name, daemon=daemon)
    try:
        thread.start()
    except (RuntimeError, MemoryError):
        return None
    return thread


def available_threads(wanted: int) -> int:
    """Return how many of `wanted` threads can run now, the calling one among them: by starting them.

    For libraries that end or hang the process where a thread of theirs cannot start.
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
    # Python's threads are joined a moment before the system has their memory and number back.
    for _ in range(100):
        if _running() <= before:
            break
        time.sleep(0.001)
    return 1 + len(started)


def _running() -> int:
    """Return the number of threads of this process; 0 if the system does not report it."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def map_in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """Return ``[work(item) for item in items]``, worked on by `threads` threads; results keep their order.

    Items are taken in order. The first one, in that order, that fails ends the work with its error. An
    interrupt is answered at once: items that were begun go on by themselves, and nobody waits for them.
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
            thread.join()
    except BaseException:
        ended = True
        raise
    if failures:
        raise failures[min(failures)]
    return results


def map_with_threads(work: Callable[[T, int], R], items: Iterable[T], threads: int) -> list[R]:
    """Return ``[work(item, n) for item in items]``, n being the threads that an item may use itself.

    Several items are worked on at a time, with one thread each; a single one has all `threads`.
    """
    tasks = list(items)
    if len(tasks) > 1 and threads > 1:
        return map_in_threads(lambda task: work(task, 1), tasks, threads)
    return [work(task, threads) for task in tasks]


def interruptible(call: Callable[[], R]) -> R:
    """Return ``call()``, and answer an interrupt at once: the call then goes on by itself, and nobody waits.

    For libraries whose work nothing can stop. Python runs a signal's handler on the main thread, between two
    of its own instructions; so there the call is made in another thread.
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
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


class _OneBlasThread:
    """The limit on BLAS is the whole process's: it holds while anybody is inside, and is lifted once."""

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
            # Looking for libraries takes a millisecond, so only where one may have been loaded since.
            if not self._limits or self._loaded != len(sys.modules):
                self._limits.append(threadpool_limits(1, user_api="blas"))
                self._loaded = len(sys.modules)

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            while not self._inside and self._limits:
                self._limits.pop().restore_original_limits()


_blas = _OneBlasThread()


@contextmanager
def one_blas_thread(*, numpy_only: bool = False) -> Iterator[None]:
    """Keep BLAS to one thread: how several split a product would otherwise decide its last bits.

    Work inside is spread over threads by whole items instead (:func:`map_in_threads`).

    Parameters
    ----------
    numpy_only : bool
        The work needs NumPy's BLAS alone. Otherwise SciPy's is loaded first, since the limit binds the
        libraries that are loaded when it is set.
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
    """Let BLAS use `threads` threads, or as many as can be started: for measuring, not for results."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(available_threads(threads)):
        yield


def set_openmp_threads(library: Any, *, several: bool) -> None:
    """Set how many OpenMP threads a library may use that was loaded through ctypes; nothing without OpenMP.

    One, unless `several`: then as many as ``OMP_NUM_THREADS`` asks for, if it is set, and as can be started,
    because OpenMP ends the process where a thread cannot. Call it in the thread that works.
    """
    try:
        get_most, set_number = library.omp_get_max_threads, library.omp_set_num_threads
    except AttributeError:
        return
    set_number(available_threads(get_most()) if several and "OMP_NUM_THREADS" in os.environ else 1)


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Keep OpenMP to one thread, for the calling thread alone: its sums would depend on their number.

    Call it after the import of the library that brings OpenMP, in the thread that works.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield
