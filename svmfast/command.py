"""What a command declares; the click command, its help, manual page and reference come from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from svmfast.options import Option, Reading, options_of
from svmfast.values import Switch, Whole

#: Sections of ``svmfast --help``.
SECTIONS = {
    "start": "Start here",
    "convert": "Convert a model",
    "use": "Use models",
    "train": "Train",
}
#: Exit status for a negative answer.
NEGATIVE = 1
#: The last argument of commands with svm-train's command line.
LAST = "output_as_argument"
QUIET = "Print no summary and no progress."
#: Of a command whose report is its answer.
QUIET_BUT_REPORT = "Print only the report, without remarks and progress."


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command; its Python function has its name, with underscores in place of hyphens."""

    name: str
    #: One line for ``svmfast --help``.
    summary: str
    #: The body of its help; a module's docstring is None under ``python -OO``.
    description: str | None
    group: Literal["start", "convert", "use", "train"]
    #: ``module:class`` of each kind of report that it may print: the schema of its JSON report.
    reports: tuple[str, ...] = ()

    @property
    def function_name(self) -> str:
        """The name of the Python function."""
        return self.name.replace("-", "_")

    @property
    def params(self) -> tuple[Option, ...]:
        """Its arguments and options in the order of the help."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Verb(Command):
    """A command that makes no model by a method."""

    #: Classes with its arguments and options (:mod:`svmfast.options`).
    takes: tuple[type, ...]
    #: Calls its Python function and prints the result; it takes a :class:`svmfast.cli.front.Front` and the
    #: command's own options, and returns the exit status.
    run: Callable[..., int | None]
    #: The help of ``--quiet``.
    quiet: str = QUIET
    #: Options of :class:`Reading` that it does not have; None if it reads no rows.
    without: tuple[str, ...] | None = ()

    @property
    def params(self) -> tuple[Option, ...]:
        reads = self.without is not None
        shared = common(self.quiet, self.without, jobs=reads)
        return (*options_of(*self.takes), *shared)


def common(quiet: str, without: tuple[str, ...] | None, *, jobs: bool = True) -> list[Option]:
    """The options that commands share, among them those of rows except some (None: it reads none)."""
    found = [] if without is None else [one for one in options_of(Reading) if one.name not in without]
    found.append(Option("as_json", Switch(), False, "Print the report as JSON on stdout.", flags=("--json",)))
    found.append(Option("quiet", Switch(), False, quiet, flags=("-q", "--quiet")))
    if jobs:
        found.append(Option("threads", Whole(1), None, _JOBS, flags=("-j", "--jobs")))
    return found


_JOBS = (
    "Number of threads, at most four per core or 64 (default: the cores this process may use, but no more "
    "than OMP_NUM_THREADS if that is set). Results are the same for every N."
)
