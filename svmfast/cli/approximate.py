"""``svmfast approximate``: one polynomial instead of thousands of support vectors."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.options import DataFormat
from svmfast.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from svmfast.methods.approximate import ApproximationReport

_COMPRESSED = (".gz", ".bz2", ".xz")
_MODEL_NAMES = (".txt", ".model")


def default_output(model: str) -> str:
    """Return where the result goes when nobody says: ``model.approx.txt`` beside ``model.txt``."""
    root, ending = os.path.splitext(model)
    if ending in _COMPRESSED:
        model = root
        root, ending = os.path.splitext(model)
    return f"{root}.approx{ending}" if ending in _MODEL_NAMES else f"{model}.approx.txt"


@click.command("approximate")
@click.argument("model")
@click.option(
    "-o", "--output", metavar="OUT", help="Where to write (default: model.approx.txt for model.txt)."
)
@click.option(
    "--order",
    type=click.IntRange(0, 16),
    default=2,
    show_default=True,
    metavar="K",
    help="Degree of the polynomial. C(features + K, K) numbers are stored for each decision function.",
)
@click.option(
    "--center",
    type=click.Choice(["auto", "mean", "origin"]),
    default="auto",
    show_default=True,
    help="Where to expand: mean of the support vectors, origin (the paper's form), or the better one.",
)
@click.option("--calibrate", metavar="DATA", help="Fit the terms of each degree to the exact values on DATA.")
@click.option("--no-certificate", is_flag=True, help="Skip the bound of the error (it costs O(SVs^2)).")
@click.option(
    "--embed-exact",
    is_flag=True,
    help="Keep MODEL inside OUT: one file then answers fast where certified and exactly elsewhere.",
)
@options.as_json
@options.quiet
@options.data_format
@options.jobs
def command(
    model: str,
    output: str | None,
    order: int,
    center: str,
    calibrate: str | None,
    no_certificate: bool,
    embed_exact: bool,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
) -> None:
    """Replace the support vectors of MODEL by a truncated expansion about one centre.

    A prediction then costs the same however many support vectors there were. Linear and polynomial kernels
    are polynomials already: they are converted without loss. The report goes to stderr.
    """
    if embed_exact and no_certificate:
        raise OptionError("--embed-exact needs the certificate, which says what the exact model must answer")
    if output is None:
        if model == "-":
            raise OptionError("the model comes from standard input: say with -o where to write")
        output = default_output(model)
    if as_json and output == "-":
        raise OptionError("the model and --json cannot both go to standard output")
    if model == "-" and calibrate == "-":
        raise OptionError("MODEL and --calibrate cannot both be standard input")
    from svmfast.cli.inputs import keep_inputs

    keep_inputs("OUT", output, MODEL=model, DATA=calibrate)
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import open_model, save_model
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.methods.approximate import approximate
    from svmfast.models.expansion import KernelExpansion

    loaded = open_model(model)
    if not isinstance(loaded.model, KernelExpansion):
        raise UnsupportedError(f"{model} is a {loaded.model.kind} model already", "give the LIBSVM model")
    rows = None if calibrate is None else read_svmlight(calibrate, threads=jobs, **how.reading()).rows
    with progress_bar(quiet) as progress:
        made, report = approximate(
            loaded.model,
            order=order,
            center=center,
            calibrate=rows,
            certificate=not no_certificate,
            embed_exact=embed_exact,
            threads=jobs,
            provenance={"source": f"sha256:{loaded.sha256}"},
            progress=progress,
        )
    size = save_model(made, output)
    if as_json:
        values = {
            "model": model,
            "output": output,
            "bytes_before": len(loaded.text),
            "bytes": size,
            **asdict(report),
        }
        click.echo(json.dumps(_finite(values), indent=2, allow_nan=False))
    if not quiet:
        for line in (*loaded.warnings, *_lines(report, model, output, len(loaded.text), size)):
            click.echo(line, err=True)


def _lines(report: ApproximationReport, model: str, output: str, before: int, after: int) -> list[str]:
    of = f"{report.n_sv:,} support vectors, {report.features:,} features"
    lines = [
        f"model       {model}: {report.svm_type}, {report.kernel} kernel, {of}, "
        f"{report.functions:,} decision function{'s' * (report.functions != 1)}"
    ]
    if report.exact:
        lines.append(f"expansion   order {report.order}, exact: this kernel is a polynomial")
    else:
        errors = ", ".join(f"{name} {error:.3g}" for name, error in report.center_errors.items())
        lines.append(
            f"expansion   order {report.order} about the {report.center}"
            + (", calibrated" if report.calibrated else "")
            + f"; mean error on the support vectors: {errors}"
        )
        lines.append(
            f"gamma       {report.gamma:.6g}; trusted at order 2, for rows no farther out than the support "
            f"vectors, below {report.gamma_max_paper:.6g} (paper), {report.gamma_max_centred:.6g} (centred)"
        )
    if report.certified_percent is not None:
        lines.append(
            f"certified   {report.certified_percent:.2f}% of the support vectors: their label is provably "
            "the exact model's (svmfast predict --certify)"
        )
    lines.append(f"numbers     {report.numbers_before:,} -> {report.coefficients:,}")
    counts = f"{report.operations_before:,.0f} -> {report.operations:,.0f}"
    lines.append(f"operations  {counts} multiply-adds a row (counted)")
    factor = f"{before / after:.1f}x smaller" if after < before else f"{after / before:.1f}x LARGER"
    lines.append(f"bytes       {before:,} -> {after:,} ({factor})")
    lines.append(f"time        {report.seconds:.2f} s")
    lines.append(f"written     {output}")
    warnings = list(report.warnings)
    if after >= before:
        warnings.append(f"the file grew from {before:,} to {after:,} bytes")
    return lines + [f"warning: {warning}" for warning in warnings]


def _finite(values: object) -> object:
    """JSON has no infinity: a bound that nothing limits is null."""
    if isinstance(values, dict):
        return {key: _finite(value) for key, value in values.items()}
    if isinstance(values, float) and values in (float("inf"), float("-inf")):
        return None
    return values
