"""A running command: its checked files, what it prints, and the JSON report at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from svmfast.cli import messages
from svmfast.cli.files import settle, swapped
from svmfast.cli.flags import remember, with_flags
from svmfast.command import Command
from svmfast.errors import ModelAsDataError, NotAModelError, OptionError
from svmfast.options import Option, Reading, options_of
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.progress import Listener

#: Exit status for a negative answer.
NEGATIVE = 1


class Front:
    """A command line that has been parsed: the values `given` of the options of a command."""

    def __init__(
        self, command: Command, options: tuple[Option, ...], given: Mapping[str, Any], context: click.Context
    ) -> None:
        messages.WARNINGS.clear()
        messages.REMARKS.clear()
        remember(options)
        self.command, self.options, self.given, self._context = command, options, dict(given), context
        if "jobs" in given:
            self.given["jobs"] = thread_count(given["jobs"])
        for one in options:
            if one.only_with and given[one.name] and given[one.only_with] is None:
                raise OptionError(f"`{one.name}` is only used with `{one.only_with}`")
        self.given |= settle(options, self.given)
        self.quiet: bool = given["quiet"]
        self.as_json: bool = given.get("as_json", False)
        self.threads: int = self.given.get("jobs", 1)
        self.began = time.perf_counter()
        self._shown: tuple[Mapping[str, Any], bool] | None = None

    def run(self, run: Callable[..., int | None]) -> int | None:
        """Call the command's run, print its JSON report, and return its exit status."""
        try:
            status = run(self, **self.own)
        except (NotAModelError, ModelAsDataError) as error:
            words = [self._context.command_path, *self._context.command.collect_usage_pieces(self._context)]
            line = swapped(self.options, self.given, " ".join(words))
            if line is None:
                raise
            raise OptionError(line) from error
        if self._shown is not None:
            import json  # not at the top: predict without --json does not need it

            figures, written = self._shown
            text = json.dumps(self.document(figures, written=written), indent=2, allow_nan=False)
            messages.raw(text + "\n")
        return status

    @property
    def own(self) -> dict[str, Any]:
        """The values of the command's own options, without those that all commands share."""
        shared = {"as_json", "quiet", "jobs", *(one.name for one in options_of(Reading))}
        return {name: value for name, value in self.given.items() if name not in shared}

    @property
    def reading_given(self) -> dict[str, Any]:
        """The values of the options of :class:`Reading` that the command has."""
        return {one.name: self.given[one.name] for one in options_of(Reading) if one.name in self.given}

    @property
    def reading(self) -> Reading:
        """The format of rows."""
        return Reading(**self.reading_given)

    @contextmanager
    def listening(self, *, silent: bool = False, single: bool = False) -> Iterator[Listener]:
        """Yield a listener that shows progress unless `silent`, and prints remarks and warnings.

        With `single` there is one bar, for the latest step.
        """
        from svmfast.cli.progress import progress_bar
        from svmfast.progress import Listener

        with progress_bar(self.quiet or silent, single=single) as progress:
            yield Listener(progress, self.remark, lambda text: messages.warning(with_flags(text)))

    def remark(self, text: str) -> None:
        """Print a remark unless `quiet`."""
        messages.remark(with_flags(text), self.quiet)

    def lines(self, texts: Iterable[str], *, err: bool = False) -> None:
        """Print lines of a report on stdout, or on stderr."""
        messages.lines(map(with_flags, texts), err=err)

    def report(self, found: Any) -> None:
        """Print a report that is the command's answer, as text or at the end as JSON."""
        if self.as_json:
            self.show(found.to_dict())
        else:
            self.lines(found.lines())

    def show(self, figures: Mapping[str, Any], *, written: bool = True) -> None:
        """Print figures as JSON when the command ends; `written` says whether the outputs were written."""
        self._shown = figures, written

    def document(self, figures: Mapping[str, Any], *, written: bool = True) -> dict[str, Any]:
        """The JSON report with these figures."""
        from svmfast.cli.json_report import document

        seconds = time.perf_counter() - self.began
        return document(self.command.name, self.options, self.given, seconds, figures, written=written)
