"""A run of ``approximate``: truncated expansions of the support vectors (Claesen et al., but centered).

Linear and polynomial kernels are polynomials already and are converted exactly.

`measuring` divides the rows. `ladder` has `expander` replace the exact model's sums (`exact_sums`):
coefficients by ``solvers.taylor``, bounds on truncation by ``solvers.residual``, on rounding by `bounds`.
Where there is a choice it returns those that `measuring` finds accurate on some rows. Here they are measured
on others and raced by ``Setting.race``; `_report` refuses a result that is inaccurate or not faster.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmfast.certificate import MAX_ORDER
from svmfast.display import count
from svmfast.errors import NegativeAnswerError, UnsupportedError
from svmfast.figures import Figures, figure
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.exact_sums import exact_sums
from svmfast.methods.approximate.expander import Expander
from svmfast.methods.approximate.ladder import LADDER, MOST_NUMBERS, Ladder, Rung, rungs_of
from svmfast.methods.approximate.measuring import LEAST_SPEEDUP, OTHERS, Measured, Sample, divided, measure
from svmfast.methods.candidates import Candidate, CandidateRequest, NotTried
from svmfast.methods.common.error_statement import probability_lines
from svmfast.methods.method import ALONE, Inputs, Outcome, Setting
from svmfast.models.answer import answer
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import Rows
from svmfast.solvers.taylor import check_memory
from svmfast.validity_bound import gamma_max


@dataclass(frozen=True, kw_only=True)
class NoExpansion(Figures):
    """The report if every expansion was passed over: there is none to describe."""

    refusal: str | None = figure("Why nothing is written without `force`; null where the result can be used.")
    advice: str | None = figure("What may help then; else null.")

    def lines(self) -> list[str]:
        return []  # the command states the refusal and the advice


@dataclass(frozen=True, kw_only=True)
class ApproximationReport(Measured, NoExpansion):
    svm_type: str = figure("LIBSVM's name of the type.")
    kernel: str = figure("The kernel's name.")
    features: int = figure("Features in use.")
    n_sv: int = figure("Support vectors of the exact model.", key="support_vectors_exact")
    functions: int = figure("Decision functions.")
    cells: int = figure("Cells of the expansion.")
    order: int = figure("Degree of the polynomials.")
    exact: bool = figure(
        "The kernel is a polynomial itself: nothing was truncated.", key="exact_conversion", default=False
    )
    center: str = figure(
        "`mean` or `origin`; `origin` for exact conversions, `cells` if there are several cells.",
        default="origin",
    )
    gamma: float = figure("Gamma of the kernel.")
    gamma_max_paper: float = figure(
        "Largest gamma for which the validity bound holds, about the origin, for rows no "
        "farther out than the support vectors."
    )
    gamma_max_centered: float = figure("The same, about the mean.")
    coefficients: int = figure("Numbers that the model stores.", key="numbers")
    numbers_before: int = figure("Numbers that the exact model stores.", key="numbers_exact")
    operations: float = figure(
        "Counted multiply-adds of a prediction of a dense row, on average over the measured rows.",
        key="multiply_adds",
    )
    operations_before: float = figure("The same for the exact model.", key="multiply_adds_exact")
    seconds: float = 0.0
    bytes_exact: int | None = figure(
        "Size of the exact model's file, compressed if it is; null for a model that is no file.", default=None
    )
    probabilities: str = figure(
        "Whether the exact model's probabilities were kept: kept, or none (it had none).", default="none"
    )

    def lines(self) -> list[str]:
        vectors = f"{self.n_sv:,} support vectors, {count(self.features, 'feature')}"
        functions = count(self.functions, "decision function")
        lines = [
            self._difference_line(),
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
            how = "predict `exact`" if self.tolerance is None else "predict `exact` `tolerance`"
            lines.append(
                f"raced        {self.speedup_with_fallback:.2f} times as fast as the exact model, which "
                f"answers the rows that are not certified ({how})"
            )
        lines.append(f"numbers      {self.numbers_before:,} -> {self.coefficients:,}")
        counts = f"{self.operations_before:,.0f} -> {self.operations:,.0f}"
        lines.append(f"operations   {counts} multiply-adds per row (counted)")
        return lines + probability_lines(self.probabilities)

    def _difference_line(self) -> str:
        if not self.measured_rows:
            return "labels       not compared: the model has no support vectors"
        words = self.difference("held-out rows of `data`")
        if self.labels_differing is None:
            return f"values       {words.removeprefix('values ')}"
        alone = self.labels_differing_without_fallback
        return f"labels       {words}" + ("" if alone is None else f"; {alone:,} without the embedded model")

    def _expansion_lines(self) -> list[str]:
        where = f"about the {self.center}" if self.cells == 1 else f"about {self.cells:,} centers"
        gamma = f"gamma        {self.gamma:.6g}"
        if self.cells == 1:
            gamma += (
                f"; the validity bound of order {self.order} holds below {self.gamma_max_paper:.6g} (about "
                f"the origin), {self.gamma_max_centered:.6g} (about the mean), for rows no farther out than "
                "the support vectors"
            )
        return [f"expansion    order {self.order} {where}", gamma]


# Rows for the race: as many as the exact model answers with RACED_WORK multiply-adds, within these limits.
RACED_WORK, RACED_ROWS = 2e9, (2_000, 20_000)


def approximate(
    model: KernelExpansion,
    options: ApproximateOptions | None = None,
    setting: Setting = ALONE,
    *,
    data: Rows | None = None,
    provenance: Mapping[str, str] | None = None,
) -> tuple[PolynomialModel, ApproximationReport]:
    """Make truncated expansions of `model`, and a report.

    If the options leave a choice, some rows of `data` decide it; the others measure the result. By default
    the rows are support vectors. A chosen result is raced against the exact model if
    `setting` has a `race`.

    UnsupportedError: sigmoid and precomputed kernels. NegativeAnswerError: no expansion is within the limits.
    MemoryLimitError: before any work.
    """
    begin = time.perf_counter()
    options = options or ApproximateOptions()
    degree, rungs = _degree(model), rungs_of(options)
    if degree is not None or not len(model.sv):  # nothing is truncated, or there is nothing to expand
        rungs = [Rung(rungs[0].order if degree is None else degree, 1)]
    d = len(np.unique(model.sv.indices))
    check_memory(d, rungs[0].order, rungs[0].cells * model.head.n_functions, options.memory)
    sums = exact_sums(model, memory_limit=options.memory)
    expander = Expander(model, sums, threads=setting.threads, progress=setting.progress)
    chooses, centers = len(rungs) > 1, any(rung.cells > 1 for rung in rungs)
    rows = divided(model, data, centers=centers, chooses=chooses, seed=options.seed, threads=setting.threads)
    ladder = Ladder(expander, options, rungs, rows, setting, provenance or {})
    built = ladder.best_first() if degree is None else [(ladder.collapsed(degree), "origin")]
    raced = (options.auto or options.open) and degree is None and len(model.sv)
    made, center = built[0]  # the best; the report is about it if none is fast enough
    # Only auto returns several. A race between them is a choice, on other rows than those of the report; the
    # exact model answers the rows that are not certified.
    for one in built if len(built) > 1 else ():
        speed = _race(one[0], model, rows.choosing, setting, fallback=model)
        if speed is None or speed >= LEAST_SPEEDUP:
            made, center = one
            break
    setting.progress(0, None, "measure")
    measured = measure(made, model, rows.held_out, threads=setting.threads)
    if raced:
        fallback = model if options.auto else made.embedded_exact
        speed = _race(made, model, rows.held_out, setting, fallback=fallback)
        if fallback is None:
            measured = replace(measured, speedup=speed)
        else:
            measured = replace(measured, speedup_with_fallback=speed)
    report = _report(made, center, expander, measured, rows.held_out, options.max_diff)
    return made, replace(report, exact=degree is not None, seconds=time.perf_counter() - begin)


def _degree(model: KernelExpansion) -> int | None:
    """The degree of a kernel that is a polynomial itself; None for rbf, UnsupportedError for others."""
    kernel = model.kernel
    if kernel.kind == "rbf":
        return None
    if kernel.kind not in ("linear", "polynomial"):
        raise UnsupportedError(
            f"the {kernel.kind} kernel has no truncated expansion",
            "approximate takes rbf (svm-train -t 2), linear and polynomial kernels",
        )
    degree = 1 if kernel.kind == "linear" else kernel.degree
    if degree > MAX_ORDER:
        raise UnsupportedError(
            f"a polynomial kernel of degree {degree} has too many monomials",
            f"degrees up to {MAX_ORDER} are converted",
        )
    return degree


def _race(
    made: PolynomialModel,
    exact: KernelExpansion,
    sample: Sample,
    setting: Setting,
    *,
    fallback: KernelExpansion | None,
) -> float | None:
    """How many times as fast as `exact` it is; `fallback` answers rows that are not certified.

    The rows of `sample` are repeated if they are few, since a call with few rows is mostly overhead.
    """
    if not len(sample) or setting.race is None:
        return None
    cost = exact.multiply_adds(sample.rows)
    raced = int(min(max(RACED_WORK / max(cost, 1.0), RACED_ROWS[0]), RACED_ROWS[1]))
    rows = sample.rows.take(np.resize(np.arange(len(sample)), raced))
    threads = setting.threads
    return setting.race(
        lambda: answer(exact, rows, threads=threads),
        lambda: answer(made, rows, exact=fallback, tolerance=sample.tolerance, threads=threads),
    )


def _report(
    made: PolynomialModel,
    center: str,
    expander: Expander,
    measured: Measured,
    sample: Sample,
    max_diff: float,
) -> ApproximationReport:
    """Describe `made`, with the figures measured on the rows of `sample`."""
    model = expander.model
    origin, mean = (expander.largest_squared_distance(expander.center(name)) for name in ("origin", "mean"))
    refusal = measured.inaccurate(max_diff) or measured.slow
    return ApproximationReport(
        **vars(measured),
        refusal=refusal,
        advice=None if refusal is None else measured.advice_if_refused,
        svm_type=model.head.svm_type,
        kernel=model.kernel.kind,
        features=len(expander.sums.features),
        n_sv=len(model.sv),
        functions=expander.sums.n_functions,
        cells=made.n_cells,
        order=made.order,
        center=center,
        gamma=model.kernel.gamma,
        gamma_max_paper=gamma_max(origin, order=made.order),
        gamma_max_centered=gamma_max(mean, order=made.order),
        coefficients=len(made.coefficients),
        numbers_before=model.sv.nnz + model.sv_coef.size,
        operations=made.multiply_adds(sample.rows),
        operations_before=model.multiply_adds(sample.rows),
    )


def run(inputs: Inputs, options: ApproximateOptions, setting: Setting) -> Outcome:
    """Expand `model`; the outcome has no model if the exact model is the better choice."""
    source, data = inputs.model("model"), inputs["data"]
    model = source.model.expansion
    assert model is not None, "the declaration says so"
    rows, provenance = None if data is None else data.rows, {"source": source.identity}
    try:
        made, report = approximate(model, options, setting, data=rows, provenance=provenance)
    except NegativeAnswerError as error:
        return Outcome(None, NoExpansion(refusal=str(error), advice=OTHERS), str(error), advice=OTHERS)
    probabilities = "kept" if made.head.has_probability else "none"
    report = replace(report, bytes_exact=source.n_bytes, probabilities=probabilities)
    if report.refusal is not None and not options.force:
        return Outcome(None, report, report.refusal, advice=report.advice)
    return Outcome(made, report, warnings=() if report.refusal is None else (report.refusal,))


def candidates(request: CandidateRequest) -> tuple[list[Candidate], list[NotTried]]:
    model, found, left_out = request.exact, [], []
    if model.kernel.kind in ("linear", "polynomial"):
        return [Candidate("approximate", 0, {}, ("model",))], []
    features = len(np.unique(model.sv.indices))
    exact = model.sv.nnz + model.sv_coef.size
    for level, (order, cells) in enumerate(LADDER[1:]):
        name = f"approximate-{order}" + (f"-in-{cells}" if cells > 1 else "")
        numbers = math.comb(features + order, order) * cells * model.head.n_functions
        if numbers > MOST_NUMBERS * exact:
            reason = f"it would store {numbers:,} numbers, the exact model stores {exact:,}"
            left_out.append(NotTried(name, reason))
            continue
        # frontier measures the models itself.
        options: dict[str, Any] = {"order": order, "force": True}
        if cells > 1:
            options |= {"cells": cells, "seed": request.seed}
        inputs = ("model",) if cells == 1 else ("model", "data")
        found.append(Candidate(name, level, options, inputs))
    return found, left_out
