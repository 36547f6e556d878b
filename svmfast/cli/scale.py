"""``svmfast scale``: a streaming svm-scale, with its arguments, options, warnings and output."""

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
    help="File for the scaled rows.",
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
    help="Also scale the labels, to these limits.",
)
@click.option(
    "-s",
    "--save",
    type=Output(role="ranges"),
    metavar="RANGES",
    help="Write the ranges of the features to this file.",
)
@click.option(
    "-r",
    "--restore",
    type=Input(role="ranges"),
    metavar="RANGES",
    help="Read the ranges and limits from this file instead of computing them from DATA.",
)
@options.quiet_but_report
@options.model_memory
@options.as_json
@options.rows_format_without("scale")
@options.jobs
def command(
    *,
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

    The smallest value of a feature becomes LOWER, the largest UPPER; a feature with a single value is left
    out. Values are printed with six digits. DATA is read twice, in bounded memory; with --restore once, so
    that rows from a pipe are scaled as they arrive.

    A model needs the same scaling when it predicts: --scale RANGES stores the ranges in the model
    (approximate, compress, train and the others), so that prediction needs no second file.
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
