"""How many threads to use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return how many cores this process may use: its affinity mask, not the machine's count."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
