"""``svmfast bound-check``: the largest gamma for data, or whether data lie inside a model's bound."""

from __future__ import annotations

from typing import Literal

import click

from svmfast.cli import options
from svmfast.cli.files import Input
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import show
from svmfast.cli.listening import listening
from svmfast.cli.messages import lines
from svmfast.cli.units import Real, Share, Whole
from svmfast.options import Reading

#: Exit status for a negative result.
NEGATIVE = 1


@click.command("bound-check")
@click.argument("data", type=Input("data"))
@click.option(
    "--model",
    type=Input("model"),
    metavar="MODEL",
    help="Check whether the rows of DATA are inside the bound of this model.",
)
@click.option("--gamma", type=Real(0, above=True), help="Check them for a kernel of this width.")
@click.option(
    "--order",
    type=Whole(0, 16),
    show_default="2",
    metavar="K",
    help="Order of the expansion to check; an approximated model is checked with its own orders.",
)
@click.option(
    "--center",
    type=click.Choice(["auto", "origin", "mean"]),
    show_default="auto",
    help="Center of the expansion of an exact MODEL: the origin (as in the paper), the mean, or (auto) the "
    "better of the two.",
)
@click.option(
    "--require-certified",
    type=Share(zero=True, whole=True),
    metavar="SHARE%",
    help="Decide instead by whether at least this share of the labels (regression: values) is certified, for "
    "example 99%.",
)
@click.option(
    "--tolerance",
    type=Real(0),
    metavar="ERROR",
    help="A row is certified only if its error bound is at most this; regression needs it.",
)
@options.as_json
@options.quiet_but_report
@options.model_memory
@options.rows_format
@options.jobs
def command(
    *,
    data: str,
    model: str | None,
    gamma: float | None,
    order: int | None,
    center: Literal["auto", "origin", "mean"] | None,
    require_certified: float | None,
    tolerance: float | None,
    as_json: bool,
    quiet: bool,
    memory: int,
    reading: Reading,
    jobs: int,
) -> int:
    """Check for which gamma an approximation of an RBF model is accurate on DATA.

    Inside the validity bound every term of the expansion is accurate to 3.05 %. At order 2 the bound is the
    paper's, max||x||^2 ||z||^2 < 1/(16 gamma^2) over the support vectors x and a row z; other orders have
    other constants in place of 1/16. Without a model the rows of DATA serve as both x and z, and gamma_max is
    where the first row leaves the bound. 'centered' measures all vectors from their mean, as approximate can.

    With --model or --gamma the exit status is the result: 0 if every row is inside, else 1. An approximated
    model is checked with its own orders and centers. If it has a certificate, the share of rows whose label
    is provably the exact model's (regression: whose error bound is at most --tolerance) is printed too, and
    --require-certified decides by that share. A model that approximate --max-bytes shortened
    has no validity bound: only its certificate can be checked.
    """
    from svmfast.api.bound_check import bound_check
    from svmfast.cli.progress import progress_bar

    with progress_bar(quiet) as progress:
        report = bound_check(
            data,
            model=model,
            gamma=gamma,
            order=order,
            center=center,
            require_certified=require_certified,
            tolerance=tolerance,
            threads=jobs,
            memory=memory,
            reading=reading,
            listener=listening(progress, quiet),
        )
    if as_json:
        show(report.to_dict())
    else:
        lines(map(with_flags, report.lines()))
    return NEGATIVE if report.verdict is False else 0
