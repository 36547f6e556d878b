"""Progress on stderr: bars on a terminal."""

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
    """A :data:`svmfast.progress.Progress` callback: bars on a terminal, else nothing.

    With `single` there is only one bar, for the latest `what`.
    """

    def __init__(self, bars: Bars | None = None, *, single: bool = False) -> None:
        self._bars, self._single = bars, single
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, float] = {}
        self._endless: str | None = None

    def __call__(self, done: float, total: float | None, what: str) -> None:
        """Show the progress of a step."""
        if self._bars is None:
            return
        name = "" if self._single else what
        if self._endless not in (None, name):  # a step of unknown length ends when another begins
            self._bars.update(self._tasks[str(self._endless)], completed=1, total=1)
        self._endless = name if total is None else None
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(what, total=total)
        if done < self._done.get(name, 0) and not self._single:  # a step that begins again
            self._bars.reset(self._tasks[name], total=total)
        self._done[name] = done
        self._bars.update(self._tasks[name], description=what, completed=done, total=total)

    def line(self, text: str) -> None:
        """Print a line on stderr, above the bars."""
        if self._bars is None:
            messages.line(text, err=True)
        else:
            self._bars.console.print(shown(text), markup=False, highlight=False)


@contextmanager
def progress_bar(quiet: bool = False, *, single: bool = False) -> Iterator[ProgressBar]:
    """Yield a progress callback: bars on a terminal, else nothing.

    Each distinct `what` has its own bar; with `single` there is one bar, for the latest `what`, with the
    elapsed time. The bars disappear at the end.
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
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        yield ProgressBar(bars, single=single)
