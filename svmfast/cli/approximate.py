"""``svmfast approximate``: one polynomial instead of thousands of support vectors."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.json_report import show
from svmfast.cli.messages import lines, remark, remarks
from svmfast.cli.options import DataFormat
from svmfast.cli.units import MOST_64, Bytes, Real, Share, Whole, WholeOrAuto
from svmfast.errors import OptionError, UnsupportedError
from svmfast.formats.packing import without_ending

if TYPE_CHECKING:
    from svmfast.methods.approximate_report import ApproximationReport
    from svmfast.models.expansion import KernelExpansion
    from svmfast.progress import Progress
    from svmfast.rows import Rows

# Seconds that are announced.
WORTH_A_WORD = 2.0
_MODEL_NAMES = (".txt", ".model")


def default_output(model: str) -> str:
    """Return where the result goes when nobody says: ``model.approx.txt`` beside ``model.txt``."""
    model = without_ending(model)
    root, ending = os.path.splitext(model)
    return f"{root}.approx{ending}" if ending in _MODEL_NAMES else f"{model}.approx.txt"


@click.command("approximate")
@click.argument("model", type=Input("model", role="exact"))
@click.option(
    "-o",
    "--output",
    type=Output(role="model", after="model", named=default_output),
    metavar="OUT",
    help="Where to write (default: model.approx.txt for model.txt, beside MODEL).",
)
@click.option(
    "--order",
    type=WholeOrAuto(0, 16),
    default=2,
    show_default=True,
    metavar="K|auto",
    help="Degree of the polynomials: C(features + K, K) numbers each. auto: the cheapest that do.",
)
@click.option(
    "--cells",
    type=WholeOrAuto(1, 1 << 16),
    default=1,
    show_default=True,
    metavar="N|auto",
    help="Expand about N centres, where gamma is large; a row meets the nearest. auto: as many as it takes.",
)
@click.option(
    "--data",
    "data",
    type=Input("data"),
    multiple=True,
    metavar="FILE",
    help="Choose cells and orders for rows like these; labels play no part. Repeatable.",
)
@click.option(
    "--target-certified",
    type=Share(whole=True),
    show_default="99%",
    metavar="SHARE%",
    help="What auto aims at: so many rows with a proven label.",
)
@click.option(
    "--tolerance",
    type=Real(0, above=True),
    metavar="T",
    help="Regression: an error bar up to T counts as certified (default: 1% of the values' spread).",
)
@click.option(
    "--max-bytes",
    type=Bytes(),
    metavar="32k",
    help="Shorten coefficients, drop negligible ones into the bound, until OUT is this small.",
)
@click.option(
    "--center",
    type=click.Choice(["auto", "mean", "origin"]),
    default="auto",
    show_default=True,
    help="Where to expand: mean of the support vectors, origin (the paper's form), or the better one.",
)
@click.option(
    "--calibrate",
    type=Input("data"),
    metavar="DATA",
    help="Fit the terms of each degree to the exact values on DATA.",
)
@click.option(
    "--certificate",
    type=click.Choice(["full", "row-norms", "none"]),
    default="full",
    show_default=True,
    help="The bound of the error: full costs O(SVs^2) a cell, row-norms O(SVs) and certifies fewer rows.",
)
@click.option("--no-certificate", is_flag=True, help="The same as --certificate none.")
@click.option(
    "--embed-exact",
    is_flag=True,
    help="Keep MODEL inside OUT: one file then answers fast where certified and exactly elsewhere.",
)
@click.option("--seed", type=Whole(0, MOST_64), show_default="0", help="Of k-means and samples.")
@click.option(
    "--memory",
    type=Bytes(),
    default="2G",
    show_default=True,
    metavar="SIZE",
    help="Refuse a model, or work, that needs more memory.",
)
@options.as_json
@options.quiet
@options.rows_format
@options.jobs
def command(
    model: str,
    output: str,
    order: int | str,
    cells: int | str,
    data: tuple[str, ...],
    target_certified: float | None,
    tolerance: float | None,
    max_bytes: int | None,
    center: str,
    calibrate: str | None,
    certificate: str,
    no_certificate: bool,
    embed_exact: bool,
    seed: int | None,
    memory: int,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
) -> None:
    """Replace the support vectors of MODEL by truncated expansions about one centre or many.

    A prediction then costs the same however many support vectors there were. Linear and polynomial kernels
    are polynomials already: they are converted without loss. The report goes to stderr.

    With auto, exit status 1 says that the exact model is the better choice; nothing is written then.
    """
    if no_certificate:
        certificate = "none"
    sampled = bool(data) or order == "auto" or cells != 1 or max_bytes is not None
    if target_certified is not None and "auto" not in (order, cells):
        raise OptionError(
            "--target-certified is what auto aims at; it goes with --order auto or --cells auto"
        )
    for option, value in (("--seed", seed), ("--tolerance", tolerance)):
        if value is not None and not sampled:
            raise OptionError(
                f"{option} has nothing to act on: it goes with --data, --order auto, --cells or --max-bytes"
            )
    if embed_exact and certificate == "none":
        raise OptionError("--embed-exact needs the certificate, which says what the exact model must answer")
    from svmfast.cli.inputs import open_model, warn_of_scale
    from svmfast.cli.probabilities import outcome
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import model_bytes, save_model
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.formats.target import stored_size
    from svmfast.methods.approximate import TARGET, approximate
    from svmfast.methods.refit_probabilities import probabilities_after
    from svmfast.models.expansion import KernelExpansion

    loaded = open_model(model, memory, quiet)
    if not isinstance(loaded.model, KernelExpansion):
        raise UnsupportedError(f"{model} is a {loaded.model.kind} model already", "give the LIBSVM model")
    if tolerance is not None and not loaded.model.head.is_regression:
        raise OptionError(
            f"--tolerance is for regression; of a {loaded.model.head.svm_type} model labels are certified"
        )
    rows = None if calibrate is None else read_svmlight(calibrate, threads=jobs, **how.reading()).rows
    remarks(_foreseen(loaded.model, order, cells, certificate, jobs), quiet)
    with progress_bar(quiet) as progress:
        sample = _sample(data, seed or 0, how, jobs, progress)
        warn_of_scale("--data", loaded.model, sample)
        made, report = approximate(
            loaded.model,
            order=order,
            cells=cells,
            center=center,
            data=sample,
            target=TARGET if target_certified is None else target_certified,
            tolerance=tolerance,
            max_bytes=max_bytes,
            size_of=lambda made: stored_size(output, model_bytes(made)),
            calibrate=rows,
            certificate=certificate,
            embed_exact=embed_exact,
            memory_limit=memory,
            seed=seed or 0,
            threads=jobs,
            provenance={"source": loaded.identity},
            progress=progress,
        )
    size = save_model(made, output)
    probabilities = probabilities_after(loaded.model.head, made.head)
    if as_json:
        values = asdict(report)
        del values["seconds"], values["warnings"]  # of the head
        values = {
            "bytes": size,
            "bytes_exact": loaded.n_bytes,
            "support_vectors_exact": values.pop("n_sv"),
            "numbers": values.pop("coefficients"),
            "numbers_exact": values.pop("numbers_before"),
            "multiply_adds": values.pop("operations"),
            "multiply_adds_exact": values.pop("operations_before"),
            "exact_conversion": values.pop("exact"),
            **values,
            "probabilities": probabilities,
        }
        show(values)
    if not quiet:
        lines(_lines(report, model, output, loaded.n_bytes, size), err=True)
        lines(outcome(probabilities), err=True)
    remarks(report.warnings, quiet)
    if size >= loaded.n_bytes:
        remark(f"the file grew from {loaded.n_bytes:,} to {size:,} bytes", quiet)


def _foreseen(
    model: KernelExpansion, order: int | str, cells: int | str, certificate: str, jobs: int
) -> list[str]:
    """What it will take, said before it is begun; nothing where that is next to nothing."""
    if model.kernel.kind != "rbf":
        return []
    from svmfast.methods.cost import foreseen

    k, n = 2 if isinstance(order, str) else order, 1 if isinstance(cells, str) else cells
    found = foreseen(model, k, n, full=certificate == "full", threads=jobs)
    if found.seconds_a_cell * n < WORTH_A_WORD:
        return []
    many = "each cell" if cells == "auto" else f"{n:,} cell{'s' * (n != 1)}"
    least = "at least " if "auto" in (order, cells) else ""
    return [
        f"{many} will take about {found.seconds_a_cell * n:.0f} s, all {least}{found.bytes / 1e6:,.0f} MB of "
        "memory (--certificate row-norms is faster)"
    ]


def _sample(paths: tuple[str, ...], seed: int, how: DataFormat, jobs: int, progress: Progress) -> Rows | None:
    """Read the rows that the choice is made for: a sample, so that any amount may stream by."""
    if not paths:
        return None
    from svmfast.cli.inputs import read_through
    from svmfast.methods.judge import MOST_ROWS
    from svmfast.methods.row_sample import RowSample

    sample = RowSample(MOST_ROWS, seed)
    for path in paths:
        for block in read_through(path, how, jobs, progress):
            sample.add(block.rows, block.labels)
    return sample.result()[0]


def _lines(report: ApproximationReport, model: str, output: str, before: int, after: int) -> list[str]:
    of = f"{report.n_sv:,} support vectors, {report.features:,} features"
    lines = [
        f"model       {model}: {report.svm_type}, {report.kernel} kernel, {of}, "
        f"{report.functions:,} decision function{'s' * (report.functions != 1)}"
    ]
    if report.exact:
        lines.append(f"expansion   order {report.order}, exact: this kernel is a polynomial")
    else:
        lines += _expansion_lines(report)
    if report.certified_percent is not None:
        of_svs = ": their label is provably the exact model's (svmfast predict --certify)"
        rows = "rows of --data" if report.certified_on == "data" else "support vectors"
        rows += " and points between them" if report.certified_on != "data" and report.steps else ""
        lines.append(f"certified   {report.certified_percent:.2f}% of the {rows}{of_svs}")
    lines.append(f"numbers     {report.numbers_before:,} -> {report.coefficients:,}")
    counts = f"{report.operations_before:,.0f} -> {report.operations:,.0f}"
    lines.append(f"operations  {counts} multiply-adds a row (counted)")
    factor = f"{before / after:.1f}x smaller" if after < before else f"{after / before:.1f}x LARGER"
    lines.append(f"bytes       {before:,} -> {after:,} ({factor})")
    lines.append(f"time        {report.seconds:.2f} s")
    lines.append(f"written     {output}")
    return lines


def _expansion_lines(report: ApproximationReport) -> list[str]:
    """Where and to which order; and how that was found, if it was."""
    orders = ", ".join(f"order {order}: {count:,}" for order, count in report.orders.items())
    where = f"about the {report.center}" if report.cells == 1 else f"about {report.cells:,} centres"
    line = f"expansion   order {report.order} {where}" + (", calibrated" if report.calibrated else "")
    if len(report.orders) > 1:
        line += f" ({orders})"
    if report.center_errors:
        errors = ", ".join(f"{name} {error:.3g}" for name, error in report.center_errors.items())
        line += f"; mean error on the support vectors: {errors}"
    lines = [
        line,
        f"gamma       {report.gamma:.6g}; trusted at order 2, for rows no farther out than the support "
        f"vectors, below {report.gamma_max_paper:.6g} (paper), {report.gamma_max_centred:.6g} (centred)",
    ]
    for step in report.steps:
        lines.append(
            f"tried       {step.cells:,} cell{'s' * (step.cells != 1)}, orders up to {step.order}: "
            f"{step.certified_percent:.2f}% certified, {step.operations:,.0f} multiply-adds a row with the "
            "exact model's for the others"
        )
    return lines
