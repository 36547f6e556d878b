"""A progress bar on stderr, only when somebody watches: stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from svmfast.cli import messages
from svmfast.display import shown

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class ProgressBar:
    """What :data:`svmfast.progress.Progress` is called on: bars on a terminal, else nothing.

    Parameters
    ----------
    bars : rich.progress.Progress, optional
    single : bool
        There is one bar, which always shows the last `what`.
    """

    def __init__(self, bars: Bars | None = None, *, single: bool = False) -> None:
        self._bars, self._single = bars, single
        self._tasks: dict[str, TaskID] = {}
        self._endless: str | None = None

    @property
    def shown(self) -> bool:
        """Whether somebody watches."""
        return self._bars is not None

    def __call__(self, done: float, total: float | None, what: str) -> None:
        """Show how much of a step is done."""
        if self._bars is None:
            return
        name = "" if self._single else what
        if self._endless not in (None, name):  # a step of unknown length has ended when another begins
            self._bars.update(self._tasks[str(self._endless)], completed=1, total=1)
        self._endless = name if total is None else None
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(what, total=total, note="")
        self._bars.update(self._tasks[name], description=what, completed=done, total=total)

    def note(self, what: str, text: str) -> None:
        """Show text beside the bar of a step."""
        if self._bars is not None and what in self._tasks:
            self._bars.update(self._tasks[what], note=text)

    def line(self, text: str) -> None:
        """Print a line on stderr, above the bars."""
        if self._bars is None:
            messages.line(text, err=True)
        else:
            self._bars.console.print(shown(text), markup=False, highlight=False)


@contextmanager
def progress_bar(quiet: bool = False, *, single: bool = False) -> Iterator[ProgressBar]:
    """Yield a progress callback: a bar on a terminal, else a callback that does nothing.

    Each distinct `what` gets its own bar; with `single` there is one bar, which always shows the last `what`,
    and the time that has passed. The bars vanish when the work is done.
    """
    if quiet or not sys.stderr.isatty():
        yield ProgressBar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn() if single else TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        yield ProgressBar(bars, single=single)
