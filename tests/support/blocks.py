"""Rows as a stream delivers them."""

from __future__ import annotations

from collections.abc import Iterator

from svmfast.rows import Rows


def blocks_of(rows: Rows, size: int) -> Iterator[Rows]:
    """Yield consecutive slices of at most `size` rows."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
