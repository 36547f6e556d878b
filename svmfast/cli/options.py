"""Options that several commands share, defined once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from svmfast.cli.units import MOST_64, Bytes, Whole
from svmfast.threads import thread_count

F = TypeVar("F", bound=Callable[..., Any])


def _jobs(_ctx: click.Context, _param: click.Parameter, value: int | None) -> int:
    return thread_count(value)


#: ``-j N``; the command receives `jobs`, always a positive number.
jobs = click.option(
    "-j",
    "--jobs",
    type=Whole(1),
    callback=_jobs,
    metavar="N",
    help="Threads to use, at most four a core or 64 (default: the cores this process may use, but no more "
    "than OMP_NUM_THREADS where that is set). Results are the same for every N.",
)

#: ``--json``; the command receives `as_json`.
as_json = click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on stdout.")

#: ``--seed N``; the command receives `seed`.
seed = click.option(
    "--seed",
    type=Whole(0, MOST_64),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of every random choice; same input and seed, same bytes on the same instruction set.",
)

#: ``-q``; the command receives `quiet`.
quiet = click.option("-q", "--quiet", is_flag=True, help="Print no summary and no progress.")

#: ``-q`` of svm-train; the command receives `quiet`.
quiet_solver = click.option("-q", "--quiet", is_flag=True, help="Print nothing of the solver's work.")

#: ``-q`` of a command whose report is its answer; the command receives `quiet`.
quiet_but_report = click.option(
    "-q", "--quiet", is_flag=True, help="Print no remarks and no progress, only the report."
)


#: ``--memory SIZE`` of a command that does nothing large but hold models; the command receives `memory`.
model_memory = click.option(
    "--memory",
    type=Bytes(),
    default="2G",
    show_default=True,
    metavar="SIZE",
    help="Refuse a model that takes more memory.",
)
#: ``--allow-edited`` of a command that reads svmfast's own models; the command receives `allow_edited`.
allow_edited = click.option(
    "--allow-edited",
    is_flag=True,
    help="Read a model that was changed after svmfast wrote it, without its certificate.",
)


@dataclass(frozen=True)
class DataFormat:
    """How LIBSVM data text is to be read; ``**how.reading()`` goes to the readers of ``formats.svmlight``."""

    zero_based: bool = False
    dense: bool = False
    lenient: bool = False
    unlabelled: bool = False

    def reading(self) -> dict[str, bool]:
        """Return the keyword arguments of ``read_svmlight`` and ``stream_svmlight``."""
        return {
            "zero_based": self.zero_based,
            "dense": self.dense,
            "lenient": self.lenient,
            "labelled": not self.unlabelled,
        }


def data_format(function: F) -> F:
    """Add ``--zero-based --dense --lenient``; the command receives `how`, a :class:`DataFormat`."""

    @click.option("--zero-based", is_flag=True, help="Feature indices in DATA start at 0, not 1.")
    @click.option("--dense", is_flag=True, help="DATA is a table: label, then every value, no indices.")
    @click.option(
        "--lenient", is_flag=True, help="Skip blank lines and sort features; duplicates stay errors."
    )
    def wrapped(
        *args: Any, zero_based: bool, dense: bool, lenient: bool, unlabelled: bool = False, **kwargs: Any
    ) -> Any:
        return function(*args, how=DataFormat(zero_based, dense, lenient, unlabelled), **kwargs)

    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    # Options of decorators applied earlier must not be lost with the function we replace.
    earlier = getattr(function, "__click_params__", None)
    if earlier is not None:
        wrapped.__click_params__ = earlier + wrapped.__click_params__  # type: ignore[attr-defined]
    return wrapped  # type: ignore[return-value]


def rows_format(function: F) -> F:
    """Add the options of :func:`data_format` and ``--unlabelled``, where labels may not be needed."""
    return click.option(
        "--unlabelled",
        is_flag=True,
        help="Rows of DATA have no label: 'index:value ...', or with --dense values alone.",
    )(data_format(function))
