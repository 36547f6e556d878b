"""Who hears of work while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from svmfast.progress import Progress, silent


@dataclass
class Listener:
    """Who hears of a run while it goes on; everything is kept for the result as well.

    Attributes
    ----------
    progress : Progress
    on_note, on_warning : callable
        Take one sentence.
    log : callable or None
        Takes what a solver prints.
    on_status : callable or None
        Takes the name of a step and a line on how it stands.
    should_stop : callable
        Tells whether a run with a checkpoint is to save its state and to raise KeyboardInterrupt.
    """

    progress: Progress = silent
    on_note: Callable[[str], None] = lambda text: None
    on_warning: Callable[[str], None] = lambda text: None
    log: Callable[[str], None] | None = None
    on_status: Callable[[str, str], None] | None = None
    should_stop: Callable[[], bool] = lambda: False
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Take in a remark."""
        self.notes.append(text)
        self.on_note(text)

    def warn(self, text: str) -> None:
        """Take in a warning."""
        self.warnings.append(text)
        self.on_warning(text)
