"""Cells and orders by choice: plan them, build them, and shorten them to the size that was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from svmfast.errors import DoesNotPayError
from svmfast.methods.cells import Cell, Costs, Plan, Planner, Step
from svmfast.methods.cost import exact_operations, polynomial_operations, routing_operations
from svmfast.methods.expander import Expander
from svmfast.methods.judge import Judge
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray
from svmfast.solvers.taylor import check_memory, coefficient_count

# The highest order that `auto` looks at, and the most numbers it stores: some 20 MB of text.
HIGHEST_AUTO = 6
LARGEST_AUTO = 1 << 21
# An approximation pays when its operations, with the exact model's for open rows, are at most this share.
WORTHWHILE = 0.75
# Shortening may take up this share of the truncation's bound; to meet a file size, more and more of it.
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Request:
    """What was asked for; the attributes are the parameters of ``approximate``."""

    order: int | str
    cells: int | str
    center: str
    target: float
    max_bytes: int | None
    size_of: Callable[[PolynomialModel, str], int] | None
    certificate: str
    memory_limit: int
    seed: int


def check_size(
    model: KernelExpansion,
    order: int | str,
    cells: int | str,
    tried: int,
    max_bytes: int | None,
    memory_limit: int,
) -> None:
    """Refuse what cannot fit before anything is stored densely: even the least of it is too large.

    `tried` centres are held at once.
    """
    d, p = len(np.unique(model.sv.indices)), model.head.n_functions
    lowest = 0 if order == "auto" else int(order)
    polynomials = (1 if cells == "auto" else int(cells)) * p * tried
    if "auto" not in (order, cells) and max_bytes is None:
        check_memory(d, lowest, polynomials, memory_limit)
        return
    stored = polynomials * coefficient_count(d, lowest)
    # A dropped coefficient still takes two bytes.
    if 8 * stored > memory_limit or (max_bytes is not None and 2 * stored > max_bytes):
        exact = exact_operations(model, d, model.sv.nnz / max(len(model.sv), 1))
        raise DoesNotPayError(_verdict(d, p, lowest, polynomials // p, exact, max_bytes))


def planned(
    expander: Expander, judge: Judge, request: Request
) -> tuple[str, PolynomialModel, tuple[Step, ...]]:
    """Choose cells and orders, build them, and shorten them to the size that was asked for."""
    terms, model = expander.terms, expander.model
    d, p = len(terms.features), terms.n_functions
    entries = model.sv.nnz / max(len(model.sv), 1)
    exact = exact_operations(model, d, entries)
    free = "auto" in (request.order, request.cells)
    highest = HIGHEST_AUTO if request.order == "auto" else int(request.order)
    name = better_centre(
        expander,
        ("mean", "origin") if request.center == "auto" else (request.center,),
        min(highest, 2),
        {},
        certify=True,
    )

    def operations(order: int, cells: int) -> float:
        zero = expander.about([expander.centre(name)], order) == "zero"
        return polynomial_operations(d, order, entries, about_zero=zero)

    def allowed(cells: int, order: int) -> bool:
        stored = cells * p * coefficient_count(d, order)
        if free and p * operations(order, cells) + routing_operations(d, cells) >= exact:
            return False
        # A dropped coefficient still takes two bytes.
        if request.max_bytes is not None and 2 * stored > request.max_bytes:
            return False
        return 8 * stored <= request.memory_limit and not (free and stored > LARGEST_AUTO)

    lowest = 0 if request.order == "auto" else highest
    cells = None if request.cells == "auto" else int(request.cells)
    if not allowed(cells or 1, lowest):
        raise DoesNotPayError(_verdict(d, p, lowest, cells or 1, exact, request.max_bytes))
    planner = Planner(
        terms,
        model.kernel.gamma,
        judge,
        Costs(
            lambda order, cells: operations(order, cells),
            lambda cells: routing_operations(d, cells),
            exact,
        ),
        highest=highest,
        fixed=request.order != "auto",
        target=request.target,
        by_row_norms=request.certificate != "full",
        seed=request.seed,
        threads=expander.threads,
        progress=expander.progress,
    )
    plan = planner.plan(expander.centre(name), cells, allowed)
    if free and plan.operations > WORTHWHILE * exact:
        raise DoesNotPayError(_tried(plan, exact, request.target))
    if len(plan.cells) > 1:
        name = "cells"
    return name, _shortened(expander, plan, request, name), plan.steps


def _shortened(expander: Expander, plan: Plan, request: Request, name: str) -> PolynomialModel:
    """Build the plan; coarser and coarser until the file is small enough."""
    centres, distances = [cell.centre for cell in plan.cells], _distances(plan.cells)
    tails = None if request.certificate == "none" else [cell.tails for cell in plan.cells]
    for share in SHARES:
        allowances = [
            [_allowance(cell, p, int(plan.orders[c, p]), distances[c], share) for p in range(len(cell.tails))]
            for c, cell in enumerate(plan.cells)
        ]
        made = expander.cells(centres, plan.orders, tails, allowances)
        if request.max_bytes is None or request.size_of is None:
            return made
        size = request.size_of(made, name)
        if size <= request.max_bytes:
            return made
    raise DoesNotPayError(
        f"{len(centres):,} cell{'s' * (len(centres) != 1)} of order {int(plan.orders.max(initial=0))} take "
        f"{size:,} bytes however short, more than {request.max_bytes:,}; "
        "lower --order or --cells, or raise --max-bytes"
    )


def _allowance(cell: Cell, p: int, order: int, r: float, share: float) -> FloatArray:
    """By how much shortening may move each degree: a share of the bound at distance `r` from the centre."""
    beyond = cell.tails[p].degrees[order + 1 :]
    # c_j r^j / r^m as c_j r^(j - m): no quotient of two powers that may both be 0 in a tiny cell.
    powers = np.arange(order + 1, order + 1 + len(beyond)) - np.arange(order + 1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        allowed: FloatArray = share / (order + 1) * (r**powers @ beyond)
    return np.where(np.isfinite(allowed), allowed, 0.0)


def _distances(cells: Sequence[Cell]) -> list[float]:
    """Return how far from each centre its rows lie: the median, over all cells where a cell's own is 0."""
    every = np.concatenate([cell.squared for cell in cells])
    typical = float(np.median(every)) if len(every) else 0.0
    own = [float(np.median(cell.squared)) if len(cell.squared) else 0.0 for cell in cells]
    return [math.sqrt(squared or typical) for squared in own]


def _verdict(d: int, p: int, order: int, cells: int, exact: float, max_bytes: int | None) -> str:
    stored = cells * p * coefficient_count(d, order)
    if max_bytes is not None and 2 * stored > max_bytes:
        return f"even order {order} stores {stored:,} numbers, more than {max_bytes:,} bytes hold"
    return (
        f"approximation does not pay: order {order} alone takes more than the exact model's {exact:,.0f} "
        "multiply-adds a row; predict with the exact model, or compress it"
    )


def _tried(plan: Plan, exact: float, target: float) -> str:
    """Say why `plan` does not pay: too few rows are certified, or enough of them at too high a price."""
    tried = "; ".join(
        f"{step.cells:,} cell{'s' * (step.cells != 1)} of order {step.order}: {step.certified_percent:.1f}%"
        for step in plan.steps
    )
    if plan.certified_percent >= 100 * target:
        open_rows = ", the exact model's for the others included," if plan.certified_percent < 100 else ""
        return (
            f"approximation does not pay: {_best(plan)} {plan.certified_percent:.4g}% of the rows, but a "
            f"prediction{open_rows} takes {plan.operations:,.0f} multiply-adds, more than {WORTHWHILE:.0%} "
            f"of the exact model's {exact:,.0f} (tried {tried}): predict with the exact model, or compress it"
        )
    return (
        f"approximation does not pay: no order and no number of cells certifies enough (tried {tried}); with "
        f"the rows left open a prediction takes {plan.operations:,.0f} multiply-adds, the exact model "
        f"{exact:,.0f}: predict with the exact model, or compress it"
    )


def _best(plan: Plan) -> str:
    n = len(plan.cells)
    order = int(plan.orders.max(initial=0))
    return f"1 cell of order {order} certifies" if n == 1 else f"{n:,} cells of order {order} certify"


def better_centre(
    expander: Expander, names: Sequence[str], order: int, errors: Mapping[str, float], certify: bool
) -> str:
    """Return which of the centres `names` has the smaller bound, or without certificate the smaller error."""
    if len(names) == 1:
        return names[0]
    if certify:
        return min(names, key=lambda name: expander.leading(expander.centre(name), order))
    return min(names, key=lambda name: errors[name])
