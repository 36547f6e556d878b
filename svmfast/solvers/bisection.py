"""The largest number that meets a condition."""

from __future__ import annotations

from collections.abc import Callable


def largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest number from `low` to `high` that fits, where smaller ones fit too; `low` does."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
