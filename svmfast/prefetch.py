"""Fetches the next items while the current ones are processed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar

from svmfast.threads import start_thread

T = TypeVar("T")


def prefetch(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Yield the items of `items` in order, with up to `depth` items fetched in advance by a thread.

    The first two items are fetched without a thread, so that small inputs need not start one. An exception of
    `items` is raised after the items before it.
    """
    iterator = iter(items)
    end = object()
    if (first := next(iterator, end)) is end:
        return
    yield first  # type: ignore[misc]
    if (second := next(iterator, end)) is end:
        return
    yield from _threaded(chain([second], iterator), depth)  # type: ignore[misc]


def _threaded(items: Iterable[T], depth: int) -> Iterator[T]:
    from queue import Queue

    fetched: Queue[tuple[str, T | BaseException | None]] = Queue(depth)

    def fetch() -> None:
        try:
            for item in items:
                fetched.put(("item", item))
            fetched.put(("end", None))
        except BaseException as error:
            fetched.put(("error", error))

    # A daemon, because after an early end (closed pipe, error) the thread may wait for input forever.
    if start_thread(fetch, daemon=True, name="svmfast-read") is None:
        yield from items
        return
    while True:
        what, value = fetched.get()
        if what == "end":
            return
        if what == "error":
            assert isinstance(value, BaseException)
            raise value
        yield value  # type: ignore[misc]
