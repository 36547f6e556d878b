"""``svmfast scale``: svm-scale's arguments, options, warnings and bytes, streaming."""

from __future__ import annotations

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import show
from svmfast.cli.messages import lines, remark, warning
from svmfast.cli.units import Real
from svmfast.options import Reading


@click.command("scale")
@click.argument("data", type=Input("data"))
@click.option(
    "-o",
    "--output",
    type=Output(role="scaled"),
    default="-",
    show_default=True,
    metavar="OUT",
    help="Where to write the scaled rows.",
)
@click.option(
    "-l", "--lower", type=Real(), default=-1.0, show_default=True, metavar="LOWER", help="Lower limit."
)
@click.option(
    "-u", "--upper", type=Real(), default=1.0, show_default=True, metavar="UPPER", help="Upper limit."
)
@click.option(
    "-y",
    "--labels",
    type=(Real(), Real()),
    metavar="LOWER UPPER",
    help="Scale the labels too, to these limits.",
)
@click.option(
    "-s",
    "--save",
    type=Output(role="ranges"),
    metavar="RANGES",
    help="Write the ranges of the features here.",
)
@click.option(
    "-r",
    "--restore",
    type=Input(role="ranges"),
    metavar="RANGES",
    help="Take the ranges and limits from this file, not from DATA.",
)
@options.quiet_but_report
@options.model_memory
@options.as_json
@options.rows_format_without("scale")
@options.jobs
def command(
    data: str,
    lower: float,
    upper: float,
    labels: tuple[float, float] | None,
    save: str | None,
    restore: str | None,
    output: str,
    quiet: bool,
    memory: int,
    as_json: bool,
    reading: Reading,
    jobs: int,
) -> None:
    """Scale the features of DATA to [LOWER, UPPER], as svm-scale does: same options, same bytes.

    A feature's least value becomes LOWER, its greatest UPPER; a feature of a single value is left out. Values
    are printed with six digits. DATA is read twice, in bounded memory; with --restore once, so that rows of a
    pipe are scaled as they come.

    A model needs the same scaling when it predicts: --scale RANGES puts the range file into the model
    (approximate, compress, train and the others), and no second file is needed.
    """
    from svmfast.api.listener import Listener
    from svmfast.api.scale import scale
    from svmfast.cli.progress import progress_bar

    with progress_bar(quiet) as progress:
        report = scale(
            data,
            output,
            lower=lower,
            upper=upper,
            labels=labels,
            save=save,
            restore=restore,
            reading=reading,
            threads=jobs,
            memory=memory,
            listener=Listener(progress, lambda text: remark(with_flags(text), quiet), warning),
        )
    if as_json:
        show(report.to_dict())
    lines(report.lines(), err=True)
