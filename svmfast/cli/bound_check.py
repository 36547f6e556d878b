"""``svmfast bound-check``: the largest gamma for data, or whether data lie inside a model's bound."""

from __future__ import annotations

from typing import Any

import click

from svmfast.api.verb_options import BoundCheckOptions
from svmfast.cli import options
from svmfast.cli.files import Input
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import show
from svmfast.cli.listening import listening
from svmfast.cli.messages import lines
from svmfast.options import Reading

#: Exit status for a negative result.
NEGATIVE = 1


@click.command("bound-check")
@click.argument("data", type=Input("data"))
@options.options_from(BoundCheckOptions)
@options.as_json
@options.quiet_but_report
@options.rows_format
@options.jobs
def command(
    *,
    data: str,
    as_json: bool,
    quiet: bool,
    reading: Reading,
    jobs: int,
    **asked: Any,
) -> int:
    """Check for which gamma an approximation of an RBF model is accurate on DATA.

    Inside the validity bound every term of the expansion is accurate to 3.05 %. At order 2 the bound is the
    paper's, max||x||^2 ||z||^2 < 1/(16 gamma^2) over the support vectors x and a row z; other orders have
    other constants in place of 1/16. Without a model the rows of DATA serve as both x and z, and gamma_max is
    where the first row leaves the bound. 'centered' measures all vectors from their mean, as approximate can.

    With --model or --gamma the exit status is the result: 0 if every row is inside, else 1. An approximated
    model is checked with its own orders and centers. If it has a certificate, the share of rows whose label
    is provably the exact model's (regression: whose error bound is at most --tolerance) is printed too, and
    --require-certified decides by that share. A calibrated model, or one shortened by approximate
    --max-bytes, has no validity bound: only its certificate can be checked.
    """
    from svmfast.api.bound_check import bound_check
    from svmfast.cli.progress import progress_bar

    with progress_bar(quiet) as progress:
        report = bound_check(
            data,
            threads=jobs,
            reading=reading,
            listener=listening(progress, quiet),
            **asked,
        )
    if as_json:
        show(report.to_dict())
    else:
        lines(map(with_flags, report.lines()))
    return NEGATIVE if report.verdict is False else 0
