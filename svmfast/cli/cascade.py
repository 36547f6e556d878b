"""``svmfast cascade``: a fast model with the exact one behind it, for the rows it is not sure of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from svmfast.class_scores import shown_label
from svmfast.cli import options
from svmfast.cli.files import Input, Output
from svmfast.cli.json_report import show
from svmfast.cli.messages import count, line, lines, remark, warning
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Share, Whole
from svmfast.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from svmfast.methods.cascade.join import CascadeReport, ClassChange

#: Rows of --data that are used.
MOST_ROWS = 200_000
#: Exit status where the exact model alone is the better choice.
_NEGATIVE = 1


@click.command("cascade")
@click.argument("fast", type=Input("model"))
@click.argument("exact", type=Input("model"))
@click.option(
    "--data",
    "data",
    type=Input("data"),
    multiple=True,
    required=True,
    metavar="FILE",
    help="Rows like those to be predicted, on which neither model was trained; labels only serve the recall "
    "of each class. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=Output(role="model", after="fast", named="{}.cascade".format),
    metavar="OUT",
    help="Where to write (default: FAST.cascade).",
)
@click.option(
    "--max-diff",
    type=Share(),
    default="0.5%",
    show_default=True,
    metavar="SHARE%",
    help="The guarantee: at most this share of rows like these gets another label than EXACT's.",
)
@click.option(
    "--confidence",
    type=Share(),
    default="95%",
    show_default=True,
    metavar="SHARE%",
    help="The probability with which the guarantee holds.",
)
@click.option(
    "--per-class",
    is_flag=True,
    help="The limit holds among the rows of every class (by EXACT's labels), with --confidence for all "
    "classes together. 0.5% at 95% takes 598 different rows of each.",
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
@options.model_memory
@options.allow_edited
@options.rows_format
@options.jobs
def command(
    fast: str,
    exact: str,
    data: tuple[str, ...],
    output: str,
    max_diff: float,
    confidence: float,
    per_class: bool,
    max_rows: int,
    seed: int,
    as_json: bool,
    quiet: bool,
    memory: int,
    allow_edited: bool,
    how: DataFormat,
    jobs: int,
) -> int:
    """Join FAST, a model of any kind, and EXACT, the LIBSVM model it stands for, in one file.

    predict then answers a row with FAST where that is far enough from every boundary, and with EXACT
    elsewhere. How far is chosen on --data, so that --max-diff holds with --confidence: a statistical
    guarantee for rows like these at any gamma, where a certificate (approximate) is a proof for each row.

    A fifth of --data, drawn at random, decides whether the two together cost less than EXACT; the rest
    chooses how far, so that the guarantee holds for the files that are written. Copies of rows are refused.

    Exit status 1: the rows that decide say that EXACT alone costs no more, and nothing was written.
    """
    from svmfast.cli.inputs import labels_of, open_model, read_sample, remark_sample
    from svmfast.cli.probabilities import warn_of_cascade
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import save_model
    from svmfast.methods.cascade.join import join
    from svmfast.models.expansion import KernelExpansion

    given = open_model(fast, memory, quiet, allow_edited=allow_edited)
    wanted = open_model(exact, memory, quiet)
    if not isinstance(wanted.model, KernelExpansion):
        instead = "give the LIBSVM model"
        if isinstance(given.model, KernelExpansion):
            instead = f"{fast} is a LIBSVM model: swap FAST and EXACT"
        raise UnsupportedError(f"{exact} is a {wanted.model.kind} model", instead)
    if given.sha256 == wanted.sha256:
        raise OptionError("FAST is EXACT itself: there is nothing to be gained")
    warn_of_cascade(fast, exact, given.model, wanted.model)
    with progress_bar(quiet) as progress:
        sample = read_sample(data, max_rows, seed, how, jobs, quiet, progress, wanted.model)
        remark_sample(sample, quiet)
        rows, targets = labels_of(sample, how)
        assert rows is not None, "--data is required"
        made, report = join(
            given.model,
            wanted.model,
            rows,
            max_diff=max_diff,
            confidence=confidence,
            per_class=per_class,
            targets=targets,
            source=wanted.identity,
            seed=seed,
            threads=jobs,
            progress=progress,
        )
    size = save_model(made, output) if report.cheaper else None
    if as_json:
        values = report.as_dict()
        for key in ("operations", "operations_exact", "operations_fast"):
            values[key.replace("operations", "multiply_adds")] = values.pop(key)
        show({"bytes": size, **values}, written=size is not None)
    if not quiet:
        lines(_lines(report), err=True)
        if size is not None:
            line(f"written     {output}, {size:,} bytes", err=True)
    if size is None:
        remark(f"nothing written: the exact model alone costs no more, say {_deciding(report)}")
        return _NEGATIVE
    if report.operations is not None and report.operations >= report.operations_exact:
        warning(
            f"with the error that the guarantee needs the two together cost {report.operations:,.0f} "
            f"multiply-adds a row, the exact model alone {report.operations_exact:,.0f}; {_deciding(report)} "
            "expected less"
        )
    return 0


def _deciding(report: CascadeReport) -> str:
    """Name the rows that decided whether to join."""
    if not report.rows_deciding:
        return "the models' sizes (all rows are needed to choose the error)"
    return f"the {report.rows_deciding:,} rows that decide"


def _lines(report: CascadeReport) -> list[str]:
    n, differing = report.rows, report.labels_differing
    alone, choosing = report.labels_differing_without_fallback, report.rows_choosing
    claim = f"at most {report.labels_differing_limit_percent:.3g}% of rows like these"
    if report.per_class:
        claim = "the limits below hold for all classes at once"
    lines = [
        f"rows        {n:,}, {report.different_rows:,} of them different; {choosing:,} choose the error, "
        f"{report.rows_deciding:,} decide whether to join",
        f"fast alone  {alone:,} of {n:,} labels are not the exact model's ({alone / n:.3%})",
        f"error       {report.error:.6g}: rows whose values could be wrong by that much without another "
        "label are the fast model's",
        f"answered    {report.answered:,} of {n:,} rows by the fast model ({report.answered / n:.2%}), the "
        "others by the exact one",
        f"differing   {differing:,} of {n:,} ({differing / n:.3%}), {report.labels_differing_choosing:,} of "
        f"them among the {choosing:,}; {claim}, {report.confidence:.4g} confidence",
    ]
    if report.accuracy is not None:
        lines.append(
            f"accuracy    {report.accuracy_exact:.2f}% -> {report.accuracy:.2f}%, balanced "
            f"{report.balanced_accuracy_exact:.2f}% -> {report.balanced_accuracy:.2f}% (exact model, both)"
        )
    lines += [f"class {_class_line(one)}" for one in report.classes]
    if report.operations is not None:
        fewer = f"{report.operations_exact / report.operations:.1f}x fewer; " if report.operations else ""
        lines.append(
            f"operations  {report.operations_exact:,.0f} -> {report.operations:,.0f} multiply-adds a row "
            f"({fewer}counted)"
        )
    return lines


def _class_line(one: ClassChange) -> str:
    """What joining does to a class: its recall before and after, and the exact model's rows that it loses."""
    said = f"{shown_label(one.label)!s:<5} "
    if one.rows is not None:
        recall = "-" if one.recall is None else f"{one.recall_exact:.2f}% -> {one.recall:.2f}%"
        said += f"recall {recall} of {count(one.rows, 'row')}; "
    said += f"{one.labels_differing:,} of the exact model's {one.exact_rows:,} differ"
    limit = one.labels_differing_limit_percent
    return said if limit is None else f"{said}, at most {limit:.3g}%"
