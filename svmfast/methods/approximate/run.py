"""A run of ``approximate``, and its candidates for ``frontier``."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from svmfast.errors import OptionError
from svmfast.methods.approximate.certify import MOST_DEGREES
from svmfast.methods.approximate.convert import approximate
from svmfast.methods.approximate.operations import work_estimate
from svmfast.methods.approximate.options import MOST_ROWS, ApproximateOptions
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.given import Inputs, Outcome, Setting
from svmfast.methods.grid import IMPORTS, Candidate, Grid, NotTried
from svmfast.models.expansion import KernelExpansion

#: Seconds of work from which on the expected time is announced.
_WORTH_A_NOTE = 2.0
#: Order, cells and level of the candidates for ``frontier``.
EXPANSIONS: tuple[tuple[int | str, int | str, int], ...] = (
    (2, 1, 0),
    (3, 1, 1),
    (2, 64, 2),
    (4, 1, 2),
    (3, 64, 3),
    ("auto", "auto", 4),
)
#: Seconds for each function of a cell, apart from its certificate.
CELL_SECONDS = 0.005
#: Order and cells whose time that of the automatic choice is assumed to be.
AUTO_AS = (3, 128)
#: Expansions that would store more than this multiple of the exact model's numbers are not worth their time.
MOST_NUMBERS = 20
#: The most cells of the candidate that is sized to a limit, and the bytes of a shortened coefficient.
MOST_SIZED_CELLS, SHORT_NUMBER = 1024, 8


def run(inputs: Inputs, options: ApproximateOptions, setting: Setting) -> Outcome:
    """Expand `model`; the outcome has no model if the exact model is the better choice."""
    source, data, calibrate = inputs.model("model"), inputs["data"], inputs["calibrate"]
    model = source.model
    assert isinstance(model, KernelExpansion), "the declaration says so"
    if options.tolerance is not None and not model.head.is_regression:
        raise OptionError(
            f"`tolerance` is for regression; for a {model.head.svm_type} model, labels are certified"
        )
    _announce(model, options, setting)
    made, report = approximate(
        model,
        options,
        data=None if data is None else data.rows,
        data_seen=None if data is None else data.seen,
        calibrate=None if calibrate is None else calibrate.rows,
        size_of=setting.stored_size,
        race=setting.race,
        provenance={"source": source.identity},
        threads=setting.threads,
        progress=setting.progress,
        note=setting.note,
    )
    probabilities = probabilities_after(model.head, made.head)
    report = replace(report, bytes_exact=source.n_bytes, probabilities=probabilities)
    if report.refusal is not None and not options.force:
        return Outcome(None, report, report.refusal, advice=report.advice)
    for note in report.warnings:
        setting.note(note)
    warning = report.difference_warning
    return Outcome(made, report, warnings=() if warning is None else (warning,))


def _announce(model: KernelExpansion, options: ApproximateOptions, setting: Setting) -> None:
    """Report the expected time and memory before the work begins, unless they are negligible."""
    if model.kernel.kind != "rbf":
        return
    closed = options.closed
    order = closed.order if isinstance(closed.order, int) else 2
    n = closed.cells if isinstance(closed.cells, int) else 1
    full = options.certificate == "full"
    found = work_estimate(model, order, n, full=full, threads=setting.threads)
    if found.seconds_a_cell * n < _WORTH_A_NOTE:
        return
    many = "each cell" if options.cells == "auto" else f"{n:,} cell{'s' * (n != 1)}"
    least = "at least " if options.free else ""
    setting.note(
        f"{many} will take about {found.seconds_a_cell * n:.0f} s, and all together {least}"
        f"{found.bytes / 1e6:,.0f} MB of memory (`certificate` row-norms is faster)"
    )


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Return the candidates for ``frontier``: orders and cells not much larger than the exact model."""
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
        found.append(Candidate(name, level, options, inputs, most, seconds=_seconds(grid, order, cells)))
    return found + _sized(grid, sizes, features), left_out


def _seconds(grid: Grid, order: int | str, cells: int | str) -> float:
    """Return the expected time: the expansions with their certificates, and the exact model on the rows."""
    if isinstance(order, str) or isinstance(cells, str):
        order, cells = AUTO_AS
    each = work_estimate(grid.exact, order, cells, full=True, threads=1).seconds_a_cell
    measured = min(1.0, MOST_ROWS / max(1, grid.rows)) * grid.exact_seconds
    # One cell is tried about two centers.
    if cells == 1:
        return 2 * each
    return IMPORTS + cells * (each + CELL_SECONDS * grid.exact.head.n_functions) + measured


def _bytes_of(sizes: FileSizes, features: int, order: int, cells: int) -> int | None:
    degrees = order + MOST_DEGREES + 1
    return sizes.polynomial(order, cells, features, sizes.exact.head, degrees)


def _sized(grid: Grid, sizes: FileSizes, features: int) -> list[Candidate]:
    """Return the candidates that are sized to the limit.

    Order 2 has as many cells as are certain to fit; the highest order that may not fit is shortened.
    """
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
        name, seconds = f"approximate-2-in-{cells}", _seconds(grid, 2, cells)
        found.append(Candidate(name, level, options, inputs, most, True, seconds))
    for order in (4, 3, 2):
        numbers = math.comb(features + order, order) * functions
        most = _bytes_of(sizes, features, order, 1)
        if SHORT_NUMBER * numbers <= limit and (most is None or most > limit):
            options = {"order": order, "max_bytes": limit, "seed": grid.seed}
            name = f"approximate-{order}-in-{limit}-bytes"
            seconds = _seconds(grid, order, 1)
            found.append(Candidate(name, 1, options, inputs, None, True, seconds))
            break
    return found
