"""The report of ``approximate``: the model, its source, and its range of validity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from svmfast.certificate import gamma_max
from svmfast.class_scores import KeptLabels
from svmfast.display import count
from svmfast.methods.approximate.cells import Step
from svmfast.methods.approximate.certification_sample import Roles
from svmfast.methods.approximate.expander import Expander
from svmfast.methods.approximate.measure import Measured, advice, difference_warning, refusal
from svmfast.methods.approximate.operations import (
    exact_numbers,
    exact_operations,
    polynomial_operations,
    routing_operations,
)
from svmfast.methods.approximate.options import Limit
from svmfast.methods.common.error_statement import labels_line
from svmfast.methods.common.probability_lines import probability_lines
from svmfast.models.polynomial import PolynomialModel


@dataclass(frozen=True, kw_only=True)
class ApproximationReport:
    """The report of ``approximate``: the error, the model, its source, and its range of validity.

    Attributes
    ----------
    labels_differing : int or None
    labels_differing_percent, labels_differing_percent_low, labels_differing_percent_high : float or None
        Rows whose label differs from the exact model's, with the fallback that the result itself contains;
        None for regression. The interval at 95 % is None unless the rows are data.
    values_differing_percent : float or None
        Regression: how much the values differ (:func:`svmfast.score.values_differing_percent`).
    kept : KeptLabels
    second_order : str or None
        Why order 2 was not enough, on the rows that serve to choose; None if that was not open.
    labels_differing_without_fallback : int or None
        The same for the expansion alone, if an embedded exact model answers the rows that are not certified.
    measured_rows : int
    measured_on : str
        The rows on which these figures and `certified_percent` were measured: ``data`` (rows of the data that
        influenced no choice) or ``support vectors and points between them``.
    trained_on : bool or None
        Whether the data contains most of the support vectors, so that the exact model was trained on it. None
        without data.
    difference_warning : str or None
        If more than 1 % differ: how many, and what may reduce the difference.
    refusal : str or None
        Why the result should not be used; the command line then writes no file.
    advice : str or None
        What may help if the result is refused.
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
        ``mean`` or ``origin``; ``origin`` for exact conversions, ``cells`` if there are several cells.
    center_errors : mapping of str to float
        Mean |difference of decision values| on the support vectors, for each center that was tried.
    gamma : float
    gamma_max_paper, gamma_max_centered : float
        The largest gamma for which the validity bound of the lowest order holds for rows that are no farther
        out than the support vectors: about the origin, and about their mean.
    calibrated : bool
    certified_percent : float or None
        Rows whose label (or value) is certified; None without a certificate, and for regression without rows.
    tolerance : float or None
        Regression: the largest error bound of a certified row.
    speedup : float or None
        How many times as fast as the exact model it predicts the measured rows alone; None if this was not
        raced.
    speedup_with_fallback : float or None
        How many times as fast as the exact model it predicts the measured rows, with the exact model
        answering those that are not certified; None if they were not raced.
    steps : tuple of Step
        The plans that were tried, if there was a choice.
    time_limit_reached : bool
        Whether the time limit ended the search.
    coefficients, numbers_before : int
        Numbers stored by the polynomials, and by the exact model (entries and coefficients).
    operations, operations_before : float
        Multiply-adds per row, in full vectors, for a row with as many entries as the mean support vector.
    seconds : float
    warnings : tuple of str
    bytes_exact : int or None
        Size of the exact model's file.
    probabilities : {"none", "kept", "refitted", "dropped"}
        What became of the exact model's probabilities.
    """

    labels_differing: int | None
    labels_differing_percent: float | None
    labels_differing_percent_low: float | None
    labels_differing_percent_high: float | None
    values_differing_percent: float | None
    kept: KeptLabels
    second_order: str | None = None
    labels_differing_without_fallback: int | None
    measured_rows: int
    measured_on: str
    trained_on: bool | None
    difference_warning: str | None
    refusal: str | None
    advice: str | None
    svm_type: str
    kernel: str
    features: int
    n_sv: int
    functions: int
    cells: int
    order: int
    orders: Mapping[int, int]
    exact: bool = False
    center: str = "origin"
    center_errors: Mapping[str, float] = field(default_factory=dict)
    gamma: float
    gamma_max_paper: float
    gamma_max_centered: float
    calibrated: bool = False
    certified_percent: float | None
    tolerance: float | None
    speedup: float | None
    speedup_with_fallback: float | None
    steps: tuple[Step, ...] = ()
    time_limit_reached: bool = False
    coefficients: int
    numbers_before: int
    operations: float
    operations_before: float
    seconds: float = 0.0
    warnings: tuple[str, ...]
    bytes_exact: int | None = None
    probabilities: str = "none"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = asdict(self)
        del values["seconds"], values["warnings"]  # reported at the top level
        del values["kept"]
        return {
            "bytes_exact": values.pop("bytes_exact"),
            "support_vectors_exact": values.pop("n_sv"),
            "numbers": values.pop("coefficients"),
            "numbers_exact": values.pop("numbers_before"),
            "multiply_adds": values.pop("operations"),
            "multiply_adds_exact": values.pop("operations_before"),
            "exact_conversion": values.pop("exact"),
            **values,
            **self.kept.as_dict(),
        }

    def lines(self) -> list[str]:
        """Return the report as text."""
        vectors = f"{self.n_sv:,} support vectors, {count(self.features, 'feature')}"
        functions = count(self.functions, "decision function")
        lines = [
            self._difference(),
            *self.kept.lines(),
            f"model        {self.svm_type}, {self.kernel} kernel, {vectors}, {functions}",
        ]
        if self.exact:
            lines.append(f"expansion    order {self.order}, exact: this kernel is a polynomial")
        else:
            lines += self._expansion_lines()
        if self.certified_percent is not None:
            proven = "have a label that is provably the exact model's (svmfast predict `certify`)"
            if self.tolerance is not None:
                proven = (
                    f"have a value that is provably within {self.tolerance:.4g} of the exact model's "
                    "(svmfast predict `certify` `tolerance`)"
                )
            lines.append(f"certified    {self.certified_percent:.2f}% of them {proven}")
        if self.speedup is not None:
            lines.append(f"raced        {self.speedup:.2f} times as fast as the exact model")
        if self.speedup_with_fallback is not None:
            lines.append(
                f"raced        {self.speedup_with_fallback:.2f} times as fast as the exact model, which "
                f"answers the rows that are not certified ({_fallback(self.tolerance)})"
            )
        lines.append(f"numbers      {self.numbers_before:,} -> {self.coefficients:,}")
        counts = f"{self.operations_before:,.0f} -> {self.operations:,.0f}"
        lines.append(f"operations   {counts} multiply-adds per row (counted)")
        return lines + probability_lines(self.probabilities)

    def _difference(self) -> str:
        """Return the first line: the difference from the exact model."""
        rows = f"{self.measured_rows:,} "
        rows += "held-out rows of `data`" if self.measured_on == "data" else self.measured_on
        if not self.measured_rows:
            return "labels       not compared: the model has no support vectors"
        if self.values_differing_percent is not None:
            return f"values       differ by {self.values_differing_percent:.3g}% of their spread, on {rows}"
        share = f"{self.labels_differing_percent:.3g}% of the labels differ"
        if self.labels_differing_percent_low is not None:
            share = labels_line(vars(self))
        line = f"labels       {share}: {self.labels_differing:,} of {rows}"
        alone = self.labels_differing_without_fallback
        return line if alone is None else f"{line}; {alone:,} without the embedded model"

    def _expansion_lines(self) -> list[str]:
        """Return the lines about the center, the order and gamma, and the plans that were tried."""
        orders = ", ".join(f"order {order}: {n:,}" for order, n in self.orders.items())
        where = f"about the {self.center}" if self.cells == 1 else f"about {self.cells:,} centers"
        line = f"expansion    order {self.order} {where}" + (", calibrated" if self.calibrated else "")
        if len(self.orders) > 1:
            line += f" ({orders})"
        if self.center_errors:
            errors = ", ".join(f"{name} {error:.3g}" for name, error in self.center_errors.items())
            line += f"; mean error on the support vectors: {errors}"
        lines = [line, f"gamma        {self.gamma:.6g}"]
        if self.second_order is not None:
            lines.insert(0, f"order 2      not enough: {self.second_order}; order and cells are chosen")
        if self.cells == 1:
            lines[-1] += (
                f"; the validity bound of order {min(self.orders, default=self.order)} holds below "
                f"{self.gamma_max_paper:.6g} (about the origin), {self.gamma_max_centered:.6g} (about the "
                "mean), for rows no farther out than the support vectors"
            )
        for step in self.steps:
            lines.append(
                f"tried        {step.cells:,} cell{'s' * (step.cells != 1)}, orders up to {step.order}: "
                f"{step.certified_percent:.2f}% expected certified, {step.operations:,.0f} multiply-adds "
                f"per row, including the exact model's for the others{self._choice(step)}"
            )
        if self.time_limit_reached:
            lines.append("             then the time limit was reached")
        return lines

    def _choice(self, step: Step) -> str:
        """Return whether a plan was chosen, or why it could not be."""
        if step.chosen:
            return "; chosen" if len(self.steps) > 1 else ""
        if step.worth:
            return ""
        return (
            f"; not worth its size: {step.numbers:,} numbers, {step.numbers / self.numbers_before:.3g} times "
            "the exact model's, for a smaller gain in speed"
        )


def _fallback(tolerance: float | None) -> str:
    """Return the options of predict with which the exact model answers the rows that are not certified."""
    return "predict `exact`" if tolerance is None else "predict `exact` `tolerance`"


def report_of(
    expander: Expander,
    made: PolynomialModel,
    measured: Measured,
    samples: Roles,
    target: float,
    limit: Limit,
) -> ApproximationReport:
    """Return the report of `made`, with the figures measured on the held-out rows of `samples`.

    `target` is the share of rows that should be certified.
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
            made.multiply_adds(samples.held_out.rows) - made.n_cells * d + routing_operations(d, made.n_cells)
        )
    before = exact_operations(model, d, entries)
    origin, mean = (expander.largest_squared_distance(expander.center(name)) for name in ("origin", "mean"))
    lowest = int(orders.min(initial=made.order))
    numbers = exact_numbers(model)
    refused = refusal(measured, limit)
    return ApproximationReport(
        labels_differing=measured.labels_differing,
        labels_differing_percent=measured.labels_differing_percent,
        labels_differing_percent_low=None if measured.interval is None else 100 * measured.interval[0],
        labels_differing_percent_high=None if measured.interval is None else 100 * measured.interval[1],
        values_differing_percent=measured.values_differing_percent,
        kept=measured.kept,
        labels_differing_without_fallback=measured.labels_differing_without_fallback,
        measured_rows=measured.rows,
        measured_on=measured.source,
        trained_on=samples.trained_on,
        difference_warning=difference_warning(measured, made),
        refusal=refused,
        advice=None if refused is None else advice(measured, made, limit),
        svm_type=model.head.svm_type,
        kernel=model.kernel.kind,
        features=d,
        n_sv=n,
        functions=expander.terms.n_functions,
        cells=made.n_cells,
        order=made.order,
        orders=dict(zip(orders.tolist(), counts.tolist(), strict=True)),
        gamma=model.kernel.gamma,
        gamma_max_paper=gamma_max(origin, order=lowest),
        gamma_max_centered=gamma_max(mean, order=lowest),
        certified_percent=measured.certified_percent,
        tolerance=measured.tolerance,
        speedup=measured.speedup,
        speedup_with_fallback=measured.speedup_with_fallback,
        coefficients=len(made.coefficients),
        numbers_before=numbers,
        operations=operations,
        operations_before=before,
        warnings=tuple(
            _warnings(made, measured, numbers, (operations, before), target, (d, n), samples.trained_on)
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
        more = "more labels may differ" if measured.tolerance is None else "values may differ more"
        yield (
            "the exact model was trained on rows of the data, which contain most of its support vectors: on "
            f"other rows {more}, and fewer may be certified"
        )
    if len(made.coefficients) >= numbers:
        yield (
            f"the approximation stores {len(made.coefficients):,} numbers, the exact model only "
            f"{numbers:,}: {size[0]:,} features are many for {size[1]:,} support vectors"
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
            f"answer the others ({_fallback(measured.tolerance)})"
        )
