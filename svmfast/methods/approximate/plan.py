"""Plans cells and orders, builds the model, and shortens its coefficients to the required size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from svmfast.errors import NegativeAnswerError
from svmfast.methods.approximate.cell_maker import CellMaker
from svmfast.methods.approximate.cells import Cell, Found, Plan, Step
from svmfast.methods.approximate.center_choice import better_center
from svmfast.methods.approximate.certification_sample import Roles
from svmfast.methods.approximate.costs import Costs, too_large
from svmfast.methods.approximate.expander import Expander
from svmfast.methods.approximate.measure import BETTER, WORTHWHILE
from svmfast.methods.approximate.options import ApproximateOptions
from svmfast.methods.approximate.planner import Planner
from svmfast.methods.approximate.taylor import check_memory, coefficient_count
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray

# The highest order that `auto` tries.
HIGHEST_AUTO = 6
# The error of shortening as a share of the truncation bound; larger shares are tried to meet a file size.
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Request:
    """What the caller wants.

    Attributes
    ----------
    options : ApproximateOptions
    size_of : callable or None
        Returns the size in bytes of the file of a model, given the model and the name of its center.
    deadline : float
        When planning ends, in the time of ``time.monotonic``.
    """

    options: ApproximateOptions
    size_of: Callable[[PolynomialModel, str], int] | None
    deadline: float


def check_size(
    model: KernelExpansion,
    order: int | str,
    cells: int | str,
    tried: int,
    max_bytes: int | None,
    memory_limit: int,
) -> None:
    """Refuse work that cannot fit in memory, before anything is stored densely.

    The expansions about `tried` centers are held at once.
    """
    d, p = len(np.unique(model.sv.indices)), model.head.n_functions
    lowest = 0 if order == "auto" else int(order)
    polynomials = (1 if cells == "auto" else int(cells)) * p * tried
    if "auto" not in (order, cells) and max_bytes is None:
        check_memory(d, lowest, polynomials, memory_limit)
        return
    stored = polynomials * coefficient_count(d, lowest)
    if obstacle := too_large(stored, max_bytes, memory_limit):
        raise NegativeAnswerError(f"even order {lowest} {obstacle}")


@dataclass(frozen=True, eq=False)
class Planned:
    """A model built from a plan.

    Attributes
    ----------
    center : str
        ``mean``, ``origin`` or ``cells``.
    model : PolynomialModel
    steps : tuple of Step
        The plans that were tried.
    late : bool
        Whether the time limit ended the search.
    """

    center: str
    model: PolynomialModel
    steps: tuple[Step, ...]
    late: bool


def planned(expander: Expander, samples: Roles, request: Request) -> Planned:
    """Choose cells and orders, build the model, and shorten it to the required size."""
    assert samples.planning is not None
    options, terms, model = request.options, expander.terms, expander.model
    highest = options.order if isinstance(options.order, int) else HIGHEST_AUTO
    lowest = options.order if isinstance(options.order, int) else 0
    names = ("mean", "origin") if options.center == "auto" else (options.center,)
    name = better_center(expander, names, min(highest, 2), {}, certify=True)
    center = expander.center(name)
    about_zero = [expander.about([center], order) == "zero" for order in range(highest + 1)]
    costs = Costs(model, terms, options, about_zero)
    cells = options.cells if isinstance(options.cells, int) else None
    if obstacle := costs.obstacle(cells or 1, lowest):
        raise NegativeAnswerError(f"{BETTER}even order {lowest} {obstacle}")
    maker = CellMaker(
        terms=terms,
        gamma=model.kernel.gamma,
        sample=samples.planning,
        lowest=lowest,
        highest=highest,
        seed=options.seed,
        deadline=request.deadline,
        threads=expander.threads,
        progress=expander.progress,
    )
    found = Planner(maker, samples.held_out, costs, target=options.target).plan(center, cells)
    step = found.step
    if step and options.free and not options.force and step.operations > WORTHWHILE * costs.exact:
        raise NegativeAnswerError(_too_slow(found, step, costs.exact, options.target))
    if found.best is None:
        raise NegativeAnswerError(_no_plan(found, costs))
    if len(found.best.cells) > 1:
        name = "cells"
    return Planned(name, _shortened(expander, found.best, request, name), found.steps, found.late)


def _shortened(expander: Expander, plan: Plan, request: Request, name: str) -> PolynomialModel:
    """Build the plan, with coefficients shortened more and more until the file is small enough."""
    options = request.options
    centers, distances = [cell.center for cell in plan.cells], _distances(plan.cells)
    tails = None if options.certificate == "none" else [cell.tails for cell in plan.cells]
    for share in SHARES:
        allowances = [
            [_allowance(cell, p, int(plan.orders[c, p]), distances[c], share) for p in range(len(cell.tails))]
            for c, cell in enumerate(plan.cells)
        ]
        made = expander.cells(centers, plan.orders, tails, allowances)
        if options.max_bytes is None or request.size_of is None:
            return made
        size = request.size_of(made, name)
        if size <= options.max_bytes:
            return made
    raise NegativeAnswerError(
        f"{len(centers):,} cell{'s' * (len(centers) != 1)} of order {int(plan.orders.max(initial=0))} take "
        f"{size:,} bytes with the shortest coefficients, more than {options.max_bytes:,}; "
        "lower `order` or `cells`, or raise `max_bytes`"
    )


def _allowance(cell: Cell, p: int, order: int, r: float, share: float) -> FloatArray:
    """Return how much shortening may change each degree: a share of the bound at distance `r`."""
    beyond = cell.tails[p].degrees[order + 1 :]
    # c_j r^j / r^m is computed as c_j r^(j - m), since both powers may be 0 in a tiny cell.
    powers = np.arange(order + 1, order + 1 + len(beyond)) - np.arange(order + 1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        allowed: FloatArray = share / (order + 1) * (r**powers @ beyond)
    return np.where(np.isfinite(allowed), allowed, 0.0)


def _distances(cells: Sequence[Cell]) -> list[float]:
    """Return each cell's median distance of its rows from the center; the median of all rows if that is 0."""
    every = np.concatenate([cell.squared for cell in cells])
    typical = float(np.median(every)) if len(every) else 0.0
    own = [float(np.median(cell.squared)) if len(cell.squared) else 0.0 for cell in cells]
    return [math.sqrt(squared or typical) for squared in own]


def _tried(found: Found) -> str:
    listed = "; ".join(
        f"{_cells(step)} of order {step.order}: {step.certified_percent:.1f}%" for step in found.steps
    )
    return f"tried {listed}" + ("; then the time limit was reached" if found.late else "")


def _cells(step: Step) -> str:
    return f"{step.cells:,} cell{'s' * (step.cells != 1)}"


def _no_plan(found: Found, costs: Costs) -> str:
    step = found.step
    if step is None:
        return "no number of cells was finished within the time limit"
    return (
        f"{BETTER}{_cells(step)} would store {step.numbers / costs.exact_numbers:.1f} times as many numbers, "
        f"for a prediction of {step.operations:,.0f} multiply-adds instead of {costs.exact:,.0f} "
        f"({_tried(found)}); "
        "a limit on the file's size (`max_bytes`) allows that"
    )


def _too_slow(found: Found, step: Step, exact: float, target: float) -> str:
    """Explain why the best plan is too slow: it certifies too few rows, or enough at too high a cost."""
    rows = f"{step.certified_percent:.4g}% of the rows"
    if step.certified_percent >= 100 * target:
        certify = "certifies" if step.cells == 1 else "certify"
        what = f"{_cells(step)} of order {step.order} {certify} {rows}, but"
    else:
        what = f"no order and number of cells certifies enough rows: at {rows}"
    open_rows = ", including the exact model's for the others," if step.certified_percent < 100 else ""
    return (
        f"{BETTER}{what} a prediction{open_rows} takes {step.operations:,.0f} multiply-adds, more than "
        f"{WORTHWHILE:.0%} of its {exact:,.0f} ({_tried(found)})"
    )
