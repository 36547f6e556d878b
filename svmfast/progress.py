"""Callbacks of long computations: their progress, remarks and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


#: Called in long loops with the units done, their total (None: unknown) and their name; must be cheap and
#: must not raise.
Progress = Callable[[float, float | None, str], None]


def silent(done: float, total: float | None, what: str) -> None:
    """Ignore every report."""


@dataclass
class Listener:
    """Callbacks that a run calls as it proceeds; remarks and warnings are also kept for the result."""

    progress: Progress = silent
    on_note: Callable[[str], None] = lambda text: None
    on_warning: Callable[[str], None] = lambda text: None
    #: Receives the output of a solver.
    log: Callable[[str], None] | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Record and forward a remark."""
        self.notes.append(text)
        self.on_note(text)

    def warn(self, text: str) -> None:
        """Record and forward a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.on_warning(text)


def counting(work: Callable[[T], R], progress: Progress, total: int, what: str) -> Callable[[T], R]:
    """`work`, wrapped so that each call reports one more of `total` units done; for use in threads."""
    done = 0
    progress(0, total, what)

    def counted(item: T) -> R:
        nonlocal done
        result = work(item)
        done += 1
        progress(done, total, what)
        return result

    return counted


def duration(seconds: float) -> str:
    """A time as ``12 s``, ``3 min 20 s`` or ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
