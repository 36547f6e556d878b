"""Blocks of work on several threads, with the same bytes for any number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread: how they split a product would otherwise decide its last bits.

    Work inside is spread over threads by whole blocks instead (:func:`map_blocks`).
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def map_blocks(work: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """Return ``[work(item) for item in items]``, worked on by `threads` threads; results keep their order.

    An interrupt is answered at once: blocks that were begun go on by themselves, and nobody waits for them.
    """
    if threads <= 1:
        return [work(item) for item in items]
    pool = ThreadPoolExecutor(threads, initializer=_one_openmp_thread)
    wait = True
    try:
        return list(pool.map(work, items))
    except KeyboardInterrupt:
        wait = False
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=not wait)


def _one_openmp_thread() -> None:
    """OpenMP's number of threads belongs to the thread that sets it, unlike BLAS's: each worker sets its own.

    k-means in a worker would otherwise add up its centres in as many shares as there are cores.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="openmp")
