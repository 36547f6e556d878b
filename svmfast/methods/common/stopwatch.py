"""The time of each phase of a run."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds of each phase, by name."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.restart()

    def restart(self) -> None:
        """Let the next lap begin now."""
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """Record the time since the last lap under `name`."""
        now = time.perf_counter()
        self.laps[name], self._since = now - self._since, now
