"""The output of a command without what differs between machines or versions of NumPy."""

from __future__ import annotations

import re

#: The size of a file of numbers, such as 2,813, may differ by so much: a number has more or fewer digits.
SIZES = 0.01


def with_sizes_of(text: str, other: str) -> str:
    """Return a text with each size, a number like 2,813, replaced by that of `other` if it is close."""
    pattern = re.compile(r"\b\d{1,3}(?:,\d{3})+\b")
    sizes = iter(pattern.findall(other))

    def close(found: re.Match[str]) -> str:
        mine, there = found[0], next(sizes, found[0])
        size, expected = (int(one.replace(",", "")) for one in (mine, there))
        return there if abs(size - expected) <= SIZES * expected else mine

    return pattern.sub(close, text)
