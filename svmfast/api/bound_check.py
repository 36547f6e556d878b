"""``bound-check`` from Python: for which gamma is an expansion accurate on data?"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from svmfast.api.column_order import ColumnOrder
from svmfast.api.declared import takes
from svmfast.api.given import MODEL, check_array, check_width, is_path, open_model, rows_of, with_scaling_of
from svmfast.api.listener import Listener
from svmfast.api.verb_options import BoundCheckOptions
from svmfast.errors import OptionError, UnsupportedError, WrongTypeError
from svmfast.evaluation import bound_check as checks
from svmfast.evaluation.bound_check import Bound, BoundReport
from svmfast.evaluation.scale import ScaleCheck
from svmfast.models.base import BoundedModel, bounded
from svmfast.models.certified import certifies
from svmfast.models.expansion import KernelExpansion
from svmfast.models.memory import require_memory
from svmfast.models.scaled import unscaled
from svmfast.options import Reading, made
from svmfast.threads import thread_count
from svmfast.values import percentage

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.rows import Rows

Center = Literal["auto", "origin", "mean"]


@dataclass(frozen=True, kw_only=True, repr=False)
class BoundCheck(BoundReport):
    """A :class:`svmfast.BoundReport` with the options of the check, and the verdict.

    Attributes
    ----------
    data, model : str
        Names for the report; `model` is None if no model was given.
    center : {"auto", "origin", "mean"}
        The center of an exact model's expansion.
    require_certified : float or None
        The share of the labels that must be certified; 0.99 is 99%.
    tolerance : float or None
    """

    data: str = "the data"
    model: str | None = None
    center: Center = "auto"
    require_certified: float | None = None
    tolerance: float | None = None

    @property
    def verdict(self) -> bool | None:
        """Whether all rows are inside, or enough of them certified; None without a model or gamma."""
        if self.require_certified is None:
            return self.inside(self.center)
        assert self.certified_percent is not None, "bound_check ensures this"
        return self.certified_percent >= percentage(self.require_certified)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _sentence(self) -> str | None:
        verdict = self.verdict
        if self.require_certified is not None:
            share = f"{percentage(self.require_certified):g}% of the rows are certified (`require_certified`)"
            return f"met: at least {share}" if verdict else f"not met: fewer than {share}"
        if self.exact:
            return "inside: the model converts exactly, no bound applies"
        if verdict is None:
            return None
        return "inside: every row is within the bound" if verdict else "outside: some rows are beyond it"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures that docs/json.md describes."""
        required = self.require_certified
        return {
            "rows": self.rows,
            "features": self.features,
            "gamma": self.gamma,
            "orders": list(self.orders),
            "exact_conversion": self.exact,
            "inside": self.inside(self.center),
            "certified": self.certified,
            "certified_percent": self.certified_percent,
            "tolerance": self.tolerance,
            "required_certified_percent": None if required is None else percentage(required),
            "met": None if required is None else self.verdict,
            **{name: _bound_dict(getattr(self, name)) for name in ("paper", "centered", "own")},
        }

    def lines(self) -> list[str]:
        """Return the report as text."""
        out = [f"data        {self.data}: {self.rows:,} rows, {self.features:,} features"]
        if self.model is not None:
            gamma = "" if self.gamma is None else f": gamma {self.gamma:.6g}"
            out.append(f"model       {self.model}{gamma}")
        elif self.gamma is not None:
            out.append(f"gamma       {self.gamma:.6g}")
        if self.orders:
            out.append(f"order       {_span(self.orders)}")
        for name, about, bound in (
            ("paper", "the origin", self.paper),
            ("centered", "the mean", self.centered),
            ("own", "the model's centers", self.own),
        ):
            if bound is not None:
                out.append(f"{name:<11} {_bound_text(bound, about, self.rows)}")
        if self.certified_percent is not None:
            what = "labels are provably the exact model's"
            if self.regression:
                what = f"values are provably within {self.tolerance:g} of the exact model's"
            elif self.tolerance is not None:
                what += f", the values within {self.tolerance:g}"
            share = f"{self.certified:,} of {self.rows:,}"
            out.append(f"certified   {share} {what} ({self.certified_percent:.2f}%)")
        if self.paper is not None and self.centered is None:
            out.append("centered     not computed: the data is too wide to keep a mean")
        sentence = self._sentence()
        if sentence is not None:
            out.append(f"verdict     {sentence}")
        return out


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
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or path
        A file is read block by block, in bounded memory.
    {options}
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The answer does not
        depend on it.
    reading : Reading, optional
        The format of the rows, for data given by a path.
    listener : Listener, optional

    Returns
    -------
    BoundCheck
        ``report.verdict``, ``report.paper.gamma_max``, ``report.centered.gamma_max``, ``report.inside()``,
        ``report.certified_percent``.

    Raises
    ------
    OptionError
        Two options exclude each other, or one needs another.
    UnsupportedError
        No validity bound is known for the model.
    """
    chosen = made(BoundCheckOptions, options)
    model, gamma, order, memory = chosen.model, chosen.gamma, chosen.order, chosen.memory
    if model is not None and gamma is not None:
        raise OptionError("`model` and `gamma` exclude each other: a model has its own gamma")
    for option in ("require_certified", "tolerance"):
        if getattr(chosen, option) is not None and model is None:
            raise OptionError(f"`{option}` needs `model`")
    listener, reading, cores = listener or Listener(), reading or Reading(), thread_count(threads)
    asked: dict[str, Any] = {
        "center": chosen.center or "auto",
        "require_certified": chosen.require_certified,
        "tolerance": chosen.tolerance,
    }
    asked["data"] = os.fspath(data) if is_path(data) else getattr(data, "path", None) or "the data"
    if model is None:
        reading = with_scaling_of(reading, [], memory=memory)
        report = _check_data(data, gamma, 2 if order is None else order, reading, cores, listener)
        return BoundCheck(**vars(report), **asked)
    name = os.fspath(model) if is_path(model) else "the model"
    judged: Any = model
    if is_path(model):
        judged = open_model(model, listener.note, listener.warn, memory=memory).model
    elif not hasattr(model, "decision_values"):
        raise WrongTypeError("the model", model, MODEL)
    else:
        require_memory(judged, memory)
    reading = with_scaling_of(reading, [(name, judged)], memory=memory)
    judged = unscaled(judged)
    _check_combination(judged, name, chosen)
    blocks = _fitting(data, reading, str(asked["data"]), judged, cores, listener)
    report = checks.check_model(blocks, judged, order=order, tolerance=chosen.tolerance, threads=cores)
    return BoundCheck(**vars(report), **asked, model=name)


def _check_combination(model: Model, name: str, options: BoundCheckOptions) -> None:
    if not isinstance(model, KernelExpansion):
        for option in ("center", "order"):
            if getattr(options, option) is not None:
                raise OptionError(f"`{option}` is for exact models: an approximated model has its own")
    if not certifies(model):
        for option in ("require_certified", "tolerance"):
            if getattr(options, option) is not None:
                raise OptionError(f"`{option}`: the model has no certificate")
    required = options.require_certified
    if required is not None and options.tolerance is None and model.head.is_regression:
        raise OptionError(
            "values are certified within a tolerance; give `tolerance`, the largest error to accept"
        )
    if isinstance(model, BoundedModel) and not bounded(model) and required is None:
        raise UnsupportedError(
            f"{name}: no validity bound is known for a model that was calibrated or shortened to fit a size",
            "`require_certified` uses its certificate"
            if certifies(model)
            else "compare it with the exact model",
        )


def _check_data(
    data: Any, gamma: float | None, order: int, reading: Reading, threads: int, listener: Listener
) -> BoundReport:
    if not is_path(data):
        rows = _rows(data, reading)
        return checks.check_data(lambda: [rows], gamma, order=order)
    from svmfast.formats.data import ReplayableInput, read_through

    with ReplayableInput(os.fspath(data)) as replayable:

        def blocks() -> Iterable[Rows]:
            return (
                block.rows for block in read_through(replayable.source(), reading, threads, listener.progress)
            )

        return checks.check_data(blocks, gamma, order=order)


def _rows(
    data: Any,
    reading: Reading,
    see: Callable[[Sequence[str]], None] = lambda columns: None,
    see_array: Callable[[int], None] = lambda width: None,
) -> Rows:
    rows = rows_of(data, reading=reading, see=see, see_array=see_array)
    return rows if reading.scale is None else reading.scale.apply(rows)


def _fitting(
    data: Any, reading: Reading, name: str, model: Model, threads: int, listener: Listener
) -> Iterator[Rows]:
    """Yield the rows of data; the scale of the first ones is compared with the model's."""
    scale = ScaleCheck(model, scaled=reading.scale is not None)
    first = True

    def see_array(width: int) -> None:
        check_array(width, model, reading.scale, listener.warn)

    for rows, columns in _blocks(data, reading, threads, listener, see_array):
        if first:
            ColumnOrder().check(name, columns, reading, listener.note, model)
            check_width(reading, name, model, rows, listener.warn, columns)
            first = False
        scale.add(rows)
        yield rows
    verdict = scale.verdict()
    if verdict is not None:
        listener.warn(f"{name}: {verdict}")


def _blocks(
    data: Any,
    reading: Reading,
    threads: int,
    listener: Listener,
    see_array: Callable[[int], None],
) -> Iterator[tuple[Rows, Sequence[str] | None]]:
    """Yield blocks of rows, each with the columns of a table."""
    if not is_path(data):
        seen: list[Sequence[str]] = []
        rows = _rows(data, reading, seen.append, see_array)
        yield rows, seen[0] if seen else None
        return
    from svmfast.formats.data import read_through

    for block in read_through(os.fspath(data), reading, threads, listener.progress):
        yield block.rows, block.columns


def _bound_dict(bound: Bound | None) -> dict[str, object] | None:
    if bound is None:
        return None
    values = asdict(bound)
    if values["gamma_max"] == math.inf:
        values["gamma_max"] = None  # all vectors are zero; JSON has no infinity
    return {**values, "inside": bound.inside}


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
