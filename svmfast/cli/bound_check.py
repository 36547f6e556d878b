"""``svmfast bound-check``: how large gamma may be for data, or whether data lies inside a model's bound."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.options import DataFormat
from svmfast.errors import OptionError

if TYPE_CHECKING:
    from svmfast.evaluation.bound_check import Bound, BoundReport

OUTSIDE = 1


@click.command("bound-check")
@click.argument("data")
@click.option("--model", metavar="MODEL", help="Are the rows of DATA inside the bound of this model?")
@click.option("--gamma", type=float, help="Are they, for a kernel of this width?")
@click.option(
    "--center",
    type=click.Choice(["auto", "origin", "mean"]),
    default="auto",
    show_default=True,
    help="The expansion to judge: the paper's about the origin, one about the mean, or either.",
)
@click.option(
    "--require-certified",
    metavar="SHARE%",
    callback=options.percentage,
    help="The verdict is instead: are so many labels certified? For example 99%.",
)
@options.as_json
@options.quiet
@options.data_format
@options.jobs
def command(
    data: str,
    model: str | None,
    gamma: float | None,
    center: str,
    require_certified: float | None,
    as_json: bool,
    quiet: bool,
    how: DataFormat,
    jobs: int,
) -> int:
    """Tell for which gamma the second-order approximation of RBF models can be trusted on DATA.

    The paper's bound, max||x||^2 ||z||^2 < 1/(16 gamma^2) over the support vectors x and a row z, keeps
    every term of the expansion within 3.05 %. Without a model the rows of DATA stand for both, and gamma_max
    is where the first row leaves the bound. 'centred' measures all vectors from their mean, as approximate
    may do too.

    With --model or --gamma the exit status is the verdict: 0 when every row is inside, else 1. A model that
    is approximated already is held to its own bound; if it carries a certificate, the share of rows whose
    label is provably the exact model's is shown too, and --require-certified makes that the verdict.
    """
    if model is not None and gamma is not None:
        raise OptionError("--model and --gamma exclude each other: a model has a gamma of its own")
    if data == "-" and model == "-":
        raise OptionError("DATA and MODEL cannot both be standard input")
    if gamma is not None and not 0 < gamma < math.inf:
        raise OptionError(f"--gamma {gamma:g} is not a positive number")
    if require_certified is not None and model is None:
        raise OptionError("--require-certified needs --model")
    report = _check(data, model, gamma, how, quiet, jobs)
    if require_certified is not None and report.certified_percent is None:
        raise OptionError("--require-certified: the model carries no certificate of its labels")
    if as_json:
        click.echo(json.dumps(_as_dict(report, data, model, center), indent=2, allow_nan=False))
    else:
        click.echo(_as_text(report, data, model, center))
    if require_certified is not None and report.certified_percent is not None:
        return OUTSIDE if report.certified_percent < require_certified else 0
    return OUTSIDE if report.inside(center) is False else 0


def _check(
    data: str, model: str | None, gamma: float | None, how: DataFormat, quiet: bool, jobs: int
) -> BoundReport:
    from svmfast.cli.inputs import Again, open_model, read_through
    from svmfast.cli.progress import progress_bar
    from svmfast.evaluation.bound_check import check_data, check_model

    if model is None:
        with progress_bar(quiet) as progress, Again(data) as again:
            return check_data(lambda: (block.rows for block in again.datasets(how, jobs, progress)), gamma)
    loaded = open_model(model, quiet).model
    with progress_bar(quiet) as progress:
        return check_model(
            (block.rows for block in read_through(data, how, jobs, progress)), loaded, threads=jobs
        )


def _as_dict(report: BoundReport, data: str, model: str | None, center: str) -> dict[str, object]:
    return {
        "data": {"path": data, "rows": report.rows, "features": report.features},
        "model": model,
        "gamma": report.gamma,
        "exact": report.exact,
        "inside": report.inside(center),
        "certified": report.certified,
        "certified_percent": report.certified_percent,
        **{name: _bound_dict(getattr(report, name)) for name in ("paper", "centred", "own")},
    }


def _bound_dict(bound: Bound | None) -> dict[str, object] | None:
    if bound is None:
        return None
    values = asdict(bound)
    if values["gamma_max"] == math.inf:
        values["gamma_max"] = None  # all vectors are zero; JSON has no infinity
    return {**values, "inside": bound.inside}


def _as_text(report: BoundReport, data: str, model: str | None, center: str) -> str:
    lines = [f"data        {data}: {report.rows:,} rows, {report.features:,} features"]
    if model is not None:
        gamma = "" if report.gamma is None else f": gamma {report.gamma:.6g}"
        lines.append(f"model       {model}{gamma}")
    elif report.gamma is not None:
        lines.append(f"gamma       {report.gamma:.6g}")
    for name, about, bound in (
        ("paper", "the origin", report.paper),
        ("centred", "the mean", report.centred),
        ("own", "the model's centre", report.own),
    ):
        if bound is not None:
            lines.append(f"{name:<11} {_bound_text(bound, about, report.rows)}")
    if report.certified_percent is not None:
        share = f"{report.certified:,} of {report.rows:,} labels"
        lines.append(f"certified   {share} are provably the exact model's ({report.certified_percent:.2f}%)")
    if report.paper is not None and report.centred is None:
        lines.append("centred     not computed: the data is too wide to keep a mean")
    verdict = report.inside(center)
    if report.exact:
        lines.append("verdict     inside: the model converts exactly, no bound applies")
    elif verdict is not None:
        lines.append(f"verdict     {'inside: every row is' if verdict else 'outside: some rows are'}")
    return "\n".join(lines)


def _bound_text(bound: Bound, about: str, rows: int) -> str:
    parts = []
    if bound.gamma_max is not None:
        parts.append(f"gamma_max {bound.gamma_max:.6g}")
    if bound.max_squared_norm is not None:
        parts.append(f"max||z||^2 {bound.max_squared_norm:.6g} about {about}")
    if bound.rows_inside is not None:
        parts.append(f"{bound.rows_inside:,} of {rows:,} rows inside ({bound.inside_percent:.2f}%)")
    return ", ".join(parts)
