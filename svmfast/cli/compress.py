"""``svmfast compress``: thousands of support vectors become a few, in a file svm-predict loads."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.json_report import held_out, show
from svmfast.cli.messages import line, lines, remark, remarks, rounded_up
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Bytes, Real, Share, Whole
from svmfast.display import shell_line
from svmfast.errors import OptionError, UnsupportedError
from svmfast.formats.packing import without_ending

if TYPE_CHECKING:
    from svmfast.methods.compress.compressor import CompressReport

_NEGATIVE = 1


def default_output(model: str) -> str:
    """Return where the result goes when nobody says: ``name.compressed.model`` beside ``name.model``."""
    model = without_ending(model)
    root, ending = os.path.splitext(model)
    return f"{root}.compressed.model" if ending == ".model" else f"{model}.compressed.model"


@click.command("compress")
@click.argument("model", type=Input("model", role="exact"))
@click.option(
    "-o",
    "--output",
    type=Output(role="model", after="model", named=default_output),
    metavar="OUT",
    help="Where to write (default: name.compressed.model, beside MODEL).",
)
@click.option("--sv", type=Whole(1), metavar="N", help="How many support vectors to keep.")
@click.option("--ratio", type=Share(), metavar="5%", help="The same as a share of the model's own.")
@click.option(
    "--max-diff",
    type=Share(),
    metavar="0.5%",
    help="Find the fewest for which at most this share of held-out rows gets another label (regression: "
    "root mean square difference over the spread of the values).",
)
@click.option("--max-bytes", type=Bytes(), metavar="32k", help="Find the most whose file is this small.")
@click.option(
    "--data",
    "data",
    type=Input("data"),
    multiple=True,
    metavar="FILE",
    help="Rows to stay close on. Labels only serve probabilities: 0 will do where there are none. "
    "May be given several times.",
)
@click.option(
    "--rows",
    "max_rows",
    type=Whole(1),
    default=60000,
    show_default=True,
    metavar="N",
    help="Use at most this many rows of --data, drawn at random.",
)
@click.option(
    "--start",
    type=click.Choice(["auto", "kmeans", "lars", "greedy", "random"]),
    default="auto",
    show_default=True,
    help="Where the vectors start; auto tries kmeans and lars and keeps the better on held-out rows.",
)
@click.option("--select-only", is_flag=True, help="Keep the start's vectors where they are (the baseline).")
@click.option(
    "--sparse-tolerance",
    type=Real(0, 1),
    default=0.0,
    metavar="T",
    help="Drop entries below T (0 to 1) times the largest value, and let the others make up for them.",
)
@click.option(
    "--iterations",
    type=Whole(0),
    default=800,
    show_default=True,
    metavar="N",
    help="Most steps of L-BFGS.",
)
@click.option(
    "--memory",
    type=Bytes(),
    default="2G",
    show_default=True,
    metavar="SIZE",
    help="Memory that the model may take, and the matrices.",
)
@options.seed
@options.as_json
@options.quiet
@options.rows_format
@options.jobs
def command(
    model: str,
    output: str,
    sv: int | None,
    ratio: float | None,
    max_diff: float | None,
    max_bytes: int | None,
    data: tuple[str, ...],
    max_rows: int,
    start: str,
    select_only: bool,
    sparse_tolerance: float,
    iterations: int,
    memory: int,
    seed: int,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
) -> int:
    """Compress MODEL to a few support vectors that are moved to where they say the most.

    The result is a LIBSVM model. The report, on stderr, tells how far it is from MODEL on rows held out.
    Exit status 1: compression does not pay, and nothing was written.
    """
    wishes = {"--sv": sv, "--ratio": ratio, "--max-diff": max_diff, "--max-bytes": max_bytes}
    from svmfast.methods.compress.search import check_one_wish, search

    check_one_wish(wishes)
    if sparse_tolerance and select_only:
        raise OptionError("--sparse-tolerance thins moved vectors; --select-only moves none")

    from svmfast.cli.inputs import labels_of, open_model, read_sample, remark_sample
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import save_model
    from svmfast.formats.libsvm_model import libsvm_model_bytes
    from svmfast.formats.target import stored_size
    from svmfast.methods.compress.compressor import Settings, prepare
    from svmfast.models.expansion import KernelExpansion

    began = time.perf_counter()
    loaded = open_model(model, memory, quiet)
    if not isinstance(loaded.model, KernelExpansion):
        raise UnsupportedError(f"{model} is a {loaded.model.kind} model", "give the LIBSVM model")
    settings = Settings(start, select_only, sparse_tolerance, iterations, seed, jobs, memory)
    with progress_bar(quiet) as progress:
        sample = read_sample(data, max_rows, seed, how, jobs, quiet, progress, loaded.model)
        remark_sample(sample, quiet)
        rows, labels = labels_of(sample, how)
        compressor = prepare(loaded.model, rows, labels, settings, progress)
        found = search(
            compressor,
            lambda made: stored_size(output, libsvm_model_bytes(made)),
            sv=sv,
            ratio=ratio,
            max_diff=max_diff,
            max_bytes=max_bytes,
            progress=progress,
        )
    written = None if found.model is None else save_model(found.model, output)
    report = found.report
    if report is not None:
        report = replace(report, bytes=written, source_bytes=loaded.n_bytes)
    if as_json:
        show(_values(report, found.verdict), written=written is not None)
    if report is not None:
        remarks(report.notes, quiet)
    if not quiet:
        if report is not None:
            lines(_lines(report), err=True)
        if written is not None:
            if report is not None and report.statement.label_agreement is not None:
                error = rounded_up(report.statement.quantile_999)
                words = ("svmfast", "predict", "DATA", output, "--exact", model, "--assume-error", error)
                line(f"fallback     {shell_line(words)} (statistical)", err=True)
            line(f"written      {output} in {time.perf_counter() - began:.1f} s", err=True)
    if found.model is None:
        remark(found.verdict)
        return _NEGATIVE
    return 0


def _values(report: CompressReport | None, verdict: str) -> dict[str, object]:
    """Return the figures of the JSON report; none but the verdict where nothing was made."""
    if report is None:
        return {"verdict": verdict}
    values = asdict(report)
    del values["notes"]  # of the head
    return {
        "verdict": verdict or "compressed",
        "bytes_exact": values.pop("source_bytes"),
        "support_vectors_exact": values.pop("source_support_vectors"),
        "held_out": held_out(values.pop("statement")),
        **values,
    }


def _lines(report: CompressReport) -> list[str]:
    said, n = report.statement, report.source_support_vectors
    lines = [f"vectors      {n:,} -> {report.support_vectors:,} ({report.support_vectors / n:.2%})"]
    if report.bytes is not None and report.source_bytes is not None:
        factor = report.source_bytes / report.bytes
        lines.append(f"bytes        {report.source_bytes:,} -> {report.bytes:,} ({factor:.1f}x smaller)")
    lines.append(f"rows         {report.rows_fitted:,} fitted, {report.rows_choosing:,} to choose by")
    for start in report.starts:
        agreement = "" if start.label_agreement is None else f"labels agree {start.label_agreement:.2%}, "
        lines.append(f"start        {start.name}: {agreement}median difference {start.median_difference:.3g}")
    if report.method == "reduced set":
        lines.append(
            f"moved        from {report.start}, {report.iterations:,} iterations "
            f"({report.evaluations:,} evaluations), stopped by: {report.stopped}"
        )
    elif report.method == "collapse":
        lines.append("collapsed    a linear kernel needs one vector a function and class: nothing is lost")
    lines.append(
        f"difference   of decision values on {said.rows:,} held-out rows ({said.rows_from}): half below "
        f"{said.median:.3g}, 99% below {said.quantile_99:.3g}, 99.9% below {said.quantile_999:.3g}"
    )
    if said.label_agreement is not None:
        lines.append(
            f"labels       agree on {said.label_agreement:.2%} of them; "
            f"95% confidence: {said.agreement_low:.2%} to {said.agreement_high:.2%}"
        )
    else:
        lines.append(f"relative     root mean square difference over their spread: {said.relative_rms:.2%}")
    if report.sizes_tried:
        tried = ", ".join(f"{size:,}: {value:.2%}" for size, value in report.sizes_tried)
        lines.append(f"sizes tried  {tried}")
    return lines
