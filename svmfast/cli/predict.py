"""``svmfast predict``: svm-predict's arguments, options, lines and bytes, for any model kind, streaming."""

from __future__ import annotations

import sys
from typing import Literal

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output, is_stdout
from svmfast.cli.json_report import show
from svmfast.cli.listening import listening
from svmfast.cli.messages import lines, remarks
from svmfast.cli.units import Real
from svmfast.options import Reading


@click.command("predict")
@click.argument("data", type=Input("data"))
@click.argument("model", type=Input("model"))
@click.argument("output", type=Output(role="predictions"), default="-")
@click.option(
    "-b",
    "probability",
    type=click.Choice(["0", "1"]),
    default="0",
    help="1: probabilities, for models that have them; the label is then the most probable one.",
)
@options.quiet
@click.option("--decision-values", is_flag=True, help="Add the decision values, in LIBSVM's pair order.")
@click.option("--bound", is_flag=True, help="Add a column: inside or outside the model's validity bound.")
@click.option(
    "--certify",
    is_flag=True,
    help="Add two columns, and a first line that names them: is the label provably the exact model's, and "
    "the bound on the values' error.",
)
@click.option(
    "--exact",
    type=Input("model"),
    metavar="MODEL",
    help="Rows that are not certified are answered by this exact model, the one that was approximated.",
)
@click.option(
    "--fallback/--no-fallback",
    default=None,
    help="Do so with the exact model embedded in MODEL (default: if there is one).",
)
@click.option(
    "--tolerance",
    type=Real(0),
    metavar="ERROR",
    help="A row is certified only if its error bound is at most this; regression needs it for --exact.",
)
@click.option(
    "--assume-error",
    type=Real(0),
    metavar="ERROR",
    help="With --exact: take ERROR for the bound of MODEL's values, in place of a certificate if it has one. "
    "Statistical, not proven; compress and dcpred --from report such quantiles.",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "double"]),
    default="auto",
    show_default=True,
    help="auto: labels come from single precision where its error bound proves them. double: never. The "
    "output is the same.",
)
@options.model_memory
@options.allow_edited
@options.as_json
@options.rows_format
@options.jobs
def command(
    data: str,
    model: str,
    output: str,
    probability: str,
    quiet: bool,
    decision_values: bool,
    bound: bool,
    certify: bool,
    exact: str | None,
    fallback: bool | None,
    tolerance: float | None,
    assume_error: float | None,
    precision: Literal["auto", "double"],
    memory: int,
    allow_edited: bool,
    as_json: bool,
    reading: Reading,
    jobs: int,
) -> None:
    """Predict the rows of DATA with MODEL, of any kind, into OUTPUT (default: '-', standard output).

    Arguments, options, output and messages are those of svm-predict. The accuracy is printed on stdout when
    the predictions go to a file, else on stderr; with --unlabelled there is none, with --json a report takes
    its place. Rows are predicted while the input is still being read, in bounded memory. A file appears
    complete or not at all.

    With --decision-values, --bound or --certify the first line names the columns: 'label', then for each
    pair of labels, in the order of the model's labels (1,2), (1,3), .., (2,3), .., a name like '1/-1': a
    positive value votes for the label before the stroke. One-vs-rest models have a column for each label,
    '1/rest'; regression and one-class have one, 'decision'. The bound's column is 'bound'. With -b 1 they
    follow the probabilities. --certify adds 'certified' (yes, no; for regression without --tolerance '-')
    and 'error_bound', the largest over the row's decision values.

    With --exact (or an embedded exact model) every label is the exact model's: proven by the certificate, or
    its own answer. The values printed beside a certified label are the approximation's. A model made by
    cascade falls back by itself too, where its fast half is not sure: a statistical guarantee, no proof.
    """
    from svmfast.api.predictor import Predictor
    from svmfast.cli.progress import progress_bar

    to_stdout = is_stdout(output)
    # A bar would get between predictions on the same terminal.
    with progress_bar(quiet or (to_stdout and sys.stdout.isatty())) as progress:
        listener = listening(progress, quiet)
        predictor = Predictor(
            model,
            probability=probability == "1",
            decision_values=decision_values,
            bound=bound,
            certify=certify,
            exact=exact,
            fallback=fallback,
            tolerance=tolerance,
            assume_error=assume_error,
            precision=precision,
            memory=memory,
            allow_edited=allow_edited,
            listener=listener,
        )

        def preamble() -> None:
            if not quiet:
                lines(predictor.preamble(), err=as_json or to_stdout)

        report = predictor.predict_file(data, output, reading=reading, threads=jobs, on_start=preamble)
    if as_json:
        show(report.to_dict())
    elif not quiet:
        # On stdout only where it cannot get between the predictions.
        lines(report.lines(), err=to_stdout)
    remarks(report.remarks(), quiet)
