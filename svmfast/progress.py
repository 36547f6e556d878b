"""How long work tells of its progress without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called from long loops; must be cheap and must not raise."""

    def __call__(self, done: float, total: float | None, what: str) -> None:
        """Report that `done` of `total` (None: unknown) units of `what` are finished."""


def silent(done: float, total: float | None, what: str) -> None:
    """Ignore every report (the default)."""
