"""``svmfast linear``: the linear model that a kernel model has to beat."""

from __future__ import annotations

from dataclasses import asdict

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output, in_this_folder
from svmfast.cli.inputs import naming_lines
from svmfast.cli.json_report import show
from svmfast.cli.messages import count, line, remarks
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Real
from svmfast.errors import OptionError


@click.command("linear", context_settings={"show_default": True})
@click.argument("data", type=Input("data"))
@click.argument("model", type=Output("model", after="data", named=in_this_folder("linear")), required=False)
@click.option("-c", "cost", type=Real(), default=1.0, metavar="NUMBER", help="Cost C.")
@click.option("--task", type=click.Choice(["svc", "ridge"]), default="svc", help="ridge is regression.")
@options.as_json
@options.quiet
@options.data_format
@options.jobs
def command(
    data: str,
    model: str,
    cost: float,
    task: str,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
) -> None:
    """Train a linear model on DATA and write it to MODEL.

    Try it first: where it is as accurate as the kernel model, nothing else is needed. Classes: L2-regularised
    squared hinge, one class against the rest, as LIBLINEAR's default. MODEL defaults to DATA's file name with
    .linear added, in the current folder; '-' is standard output.
    """
    if not cost > 0:
        raise OptionError(f"-c is {cost:g}; expected a positive number")
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import save_model
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.methods.linear.fit import linear

    with progress_bar(quiet) as progress:
        progress(0, None, "read")
        dataset = read_svmlight(data, threads=jobs, **how.reading())
    remarks((f"{dataset.path}: {note}" for note in dataset.notes.messages()), quiet)
    with (
        naming_lines(dataset.path, dataset.notes, dataset.first_line),
        progress_bar(quiet) as progress,
    ):
        progress(0, None, "train")
        made, report = linear(dataset.rows, dataset.labels, cost=cost, regression=task == "ridge")
    size = save_model(made, model)
    if as_json:
        values = asdict(report)
        del values["seconds"]  # of the head
        show({"bytes": size, **values})
    if not quiet:
        line(
            f"svmfast: {count(report.rows, 'row')}, {count(report.features, 'feature')}, "
            f"{count(report.functions, 'weight vector')}; {report.seconds:.2f} s; "
            f"{size:,} bytes written to {model}",
            err=True,
        )
