"""What ``approximate`` made, from what, and how far it reaches."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from svmfast.certificate import gamma_max
from svmfast.methods.cells import Step
from svmfast.methods.cost import exact_operations, polynomial_operations, routing_operations
from svmfast.methods.expander import Expander
from svmfast.methods.judge import Judge
from svmfast.models.certified import certified_rows
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import Rows


@dataclass(frozen=True)
class ApproximationReport:
    """What was made, from what, and how far it reaches.

    Attributes
    ----------
    svm_type, kernel : str
    features, n_sv, functions : int
        Features in use, support vectors, decision functions.
    cells : int
    order : int
        Highest degree of a polynomial.
    orders : mapping of int to int
        How many polynomials have each order.
    exact : bool
        The kernel is a polynomial itself: nothing was truncated.
    center : str
        ``mean`` or ``origin``, ``origin`` for exact conversions; ``cells`` where there are several.
    center_errors : mapping of str to float
        Mean |difference of decision values| on the support vectors, for every centre that was tried.
    gamma : float
    gamma_max_paper, gamma_max_centred : float
        Largest gamma for which the second order is trusted when rows reach as far as the support vectors do:
        about the origin, and about their mean.
    calibrated : bool
    certified_percent : float or None
        Rows whose label (or sign) is certified; None without a certificate, for regression also without rows.
    certified_on : str
        Which rows: ``data``, or ``support vectors`` (with points between them where cells were planned).
    steps : tuple of Step
        The numbers of cells that were tried, where there was a choice.
    coefficients, numbers_before : int
        Numbers stored by the polynomials, and by the exact model (entries and coefficients).
    operations, operations_before : float
        Multiply-adds a row, in full vector lanes, for a row with as many entries as the mean support vector.
    seconds : float
    warnings : tuple of str
    """

    svm_type: str
    kernel: str
    features: int
    n_sv: int
    functions: int
    cells: int
    order: int
    orders: Mapping[int, int]
    exact: bool
    center: str
    center_errors: Mapping[str, float]
    gamma: float
    gamma_max_paper: float
    gamma_max_centred: float
    calibrated: bool
    certified_percent: float | None
    certified_on: str
    steps: tuple[Step, ...]
    coefficients: int
    numbers_before: int
    operations: float
    operations_before: float
    seconds: float
    warnings: tuple[str, ...]


def report_of(
    expander: Expander,
    made: PolynomialModel,
    judge: Judge | None,
    order: int,
    target: float,
    center: str,
    errors: Mapping[str, float],
    steps: tuple[Step, ...],
    calibrated: bool,
    exact: bool,
    begin: float,
) -> ApproximationReport:
    """Return the report on `made`; `order` (0 for auto) and `target` are what was asked for."""
    model, sv = expander.model, expander.model.sv
    d, n = len(expander.terms.features), len(sv)
    entries = sv.nnz / n if n else 0.0
    orders, counts = np.unique(made.orders, return_counts=True)
    rows = expander.sample() if judge is None else judge.rows
    if made.n_cells == 1:
        operations = sum(
            count * polynomial_operations(d, order, entries, about_zero=made.about == "zero")
            for order, count in zip(orders.tolist(), counts.tolist(), strict=True)
        )
    else:
        operations = made.multiply_adds(rows) - made.n_cells * d + routing_operations(d, made.n_cells)
    before = exact_operations(model, d, entries)
    origin, mean = (expander.largest_squared_distance(expander.centre(name)) for name in ("origin", "mean"))
    numbers = sv.nnz + model.sv_coef.size
    warnings = []
    if len(made.coefficients) >= numbers:
        warnings.append(
            f"the approximation stores {len(made.coefficients):,} numbers, the exact model only "
            f"{numbers:,}: {d:,} features are many against {n:,} support vectors"
        )
    if operations >= before:
        warnings.append(
            f"a prediction takes about {operations:,.0f} multiply-adds, the exact model only "
            f"{before:,.0f}: predict with the exact model, or compress it"
        )
    certified = _certified_percent(made, rows, judge, expander.threads)
    if certified is not None and certified < 100 * target:
        warnings.append(
            f"{certified:.2f}% certified is below the target of {100 * target:g}%: more cells or a "
            "higher order cost more than they bring; the exact model can answer the others (predict --exact)"
        )
    return ApproximationReport(
        svm_type=model.head.svm_type,
        kernel=model.kernel.kind,
        features=d,
        n_sv=n,
        functions=expander.terms.n_functions,
        cells=made.n_cells,
        order=made.order if made.orders.size else order,
        orders=dict(zip(orders.tolist(), counts.tolist(), strict=True)),
        exact=exact,
        center=center,
        center_errors=errors,
        gamma=model.kernel.gamma,
        gamma_max_paper=gamma_max(origin),
        gamma_max_centred=gamma_max(mean),
        calibrated=calibrated,
        certified_percent=certified,
        certified_on="data" if judge is not None and judge.of_data else "support vectors",
        steps=steps,
        coefficients=len(made.coefficients),
        numbers_before=numbers,
        operations=operations,
        operations_before=before,
        seconds=time.perf_counter() - begin,
        warnings=tuple(warnings),
    )


def _certified_percent(made: PolynomialModel, rows: Rows, judge: Judge | None, threads: int) -> float | None:
    """Share of `rows` that the finished model certifies."""
    regression = made.head.is_regression
    if not made.has_certificate or not len(rows) or (regression and judge is None):
        return None
    values, bounds = made.certified_values(rows, threads=threads)
    tolerance = judge.tolerance if judge is not None and regression else None
    return 100 * float(certified_rows(made.head, values, bounds, tolerance=tolerance).mean())
