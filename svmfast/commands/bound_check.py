"""Check for which gamma an approximation of an RBF model is accurate on DATA.

Inside the validity bound every term of the expansion is accurate to 3.05 %. At order 2 the bound is the
paper's, max||x||^2 ||z||^2 < 1/(16 gamma^2) over the support vectors x and a row z; other orders have other
constants in place of 1/16. Without a model the rows of DATA serve as both x and z, and gamma_max is where the
first row leaves the bound. 'centered' measures all vectors from their mean, as approximate can.

With `model` or `gamma` the exit status is the result: 0 if every row is inside, else 1. An approximated model
is checked with its own orders and centers. If it has a certificate, the share of rows whose label is provably
the exact model's (regression: whose error bound is at most `tolerance`) is printed too, and
`require_certified` decides by that share.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from svmfast.command import NEGATIVE, QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.errors import OptionError
from svmfast.options import Bounded, Reading, argument, as_reading, made, option
from svmfast.progress import Listener
from svmfast.threads import thread_count
from svmfast.values import Choice, InputFile, ModelFile, Real, Share, Whole, is_path, percentage

if TYPE_CHECKING:
    from svmfast.commands.data_check import DataCheck
    from svmfast.evaluation.bound_check import BoundCheck
    from svmfast.models.base import Model
    from svmfast.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read."""

    data: str = argument(InputFile("data"))


@dataclass(frozen=True, kw_only=True)
class BoundCheckOptions(Bounded):
    """Options of ``bound-check``."""

    model: Any = option(
        None, ModelFile(), "Check whether the rows of DATA are inside the bound of this model."
    )
    gamma: float | None = option(
        None, Real(0, above=True), "Without `model`: check the rows against each other for this kernel width."
    )
    order: int | None = option(
        None,
        Whole(0, 16),
        "Order of the expansion to check; an approximated model is checked with its own orders.",
        metavar="K",
        shown="2",
    )
    center: Literal["auto", "origin", "mean"] | None = option(
        None,
        Choice("auto", "origin", "mean"),
        "Center of the expansion of an exact model: the origin (as in the paper), the mean, or (auto) the "
        "better of the two.",
        shown="auto",
    )
    require_certified: float | None = option(
        None,
        Share(zero=True, whole=True),
        "Decide instead by whether at least this share of the labels (regression: values) is certified, for "
        "example 99%.",
    )
    tolerance: float | None = option(
        None,
        Real(0),
        "A row is certified only if its error bound is at most this; regression needs it.",
        metavar="ERROR",
    )


@takes(BoundCheckOptions)
def bound_check(
    data: Any,
    *,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> BoundCheck:
    """Check for which gamma RBF models can be approximated, or whether rows are inside the bound.

    Parameters
    ----------
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset, table in memory or path
        A file is read block by block, in bounded memory.
    {options}

    Returns
    -------
    BoundCheck
        ``report.verdict``, ``report.paper.gamma_max``, ``report.centered.gamma_max``, ``report.inside``,
        ``report.certified_percent``.

    Raises
    ------
    OptionError
        Two options exclude each other, or one needs another.
    UnsupportedError
        No validity bound is known for the model.
    """
    from svmfast.commands.data_check import DataCheck
    from svmfast.commands.given import model_of, rows_of, with_scaling_of
    from svmfast.evaluation.bound_check import check_data, check_model
    from svmfast.formats.data import check_replayable

    chosen = made(BoundCheckOptions, options)
    model, gamma, order, memory = chosen.model, chosen.gamma, chosen.order, chosen.memory
    if model is not None and gamma is not None:
        raise OptionError("`model` and `gamma` exclude each other: a model has its own gamma")
    for name in ("require_certified", "tolerance"):
        if getattr(chosen, name) is not None and model is None:
            raise OptionError(f"`{name}` needs `model`")
    listener, reading, cores = listener or Listener(), as_reading(reading), thread_count(threads)
    asked: dict[str, Any] = {
        "center": chosen.center or "auto",
        "required_percent": None
        if chosen.require_certified is None
        else percentage(chosen.require_certified),
        "tolerance": chosen.tolerance,
        "data": os.fspath(data) if is_path(data) else getattr(data, "path", None) or "the data",
    }
    if model is None:
        reading = with_scaling_of(reading, [], memory=memory)
        check = DataCheck(None, reading, listener)
        if is_path(data):
            check_replayable(os.fspath(data))
        else:
            data = rows_of(data, reading=reading)  # once, for several passes
            check = replace(check, reading=Reading(scale=reading.scale))

        def passes() -> Iterable[Rows]:
            return (rows for rows, _ in _blocks(data, check, cores))

        return replace(check_data(passes, gamma, order=2 if order is None else order), **asked)
    name = os.fspath(model) if is_path(model) else "the model"
    judged, _ = model_of(model, "the model", listener.note, memory)
    reading = with_scaling_of(reading, [(name, judged)], memory=memory)
    judged = judged.unscaled
    _check_combination(judged, chosen)
    blocks = _checked(data, DataCheck(judged, reading, listener), asked["data"], cores)
    report = check_model(blocks, judged, order=order, tolerance=chosen.tolerance, threads=cores)
    return replace(report, **asked, model=name)


def _check_combination(model: Model, options: BoundCheckOptions) -> None:
    required = options.require_certified
    for given in ("center", "order"):
        if model.expansion is None and getattr(options, given) is not None:
            raise OptionError(f"`{given}` is for exact models: an approximated model has its own")
    for given in ("require_certified", "tolerance"):
        if not model.certifies and getattr(options, given) is not None:
            raise OptionError(f"`{given}`: the model has no certificate")
    if required is not None and options.tolerance is None and model.head.is_regression:
        raise OptionError(
            "values are certified within a tolerance; give `tolerance`, the largest error to accept"
        )


def _blocks(data: Any, check: DataCheck, threads: int) -> Iterator[tuple[Rows, Sequence[str] | None]]:
    """Yield the scaled rows of a file or of an object, with the columns if they are a table."""
    reading = check.reading
    if is_path(data):
        from svmfast.formats.data import read_through

        for block in read_through(os.fspath(data), reading, threads, check.heard.progress):
            yield block.rows, block.columns
        return
    from svmfast.commands.given import rows_of

    seen: list[Sequence[str]] = []
    rows = rows_of(data, reading=reading, see=seen.append, see_array=check.array)
    for part in [rows] if reading.scale is None else reading.scale.parts(rows):
        yield part, seen[0] if seen else None


def _checked(data: Any, check: DataCheck, name: str, threads: int) -> Iterator[Rows]:
    """Yield the rows of data; the scale of the first ones is compared with the model's."""
    from svmfast.evaluation.scale_check import ScaleCheck

    assert check.model is not None
    scale = ScaleCheck(check.model, scaled=check.reading.scale is not None)
    for number, (rows, columns) in enumerate(_blocks(data, check, threads)):
        if not number:
            check.columns(name, columns)
            check.width(name, rows, columns)
        scale.add(rows)
        yield rows
    verdict = scale.verdict()
    if verdict is not None:
        check.heard.warn(f"{name}: {verdict}")


def run(front: Any, data: str, **options: Any) -> int:
    """Print the check; the exit status is its verdict."""
    report = front.call(bound_check, data, **options)
    front.report(report)
    return NEGATIVE if report.verdict is False else 0


COMMAND = Verb(
    **listed("bound-check"),
    description=__doc__,
    takes=(Files, BoundCheckOptions),
    run=run,
    reports=("svmfast.evaluation.bound_check:BoundCheck",),
    quiet=QUIET_BUT_REPORT,
)
