"""A progress bar on stderr, only when somebody watches: stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from svmfast.progress import Progress, silent


@contextmanager
def progress_bar(quiet: bool = False, *, single: bool = False) -> Iterator[Progress]:
    """Yield a progress callback: a bar on a terminal, else a callback that does nothing.

    Each distinct `what` gets its own bar; with `single` there is one bar, which always shows the last `what`,
    and the time that has passed. The bars vanish when the work is done.
    """
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn() if single else TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def report(done: float, total: float | None, what: str) -> None:
            name = "" if single else what
            if name not in tasks:
                tasks[name] = bars.add_task(what, total=total)
            bars.update(tasks[name], description=what, completed=done, total=total)

        yield report
