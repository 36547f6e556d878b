"""Callbacks for the progress, remarks and warnings of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from svmfast.progress import Progress, silent


@dataclass
class Listener:
    """Callbacks that a run calls as it proceeds; remarks and warnings are also kept for the result."""

    progress: Progress = silent
    on_note: Callable[[str], None] = lambda text: None
    on_warning: Callable[[str], None] = lambda text: None
    #: Receives the output of a solver.
    log: Callable[[str], None] | None = None
    #: Receives the name of a step and a line about its state.
    on_status: Callable[[str, str], None] | None = None
    #: Whether a run with a checkpoint should save its state and raise KeyboardInterrupt.
    should_stop: Callable[[], bool] = lambda: False
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Record and forward a remark."""
        self.notes.append(text)
        self.on_note(text)

    def warn(self, text: str) -> None:
        """Record and forward a warning."""
        self.warnings.append(text)
        self.on_warning(text)
