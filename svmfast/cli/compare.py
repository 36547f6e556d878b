"""``svmfast compare``: what candidates lost and gained against the exact model, on the same rows."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

import click

from svmfast.cli import options
from svmfast.cli.files import Input
from svmfast.cli.json_report import show
from svmfast.cli.messages import count, line, lines, raw, remark, warning
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Share, Whole
from svmfast.display import shown
from svmfast.errors import OptionError

if TYPE_CHECKING:
    from svmfast.evaluation.compare import ComparedModel, Comparison
    from svmfast.evaluation.timing import Timing
    from svmfast.formats.svmlight import Dataset

OVER_THE_LIMIT = 1
#: Reading is timed over so many repeats, or so many seconds, whichever ends first.
READ_REPEATS, READ_SECONDS = 3, 2.0
#: A model's name has at least so many columns of the table.
_LEAST_NAME = 8


@click.command("compare")
@click.argument("exact", type=Input("model", repeated=True))
@click.argument(
    "candidates", type=Input("model", repeated=True), metavar="CANDIDATE...", nargs=-1, required=True
)
@click.option(
    "--data",
    type=Input("data"),
    required=True,
    metavar="TEST",
    help="Data unseen by the models; without labels (--unlabelled) there is no accuracy.",
)
@click.option("--json", "form", flag_value="json", help="Print JSON, all digits.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV, all digits.")
@click.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table.")
@click.option(
    "--wide",
    is_flag=True,
    help="Every figure, one a line; also with and without the exact model behind, and each class's recall.",
)
@click.option(
    "--max-diff",
    type=Share(zero=True, whole=True, percent=True),
    metavar="SHARE%",
    help="Exit with 1 if more labels of a candidate differ from EXACT's, for example 0.5%.",
)
@click.option(
    "--repeats",
    type=Whole(1),
    default=5,
    show_default=True,
    metavar="N",
    help="Timed predictions of each model; the median counts.",
)
@options.quiet_but_report
@options.model_memory
@options.allow_edited
@options.rows_format
@options.jobs
def command(
    exact: str,
    candidates: tuple[str, ...],
    data: str,
    form: str | None,
    wide: bool,
    max_diff: float | None,
    repeats: int,
    quiet: bool,
    memory: int,
    allow_edited: bool,
    how: DataFormat,
    jobs: int,
) -> int:
    """Compare each CANDIDATE model with the EXACT one on the rows of TEST.

    Every figure is of what predict answers with that file: a CANDIDATE with an exact model inside (cascade,
    --embed-exact) is judged with it; its fast half alone is a detail of --wide and --json.

    The table: accuracy; balanced accuracy, the mean recall of the classes; labels that differ from EXACT's
    (regression: MSE, SCC, and the root mean square difference from EXACT's values over their spread); the
    speed-up over EXACT in our exact engine (median of the repeats, without parsing); file size; rows whose
    label is proven to be EXACT's. --wide and --json have the rest (docs/compare.md).
    """
    if wide and form in ("json", "csv"):
        raise OptionError(f"--wide is for tables; --{form} always has everything")
    from svmfast.cli.progress import progress_bar
    from svmfast.evaluation.compare import compare

    entrants = [_load(path, memory, quiet, allow_edited) for path in (exact, *candidates)]
    regression = entrants[0].model.head.is_regression
    if max_diff is not None and regression:
        raise OptionError("--max-diff counts labels, which regression models do not have")
    dataset, reading = _read(data, how, jobs)
    from svmfast.cli.inputs import check_width, warn_of_scale

    warn_of_scale(data, entrants[0].model, dataset.rows)
    for entrant in entrants:
        check_width(how, data, entrant.model, dataset.rows)
    with progress_bar(quiet) as progress:
        result = compare(
            entrants,
            dataset.rows,
            dataset.labels,
            threads=jobs,
            repeats=repeats,
            data_path=data,
            parse_seconds=reading.seconds,
            progress=progress,
        )
    _show(result, form, wide)
    for row in result.models:
        if row.violations:
            warning(
                f"{row.path}: {count(row.violations, 'row')} break the certificate: some value is farther "
                "from EXACT's than its bound"
            )
    return 0 if max_diff is None else _judge(result, max_diff, quiet)


def _load(path: str, memory: int, quiet: bool, allow_edited: bool) -> ComparedModel:
    from svmfast.cli.inputs import open_model
    from svmfast.evaluation.compare import ComparedModel
    from svmfast.evaluation.timing import measure
    from svmfast.formats.detect import load_model

    opened = open_model(
        path, memory, quiet, allow_edited=allow_edited
    )  # warms up, and says what is to be remarked
    model, timing = measure(
        lambda: load_model(path, memory=memory, allow_edited=allow_edited),
        repeats=READ_REPEATS,
        limit_seconds=READ_SECONDS,
        warm_up=False,
    )
    size, source = os.path.getsize(path), opened.provenance.get("source")
    return ComparedModel(path, model, size, timing.seconds, opened.identity.removeprefix("sha256:"), source)


def _read(data: str, how: DataFormat, jobs: int) -> tuple[Dataset, Timing]:
    from svmfast.evaluation.timing import measure
    from svmfast.formats.svmlight import read_svmlight

    # A pipe gives its rows once.
    again = os.path.isfile(data)
    return measure(
        lambda: read_svmlight(data, threads=jobs, **how.reading()),
        repeats=READ_REPEATS if again else 1,
        limit_seconds=READ_SECONDS,
        warm_up=again,
    )


def _show(result: Comparison, form: str | None, wide: bool) -> None:
    from svmfast.evaluation import report

    if form == "json":
        values = report.as_dict(result)
        of_data = values.pop("data")  # its path is in the head
        show({"rows": of_data["rows"], "features": of_data["features"], **values})
    elif form == "csv":
        raw(report.as_csv(result))
    elif form == "markdown":
        raw(report.as_markdown(result, wide=wide))
    elif sys.stdout.isatty():
        _show_table(result, wide)
    else:
        line(_title(result))
        lines(report.as_text(result, wide=wide).splitlines())


def _title(result: Comparison) -> str:
    threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
    return f"{result.data_path}: {result.rows:,} rows, {result.features:,} features; {threads}"


def _show_table(result: Comparison, wide: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from svmfast.evaluation import report

    heads, rows = report.cells(result, wide=wide, short=True)
    # Text: names of files are no markup.
    table = Table(title=Text(shown(_title(result))), title_justify="left")
    for i, head in enumerate(heads):
        # Figures are never broken; a name that is too long goes on below.
        justify: Literal["left", "right"] = "right" if i else "left"
        table.add_column(Text(head), justify=justify, overflow="fold", no_wrap=wide or i > 0)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    room = console.width if wide else min(console.width, report.WIDTH)
    # Where there is no room for the figures the terminal breaks the lines; nothing is left out.
    name, *figures = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    least = (name if wide else min(name, _LEAST_NAME)) + sum(width + 3 for width in figures) + 4
    Console(width=max(room, least)).print(table)


def _judge(result: Comparison, max_diff: float, quiet: bool) -> int:
    worse = [
        row
        for row in result.models
        if row.labels_differing_percent is not None and row.labels_differing_percent > max_diff
    ]
    for row in worse:
        if not quiet:
            share = f"{row.labels_differing_percent:.4g}%"
            remark(f"{row.path}: {share} of the labels differ, more than {max_diff:g}%")
    return OVER_THE_LIMIT if worse else 0
