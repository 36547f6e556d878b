"""A run of ``approximate``: truncated expansions of the support vectors (Claesen et al., but centered).

Linear and polynomial kernels are polynomials already and are converted exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from svmfast.certificate import gamma_max
from svmfast.errors import NegativeAnswerError, OptionError
from svmfast.methods.approximate import AccuracyLimit, ApproximateOptions
from svmfast.methods.approximate.certificate import MOST_DEGREES, dual_expansion
from svmfast.methods.approximate.costs import (
    entries_of,
    exact_numbers,
    exact_operations,
    polynomial_operations,
    routing_operations,
)
from svmfast.methods.approximate.expansion import Expander
from svmfast.methods.approximate.plan import Plan, chosen, requested
from svmfast.methods.approximate.report import OTHERS, WARN_ABOVE, ApproximationReport, Measured, measure
from svmfast.methods.approximate.sample import CertificationSample, Divided, divided
from svmfast.methods.common.error_statement import probabilities_after
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.method import ALONE, Inputs, Outcome, Setting
from svmfast.models.answer import answer
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import Rows

# Planning's share of the time limit; building and measuring take the rest.
PLANNING_SHARE = 0.7
# Choosing orders and cells may take as long as this many expansions of order 2; it is announced if that is
# more than so many seconds.
MANY_CELLS, WORTH_A_NOTE = 100, 10.0
SLOW = "choosing orders and cells may take minutes (`time_limit` limits it)"
# Rows for the race: as many as the exact model answers with RACED_WORK multiply-adds, within these limits.
RACED_WORK, RACED_ROWS = 2e9, (2_000, 20_000)


def approximate(
    model: KernelExpansion,
    options: ApproximateOptions | None = None,
    setting: Setting = ALONE,
    *,
    data: Rows | None = None,
    data_seen: int | None = None,
    provenance: Mapping[str, str] | None = None,
) -> tuple[PolynomialModel, ApproximationReport]:
    """Make truncated expansions of `model`, and a report.

    With neither `order` nor `cells` the result is of order 2 or, if that differs by more than `max_diff` or
    loses a class on rows that the report does not measure, as with both auto. Cells and orders are chosen for
    some rows of `data`, a sample of `data_seen`, and measured on others; by default for support vectors and
    points between them. With a `race` in `setting` the result is raced against the exact model, unless its
    order was given.

    UnsupportedError: sigmoid and precomputed kernels. NegativeAnswerError: nothing that is allowed is cheaper
    than the exact model, fits into `max_bytes`, or was finished in time. MemoryLimitError: before any work.
    """
    begin = time.perf_counter()
    wish = options or ApproximateOptions()
    limit, threads = wish.limit, setting.threads
    plan = requested(model, wish.closed, provenance or {})
    by_default = wish.by_default and not plan.collapses and len(model.sv) > 0
    is_open = by_default and wish.is_open
    terms = dual_expansion(model, memory_limit=wish.memory)
    expander = Expander(model, terms, threads=threads, progress=setting.progress)
    samples = divided(
        model,
        terms,
        data,
        seen=data_seen,
        plans=plan.chooses or is_open,
        tolerance=wish.tolerance,
        seed=wish.seed,
        threads=threads,
    )
    too_far = None
    if is_open:
        assert samples.planning is not None, "an open choice is made by rows"
        choosing = replace(samples.planning, source="rows that serve to choose")
        started = time.perf_counter()
        plan = _single(plan, expander)
        too_far = measure(_made(plan), model, choosing, threads=threads).inaccurate(limit)
        if too_far:
            if MANY_CELLS * (time.perf_counter() - started) > WORTH_A_NOTE:
                setting.note(f"order 2 differs too much; {SLOW}")
            plan = requested(model, replace(plan.options, order="auto", cells="auto"), plan.provenance)
    if plan.made is None:
        plan = _built(plan, expander, samples, setting, too_far)
    made = _made(plan)
    setting.progress(0, None, "measure")
    measured = measure(made, model, samples.held_out, threads=threads)
    if by_default or (plan.chooses and plan.options.free):
        fallback = made.embedded_exact if by_default else model
        measured = _raced(measured, plan, expander, samples.held_out, setting, fallback)
    if model.head.is_regression and not plan.chooses and data is None:  # there is no tolerance
        measured = replace(measured, certified_percent=None)
    report = _report(plan, expander, measured, samples, limit)
    return made, replace(report, second_order=too_far, seconds=time.perf_counter() - begin)


def _made(plan: Plan) -> PolynomialModel:
    assert plan.made is not None
    return plan.made


def _single(plan: Plan, expander: Expander) -> Plan:
    """Make one expansion of the plan's order."""
    options = plan.options
    certify = options.certificate != "none"
    made, center, errors = expander.single(options.centers, int(plan.order), certify=certify)
    return replace(plan.with_origin(made, center, expander.model), errors=errors)


def _built(plan: Plan, expander: Expander, samples: Divided, setting: Setting, too_far: str | None) -> Plan:
    """Make the model, after order 2 was `too_far` off."""
    options = plan.options
    if plan.chooses:
        limit = options.time_limit
        deadline = math.inf if limit is None else time.monotonic() + PLANNING_SHARE * limit
        try:
            return chosen(plan, expander, samples, setting.stored_size, deadline)
        except NegativeAnswerError as none:
            if too_far is None:
                raise
            raise NegativeAnswerError(f"order 2: {too_far}; {none}; {OTHERS}") from None
    if plan.collapses:
        made = expander.collapsed(int(plan.order))
        if options.certificate == "none":
            made = replace(made, bound_degrees=None, bound_rest=None)
        plan = plan.with_origin(made, "origin", expander.model)
    else:
        plan = _single(plan, expander)
    size = 0 if options.max_bytes is None else setting.stored_size(_made(plan))
    if options.max_bytes is not None and size > options.max_bytes:
        raise NegativeAnswerError(
            f"the exact polynomial takes {size:,} bytes, more than {options.max_bytes:,}"
        )
    return plan


def _raced(
    measured: Measured,
    plan: Plan,
    expander: Expander,
    sample: CertificationSample,
    setting: Setting,
    fallback: KernelExpansion | None,
) -> Measured:
    """Add the speed and, unless the user limited it, the size; `fallback` answers rows not certified.

    The rows of `sample` are repeated if they are few, since a call with few rows is mostly overhead.
    """
    made, exact, threads, size_of = _made(plan), expander.model, setting.threads, setting.stored_size
    if not len(sample) or setting.race is None:
        return measured
    cost = exact_operations(exact, len(sample.terms.features), entries_of(exact))
    raced = int(min(max(RACED_WORK / max(cost, 1.0), RACED_ROWS[0]), RACED_ROWS[1]))
    rows = sample.rows.take(np.resize(np.arange(len(sample)), raced))
    tolerance = sample.tolerance if made.head.is_regression else None
    speed = setting.race(
        lambda: answer(exact, rows, threads=threads),
        lambda: answer(made, rows, exact=fallback, tolerance=tolerance, threads=threads),
    )
    growth = None
    if plan.options.max_bytes is None:
        growth = size_of(replace(made, embedded_exact=None)) / max(1, size_of(exact))
    if fallback is None:
        return replace(measured, growth=growth, speedup=speed)
    return replace(measured, growth=growth, speedup_with_fallback=speed)


def _report(
    plan: Plan, expander: Expander, measured: Measured, samples: Divided, limit: AccuracyLimit
) -> ApproximationReport:
    """Describe a plan's model, with the figures measured on the held-out rows of `samples`."""
    made, model = _made(plan), expander.model
    d, entries = len(expander.terms.features), entries_of(model)
    orders, counts = np.unique(made.orders, return_counts=True)
    by_order = dict(zip(orders.tolist(), counts.tolist(), strict=True))
    if made.n_cells == 1:
        operations = sum(
            n * polynomial_operations(d, order, entries, about_zero=made.about == "zero")
            for order, n in by_order.items()
        )
    else:
        operations = (
            made.multiply_adds(samples.held_out.rows) - made.n_cells * d + routing_operations(d, made.n_cells)
        )
    origin, mean = (expander.largest_squared_distance(expander.center(name)) for name in ("origin", "mean"))
    lowest = int(orders.min(initial=made.order))
    warning = f"{measured.difference()}; {measured.alternatives(made)}"
    report = ApproximationReport(
        **vars(measured),
        trained_on=samples.trained_on,
        difference_warning=warning if measured.percent > WARN_ABOVE else None,
        refusal=measured.refused(limit),
        advice=measured.advised(made, limit),
        svm_type=model.head.svm_type,
        kernel=model.kernel.kind,
        features=d,
        n_sv=len(model.sv),
        functions=expander.terms.n_functions,
        cells=made.n_cells,
        order=made.order if made.orders.size else 0 if plan.order == "auto" else int(plan.order),
        orders=by_order,
        exact=plan.collapses,
        center=plan.center,
        center_errors=plan.errors,
        steps=plan.steps,
        time_limit_reached=plan.late,
        gamma=model.kernel.gamma,
        gamma_max_paper=gamma_max(origin, order=lowest),
        gamma_max_centered=gamma_max(mean, order=lowest),
        coefficients=len(made.coefficients),
        numbers_before=exact_numbers(model),
        operations=operations,
        operations_before=exact_operations(model, d, entries),
    )
    target = plan.options.target if plan.chooses and plan.options.free else 0.0
    return replace(report, warnings=tuple(report.remarks(target)))


#: Order, cells and level of the candidates for ``frontier``.
EXPANSIONS: tuple[tuple[int | str, int | str, int], ...] = (
    (2, 1, 0),
    (3, 1, 1),
    (2, 64, 2),
    (4, 1, 2),
    (3, 64, 3),
    ("auto", "auto", 4),
)
#: Expansions that would store more than this multiple of the exact model's numbers are not worth their time.
MOST_NUMBERS = 20
#: The most cells of the candidate that is sized to a limit, and the bytes of a shortened coefficient.
MOST_SIZED_CELLS, SHORT_NUMBER = 1024, 8


def run(inputs: Inputs, options: ApproximateOptions, setting: Setting) -> Outcome:
    """Expand `model`; the outcome has no model if the exact model is the better choice."""
    source, data = inputs.model("model"), inputs["data"]
    model = source.model.expansion
    assert model is not None, "the declaration says so"
    if options.tolerance is not None and not model.head.is_regression:
        raise OptionError(
            f"`tolerance` is for regression; for a {model.head.svm_type} model, labels are certified"
        )
    made, report = approximate(
        model,
        options,
        setting,
        data=None if data is None else data.rows,
        data_seen=None if data is None else data.seen,
        provenance={"source": source.identity},
    )
    probabilities = probabilities_after(model.head, made.head)
    report = replace(report, bytes_exact=source.n_bytes, probabilities=probabilities)
    if report.refusal is not None and not options.force:
        return Outcome(None, report, report.refusal, advice=report.advice)
    for note in report.warnings:
        setting.note(note)
    warning = report.difference_warning
    return Outcome(made, report, warnings=() if warning is None else (warning,))


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    model, found, left_out = grid.exact, [], []
    if model.kernel.kind in ("linear", "polynomial"):
        return [Candidate("approximate", 0, {}, ("model",))], []
    features = len(np.unique(model.sv.indices))
    exact = model.sv.nnz + model.sv_coef.size
    sizes = FileSizes(grid)
    for order, cells, level in EXPANSIONS:
        name = f"approximate-{order}" + ("" if cells in (1, "auto") else f"-in-{cells}")
        most = None
        if not isinstance(order, str) and not isinstance(cells, str):
            numbers = math.comb(features + order, order) * cells * model.head.n_functions
            if numbers > MOST_NUMBERS * exact:
                reason = f"it would store {numbers:,} numbers, the exact model stores {exact:,}"
                left_out.append(NotTried(name, reason))
                continue
            most = _bytes_of(sizes, features, order, cells)
        options: dict[str, Any] = {"order": order}
        if order == "auto":
            # frontier times the models itself; a race could make the command fail on a busy machine.
            options["force"] = True
        if cells == 1:
            inputs: tuple[str, ...] = ("model",)
        else:
            options |= {"cells": cells, "seed": grid.seed}
            inputs = ("model", "data")
        found.append(Candidate(name, level, options, inputs, most))
    return found + _sized(grid, sizes, features), left_out


def _bytes_of(sizes: FileSizes, features: int, order: int, cells: int) -> int | None:
    degrees = order + MOST_DEGREES + 1
    return sizes.polynomial(order, cells, features, sizes.exact.head, degrees)


def _sized(grid: Grid, sizes: FileSizes, features: int) -> list[Candidate]:
    """The candidates sized to the limit: order 2 in as many cells as surely fit, and a shortened one."""
    model, limit = grid.exact, grid.max_bytes
    if limit is None or model.kernel.kind != "rbf" or not len(model.sv):
        return []
    found = []
    inputs, functions = ("model", "data"), model.head.n_functions
    cells = sizes.largest(partial(_bytes_of, sizes, features, 2), MOST_SIZED_CELLS)
    if cells > 1:
        options = {"order": 2, "cells": cells, "seed": grid.seed}
        most = _bytes_of(sizes, features, 2, cells)
        level = 1 + (cells > 64)
        name = f"approximate-2-in-{cells}"
        found.append(Candidate(name, level, options, inputs, most, True))
    for order in (4, 3, 2):
        numbers = math.comb(features + order, order) * functions
        most = _bytes_of(sizes, features, order, 1)
        if SHORT_NUMBER * numbers <= limit and (most is None or most > limit):
            options = {"order": order, "max_bytes": limit, "seed": grid.seed}
            name = f"approximate-{order}-in-{limit}-bytes"
            found.append(Candidate(name, 1, options, inputs, None, True))
            break
    return found
