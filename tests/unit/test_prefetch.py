"""Prefetching preserves order, errors and laziness."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from svmfast.prefetch import prefetch


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_items_come_in_order(count: int) -> None:
    assert list(prefetch(iter(range(count)))) == list(range(count))


@pytest.mark.parametrize("good", [0, 1, 2, 5])
def test_an_error_comes_in_its_place(good: int) -> None:
    def items() -> Iterator[int]:
        yield from range(good)
        raise ValueError("here")

    given = prefetch(items())
    assert [next(given) for _ in range(good)] == list(range(good))
    with pytest.raises(ValueError, match="here"):
        next(given)


def test_items_are_yielded_at_once_and_prefetching_is_bounded() -> None:
    taken = []
    third = threading.Event()

    def items() -> Iterator[int]:
        for i in range(100):
            taken.append(i)
            if i == 3:
                third.set()
            yield i

    given = prefetch(items(), depth=2)
    assert next(given) == 0
    assert taken == [0]
    assert next(given) == 1
    assert third.wait(10)  # fetched before being requested
    assert len(taken) <= 6
    assert list(given) == list(range(2, 100))
