"""approximate: replace the sum over support vectors by truncated expansions (Claesen et al., but centered).

Linear and polynomial kernels are polynomials already and are converted exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from svmfast.certificate import MAX_ORDER
from svmfast.errors import NegativeAnswerError, UnsupportedError
from svmfast.methods.approximate.calibration import calibration
from svmfast.methods.approximate.cells import Step
from svmfast.methods.approximate.center_choice import better_center
from svmfast.methods.approximate.certification_sample import Roles, roles
from svmfast.methods.approximate.dual_expansion import dual_expansion
from svmfast.methods.approximate.expander import Expander, with_bounds
from svmfast.methods.approximate.measure import OTHERS, Measured, inaccurate, measure, raced
from svmfast.methods.approximate.options import ApproximateOptions, Limit
from svmfast.methods.approximate.plan import Request, check_size, planned
from svmfast.methods.approximate.report import ApproximationReport, report_of
from svmfast.methods.given import Race
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows

# Support vectors on which centers are compared: enough for a mean error, and quick to evaluate.
SAMPLE = 2000
# Planning's share of the time limit; building and measuring take the rest.
PLANNING_SHARE = 0.7
# Choosing orders and cells may take as long as this many expansions of order 2; it is announced if that is
# more than so many seconds.
MANY_CELLS, WORTH_A_NOTE = 100, 10.0
SLOW = "choosing orders and cells may take minutes (`time_limit` limits it)"


@dataclass(frozen=True)
class Task:
    """The requirements on the new model.

    Attributes
    ----------
    order, cells : int or "auto"
        From the options, as far as the kernel allows.
    collapses : bool
        The kernel is a polynomial: nothing is truncated.
    chooses : bool
        Whether orders, cells or digits are chosen by rows.
    """

    order: int | str
    cells: int | str
    collapses: bool
    chooses: bool


@dataclass(frozen=True, eq=False)
class Built:
    """A model, and how it was made.

    Attributes
    ----------
    center : str
        ``mean``, ``origin`` or ``cells``.
    model : PolynomialModel
    errors : mapping of str to float
        For each center that was tried, the mean error on the support vectors.
    steps : tuple of Step
        The plans that were tried.
    late : bool
        Whether the time limit ended the search.
    """

    center: str
    model: PolynomialModel
    errors: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    late: bool = False


def approximate(
    model: KernelExpansion,
    options: ApproximateOptions | None = None,
    *,
    data: Rows | None = None,
    data_seen: int | None = None,
    calibrate: Rows | None = None,
    size_of: Callable[[Model], int] | None = None,
    race: Race | None = None,
    provenance: Mapping[str, str] | None = None,
    threads: int = 1,
    progress: Progress = silent,
    note: Callable[[str], None] = lambda text: None,
) -> tuple[PolynomialModel, ApproximationReport]:
    """Return truncated expansions of `model`, and a report.

    Parameters
    ----------
    model : KernelExpansion
        An rbf kernel is truncated; linear and polynomial kernels are converted exactly, whatever the options.
    options : ApproximateOptions, optional
        With `order` or `cells` auto, the result is the cheapest that certifies `target_certified` of the
        rows. `force` makes it even if the exact model is expected to be the better choice. With neither
        option the result is of order 2 or, if that differs by more than `max_diff` or loses a class on rows
        that the report does not measure, as with both auto.
    data : Rows, optional
        Unlabelled rows like those to be predicted. Cells and orders are chosen for some of them, and the
        report measures on the others. By default support vectors and points between them are used.
    data_seen : int, optional
        The number of rows of which `data` is a sample.
    calibrate : Rows, optional
        Unlabelled rows on which the terms of each degree are rescaled, by least squares to the exact values.
    size_of : callable, optional
        Returns the size in bytes of a model's file, for `max_bytes`.
    race : callable, optional
        ``race(one, other)`` calls both in turn and returns how many times as fast `other` is. The result is
        raced against the exact model on the held-out rows; with auto, the exact model answers the rows that
        are not certified. Not raced is an expansion of a given order. The report refuses a result that is
        not clearly faster, or whose size grows by a larger factor than its speed.
    provenance : mapping of str to str, optional
        Stored in the model, with the method and its parameters.
    threads : int
        The result does not depend on it.
    progress : callable
    note : callable
        Called with a remark before work that may take minutes.

    Raises
    ------
    UnsupportedError
        For sigmoid and precomputed kernels.
    NegativeAnswerError
        With `auto` or `max_bytes`: no order and number of cells is cheaper than the exact model, fits into
        `max_bytes`, or was finished in time.
    MemoryLimitError
        Raised before any work.
    """
    begin = time.perf_counter()
    wish = options or ApproximateOptions()
    options, limit = wish.closed, wish.limit
    task = _task(model, options)
    by_default = wish.by_default and not task.collapses and len(model.sv) > 0
    # Data for a calibration is for one expansion of order 2.
    is_open = by_default and wish.is_open and calibrate is None
    _check_memory(model, task, options)
    terms = dual_expansion(model, memory_limit=options.memory)
    by_row_norms = options.certificate == "row-norms"
    expander = Expander(model, terms, by_row_norms=by_row_norms, threads=threads, progress=progress)
    samples = roles(
        model,
        terms,
        data,
        seen=data_seen,
        plans=task.chooses or is_open,
        calibrated=calibrate,
        tolerance=options.tolerance,
        seed=options.seed,
        threads=threads,
    )
    first, too_far = None, None
    if is_open:
        started = time.perf_counter()
        first = _single(expander, int(task.order), options, None)
        too_far = _too_far(first.model, model, samples, limit, threads)
        if too_far:
            if MANY_CELLS * (time.perf_counter() - started) > WORTH_A_NOTE:
                note(f"order 2 differs too much; {SLOW}")
            options = replace(options, order="auto", cells="auto")
            task = _task(model, options)
    finished = partial(_finished, expander.model, task, options, calibrate is not None, provenance or {})
    if first is not None and not too_far:
        built = first
    elif task.chooses:
        built = _chosen(expander, samples, task, options, finished, size_of, too_far)
    elif task.collapses:
        built = _collapsed(expander, int(task.order), options)
    else:
        built = _single(expander, int(task.order), options, calibrate)
    made = finished(built.model, built.center)
    max_bytes = options.max_bytes
    if not task.chooses and max_bytes is not None and size_of is not None and size_of(made) > max_bytes:
        raise NegativeAnswerError(
            f"the exact polynomial takes {size_of(made):,} bytes, more than {max_bytes:,}"
        )
    progress(0, None, "measure")
    measured = measure(made, model, samples.held_out, threads=threads)
    if race is not None and (by_default or (task.chooses and options.free)):
        fallback = made.embedded_exact if by_default else model
        held_out = samples.held_out
        measured = raced(
            measured, made, model, held_out, race, size_of, max_bytes, fallback=fallback, threads=threads
        )
    if model.head.is_regression and not task.chooses and data is None:  # there is no tolerance
        measured = replace(measured, certified_percent=None)
    report = _reported(expander, replace(built, model=made), measured, samples, task, options, limit)
    seconds = time.perf_counter() - begin
    return made, replace(report, calibrated=calibrate is not None, second_order=too_far, seconds=seconds)


def _too_far(
    made: PolynomialModel, exact: KernelExpansion, samples: Roles, limit: Limit, threads: int
) -> str | None:
    """Return what differs too much from the exact model, on the rows that serve to choose."""
    assert samples.planning is not None, "an open choice is made by rows"
    choosing = replace(samples.planning, source="rows that serve to choose")
    return inaccurate(measure(made, exact, choosing, threads=threads), limit)


def _task(model: KernelExpansion, options: ApproximateOptions) -> Task:
    """Return what to make (UnsupportedError if the kernel has no expansion)."""
    kernel, order, cells = model.kernel, options.order, options.cells
    assert order is not None, "the options are closed"
    assert cells is not None, "the options are closed"
    if kernel.kind in ("linear", "polynomial"):
        order = 1 if kernel.kind == "linear" else kernel.degree
        if order > MAX_ORDER:
            raise UnsupportedError(
                f"a polynomial kernel of degree {order} has too many monomials",
                f"degrees up to {MAX_ORDER} are converted",
            )
        return Task(order, cells, True, False)
    if kernel.kind != "rbf":
        raise UnsupportedError(
            f"the {kernel.kind} kernel has no truncated expansion",
            "approximate takes rbf (svm-train -t 2), linear and polynomial kernels",
        )
    if not len(model.sv):  # nothing to expand, and nothing to choose
        return Task(0 if order == "auto" else order, 1, False, False)
    return Task(order, cells, False, options.chooses)


def _check_memory(model: KernelExpansion, task: Task, options: ApproximateOptions) -> None:
    """Refuse work that cannot fit in memory."""
    tried = 2 if options.center == "auto" and not (task.collapses or task.chooses) else 1
    cells = 1 if task.collapses else task.cells
    limit = options.max_bytes if task.chooses else None
    check_size(model, task.order, cells, tried, limit, options.memory)


def _finished(
    exact: KernelExpansion,
    task: Task,
    options: ApproximateOptions,
    calibrated: bool,
    provenance: Mapping[str, str],
    made: PolynomialModel,
    center: str,
) -> PolynomialModel:
    """Return `made` with its provenance and, with `embed_exact`, the exact model."""
    parameters = f"order={task.order} center={center}" + (" calibrated" if calibrated else "")
    if task.chooses:
        parameters += f" cells={task.cells} target={options.target:g} seed={options.seed}"
        parameters += "" if options.max_bytes is None else f" max_bytes={options.max_bytes}"
    origin = {**provenance, "method": "approximate", "parameters": parameters}
    return replace(made, provenance=origin, embedded_exact=exact if options.embed_exact else None)


def _collapsed(expander: Expander, order: int, options: ApproximateOptions) -> Built:
    """Return the exact polynomial of a linear or polynomial kernel."""
    made = expander.collapsed(order)
    if options.certificate == "none":
        made = replace(made, bound_degrees=None, bound_rest=None)
    return Built("origin", made)


def _chosen(
    expander: Expander,
    samples: Roles,
    task: Task,
    options: ApproximateOptions,
    finished: Callable[[PolynomialModel, str], PolynomialModel],
    size_of: Callable[[Model], int] | None,
    too_far: str | None,
) -> Built:
    """Return a model whose cells and orders are chosen by rows, after order 2 was `too_far` off."""
    size = None if size_of is None else lambda made, center: size_of(finished(made, center))
    limit = options.time_limit
    deadline = math.inf if limit is None else time.monotonic() + PLANNING_SHARE * limit
    try:
        plan = planned(expander, samples, Request(options, size, deadline))
    except NegativeAnswerError as none:
        if too_far is None:
            raise
        raise NegativeAnswerError(f"order 2: {too_far}; {none}; {OTHERS}") from None
    return Built(plan.center, plan.model, {}, plan.steps, plan.late)


def _reported(
    expander: Expander,
    built: Built,
    measured: Measured,
    samples: Roles,
    task: Task,
    options: ApproximateOptions,
    limit: Limit,
) -> ApproximationReport:
    """Return the report of a finished model."""
    target = options.target if task.chooses and options.free else 0.0
    report = report_of(expander, built.model, measured, samples, target, limit)
    lowest = 0 if task.order == "auto" else int(task.order)
    return replace(
        report,
        order=built.model.order if built.model.orders.size else lowest,
        exact=task.collapses,
        center=built.center,
        center_errors=built.errors,
        steps=built.steps,
        time_limit_reached=built.late,
    )


def _single(expander: Expander, order: int, options: ApproximateOptions, calibrate: Rows | None) -> Built:
    """Return one expansion of a given order."""
    model, threads = expander.model, expander.threads
    center, certify = options.center, options.certificate != "none"
    names = ("mean", "origin") if center == "auto" else (center,)
    candidates = {name: expander.expanded(expander.center(name), order) for name in names}
    sample = _sample(model)
    values = model.decision_values(sample, threads=threads)
    errors: dict[str, float] = {}
    for name, (candidate, _) in candidates.items():
        difference = np.abs(candidate.decision_values(sample, threads=threads) - values)
        errors[name] = float(difference.mean()) if difference.size else 0.0
    center = better_center(expander, names, order, errors, certify)
    made, parts = candidates[center]
    at = expander.center(center)
    scales: FloatArray | None = None
    if calibrate is not None:
        scales, rho = calibration(expander, at, order, calibrate)
        made, parts = expander.expanded(at, order, scales)
        made = replace(made, rho=rho)
    if certify:
        orders = [order] * expander.terms.n_functions
        tails = expander.tails(at, order)
        bounds = expander.certificate(at, orders, made.about, parts, tails, scales=scales, rho=made.rho)
        made = with_bounds(made, [bounds])
    return Built(center, made, errors)


def _sample(model: KernelExpansion) -> Rows:
    """Return support vectors at equal intervals."""
    n = len(model.sv)
    return model.sv.take(np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)))
