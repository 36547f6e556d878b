"""The report of ``approximate``: the model, its source, and its range of validity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from svmfast.certificate import gamma_max
from svmfast.class_scores import MIN_ROWS
from svmfast.display import count
from svmfast.methods.approximate.cells import Step
from svmfast.methods.approximate.costs import (
    BETTER,
    WORTHWHILE,
    exact_numbers,
    exact_operations,
    polynomial_operations,
    routing_operations,
)
from svmfast.methods.approximate.expansion import Expander
from svmfast.methods.approximate.options import Limit
from svmfast.methods.approximate.plan import Plan
from svmfast.methods.approximate.sample import OF_VECTORS, Divided, Measured
from svmfast.methods.common.error_statement import labels_line
from svmfast.methods.common.probability_lines import probability_lines
from svmfast.models.polynomial import PolynomialModel

#: Percent of differing labels (regression: of the spread) above which there is a warning.
WARN_ABOVE = 1.0
_FORCE = "`force` writes it anyway"
#: What may serve where no expansion does.
OTHERS = "svmfast compress or svmfast dcpred may be faster; svmfast frontier tries every method"


@dataclass(frozen=True, kw_only=True)
class ApproximationReport(Measured):
    """The report of ``approximate``: the error, the model, its source, and its range of validity.

    Attributes
    ----------
    second_order : str or None
        Why order 2 was not enough, on the rows that serve to choose; None if that was not open.
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

    second_order: str | None = None
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
        del values["kept"], values["growth"]
        low, high = values.pop("interval") or (None, None)
        return {
            "bytes_exact": values.pop("bytes_exact"),
            "support_vectors_exact": values.pop("n_sv"),
            "numbers": values.pop("coefficients"),
            "numbers_exact": values.pop("numbers_before"),
            "multiply_adds": values.pop("operations"),
            "multiply_adds_exact": values.pop("operations_before"),
            "exact_conversion": values.pop("exact"),
            "labels_differing": values.pop("labels_differing"),
            "labels_differing_percent": self.labels_differing_percent,
            "labels_differing_percent_low": None if low is None else 100 * low,
            "labels_differing_percent_high": None if high is None else 100 * high,
            **values,
            **self.kept.to_dict(),
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
        if self.interval is not None:
            share = labels_line(self.to_dict())
        line = f"labels       {share}: {self.labels_differing:,} of {rows}"
        alone = self.labels_differing_without_fallback
        return line if alone is None else f"{line}; {alone:,} without the embedded model"

    def _expansion_lines(self) -> list[str]:
        """Return the lines about the center, the order and gamma, and the plans that were tried."""
        orders = ", ".join(f"order {order}: {n:,}" for order, n in self.orders.items())
        where = f"about the {self.center}" if self.cells == 1 else f"about {self.cells:,} centers"
        line = f"expansion    order {self.order} {where}"
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
    plan: Plan, expander: Expander, measured: Measured, samples: Divided, limit: Limit
) -> ApproximationReport:
    """Return the report of a plan's model, with the figures measured on the held-out rows of `samples`."""
    made = plan.made
    assert made is not None
    target = plan.options.target if plan.chooses and plan.options.free else 0.0
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
        **vars(measured),
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
        order=made.order if made.orders.size else 0 if plan.order == "auto" else int(plan.order),
        orders=dict(zip(orders.tolist(), counts.tolist(), strict=True)),
        exact=plan.collapses,
        center=plan.center,
        center_errors=plan.errors,
        steps=plan.steps,
        time_limit_reached=plan.late,
        gamma=model.kernel.gamma,
        gamma_max_paper=gamma_max(origin, order=lowest),
        gamma_max_centered=gamma_max(mean, order=lowest),
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


def inaccurate(measured: Measured, limit: Limit) -> str | None:
    """Return what differs too much from the exact model, or None."""
    if measured.percent > limit.differing:
        return f"{measured.sentence}, more than {limit.differing:g}%"
    return measured.kept.lost(limit.recall, MIN_ROWS)


def refusal(measured: Measured, limit: Limit) -> str | None:
    """Return why the approximation should not be used, or None."""
    if found := inaccurate(measured, limit):
        return found
    speed, growth = measured.speedup or measured.speedup_with_fallback, measured.growth
    if speed is not None and speed < 1 / WORTHWHILE:
        joined = "" if measured.speedup is not None else "with it for the rows that are not certified, "
        return (
            f"{BETTER}{joined}the approximation is {speed:.2f} times as fast on held-out rows; less than "
            f"{1 / WORTHWHILE:.2f} is not worth a file"
        )
    if speed is not None and growth is not None and growth > max(1.0, speed):
        return f"{BETTER}the approximation is {speed:.1f} times as fast, but {growth:.1f} times as large"
    return None


def advice(measured: Measured, made: PolynomialModel, limit: Limit) -> str:
    """Return what may help if `made` is refused."""
    if inaccurate(measured, limit):
        return f"{alternatives(made, measured.measured_on)}; {_FORCE}"
    speed = measured.speedup or measured.speedup_with_fallback
    if speed is None or speed < 1 / WORTHWHILE:
        return f"{OTHERS}; {_FORCE}"
    return f"a limit on the file's size (`max_bytes`) allows a larger file; {_FORCE}"


def difference_warning(measured: Measured, made: PolynomialModel) -> str | None:
    """Return a warning about the error of `made`, or None."""
    return (
        f"{measured.sentence}; {alternatives(made, measured.measured_on)}"
        if measured.percent > WARN_ABOVE
        else None
    )


def alternatives(made: PolynomialModel, source: str) -> str:
    """Return a suggestion of options and commands that may give a closer model than `made`.

    `source` tells on which rows `made` was measured.
    """
    ways = ["svmfast compress", "svmfast dcpred of the exact model"]
    if made.gamma > 0:
        ways.insert(0, "more `cells`" if made.n_cells > 1 else "`cells` auto with `data`")
    found = f"try {', '.join(ways[:-1])} or {ways[-1]}"
    if made.head.is_regression:
        if made.has_error_bound:
            found += ", or leave rows with a large error bound to the exact model (svmfast predict `exact` "
            found += "`tolerance`)"
    else:
        joined = ["`embed_exact`"] if made.has_error_bound and made.embedded_exact is None else []
        joined.append("svmfast cascade")
        found += f", or leave uncertain rows to the exact model with {' or '.join(joined)}"
    if source == OF_VECTORS:
        why = "are not like other rows" if made.head.is_regression else "lie closest to the boundary"
        found += f"; support vectors {why}: `data` measures your own rows instead"
    return found
