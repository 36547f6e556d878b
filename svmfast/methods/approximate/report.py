"""What ``approximate`` made, from what, and how far it reaches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from svmfast.certificate import gamma_max
from svmfast.methods.approximate.cells import Step
from svmfast.methods.approximate.certification_sample import Roles
from svmfast.methods.approximate.expander import Expander
from svmfast.methods.approximate.measure import Measured, difference_warning, refusal
from svmfast.methods.approximate.operations import (
    exact_numbers,
    exact_operations,
    polynomial_operations,
    routing_operations,
)
from svmfast.models.polynomial import PolynomialModel


@dataclass(frozen=True)
class ApproximationReport:
    """How far the result is from the exact model, what was made, from what, and how far it reaches.

    Attributes
    ----------
    labels_differing : int or None
    labels_differing_percent : float or None
        Rows with another label than the exact model's, as the result answers by itself; None for regression.
    values_differing_percent : float or None
        Regression: root mean square difference from the exact values over their standard deviation.
    labels_differing_without_fallback : int or None
        Of the expansion alone, where the exact model is embedded and answers the rows that are not certified.
    measured_rows : int
    measured_on : str
        The rows on which this and `certified_percent` were measured: ``data``, rows of the data that chose
        nothing, or ``support vectors and points between them``.
    trained_on : bool or None
        Whether the data holds most of the support vectors: the exact model was trained on such rows. None
        without data.
    difference_warning : str or None
        More than 1 % differ: how many, and what may come closer.
    refusal : str or None
        Why the result should not be used; the command line writes no file then.
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
        Largest gamma for which the validity bound of the lowest order holds when rows reach as far as the
        support vectors do: about the origin, and about their mean.
    calibrated : bool
    certified_percent : float or None
        Rows whose label (or sign) is certified; None without a certificate, for regression also without rows.
    speedup_with_fallback : float or None
        How many times as fast the prediction step was as the exact model's on the measured rows, with the
        exact model for those that are not certified; None unless it was raced.
    steps : tuple of Step
        The numbers of cells that were tried, where there was a choice.
    time_limit_reached : bool
        More of them would have been tried in more time.
    coefficients, numbers_before : int
        Numbers stored by the polynomials, and by the exact model (entries and coefficients).
    operations, operations_before : float
        Multiply-adds a row, in full vector lanes, for a row with as many entries as the mean support vector.
    seconds : float
    warnings : tuple of str
    """

    labels_differing: int | None
    labels_differing_percent: float | None
    values_differing_percent: float | None
    labels_differing_without_fallback: int | None
    measured_rows: int
    measured_on: str
    trained_on: bool | None
    difference_warning: str | None
    refusal: str | None
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
    speedup_with_fallback: float | None
    steps: tuple[Step, ...]
    time_limit_reached: bool
    coefficients: int
    numbers_before: int
    operations: float
    operations_before: float
    seconds: float
    warnings: tuple[str, ...]


def report_of(
    expander: Expander,
    made: PolynomialModel,
    measured: Measured,
    who: Roles,
    order: int,
    target: float,
    center: str,
    errors: Mapping[str, float],
    steps: tuple[Step, ...],
    late: bool,
    calibrated: bool,
    exact: bool,
    begin: float,
) -> ApproximationReport:
    """Return the report on `made`; `order` (0 for auto) and `target` are what was asked for.

    `measured` was measured on the rows that `who` holds out.
    """
    model, sv = expander.model, expander.model.sv
    d, n = len(expander.terms.features), len(sv)
    entries = sv.nnz / n if n else 0.0
    orders, counts = np.unique(made.orders, return_counts=True)
    if made.n_cells == 1:
        operations = sum(
            count * polynomial_operations(d, order, entries, about_zero=made.about == "zero")
            for order, count in zip(orders.tolist(), counts.tolist(), strict=True)
        )
    else:
        operations = (
            made.multiply_adds(who.held_out.rows) - made.n_cells * d + routing_operations(d, made.n_cells)
        )
    before = exact_operations(model, d, entries)
    origin, mean = (expander.largest_squared_distance(expander.centre(name)) for name in ("origin", "mean"))
    lowest = int(orders.min(initial=made.order))
    numbers = exact_numbers(model)
    return ApproximationReport(
        labels_differing=measured.labels_differing,
        labels_differing_percent=measured.labels_differing_percent,
        values_differing_percent=measured.values_differing_percent,
        labels_differing_without_fallback=measured.labels_differing_without_fallback,
        measured_rows=measured.rows,
        measured_on=measured.source,
        trained_on=who.trained_on,
        difference_warning=difference_warning(measured, made),
        refusal=refusal(measured, made),
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
        gamma_max_paper=gamma_max(origin, order=lowest),
        gamma_max_centred=gamma_max(mean, order=lowest),
        calibrated=calibrated,
        certified_percent=measured.certified_percent,
        speedup_with_fallback=measured.speedup_with_fallback,
        steps=steps,
        time_limit_reached=late,
        coefficients=len(made.coefficients),
        numbers_before=numbers,
        operations=operations,
        operations_before=before,
        seconds=time.perf_counter() - begin,
        warnings=tuple(
            _warnings(made, measured, numbers, (operations, before), target, (d, n), who.trained_on)
        ),
    )


def _warnings(
    made: PolynomialModel,
    measured: Measured,
    numbers: int,
    operations: tuple[float, float],
    target: float,
    size: tuple[int, int],
    trained_on: bool | None,
) -> Iterator[str]:
    if trained_on:
        yield (
            "the exact model was trained on rows of the data, most of its support vectors are among them: of "
            "other rows more may differ and fewer be certified"
        )
    if len(made.coefficients) >= numbers:
        yield (
            f"the approximation stores {len(made.coefficients):,} numbers, the exact model only "
            f"{numbers:,}: {size[0]:,} features are many against {size[1]:,} support vectors"
        )
    if operations[0] >= operations[1]:
        yield (
            f"a prediction takes about {operations[0]:,.0f} multiply-adds, the exact model only "
            f"{operations[1]:,.0f}: predict with the exact model, or compress it"
        )
    certified = measured.certified_percent
    if certified is not None and certified < 100 * target:
        yield (
            f"{certified:.2f}% certified is below the target of {100 * target:g}%; the exact model can "
            "answer the others (predict --exact)"
        )
