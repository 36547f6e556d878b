"""``svmfast bound-check``: how large gamma may be for data, or whether data lies inside a model's bound."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from svmfast.cli import options
from svmfast.cli.files import Input
from svmfast.cli.json_report import show
from svmfast.cli.messages import lines
from svmfast.cli.options import DataFormat
from svmfast.cli.units import Real, Share, Whole
from svmfast.errors import OptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from svmfast.evaluation.bound_check import Bound, BoundReport
    from svmfast.formats.detect import LoadedModel
    from svmfast.formats.svmlight import Dataset
    from svmfast.models.base import Model
    from svmfast.rows import Rows

OUTSIDE = 1


@click.command("bound-check")
@click.argument("data", type=Input("data"))
@click.option(
    "--model",
    type=Input("model"),
    metavar="MODEL",
    help="Are the rows of DATA inside the bound of this model?",
)
@click.option("--gamma", type=Real(0, above=True), help="Are they, for a kernel of this width?")
@click.option(
    "--order",
    type=Whole(0, 16),
    show_default="2",
    metavar="K",
    help="The order of the expansion to judge; an approximated model is judged by its own.",
)
@click.option(
    "--center",
    type=click.Choice(["auto", "origin", "mean"]),
    show_default="auto",
    help="The expansion of an exact MODEL to judge: the paper's about the origin, one about the mean, or "
    "(auto) either.",
)
@click.option(
    "--require-certified",
    type=Share(zero=True, whole=True, percent=True),
    metavar="SHARE%",
    help="The verdict is instead: are so many labels certified? For example 99%.",
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
@options.allow_edited
@options.rows_format
@options.jobs
def command(
    data: str,
    model: str | None,
    gamma: float | None,
    order: int | None,
    center: str | None,
    require_certified: float | None,
    tolerance: float | None,
    as_json: bool,
    quiet: bool,
    memory: int,
    allow_edited: bool,
    how: DataFormat,
    jobs: int,
) -> int:
    """Tell for which gamma an approximation of RBF models can be trusted on DATA.

    The validity bound keeps every term of the expansion within 3.05 %. At order 2 it is the paper's,
    max||x||^2 ||z||^2 < 1/(16 gamma^2) over the support vectors x and a row z; other orders have their own
    numbers for 1/16. Without a model the rows of DATA stand for both, and gamma_max is where the first row
    leaves the bound. 'centred' measures all vectors from their mean, as approximate may do too.

    With --model or --gamma the exit status is the verdict: 0 when every row is inside, else 1. A model that
    is approximated already is judged by its own orders and centres. If it carries a certificate, the share
    of rows whose label is provably the exact model's (regression: whose error bound is at most --tolerance)
    is shown too, and --require-certified makes that the verdict. A calibrated model, or one shortened by
    approximate --max-bytes, has no validity bound: only its certificate can be asked for.
    """
    if model is not None and gamma is not None:
        raise OptionError("--model and --gamma exclude each other: a model has a gamma of its own")
    for option, value in (("--require-certified", require_certified), ("--tolerance", tolerance)):
        if value is not None and model is None:
            raise OptionError(f"{option} needs --model")
    asked = _Asked(center or "auto", require_certified, tolerance)
    if model is None:
        report = _check_data(data, gamma, 2 if order is None else order, how, quiet, jobs)
    else:
        from svmfast.cli.inputs import open_model

        opened = open_model(model, memory, quiet, allow_edited=allow_edited)
        report = _check_model(data, opened, asked, order, center is not None, how, quiet, jobs)
    if as_json:
        show(_as_dict(report, asked))
    else:
        lines(_lines(report, data, model, asked))
    return OUTSIDE if asked.verdict(report) is False else 0


@dataclass(frozen=True)
class _Asked:
    """What the verdict is about."""

    center: str
    certified_percent: float | None
    tolerance: float | None

    def verdict(self, report: BoundReport) -> bool | None:
        """Tell what the exit status says: yes or no; None where nothing is judged."""
        if self.certified_percent is None:
            return report.inside(self.center)
        assert report.certified_percent is not None, "_check_model sees to it"
        return report.certified_percent >= self.certified_percent

    def sentence(self, report: BoundReport) -> str | None:
        """Return the verdict in words."""
        verdict = self.verdict(report)
        if self.certified_percent is not None:
            share = f"{self.certified_percent:g}% of the rows are certified (--require-certified)"
            return f"met: at least {share}" if verdict else f"not met: fewer than {share}"
        if report.exact:
            return "inside: the model converts exactly, no bound applies"
        if verdict is None:
            return None
        return "inside: every row is" if verdict else "outside: some rows are"


def _check_data(
    data: str, gamma: float | None, order: int, how: DataFormat, quiet: bool, jobs: int
) -> BoundReport:
    from svmfast.cli.inputs import ReplayableInput
    from svmfast.cli.progress import progress_bar
    from svmfast.evaluation.bound_check import check_data

    with progress_bar(quiet) as progress, ReplayableInput(data) as again:
        blocks = lambda: (block.rows for block in again.datasets(how, jobs, progress))  # noqa: E731
        return check_data(blocks, gamma, order=order)


def _check_model(
    data: str,
    opened: LoadedModel,
    asked: _Asked,
    order: int | None,
    choose_center: bool,
    how: DataFormat,
    quiet: bool,
    jobs: int,
) -> BoundReport:
    from svmfast.cli.inputs import read_through
    from svmfast.cli.progress import progress_bar
    from svmfast.evaluation.bound_check import check_model
    from svmfast.models.base import BoundedModel, bounded
    from svmfast.models.certified import certifies
    from svmfast.models.expansion import KernelExpansion

    model = opened.model
    for option, given in (("--center", choose_center), ("--order", order is not None)):
        if given and not isinstance(model, KernelExpansion):
            raise OptionError(f"{option} is for exact models: what was approximated already has its own")
    if not certifies(model):
        for option, value in (
            ("--require-certified", asked.certified_percent),
            ("--tolerance", asked.tolerance),
        ):
            if value is not None:
                raise OptionError(f"{option}: the model carries no certificate")
    if asked.certified_percent is not None and asked.tolerance is None and model.head.is_regression:
        raise OptionError("regression has no label to certify; give --tolerance, the largest error to accept")
    if isinstance(model, BoundedModel) and not bounded(model) and asked.certified_percent is None:
        certified = "--require-certified judges by the certificate"
        raise UnsupportedError(
            f"{opened.path}: no validity bound is known of a model that was calibrated, shortened to fit a "
            "size or edited",
            certified if certifies(model) else "compare it with the exact model",
        )
    with progress_bar(quiet) as progress:
        blocks = _fitting(read_through(data, how, jobs, progress), how, data, model)
        return check_model(blocks, model, order=order, tolerance=asked.tolerance, threads=jobs)


def _fitting(blocks: Iterable[Dataset], how: DataFormat, data: str, model: Model) -> Iterator[Rows]:
    from svmfast.cli.inputs import check_width, say_scale
    from svmfast.evaluation.scale import ScaleCheck

    scale = ScaleCheck(model)
    for number, block in enumerate(blocks):
        if number == 0:
            check_width(how, data, model, block.rows)
        scale.add(block.rows)
        yield block.rows
    say_scale(data, scale)


def _as_dict(report: BoundReport, asked: _Asked) -> dict[str, object]:
    required = asked.certified_percent
    return {
        "rows": report.rows,
        "features": report.features,
        "gamma": report.gamma,
        "orders": list(report.orders),
        "exact_conversion": report.exact,
        "inside": report.inside(asked.center),
        "certified": report.certified,
        "certified_percent": report.certified_percent,
        "tolerance": asked.tolerance,
        "required_certified_percent": required,
        "met": None if required is None else asked.verdict(report),
        **{name: _bound_dict(getattr(report, name)) for name in ("paper", "centred", "own")},
    }


def _bound_dict(bound: Bound | None) -> dict[str, object] | None:
    if bound is None:
        return None
    values = asdict(bound)
    if values["gamma_max"] == math.inf:
        values["gamma_max"] = None  # all vectors are zero; JSON has no infinity
    return {**values, "inside": bound.inside}


def _lines(report: BoundReport, data: str, model: str | None, asked: _Asked) -> list[str]:
    out = [f"data        {data}: {report.rows:,} rows, {report.features:,} features"]
    if model is not None:
        gamma = "" if report.gamma is None else f": gamma {report.gamma:.6g}"
        out.append(f"model       {model}{gamma}")
    elif report.gamma is not None:
        out.append(f"gamma       {report.gamma:.6g}")
    if report.orders:
        out.append(f"order       {_span(report.orders)}")
    for name, about, bound in (
        ("paper", "the origin", report.paper),
        ("centred", "the mean", report.centred),
        ("own", "the model's centres", report.own),
    ):
        if bound is not None:
            out.append(f"{name:<11} {_bound_text(bound, about, report.rows)}")
    if report.certified_percent is not None:
        what = "labels are provably the exact model's"
        if report.regression:
            what = f"values are provably within {asked.tolerance:g} of the exact model's"
        elif asked.tolerance is not None:
            what += f", the values within {asked.tolerance:g}"
        share = f"{report.certified:,} of {report.rows:,}"
        out.append(f"certified   {share} {what} ({report.certified_percent:.2f}%)")
    if report.paper is not None and report.centred is None:
        out.append("centred     not computed: the data is too wide to keep a mean")
    verdict = asked.sentence(report)
    if verdict is not None:
        out.append(f"verdict     {verdict}")
    return out


def _span(orders: tuple[int, ...]) -> str:
    return f"{orders[0]}" if len(orders) == 1 else f"{orders[0]} to {orders[-1]}, each cell by its lowest"


def _bound_text(bound: Bound, about: str, rows: int) -> str:
    parts = []
    if bound.gamma_max is not None:
        parts.append(f"gamma_max {bound.gamma_max:.6g}")
    if bound.max_squared_norm is not None:
        parts.append(f"max||z||^2 {bound.max_squared_norm:.6g} about {about}")
    if bound.rows_inside is not None:
        parts.append(f"{bound.rows_inside:,} of {rows:,} rows inside ({bound.inside_percent:.2f}%)")
    return ", ".join(parts)
