"""``svmfast frontier``: try every method on one model, compare the results and recommend one."""

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
    those that confirm it. The figures of the answers (accuracy, labels that differ, certified rows) are those
    of the confirming rows, except in the column 'choosing'. Models are timed and multiply-adds counted on the
    choosing rows. With a limit on the answers (`max_diff`, `max_loss`), the models compete on speed whose
    whole 95% interval on the choosing rows is within the limit, and that lose no class: of those within 10%
    of the fastest, the one closest to EXACT is recommended if the confirming rows show the same of it,
    otherwise the next one. With `max_bytes` or `max_operations` alone, the closest model that fits is
    recommended. Rows without labels (`unlabelled`, with TEST) suffice for all limits but `max_loss`.

    Each candidate is a separate svmfast command. The recommended command is printed; run again, it writes
    the same bytes on the same instruction set. DIR holds the models, the report (report.html, report.md,
    report.json) and 'recommended', a copy of the recommended model. The copy contains EXACT if
    EXACT is needed for the rows that are not certified. Cheap candidates come first, with `max_bytes` after
    one of each method that just fits, and no larger ones. All methods share the time limit. Run again, the
    same command continues where it stopped. Exit status 1: no model that is faster than EXACT is
    shown to be within the limits by the choosing and the confirming rows.
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
            help="The data that EXACT was trained on.",
        ),
        click.Option(
            ["--test"],
            type=Input("data", repeated=True),
            metavar="TEST",
            help="Rows that EXACT has not seen; half choose, the others confirm (default: parts of TRAIN).",
        ),
        click.Option(
            ["-o", "--output"],
            type=Output(role="folder", after="exact", named=_default_folder, folder=True),
            metavar="DIR",
            help="Folder for models and reports (default: name.frontier).",
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
        line(f"svmfast: report and models in {result.folder}", err=True)
    return 0 if result.recommended is not None else NEGATIVE


def _command() -> click.Command:
    own = [shared.option_of(one) for one in options_of(FrontierOptions)]
    reading = [shared.option_of(one) for one in options_of(Reading)]
    flags = reversed(_callback.__click_params__)  # type: ignore[attr-defined]
    params: list[click.Parameter] = [*_files(), *own, *reading, *flags]
    for param in params:
        if isinstance(param, click.Option) and param.help:
            param.help = with_flags(param.help, params)
    return click.Command("frontier", params=params, callback=_callback, help=with_flags(_HELP, params))


command = _command()
