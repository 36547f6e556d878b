"""Progress on stderr: bars on a terminal, lines of text on request."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from svmfast.cli import messages
from svmfast.display import shown
from svmfast.progress import duration

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
        self._bars.update(self._tasks[name], description=what, completed=done, total=total)

    def line(self, text: str) -> None:
        """Print a line on stderr, above the bars."""
        if self._bars is None:
            messages.line(text, err=True)
        else:
            self._bars.console.print(shown(text), markup=False, highlight=False)


#: Seconds before a step's first line of text, and between two lines.
_FIRST, _BETWEEN = 2.0, 10.0


class PlainProgress(ProgressBar):
    """Lines on stderr, for logs: the first two seconds into a step, then one every ten seconds.

    With `single` all steps are parts of one, which tells the remaining time in its `what`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, single: bool = False) -> None:
        super().__init__(single=single)
        self._clock = clock
        self._step = ""
        self._began = clock()
        self._next = self._began + (_FIRST if single else 0.0)

    def __call__(self, done: float, total: float | None, what: str) -> None:
        now = self._clock()
        step = "" if self._single else what
        if step != self._step:
            self._step, self._began, self._next = what, now, now + _FIRST
        if now < self._next:
            return
        self._next = now + _BETWEEN
        passed = now - self._began
        text = f"{what}: {duration(passed)}"
        if self._single:
            share = f" ({100 * done / total:.0f}%)" if total else ""
            text = f"{duration(passed)}{share}: {what}"
        elif total and done > 0:
            left = duration(passed * (total - done) / done)
            text = f"{what}: {100 * done / total:.0f}% in {duration(passed)}, about {left} left"
        messages.line(f"svmfast: {text}", err=True)


def _mode() -> str:
    context = click.get_current_context(silent=True)
    mode: str | None = None if context is None else getattr(context.find_root().obj, "progress", None)
    return mode or "auto"


@contextmanager
def progress_bar(quiet: bool = False, *, single: bool = False) -> Iterator[ProgressBar]:
    """Yield a progress callback: bars on a terminal, lines with ``--progress plain``, else nothing.

    Each distinct `what` has its own bar; with `single` there is one bar, for the latest `what`, with the
    elapsed time. The bars disappear at the end.
    """
    mode = _mode()
    if mode == "plain" and not quiet:
        yield PlainProgress(single=single)
        return
    if quiet or mode == "none" or not sys.stderr.isatty():
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
