"""A running command: its checked files, what it prints, and the JSON report at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from svmfast.cli import messages
from svmfast.cli.files import arrange, settle
from svmfast.cli.flags import remember, with_flags
from svmfast.command import Command, Verb
from svmfast.errors import OptionError
from svmfast.options import Option, Reading, options_of
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.progress import Listener

T = TypeVar("T")


class Front:
    """A command line that has been parsed: the values `given` of the options of a command."""

    def __init__(self, command: Command, options: tuple[Option, ...], given: Mapping[str, Any]) -> None:
        messages.WARNINGS.clear()
        messages.REMARKS.clear()
        remember(options)
        self.command, self.options, self.given = command, options, dict(given)
        if "threads" in given:
            self.given["threads"] = thread_count(given["threads"])
        for one in options:
            if one.only_with and given[one.name] and given[one.only_with] in (None, False):
                raise OptionError(f"`{one.name}` is only used with `{one.only_with}`")
        if not isinstance(command, Verb):
            arrange(self.given)
        self.given |= settle(options, self.given)
        self.quiet: bool = given["quiet"]
        self.as_json: bool = given.get("as_json", False)
        self.threads: int = self.given.get("threads", 1)
        reading = {one.name for one in options_of(Reading)}
        #: The values of the options of :class:`Reading`, and of those that are the command's own.
        self.reading_given = {name: value for name, value in self.given.items() if name in reading}
        shared = {"as_json", "quiet", "threads", *reading}
        self._own = {name: value for name, value in self.given.items() if name not in shared}
        self._began = time.perf_counter()
        self._shown: tuple[Mapping[str, Any], bool] | None = None

    def run(self, run: Callable[..., int | None]) -> int | None:
        """Call the command's run, print its JSON report, and return its exit status."""
        status = run(self, **self._own)
        if self._shown is not None:
            import json  # not at the top: predict without --json does not need it

            figures, written = self._shown
            text = json.dumps(self.document(figures, written=written), indent=2, allow_nan=False)
            messages.raw(text + "\n")
        return status

    @property
    def reading(self) -> Reading:
        """The format of rows."""
        return Reading(**self.reading_given)

    def call(self, function: Callable[..., T], *given: Any, **options: Any) -> T:
        """Call a function of the API with the options that commands share, and with a listener."""
        with self.listening() as listener:
            return function(*given, reading=self.reading, threads=self.threads, listener=listener, **options)

    @contextmanager
    def listening(
        self, *, silent: bool = False, single: bool = False, output: str | None = None
    ) -> Iterator[Listener]:
        """Yield a listener that shows progress unless `silent`, and prints remarks and warnings.

        With `single` there is one bar, for the latest step; none if `output` goes to the same terminal.
        """
        from svmfast.cli.progress import progress_bar
        from svmfast.formats.target import is_stdout
        from svmfast.progress import Listener

        silent = silent or (output is not None and is_stdout(output) and sys.stdout.isatty())
        with progress_bar(self.quiet or silent, single=single) as self._progress:
            yield Listener(self._progress, self.remarks, self.warn)

    def remarks(self, texts: str | Iterable[str] | None, *, always: bool = False) -> None:
        """Print remarks unless `quiet`."""
        for text in [texts] if isinstance(texts, str) else texts or ():
            messages.remark(with_flags(text), self.quiet and not always)

    def warn(self, text: str) -> None:
        """Print a warning."""
        messages.warning(with_flags(text))

    def failed(self, text: str) -> None:
        """Print the error of one of many files."""
        self._progress.line(with_flags(text))

    def lines(self, texts: Iterable[str], *, err: bool = False, summary: bool = False) -> None:
        """Print lines of a report on stdout, or on stderr; those of a `summary` not if `quiet`."""
        if not (summary and self.quiet):
            messages.lines(map(with_flags, texts), err=err)

    def report(self, found: Any) -> None:
        """Print a report that is the command's answer, as text or at the end as JSON."""
        if self.as_json:
            self.show(found.to_dict())
        else:
            self.lines(found.lines())

    def written(self, report: Any, output: str, size: int) -> None:
        """Print the report on a file of `size` bytes that was written."""
        if self.as_json:
            self.show({**report.to_dict(), "bytes": size})
        size_line = f"written      {output}, {size:,} bytes"
        self.lines([*report.lines(), size_line], err=True, summary=True)

    def show(self, figures: Mapping[str, Any], *, written: bool = True) -> None:
        """Print figures as JSON when the command ends; `written` says whether the outputs were written."""
        self._shown = figures, written

    def document(self, figures: Mapping[str, Any], *, written: bool = True) -> dict[str, Any]:
        """The JSON report with these figures."""
        from svmfast.cli.json_report import document

        seconds = time.perf_counter() - self._began
        return document(self.command.name, self.options, self.given, seconds, figures, written=written)
