"""``svmfast approximate``: one polynomial instead of thousands of support vectors."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.json_report import show
from svmfast.cli.messages import lines, remark, remarks, warning
from svmfast.cli.options import DataFormat
from svmfast.cli.units import MOST_64, Bytes, Duration, Real, Share, Whole, WholeOrAuto
from svmfast.errors import OptionError, UnsupportedError
from svmfast.formats.packing import without_ending

if TYPE_CHECKING:
    from svmfast.models.expansion import KernelExpansion

# Seconds that are announced.
WORTH_A_WORD = 2.0
_MODEL_NAMES = (".txt", ".model")


def default_output(model: str) -> str:
    """Return where the result goes when nobody says: ``model.approx.txt`` beside ``model.txt``."""
    model = without_ending(model)
    root, ending = os.path.splitext(model)
    return f"{root}.approx{ending}" if ending in _MODEL_NAMES else f"{model}.approx.txt"


#: Exit status where the result is no better than the exact model.
NOTHING_WRITTEN = 1


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
    help="Rows like those to predict: a quarter measures, the others choose cells and orders where there is "
    "a choice. Labels play no part. Repeatable.",
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
@click.option(
    "--time-limit",
    type=Duration(),
    metavar="TIME",
    help="auto: look for about so long, such as 90s or 10m, and take the best found until then.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Write OUT even where more than 10% differ from the exact model, or that is the better choice.",
)
@click.option("--seed", type=Whole(0, MOST_64), default=0, show_default=True, help="Of k-means and samples.")
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
    time_limit: float | None,
    force: bool,
    seed: int,
    memory: int,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
) -> int:
    """Replace the support vectors of MODEL by truncated expansions about one centre or many.

    A prediction then costs the same however many support vectors there were. Linear and polynomial kernels
    are polynomials already: they are converted without loss. The report goes to stderr.

    The report begins with how many labels differ from MODEL's (regression: the error over the spread of the
    values), measured on rows of --data that chose nothing, else on support vectors and points between them.
    Above 1% there is a warning, with -q too. Above 10% nothing is written and the exit status is 1, unless
    --force is given. The same holds with auto where the exact model is the better choice.
    """
    if no_certificate:
        certificate = "none"
    sampled = bool(data) or order == "auto" or cells != 1 or max_bytes is not None
    if target_certified is not None and "auto" not in (order, cells):
        raise OptionError(
            "--target-certified is what auto aims at; it goes with --order auto or --cells auto"
        )
    if time_limit is not None and "auto" not in (order, cells):
        raise OptionError("--time-limit goes with --order auto or --cells auto")
    if tolerance is not None and not sampled:
        raise OptionError(
            "--tolerance has nothing to act on: it goes with --data, --order auto, --cells or --max-bytes"
        )
    if embed_exact and certificate == "none":
        raise OptionError("--embed-exact needs the certificate, which says what the exact model must answer")
    from svmfast.cli.approximate_report import report_lines
    from svmfast.cli.inputs import check_width, open_model, read_sample
    from svmfast.cli.progress import progress_bar
    from svmfast.evaluation.timing import times_as_fast
    from svmfast.formats.detect import model_bytes, save_model
    from svmfast.formats.svmlight import read_svmlight
    from svmfast.formats.target import stored_size
    from svmfast.methods.approximate.certification_sample import MOST_ROWS
    from svmfast.methods.approximate.convert import TARGET, approximate
    from svmfast.methods.common.probability_lines import probability_lines as outcome
    from svmfast.methods.common.refit_probabilities import probabilities_after
    from svmfast.models.expansion import KernelExpansion

    loaded = open_model(model, memory, quiet)
    if not isinstance(loaded.model, KernelExpansion):
        raise UnsupportedError(f"{model} is a {loaded.model.kind} model already", "give the LIBSVM model")
    if tolerance is not None and not loaded.model.head.is_regression:
        raise OptionError(
            f"--tolerance is for regression; of a {loaded.model.head.svm_type} model labels are certified"
        )
    calibrating = None if calibrate is None else read_svmlight(calibrate, threads=jobs, **how.reading()).rows
    if calibrate is not None and calibrating is not None:
        check_width(how, calibrate, loaded.model, calibrating)
    remarks(_foreseen(loaded.model, order, cells, certificate, jobs), quiet)
    with progress_bar(quiet) as progress:
        sample = read_sample(data, MOST_ROWS, seed, how, jobs, quiet, progress, loaded.model)
        made, report = approximate(
            loaded.model,
            order=order,
            cells=cells,
            center=center,
            data=None if sample is None else sample.result()[0],
            data_seen=None if sample is None else sample.seen,
            target=TARGET if target_certified is None else target_certified,
            tolerance=tolerance,
            max_bytes=max_bytes,
            size_of=lambda made: stored_size(output, model_bytes(made)),
            race=times_as_fast,
            time_limit=time_limit,
            calibrate=calibrating,
            certificate=certificate,
            embed_exact=embed_exact,
            force=force,
            memory_limit=memory,
            seed=seed,
            threads=jobs,
            provenance={"source": loaded.identity},
            progress=progress,
        )
    refused = report.refusal is not None and not force
    size = None if refused else save_model(made, output)
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
        show(values, written=size is not None)
    if size is None:
        remark(f"{report.refusal}; nothing was written (--force writes it)")
        return NOTHING_WRITTEN
    if report.difference_warning is not None:
        warning(report.difference_warning)
    if not quiet:
        lines(report_lines(report, model, output, loaded.n_bytes, size), err=True)
        lines(outcome(probabilities), err=True)
    remarks(report.warnings, quiet)
    if size >= loaded.n_bytes:
        remark(f"the file grew from {loaded.n_bytes:,} to {size:,} bytes", quiet)
    return 0


def _foreseen(
    model: KernelExpansion, order: int | str, cells: int | str, certificate: str, jobs: int
) -> list[str]:
    """What it will take, said before it is begun; nothing where that is next to nothing."""
    if model.kernel.kind != "rbf":
        return []
    from svmfast.methods.approximate.operations import foreseen

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
