"""The plan of an approximation: what is asked, the choice of cells and orders, and the model that is built.

Centers come from k-means on the fitting rows; their number doubles until enough rows are certified or more
cells stop helping. (Splitting only the cells with the most open rows certified fewer rows, in measurements,
than k-means over all rows with the same number of cells.)

A center is the mean of the rows from which it was made, and so is nearer to them than to other rows; with few
rows per cell the difference is large. Layouts are therefore compared on rows that no center was fitted to,
and the share that one certifies is measured on rows that were used for neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from svmfast.certificate import MAX_ORDER
from svmfast.errors import NegativeAnswerError, UnsupportedError
from svmfast.figures import Figures, figure
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.cells import (
    Cell,
    CellMaker,
    Layout,
    OrderChoice,
    OutOfTimeError,
    nearest_center,
)
from svmfast.methods.approximate.costs import BETTER, WORTHWHILE, Costs, too_large
from svmfast.methods.approximate.expansion import Expander, better_center
from svmfast.methods.approximate.sample import CertificationSample, Divided
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray
from svmfast.solvers.taylor import check_memory, coefficient_count

# Numbers of cells that are tried if the number is not given.
SIZES = (1, 5, 10, 20, 40, 80, 160, 320)
# More cells are tried as long as the last step left at most this share of the open rows open.
STALLED = 0.92
# If ten or more cells certify less than this percentage, the search ends; five if order 2 costs too much.
HOPELESS = 1.0
# Fitting rows per cell if the number of cells is not given: a center of fewer rows does not represent others.
ROWS_A_CELL = 10
# The highest order that `auto` tries.
HIGHEST_AUTO = 6
# The error of shortening as a share of the truncation bound; larger shares are tried to meet a file size.
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)

SizeOf = Callable[[Model], int]


@dataclass(frozen=True)
class Step(Figures):
    """A layout that was tried."""

    cells: int = figure("Number of cells.")
    order: int = figure("Highest order.")
    certified_percent: float = figure(
        "Percent of the held-out rows that it certifies, predicted from the exact values and the bounds."
    )
    operations: float = figure("Counted multiply-adds per row, including the exact model's for open rows.")
    numbers: int = figure("Numbers that the polynomials, centers and certificate store.")
    worth: bool = figure("Whether the file's size grows by no larger factor than the speed.", default=True)
    chosen: bool = figure("Whether it was chosen.", default=False)

    @property
    def words(self) -> str:
        return f"{self.cells:,} cell{'s' * (self.cells != 1)}"


@dataclass(frozen=True, eq=False)
class Plan:
    """An approximation from the request to the result."""

    options: ApproximateOptions
    #: Those of the options, as far as the kernel allows: numbers or ``auto``.
    order: int | str
    cells: int | str
    #: The kernel is a polynomial: nothing is truncated.
    collapses: bool
    #: Whether orders, cells or digits are chosen by rows.
    chooses: bool
    provenance: Mapping[str, str]
    #: ``mean``, ``origin`` or ``cells``.
    center: str = "origin"
    #: The result.
    made: PolynomialModel | None = None
    #: For each center that was tried, the mean error on the support vectors.
    errors: Mapping[str, float] = field(default_factory=dict)
    #: The layouts that were tried, and whether the time limit ended the search.
    steps: tuple[Step, ...] = ()
    late: bool = False

    def with_origin(self, made: PolynomialModel, center: str, exact: KernelExpansion) -> Plan:
        """Add `made`, with its provenance and, with `embed_exact`, the exact model."""
        options = self.options
        parameters = f"order={self.order} center={center}"
        if self.chooses:
            parameters += f" cells={self.cells} target={options.target:g} seed={options.seed}"
            parameters += "" if options.max_bytes is None else f" max_bytes={options.max_bytes}"
        origin = {**self.provenance, "method": "approximate", "parameters": parameters}
        embedded = exact if options.embed_exact else None
        shortened = self.chooses and options.max_bytes is not None
        made = replace(made, provenance=origin, embedded_exact=embedded, has_validity_bound=not shortened)
        return replace(self, center=center, made=made)


def requested(model: KernelExpansion, options: ApproximateOptions, provenance: Mapping[str, str]) -> Plan:
    """Plan what to make (UnsupportedError if the kernel has no expansion), if it fits into memory."""
    kernel, order, cells = model.kernel, options.order, options.cells
    assert order is not None, "the options are closed"
    assert cells is not None, "the options are closed"
    plan = Plan(options, order, cells, False, options.chooses, provenance)
    if kernel.kind in ("linear", "polynomial"):
        order = 1 if kernel.kind == "linear" else kernel.degree
        if order > MAX_ORDER:
            raise UnsupportedError(
                f"a polynomial kernel of degree {order} has too many monomials",
                f"degrees up to {MAX_ORDER} are converted",
            )
        plan = replace(plan, order=order, collapses=True, chooses=False)
    elif kernel.kind != "rbf":
        raise UnsupportedError(
            f"the {kernel.kind} kernel has no truncated expansion",
            "approximate takes rbf (svm-train -t 2), linear and polynomial kernels",
        )
    elif not len(model.sv):  # nothing to expand, and nothing to choose
        plan = replace(plan, order=0 if order == "auto" else order, cells=1, chooses=False)
    _check_memory(plan, model)
    return plan


def _check_memory(plan: Plan, model: KernelExpansion) -> None:
    """Refuse work that cannot fit in memory, before anything is stored densely."""
    options, cells = plan.options, 1 if plan.collapses else plan.cells
    # The expansions about both centers are held at once.
    tried = 2 if options.center == "auto" and not (plan.collapses or plan.chooses) else 1
    max_bytes = options.max_bytes if plan.chooses else None
    d, p = len(np.unique(model.sv.indices)), model.head.n_functions
    lowest = 0 if plan.order == "auto" else int(plan.order)
    polynomials = (1 if cells == "auto" else int(cells)) * p * tried
    if "auto" not in (plan.order, cells) and max_bytes is None:
        check_memory(d, lowest, polynomials, options.memory)
        return
    stored = polynomials * coefficient_count(d, lowest)
    if obstacle := too_large(stored, max_bytes, options.memory):
        raise NegativeAnswerError(f"even order {lowest} {obstacle}")


def chosen(plan: Plan, expander: Expander, samples: Divided, size_of: SizeOf, deadline: float) -> Plan:
    """Choose cells and orders until `deadline` (monotonic), build the model, and shorten it to its size."""
    options, model = plan.options, expander.model
    assert samples.planning is not None, "a choice is made by rows"
    highest = options.order if isinstance(options.order, int) else HIGHEST_AUTO
    lowest = options.order if isinstance(options.order, int) else 0
    name = better_center(expander, options.centers, min(highest, 2))
    center = expander.center(name)
    about_zero = [expander.about([center], order) == "zero" for order in range(highest + 1)]
    costs = Costs(model, expander.terms, options, about_zero)
    cells = options.cells if isinstance(options.cells, int) else None
    if obstacle := costs.obstacle(cells or 1, lowest):
        raise NegativeAnswerError(f"{BETTER}even order {lowest} {obstacle}")
    maker = CellMaker(
        expander=expander,
        sample=samples.planning,
        lowest=lowest,
        highest=highest,
        # Without a certificate the bounds serve only to choose, and need not be small.
        by_row_norms=options.certificate == "none",
        seed=options.seed,
        deadline=deadline,
    )
    search = Search(maker, samples.held_out, costs, options.target)
    best = search.best(center, cells)
    plan = replace(plan, steps=search.steps(best), late=search.late)
    step = next((step for step in plan.steps if step.chosen), None)
    step = step or min(plan.steps, key=lambda step: step.operations, default=None)
    if step and options.free and not options.force and step.operations > WORTHWHILE * costs.exact:
        raise NegativeAnswerError(_too_slow(plan, step, costs.exact))
    if best is None:
        raise NegativeAnswerError(_no_layout(plan, step, costs))
    return _expanded(plan, expander, best, "cells" if len(best.cells) > 1 else name, size_of)


class Search:
    """Tries numbers of cells and orders until a share `target` of the rows is certified or more do not help.

    `held_out` has rows that are used neither for fitting nor for choosing.
    """

    def __init__(self, maker: CellMaker, held_out: CertificationSample, costs: Costs, target: float) -> None:
        self.maker, self.held_out, self.costs, self.target = maker, held_out, costs, target
        self._tried: list[tuple[Layout, Step]] = []
        self.late = False

    def steps(self, best: Layout | None) -> tuple[Step, ...]:
        return tuple(replace(step, chosen=found is best) for found, step in self._tried)

    def best(self, center: FloatArray, cells: int | None) -> Layout | None:
        """The layout of `cells` cells, or as many as needed; one is about `center`; None: not worth it."""
        best: Layout | None = None
        open_before = math.inf
        before: tuple[Cell, ...] = ()
        most = int(np.count_nonzero(self.maker.sample.fitting)) // ROWS_A_CELL
        sizes = [size for size in SIZES if size <= max(1, most)] if cells is None else [cells]
        for size, following in zip(sizes, [*sizes[1:], None], strict=True):
            if self.costs.obstacle(size, self.maker.lowest) is not None:
                break
            try:
                made = self.maker.cells(center[None, :] if size == 1 else self.maker.centers(size))
            except OutOfTimeError:
                self.late = True
                break
            found = self._with_orders(made, self._highest(size))
            step = self._step(found)
            self._tried.append((found, step))
            reached = 100 * found.certified >= 100 * self.target
            if step.worth and (best is None or reached or found.operations < best.operations):
                best = found
            low = self._highest(size) < min(2, self.maker.highest)
            if reached or len(made) < size or _is_hopeless(size, found, open_before, low=low):
                break
            if following is not None and before and self._lacks_orders(before, made, size, following):
                break
            open_before, before = 100 - 100 * found.certified, made
        return best

    def _highest(self, size: int) -> int:
        orders = range(self.maker.lowest, self.maker.highest + 1)
        return max((k for k in orders if self.costs.obstacle(size, k) is None), default=self.maker.lowest)

    def _with_orders(self, cells: tuple[Cell, ...], highest: int) -> Layout:
        allowed = range(self.maker.lowest, highest + 1)
        return OrderChoice(cells, allowed, self.maker.sample, self.costs).layout(self.target)

    def _lacks_orders(
        self, before: tuple[Cell, ...], cells: tuple[Cell, ...], size: int, following: int
    ) -> bool:
        """Whether more cells allow only lower orders, with which `cells` hardly exceed `before`."""
        highest = self._highest(following)
        if highest == self._highest(size):
            return False
        earlier, now = (100 - 100 * self._with_orders(c, highest).certified for c in (before, cells))
        return now > STALLED * earlier

    def _step(self, found: Layout) -> Step:
        """Count the held-out rows that a layout certifies, and its cost on them."""
        held, costs = self.held_out, self.costs
        nearest = nearest_center(held.points, np.array([cell.center for cell in found.cells]))
        certified, operations = 0, 0.0
        for c, cell in enumerate(found.cells):
            mine, orders = np.flatnonzero(nearest == c), found.orders[c].tolist()
            operations += len(mine) * sum(costs.polynomial(order) for order in orders)
            if len(mine) and orders:
                squared = held.squared_distances(mine, cell.center)
                certified += int(cell.certifies(held, mine, squared, costs.gamma, orders).sum())
            else:
                certified += len(mine)
        n = max(1, len(held))
        share = certified / n if len(held) else 1.0
        total = operations / n + costs.each_row(len(found.cells)) + (1 - share) * costs.exact
        numbers = costs.numbers(found.orders)
        worth = costs.worth(numbers, found.operations)
        return Step(len(found.cells), int(found.orders.max(initial=0)), 100 * share, total, numbers, worth)


def _is_hopeless(size: int, found: Layout, open_before: float, *, low: bool) -> bool:
    """Whether more cells are unlikely to help; `low`: order 2 costs too much."""
    too_few = size >= (5 if low else 10) and 100 * found.certified < HOPELESS
    return too_few or (size >= 20 and 100 - 100 * found.certified > STALLED * open_before)


def _expanded(plan: Plan, expander: Expander, found: Layout, name: str, size_of: SizeOf) -> Plan:
    """Build the layout, with coefficients shortened more and more until the file is small enough."""
    options = plan.options
    centers, distances = [cell.center for cell in found.cells], _distances(found.cells)
    tails = None if options.certificate == "none" else [cell.tails for cell in found.cells]
    for share in SHARES:
        allowances = [
            [_allowance(cell, p, int(order), r, share) for p, order in enumerate(orders)]
            for cell, orders, r in zip(found.cells, found.orders, distances, strict=True)
        ]
        made = expander.cells(centers, found.orders, tails, allowances)
        finished = plan.with_origin(made, name, expander.model)
        if options.max_bytes is None:
            return finished
        assert finished.made is not None
        size = size_of(finished.made)
        if size <= options.max_bytes:
            return finished
    raise NegativeAnswerError(
        f"{len(centers):,} cell{'s' * (len(centers) != 1)} of order {int(found.orders.max(initial=0))} take "
        f"{size:,} bytes with the shortest coefficients, more than {options.max_bytes:,}; "
        "lower `order` or `cells`, or raise `max_bytes`"
    )


def _allowance(cell: Cell, p: int, order: int, r: float, share: float) -> FloatArray:
    """How much shortening may change each degree: a share of the bound at distance `r`."""
    beyond = cell.tails[p].degrees[order + 1 :]
    # c_j r^j / r^m is computed as c_j r^(j - m), since both powers may be 0 in a tiny cell.
    powers = np.arange(order + 1, order + 1 + len(beyond)) - np.arange(order + 1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        allowed: FloatArray = share / (order + 1) * (r**powers @ beyond)
    return np.where(np.isfinite(allowed), allowed, 0.0)


def _distances(cells: Sequence[Cell]) -> list[float]:
    """Each cell's median distance of its rows from the center; the median of all rows if that is 0."""
    every = np.concatenate([cell.squared for cell in cells])
    typical = float(np.median(every)) if len(every) else 0.0
    own = [float(np.median(cell.squared)) if len(cell.squared) else 0.0 for cell in cells]
    return [math.sqrt(squared or typical) for squared in own]


def _tried(plan: Plan) -> str:
    listed = "; ".join(f"{s.words} of order {s.order}: {s.certified_percent:.1f}%" for s in plan.steps)
    return f"tried {listed}" + ("; then the time limit was reached" if plan.late else "")


def _no_layout(plan: Plan, step: Step | None, costs: Costs) -> str:
    if step is None:
        return "no number of cells was finished within the time limit"
    return (
        f"{BETTER}{step.words} would store {step.numbers / costs.exact_numbers:.1f} times as many numbers, "
        f"for a prediction of {step.operations:,.0f} multiply-adds instead of {costs.exact:,.0f} "
        f"({_tried(plan)}); a limit on the file's size (`max_bytes`) allows that"
    )


def _too_slow(plan: Plan, step: Step, exact: float) -> str:
    """Explain why the best layout is too slow: it certifies too few rows, or enough at too high a cost."""
    rows = f"{step.certified_percent:.4g}% of the rows"
    if step.certified_percent >= 100 * plan.options.target:
        certify = "certifies" if step.cells == 1 else "certify"
        what = f"{step.words} of order {step.order} {certify} {rows}, but"
    else:
        what = f"no order and number of cells certifies enough rows: at {rows}"
    open_rows = ", including the exact model's for the others," if step.certified_percent < 100 else ""
    return (
        f"{BETTER}{what} a prediction{open_rows} takes {step.operations:,.0f} multiply-adds, more than "
        f"{WORTHWHILE:.0%} of its {exact:,.0f} ({_tried(plan)})"
    )
