"""``svmfast cascade``: a fast model with the exact one behind it, for the rows it is not sure of."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.messages import line, lines, raw, remark
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Share, Whole
from svmfast.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from svmfast.methods.cascade import CascadeReport

#: Rows of --data that are used.
MOST_ROWS = 200_000
#: Exit status where the exact model alone is the better choice.
_NEGATIVE = 1


@click.command("cascade")
@click.argument("fast")
@click.argument("exact")
@click.option(
    "--data",
    "data",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Rows like those to be predicted, on which neither model was trained; labels play no part. "
    "Repeatable.",
)
@click.option("-o", "--output", metavar="OUT", help="Where to write (default: FAST.cascade).")
@click.option(
    "--max-diff",
    type=Share(),
    default="0.5%",
    show_default=True,
    metavar="SHARE%",
    help="The promise: at most this share of rows like these gets another label than EXACT's.",
)
@click.option(
    "--confidence",
    type=Share(),
    default="95%",
    show_default=True,
    metavar="SHARE%",
    help="The probability with which the promise holds.",
)
@click.option(
    "--rows",
    "max_rows",
    type=Whole(1),
    default=MOST_ROWS,
    show_default=True,
    metavar="N",
    help="Use at most this many rows of --data, drawn at random.",
)
@options.seed
@options.as_json
@options.quiet
@options.data_format
@options.jobs
def command(
    fast: str,
    exact: str,
    data: tuple[str, ...],
    output: str | None,
    max_diff: float,
    confidence: float,
    max_rows: int,
    seed: int,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
) -> int:
    """Join FAST, a model of any kind, and EXACT, the LIBSVM model it stands for, in one file.

    predict then answers a row with FAST where that is far enough from every boundary, and with EXACT
    elsewhere. How far is chosen on --data, so that --max-diff holds with --confidence: a statistical promise
    about rows like these at any gamma, where a certificate (approximate) is a proof for each row.

    Exit status 1: EXACT alone costs no more, and nothing was written.
    """
    if output is None:
        if fast == "-":
            raise OptionError("the model comes from standard input: say with -o where to write")
        output = f"{fast}.cascade"
    if as_json and output == "-":
        raise OptionError("the model and --json cannot both go to standard output")
    if [fast, exact, *data].count("-") > 1:
        raise OptionError("standard input can be read only once: '-' stands for FAST, EXACT or --data")
    from svmfast.cli.inputs import keep_inputs, open_model, read_sample
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import save_model
    from svmfast.formats.target import check_writable
    from svmfast.methods.cascade import join
    from svmfast.models.expansion import KernelExpansion

    keep_inputs("OUT", output, FAST=fast, EXACT=exact)
    for path in data:
        keep_inputs("OUT", output, DATA=path)
    check_writable(output)
    given, wanted = open_model(fast, quiet), open_model(exact, quiet)
    if not isinstance(wanted.model, KernelExpansion):
        raise UnsupportedError(f"{exact} is a {wanted.model.kind} model", "give the LIBSVM model")
    if given.sha256 == wanted.sha256:
        raise OptionError("FAST is EXACT itself: there is nothing to be gained")
    with progress_bar(quiet) as progress:
        rows, _ = read_sample(data, max_rows, seed, how, jobs, quiet, progress)
        assert rows is not None, "--data is required"
        made, report = join(
            given.model,
            wanted.model,
            rows,
            max_diff=max_diff,
            confidence=confidence,
            source=f"sha256:{wanted.sha256}",
            threads=jobs,
            progress=progress,
        )
    size = save_model(made, output) if report.pays else None
    if as_json:
        values = {"fast": fast, "exact": exact, "output": output if report.pays else None, "bytes": size}
        values |= {**asdict(report), "pays": report.pays}
        raw(json.dumps(values, indent=2, allow_nan=False) + "\n")
    if not quiet:
        lines(_lines(report), err=True)
        if size is not None:
            line(f"written     {output}, {size:,} bytes", err=True)
    if not report.pays:
        remark("joining them does not pay: the exact model alone costs no more")
        return _NEGATIVE
    return 0


def _lines(report: CascadeReport) -> list[str]:
    n = report.rows
    lines = [
        f"fast alone  {report.differing_fast:,} of {n:,} labels are not the exact model's "
        f"({report.differing_fast / n:.3%})",
        f"error       {report.error:.6g}: rows whose values could be wrong by that much without another "
        "label are the fast model's",
        f"answered    {report.answered:,} of {n:,} rows by the fast model ({report.answered / n:.2%}), the "
        "others by the exact one",
        f"differing   {report.differing:,} of {n:,} ({report.differing / n:.3%}); at most "
        f"{report.differing_limit:.3%} of rows like these, {report.confidence:.4g} confidence",
    ]
    if report.operations is not None:
        fewer = f"{report.operations_exact / report.operations:.1f}x fewer; " if report.operations else ""
        lines.append(
            f"operations  {report.operations_exact:,.0f} -> {report.operations:,.0f} multiply-adds a row "
            f"({fewer}counted)"
        )
    return lines
