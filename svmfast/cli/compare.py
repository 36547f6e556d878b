"""``svmfast compare``: compare models with the exact model on the same rows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import click

from svmfast.api.verb_options import CompareOptions
from svmfast.cli import options
from svmfast.cli.files import Input
from svmfast.cli.json_report import show
from svmfast.cli.listening import listening
from svmfast.cli.messages import line, lines, raw, remark, warning
from svmfast.display import shown
from svmfast.errors import OptionError
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.api.compare import Comparison

#: Exit status if a candidate exceeds --max-diff.
NEGATIVE = 1
#: Minimum width of the column of names.
_LEAST_NAME = 8
#: Maximum number of characters in a line of the table without --wide.
_WIDTH = 100


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
    help="Data that the models have not seen; without labels (--unlabelled) no accuracy is reported.",
)
@click.option("--json", "form", flag_value="json", help="Print JSON, with all digits.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV, with all digits.")
@click.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table.")
@click.option(
    "--html", "form", flag_value="html", help="Print an HTML page with a figure and a sortable table."
)
@click.option(
    "--wide",
    is_flag=True,
    help="Print all figures, one per line, also with and without fallback, and each class's recall.",
)
@options.options_from(CompareOptions)
@options.quiet_but_report
@options.rows_format
@options.jobs
def command(
    *,
    exact: str,
    candidates: tuple[str, ...],
    data: str,
    form: str | None,
    wide: bool,
    quiet: bool,
    reading: Reading,
    jobs: int,
    **asked: Any,
) -> int:
    """Compare each CANDIDATE model with the EXACT one on the rows of TEST.

    Every figure refers to what predict answers with that file: a CANDIDATE that contains an exact model
    (cascade, --embed-exact) is measured with its fallback; --wide and --json also show its fast part alone.

    The table shows accuracy; balanced accuracy, the mean recall of the classes; labels that differ from
    EXACT's; the speed-up over EXACT in svmfast's exact engine, without parsing; file size; rows whose label
    is proven to be EXACT's. For regression it shows MSE, SCC, and how much the values differ from EXACT's:
    the root mean square difference in percent of their spread (standard deviation). With --max-diff it also
    shows the upper 95% confidence bound of the share of labels that differ in all rows like these.

    Rows without labels, or with a single one, have a column for the label of EXACT of which the largest share
    differs ("worst label"). '~' marks a speed-up whose 95% interval is wider than a tenth. Where other
    programs make wall-clock times vary, speed-ups are of processor time, and the title says so. --wide and
    --json show the rest (docs/compare.md).
    """
    if wide and form == "html":
        raise OptionError("--wide is for tables of text")
    if wide and form in ("json", "csv"):
        raise OptionError(f"--wide is for tables; --{form} always has everything")
    from svmfast.api.compare import compare
    from svmfast.cli.progress import progress_bar

    with progress_bar(quiet) as progress:
        result = compare(
            (exact, *candidates),
            data,
            threads=jobs,
            reading=reading,
            timed=True,
            listener=listening(progress, quiet),
            **asked,
        )
    _show(result, form, wide)
    for text in result.warnings():
        warning(text)
    worse = result.beyond_the_limit()
    for text in worse:
        remark(text, quiet)
    return NEGATIVE if worse else 0


def _show(result: Comparison, form: str | None, wide: bool) -> None:
    if form == "json":
        values = result.to_dict()
        of_data = values.pop("data")  # the head of the report has the path
        show({"rows": of_data["rows"], "features": of_data["features"], **values})
    elif form == "csv":
        raw(result.to_csv())
    elif form == "html":
        raw(result.to_html().decode())
    elif form == "markdown":
        raw(result.to_markdown(wide=wide))
    elif sys.stdout.isatty():
        _show_table(result, wide)
    else:
        line(result.title())
        lines(result.lines(wide=wide))


def _show_table(result: Comparison, wide: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heads, rows = result.cells(wide=wide)
    # As Text, since file names must not be interpreted as markup.
    table = Table(title=Text(shown(result.title())), title_justify="left")
    for i, head in enumerate(heads):
        # Only names that are too long are wrapped, never figures.
        justify: Literal["left", "right"] = "right" if i else "left"
        table.add_column(Text(head), justify=justify, overflow="fold", no_wrap=wide or i > 0)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    room = console.width if wide else min(console.width, _WIDTH)
    # If the figures do not fit, the terminal wraps the lines; nothing is left out.
    name, *figures = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    least = (name if wide else min(name, _LEAST_NAME)) + sum(width + 3 for width in figures) + 4
    Console(width=max(room, least)).print(table)
