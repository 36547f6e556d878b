"""The choice of cells and orders: plan them, build them, and shorten them to the required size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from svmfast.errors import NegativeAnswerError
from svmfast.methods.approximate.cells import Cell, Costs, Found, Plan, Step
from svmfast.methods.approximate.certification_sample import Roles
from svmfast.methods.approximate.expander import Expander
from svmfast.methods.approximate.measure import BETTER, WORTHWHILE
from svmfast.methods.approximate.operations import (
    CERTIFICATE_NUMBERS,
    certificate_operations,
    exact_numbers,
    exact_operations,
    polynomial_operations,
    routing_operations,
)
from svmfast.methods.approximate.options import ApproximateOptions
from svmfast.methods.approximate.planner import Planner
from svmfast.methods.approximate.taylor import check_memory, coefficient_count
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray

# The highest order that `auto` looks at, and the most numbers it stores: some 20 MB of text.
HIGHEST_AUTO = 6
LARGEST_AUTO = 1 << 21
# Shortening may take up this share of the truncation's bound; to meet a file size, more and more of it.
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Request:
    """The options that were given.

    Attributes
    ----------
    options : ApproximateOptions
    size_of : callable or None
        Bytes of the file of a model about a center of this name.
    deadline : float
        By ``time.monotonic``: planning ends then.
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
    """Refuse work that cannot fit in memory before anything is stored densely.

    `tried` centers are held at once.
    """
    d, p = len(np.unique(model.sv.indices)), model.head.n_functions
    lowest = 0 if order == "auto" else int(order)
    polynomials = (1 if cells == "auto" else int(cells)) * p * tried
    if "auto" not in (order, cells) and max_bytes is None:
        check_memory(d, lowest, polynomials, memory_limit)
        return
    stored = polynomials * coefficient_count(d, lowest)
    if obstacle := _too_large(stored, max_bytes, memory_limit):
        raise NegativeAnswerError(f"even order {lowest} {obstacle}")


def _too_large(stored: int, max_bytes: int | None, memory_limit: int) -> str | None:
    if max_bytes is not None and 2 * stored > max_bytes:  # a dropped coefficient still takes two bytes
        return f"stores {stored:,} numbers, more than {max_bytes:,} bytes hold"
    if 8 * stored > memory_limit:
        return f"takes {8 * stored:,} bytes of memory, more than the limit of {memory_limit:,}"
    return None


@dataclass(frozen=True, eq=False)
class Planned:
    """A model made to a plan.

    Attributes
    ----------
    center : str
        ``mean``, ``origin`` or ``cells``.
    model : PolynomialModel
    steps : tuple of Step
        The numbers of cells that were tried.
    late : bool
        More of them would have been tried in more time.
    """

    center: str
    model: PolynomialModel
    steps: tuple[Step, ...]
    late: bool


def planned(expander: Expander, who: Roles, request: Request) -> Planned:
    """Choose cells and orders, build them, and shorten them to the required size."""
    assert who.planning is not None
    options = request.options
    terms, model = expander.terms, expander.model
    d, p = len(terms.features), terms.n_functions
    entries = model.sv.nnz / max(len(model.sv), 1)
    exact = exact_operations(model, d, entries)
    highest = HIGHEST_AUTO if options.order == "auto" else int(options.order)
    name = better_center(
        expander,
        ("mean", "origin") if options.center == "auto" else (options.center,),
        min(highest, 2),
        {},
        certify=True,
    )
    zero = {order: expander.about([expander.center(name)], order) == "zero" for order in range(highest + 1)}

    def operations(order: int, cells: int) -> float:
        return polynomial_operations(d, order, entries, about_zero=zero[order])

    def each_row(cells: int) -> float:
        return routing_operations(d, cells) + certificate_operations(p)

    def worth(numbers: int, cost: float) -> bool:
        if not options.free or options.force or options.max_bytes is not None:
            return True
        return numbers <= max(1.0, exact / cost) * exact_numbers(model)

    def obstacle(cells: int, order: int) -> str | None:
        stored = cells * p * coefficient_count(d, order)
        cost = p * operations(order, cells) + each_row(cells)
        if options.free and not options.force and cost >= exact:
            return f"takes {cost:,.0f} multiply-adds a row, the exact model {exact:,.0f}"
        if options.free and stored > LARGEST_AUTO:
            return f"stores {stored:,} numbers, more than auto makes"
        return _too_large(stored, options.max_bytes, options.memory)

    lowest = 0 if options.order == "auto" else highest
    cells = None if options.cells == "auto" else int(options.cells)
    if hindered := obstacle(cells or 1, lowest):
        raise NegativeAnswerError(f"{BETTER}even order {lowest} {hindered}")
    planner = Planner(
        terms,
        model.kernel.gamma,
        who.planning,
        who.held_out,
        Costs(
            operations,
            each_row,
            exact,
            lambda order: coefficient_count(d, order) + CERTIFICATE_NUMBERS,
            worth,
        ),
        highest=highest,
        fixed=options.order != "auto",
        target=options.target,
        by_row_norms=options.certificate != "full",
        seed=options.seed,
        deadline=request.deadline,
        threads=expander.threads,
        progress=expander.progress,
    )
    found = planner.plan(expander.center(name), cells, lambda cells, order: obstacle(cells, order) is None)
    if found.best is None or found.step is None:
        raise NegativeAnswerError(_no_plan(found, exact, exact_numbers(model)))
    if options.free and not options.force and found.step.operations > WORTHWHILE * exact:
        raise NegativeAnswerError(_too_slow(found, found.step, exact, options.target))
    if len(found.best.cells) > 1:
        name = "cells"
    return Planned(name, _shortened(expander, found.best, request, name), found.steps, found.late)


def _shortened(expander: Expander, plan: Plan, request: Request, name: str) -> PolynomialModel:
    """Build the plan; coarser and coarser until the file is small enough."""
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
        f"{size:,} bytes however short, more than {options.max_bytes:,}; "
        "lower `order` or `cells`, or raise `max_bytes`"
    )


def _allowance(cell: Cell, p: int, order: int, r: float, share: float) -> FloatArray:
    """By how much shortening may move each degree: a share of the bound at distance `r` from the center."""
    beyond = cell.tails[p].degrees[order + 1 :]
    # c_j r^j / r^m as c_j r^(j - m): no quotient of two powers that may both be 0 in a tiny cell.
    powers = np.arange(order + 1, order + 1 + len(beyond)) - np.arange(order + 1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        allowed: FloatArray = share / (order + 1) * (r**powers @ beyond)
    return np.where(np.isfinite(allowed), allowed, 0.0)


def _distances(cells: Sequence[Cell]) -> list[float]:
    """Return how far from each center its rows lie: the median, over all cells where a cell's own is 0."""
    every = np.concatenate([cell.squared for cell in cells])
    typical = float(np.median(every)) if len(every) else 0.0
    own = [float(np.median(cell.squared)) if len(cell.squared) else 0.0 for cell in cells]
    return [math.sqrt(squared or typical) for squared in own]


def _tried(found: Found) -> str:
    listed = "; ".join(
        f"{_cells(step)} of order {step.order}: {step.certified_percent:.1f}%" for step in found.steps
    )
    return f"tried {listed}" + ("; then the time was over" if found.late else "")


def _cells(step: Step) -> str:
    return f"{step.cells:,} cell{'s' * (step.cells != 1)}"


def _no_plan(found: Found, exact: float, numbers: int) -> str:
    step = found.step
    if step is None:
        return "no number of cells was finished within the time limit"
    return (
        f"{BETTER}{_cells(step)} would store {step.numbers / numbers:.1f} times its numbers, for a "
        f"prediction of {step.operations:,.0f} multiply-adds instead of {exact:,.0f} ({_tried(found)}); "
        "to take that, limit the size of the file (`max_bytes`)"
    )


def _too_slow(found: Found, step: Step, exact: float, target: float) -> str:
    """Explain why the best plan is no better: too few rows are certified, or enough at too high a cost."""
    rows = f"{step.certified_percent:.4g}% of the rows"
    if step.certified_percent >= 100 * target:
        certify = "certifies" if step.cells == 1 else "certify"
        what = f"{_cells(step)} of order {step.order} {certify} {rows}, but"
    else:
        what = f"no order and no number of cells certifies enough: at {rows}"
    open_rows = ", the exact model's for the others included," if step.certified_percent < 100 else ""
    return (
        f"{BETTER}{what} a prediction{open_rows} takes {step.operations:,.0f} multiply-adds, more than "
        f"{WORTHWHILE:.0%} of its {exact:,.0f} ({_tried(found)})"
    )


def better_center(
    expander: Expander, names: Sequence[str], order: int, errors: Mapping[str, float], certify: bool
) -> str:
    """Return which of the centers `names` has the smaller bound, or without certificate the smaller error."""
    if len(names) == 1:
        return names[0]
    if certify:
        return min(names, key=lambda name: expander.leading(expander.center(name), order))
    return min(names, key=lambda name: errors[name])
