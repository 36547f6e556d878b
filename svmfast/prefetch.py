"""Fetch the next items while the present ones are worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar

from svmfast.threads import start_thread

T = TypeVar("T")


def prefetch(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Yield what `items` yields, in order, fetching up to `depth` items beforehand in a thread.

    Worth it where fetching and working both leave the interpreter free (native code, reading a file). The
    first two items come without a thread, so small inputs pay nothing for it. What `items` raises is raised
    here, in its place.
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

    # A daemon: when the work ends early (closed pipe, error), the thread may be waiting for input for ever.
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
