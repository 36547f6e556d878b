"""``svmfast frontier``: every method on one model, side by side, and which to take."""

from __future__ import annotations

from typing import Any

import click

from svmfast.cli import options as shared
from svmfast.cli.files import Input, Output
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import document, show
from svmfast.cli.listening import listening
from svmfast.cli.messages import line, lines
from svmfast.cli.method_command import NEGATIVE
from svmfast.frontiers.options import FrontierOptions
from svmfast.options import Reading, options_of

_HELP = """
    Try every method on EXACT, measure all on the same rows, and recommend one.

    Three sets of rows are kept apart: those that EXACT was trained on (TRAIN), those that choose a model, and
    those that confirm it, from which all printed figures come. With a limit on the answers (`max_diff`,
    `max_loss`) the fastest model within it is recommended, and of those within 10% of the fastest the closest
    to EXACT; under `max_bytes` or `max_operations` alone the closest that fits.

    Each candidate is an svmfast command of its own; the one recommended is printed and makes the same bytes
    again, on the same instruction set. DIR gets the models, a copy of the recommended one under the name
    recommended (with EXACT inside, where EXACT answers what is not certified), and the report: report.html,
    report.md, report.json and a figure. Cheap candidates come first and share the time limit; the same
    command run again goes on where it stopped. Exit status 1: nothing that is faster or smaller than EXACT
    keeps to the limits, or the confirming rows refute what was chosen.
    """


def _default_folder(exact: str) -> str:
    from svmfast.api.frontier import default_folder

    return default_folder(exact)


def _files() -> list[click.Parameter]:
    return [
        click.Argument(["exact"], type=Input("model", repeated=True)),
        click.Option(
            ["--data", "data"],
            type=Input("data", role="data", repeated=True),
            required=True,
            metavar="TRAIN",
            help="What EXACT was trained on.",
        ),
        click.Option(
            ["--test"],
            type=Input("data", repeated=True),
            metavar="TEST",
            help="Rows that EXACT has not seen; half of them choose, half confirm (default: parts of TRAIN).",
        ),
        click.Option(
            ["-o", "--output"],
            type=Output(role="folder", after="exact", named=_default_folder, folder=True),
            metavar="DIR",
            help="Where models and reports go (default: name.frontier).",
        ),
    ]


@shared.as_json
@click.option("-q", "--quiet", is_flag=True, help="Print only the recommendation, or the report of --json.")
@shared.jobs
def _callback(
    exact: str, data: str, test: str | None, output: str, as_json: bool, quiet: bool, jobs: int, **given: Any
) -> int:
    from svmfast.api.frontier import frontier
    from svmfast.cli.progress import progress_bar

    with progress_bar(quiet, single=True) as progress:
        listener = listening(progress, quiet)
        result = frontier(
            exact,
            data,
            test,
            output=output,
            threads=jobs,
            listener=listener,
            document=document,
            **{name: value for name, value in given.items() if value is not None},
        )
    if as_json:
        show(result.to_dict())
    else:
        if not quiet:
            lines(result.table())
        lines(result.lines())
    if not quiet:
        line(f"svmfast: report, figure and models in {result.folder}", err=True)
    return 0 if result.recommended is not None else NEGATIVE


def _command() -> click.Command:
    own = [shared.option_of(one) for one in options_of(FrontierOptions)]
    reading = [shared.option_of(one) for one in options_of(Reading) if one.name != "unlabelled"]
    flags = reversed(_callback.__click_params__)  # type: ignore[attr-defined]
    params: list[click.Parameter] = [*_files(), *own, *reading, *flags]
    for param in params:
        if isinstance(param, click.Option) and param.help:
            param.help = with_flags(param.help, params)
    return click.Command("frontier", params=params, callback=_callback, help=with_flags(_HELP, params))


command = _command()
