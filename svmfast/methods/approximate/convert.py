"""approximate: replace the sum over support vectors by one truncated expansion (Claesen et al., centred).

Linear and polynomial kernels are polynomials already and collapse exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from svmfast.arguments import check_number
from svmfast.certificate import MAX_ORDER
from svmfast.errors import DoesNotPayError, OptionError, UnsupportedError
from svmfast.methods.approximate.cells import Step
from svmfast.methods.approximate.certification_sample import roles
from svmfast.methods.approximate.dual_expansion import dual_expansion
from svmfast.methods.approximate.expander import Expander, with_bounds
from svmfast.methods.approximate.measure import Race, measure, raced
from svmfast.methods.approximate.plan import Request, better_centre, check_size, planned
from svmfast.methods.approximate.report import ApproximationReport, report_of
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows

CENTERS = ("auto", "mean", "origin")
CERTIFICATES = ("full", "row-norms", "none")
MEMORY_LIMIT = 2 << 30
TARGET = 0.99
#: Of a time limit; building and measuring take the rest.
PLANNING_SHARE = 0.7


def approximate(
    model: KernelExpansion,
    *,
    order: int | str = 2,
    cells: int | str = 1,
    center: str = "auto",
    data: Rows | None = None,
    data_seen: int | None = None,
    target: float = TARGET,
    tolerance: float | None = None,
    max_bytes: int | None = None,
    size_of: Callable[[Model], int] | None = None,
    race: Race | None = None,
    time_limit: float | None = None,
    calibrate: Rows | None = None,
    certificate: str = "full",
    embed_exact: bool = False,
    force: bool = False,
    memory_limit: int = MEMORY_LIMIT,
    seed: int = 0,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[PolynomialModel, ApproximationReport]:
    """Return truncated expansions of `model`, and a report.

    Parameters
    ----------
    model : KernelExpansion
        rbf: truncated at `order`. linear, polynomial: converted exactly; the choices do not matter.
    order : int or "auto"
        Degree of the polynomials, 0 to 16; 2 is the paper's. auto: the cheapest that certify `target` of the
        rows, cell by cell and pair by pair.
    cells : int or "auto"
        Expansions about so many centres (k-means); a row meets the nearest. auto: as many as `target` takes.
    center : {"auto", "mean", "origin"}
        Of a single expansion: the mean of the support vectors, the origin (the paper's form), or the one with
        the smaller bound (without a certificate: the smaller mean error on the support vectors).
    data : Rows, optional
        Rows like those to be predicted, unlabelled: cells and orders are chosen for them, and the report
        measures on others of them, which chose nothing. By default support vectors and points between them.
    data_seen : int, optional
        How many rows `data` is a sample of.
    target : float
        Share of these rows to certify, 0 to 1.
    tolerance : float, optional
        Regression: the error bar up to which a value counts as certified (default: a hundredth of the values'
        standard deviation).
    max_bytes : int, optional
        Largest size of the result as `size_of` tells it: coefficients get fewer digits, negligible ones
        become 0, and what that moves is added to the bound.
    size_of : callable, optional
        Bytes of a model's file.
    race : callable, optional
        ``race(one, other)`` calls both in turn and returns how many times as fast `other` is. With "auto" the
        prediction step, the exact model answering what is not certified, is raced against the exact model's
        on the held-out rows; the report refuses a result that is not clearly faster, or grows by more than
        it is faster.
    time_limit : float, optional
        With "auto": seconds to look for, about; the best that was found until then is made. The result then
        depends on the machine.
    calibrate : Rows, optional
        Unlabelled rows on which the terms of each degree are rescaled, by least squares to the exact values.
    certificate : {"full", "row-norms", "none"}
        Bound the model's own error, so that rows can be certified: full costs O(n^2 d) for each cell,
        row-norms O(n d) and is looser.
    embed_exact : bool
        Keep `model` inside the result, to answer rows that are not certified.
    force : bool
        Make a result also where "auto" foresees that the exact model is the better choice.
    memory_limit : int
        Bytes of the largest arrays.
    seed : int
        Of the sample of rows, of who among them measures, and of k-means.
    threads : int
        The result does not depend on it.
    provenance : mapping of str to str, optional
        Kept in the model, beside the method and its parameters.

    Raises
    ------
    UnsupportedError
        For sigmoid and precomputed kernels.
    DoesNotPayError
        Where there was a choice: no order and no number of cells is cheaper than the exact model, or none
        fits into `max_bytes`, or none was finished in time.
    MemoryLimitError
        Before any work.
    """
    begin = time.perf_counter()
    _check(order, cells, center, target, max_bytes, certificate, calibrate, time_limit)
    check_number("the tolerance", tolerance, above=True)
    kernel = model.kernel
    collapses = kernel.kind in ("linear", "polynomial")
    if not collapses and kernel.kind != "rbf":
        raise UnsupportedError(
            f"the {kernel.kind} kernel has no truncated expansion",
            "approximate takes rbf (svm-train -t 2), linear and polynomial kernels",
        )
    if collapses:
        order = 1 if kernel.kind == "linear" else kernel.degree
        if order > MAX_ORDER:
            raise UnsupportedError(
                f"a polynomial kernel of degree {order} has too many monomials",
                f"degrees up to {MAX_ORDER} are converted",
            )
    if not collapses and not len(model.sv):  # nothing to expand, and nothing to choose
        order, cells = 0 if order == "auto" else order, 1
    choose = not collapses and len(model.sv) > 0
    choose = choose and (order == "auto" or cells != 1 or max_bytes is not None)
    tried = 2 if center == "auto" and not (collapses or choose) else 1
    check_size(model, order, 1 if collapses else cells, tried, max_bytes if choose else None, memory_limit)
    terms = dual_expansion(model, memory_limit=memory_limit)
    expander = Expander(
        model, terms, by_row_norms=certificate == "row-norms", threads=threads, progress=progress
    )
    who = roles(
        model,
        terms,
        data,
        seen=data_seen,
        plans=choose,
        calibrated=calibrate,
        tolerance=tolerance,
        seed=seed,
        threads=threads,
    )

    def finished(made: PolynomialModel, center: str) -> PolynomialModel:
        parameters = f"order={order} center={center}" + (" calibrated" if calibrate is not None else "")
        if choose:
            parameters += f" cells={cells} target={target:g} seed={seed}"
            parameters += "" if max_bytes is None else f" max_bytes={max_bytes}"
        origin = {**(provenance or {}), "method": "approximate", "parameters": parameters}
        return replace(made, provenance=origin, embedded_exact=model if embed_exact else None)

    errors: dict[str, float] = {}
    steps: tuple[Step, ...] = ()
    late = False
    if collapses:
        center, made = "origin", expander.collapsed(int(order))
        if certificate == "none":
            made = replace(made, bound_degrees=None, bound_rest=None)
    elif choose:
        request = Request(
            order,
            cells,
            center,
            target,
            max_bytes,
            None if size_of is None else lambda made, center: size_of(finished(made, center)),
            certificate,
            memory_limit,
            seed,
            math.inf if time_limit is None else time.monotonic() + PLANNING_SHARE * time_limit,
            force,
        )
        plan = planned(expander, who, request)
        center, made, steps, late = plan.center, plan.model, plan.steps, plan.late
    else:
        center, made, errors = _single(expander, int(order), center, calibrate, certificate != "none")
    made = finished(made, center)
    if not choose and max_bytes is not None and size_of is not None and size_of(made) > max_bytes:
        raise DoesNotPayError(f"the exact polynomial takes {size_of(made):,} bytes, more than {max_bytes:,}")
    asked = 0 if order == "auto" else int(order)
    wanted = target if "auto" in (order, cells) and choose else 0.0
    progress(0, None, "measure")
    measured = measure(made, model, who.held_out, threads=threads)
    if race is not None and choose and "auto" in (order, cells):
        measured = raced(measured, made, model, who.held_out, race, size_of, max_bytes, threads=threads)
    if model.head.is_regression and not choose and data is None:  # nobody set a tolerance
        measured = replace(measured, certified_percent=None)
    report = report_of(
        expander,
        made,
        measured,
        who,
        asked,
        wanted,
        center,
        errors,
        steps,
        late,
        calibrate is not None,
        collapses,
        begin,
    )
    return made, report


def _check(
    order: int | str,
    cells: int | str,
    center: str,
    target: float,
    max_bytes: int | None,
    certificate: str,
    calibrate: Rows | None,
    time_limit: float | None,
) -> None:
    """Raise OptionError for what contradicts itself."""
    if center not in CENTERS:
        raise OptionError(f"center '{center}' is not one of {', '.join(CENTERS)}")
    if certificate not in CERTIFICATES:
        raise OptionError(f"certificate '{certificate}' is not one of {', '.join(CERTIFICATES)}")
    if order != "auto" and (isinstance(order, str) or not 0 <= order <= MAX_ORDER):
        raise OptionError(f"order {order} is not between 0 and {MAX_ORDER}, nor 'auto'")
    if cells != "auto" and (isinstance(cells, str) or cells < 1):
        raise OptionError(f"{cells} cells: at least 1 is needed, or 'auto'")
    if not 0 < target <= 1:
        raise OptionError(f"a target of {target:g} is not a share above 0 and up to 1")
    check_number("the time limit", time_limit, above=True)
    if time_limit is not None and "auto" not in (order, cells):
        raise OptionError("a time limit is for 'auto', which looks for orders and cells")
    if certificate == "none" and "auto" in (order, cells):
        raise OptionError("'auto' chooses by the certificate, which is not to be made")
    if calibrate is not None and (order == "auto" or cells != 1 or max_bytes is not None):
        raise OptionError("calibration is for one cell of a given order, without a limit of size")


def _single(
    expander: Expander, order: int, center: str, calibrate: Rows | None, certify: bool
) -> tuple[str, PolynomialModel, dict[str, float]]:
    """One expansion of a given order: which centre, the model, and every tried centre's error."""
    model, threads = expander.model, expander.threads
    names = ("mean", "origin") if center == "auto" else (center,)
    candidates = {name: expander.expanded(expander.centre(name), order) for name in names}
    sample = expander.sample()
    values = model.decision_values(sample, threads=threads)
    errors: dict[str, float] = {}
    for name, (candidate, _) in candidates.items():
        difference = np.abs(candidate.decision_values(sample, threads=threads) - values)
        errors[name] = float(difference.mean()) if difference.size else 0.0
    center = better_centre(expander, names, order, errors, certify)
    made, parts = candidates[center]
    at = expander.centre(center)
    scales: FloatArray | None = None
    if calibrate is not None:
        scales, rho = expander.calibration(at, order, calibrate)
        made, parts = expander.expanded(at, order, scales)
        made = replace(made, rho=rho)
    if certify:
        orders = [order] * expander.terms.n_functions
        tails = expander.tails(at, order)
        bounds = expander.certificate(at, orders, made.about, parts, tails, scales=scales, rho=made.rho)
        made = with_bounds(made, [bounds])
    return center, made, errors
