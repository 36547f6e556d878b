"""What a command prints, without what differs from one machine or version of NumPy to another."""

from __future__ import annotations

import re


def without_last_digits(text: str) -> str:
    """Return a text without the last two digits of numbers like 2,813, the size of a file of numbers."""
    return re.sub(r"(,\d)\d\d\b", r"\1##", text)
