"""``svmfast export``: a model in another language."""

from __future__ import annotations

from typing import Any

import click

from svmfast.api.verb_options import ExportOptions
from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import show
from svmfast.cli.messages import line, lines, remark, warning
from svmfast.errors import OptionError
from svmfast.exports.languages import LANGUAGES
from svmfast.options import Reading


@click.command("export")
@click.argument("model", type=Input("model"))
@click.option(
    "--to",
    type=click.Choice(list(LANGUAGES)),
    help="Default: by the extension of OUT, else c. "
    + "; ".join(f"{one.name} ({', '.join(one.endings)}): {one.summary}" for one in LANGUAGES.values())
    + ".",
)
@click.option(
    "-o", "--output", type=Output(role="model"), required=True, metavar="OUT", help="File to write."
)
@click.option(
    "--test",
    type=Input("data", role="test"),
    metavar="ROWS",
    help="Compare the exported arithmetic with the model's on these rows (default: on vectors of the model); "
    "their labels are not used. C: the file contains the first of them and a test.",
)
@click.option("--float", "single", is_flag=True, help="Use single precision (the default for c).")
@click.option("--double", is_flag=True, help="Use double precision (the default for all others).")
@click.option(
    "--feature-names",
    type=Input(),
    metavar="NAMES",
    help="A file with the name of each feature, one per line; the exported file contains them (default: the "
    "model's own names).",
)
@click.option(
    "--ranges",
    type=Output(role="ranges"),
    metavar="OUT",
    help="libsvm: write the model's scaling to this file, as a range file for svm-scale.",
)
@click.option(
    "--data",
    type=Input("data", role="data"),
    metavar="ROWS",
    help="Rows like those to predict, for --max-flash; their labels are not used.",
)
@options.options_from(ExportOptions)
@options.as_json
@options.quiet
@options.rows_format
@options.jobs
def command(
    *,
    model: str,
    to: str | None,
    output: str,
    test: str | None,
    single: bool,
    double: bool,
    feature_names: str | None,
    ranges: str | None,
    data: str | None,
    as_json: bool,
    quiet: bool,
    reading: Reading,
    jobs: int,
    **asked: Any,
) -> None:
    """Write MODEL in another language: C for any program or microcontroller, ONNX, JSON, LIBSVM's text.

    MODEL can be of any kind but cascade, with any kernel but precomputed. The labels are LIBSVM's, ties
    included; labels that the exported arithmetic changes are counted when the file is written. The C header
    needs no library and allocates nothing; if the model's classes have names, NAME_class_name(label) returns
    them, and for a model with a certificate NAME_certain() proves labels on the device. docs/export.md has
    walk-throughs.

    Only LIBSVM models can be written as LIBSVM's text. With --ranges the scaling in the model goes to a range
    file for svm-scale; with --feature-names the text is wrapped in an svmfast file, which finds the columns
    of tables by their names.
    """
    if single and double:
        raise OptionError("--float and --double exclude each other")
    from svmfast.api.export import export
    from svmfast.api.export_report import language_for
    from svmfast.api.listener import Listener
    from svmfast.cli.progress import progress_bar

    language = language_for(output, to)
    with progress_bar(quiet) as progress:
        made = export(
            model,
            language,
            precision="float" if single else "double" if double else None,
            test=test,
            feature_names=() if feature_names is None else feature_names,
            data=data,
            ranges=ranges is not None,
            threads=jobs,
            reading=reading,
            listener=Listener(progress, lambda text: remark(with_flags(text), quiet), warning),
            **asked,
        )
    size = made.save(output, ranges)
    if as_json:
        show(made.report.to_dict())
    if not quiet:
        lines(made.report.lines(), err=True)
        line(f"written      {output}, {size:,} bytes", err=True)
