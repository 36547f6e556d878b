"""A run of ``approximate``, and its candidates for ``frontier``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.errors import OptionError
from svmfast.methods.approximate.convert import approximate
from svmfast.methods.approximate.operations import work_estimate
from svmfast.methods.approximate.options import ApproximateOptions
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.given import Inputs, Outcome, Setting
from svmfast.methods.grid import Candidate, Grid, NotTried
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
#: Expansions that would store more than this multiple of the exact model's numbers are not worth their time.
MOST_NUMBERS = 20


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
    )
    probabilities = probabilities_after(model.head, made.head)
    report = replace(report, bytes_exact=source.n_bytes, probabilities=probabilities)
    if report.refusal is not None and not options.force:
        return Outcome(None, report, f"{report.refusal} (`force` writes it anyway)")
    for note in report.warnings:
        setting.note(note)
    warning = report.difference_warning
    return Outcome(made, report, warnings=() if warning is None else (warning,))


def _announce(model: KernelExpansion, options: ApproximateOptions, setting: Setting) -> None:
    """Report the expected time and memory before the work begins, unless they are negligible."""
    if model.kernel.kind != "rbf":
        return
    order = 2 if isinstance(options.order, str) else options.order
    n = 1 if isinstance(options.cells, str) else options.cells
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
    for order, cells, level in EXPANSIONS:
        name = f"approximate-{order}" + ("" if cells in (1, "auto") else f"-in-{cells}")
        if not isinstance(order, str) and not isinstance(cells, str):
            numbers = math.comb(features + order, order) * cells * model.head.n_functions
            if numbers > MOST_NUMBERS * exact:
                reason = f"it would store {numbers:,} numbers, the exact model stores {exact:,}"
                left_out.append(NotTried(name, reason))
                continue
        options: dict[str, Any] = {"order": order}
        if order == "auto":
            # frontier times the models itself; a race could make the command fail on a busy machine.
            options["force"] = True
        if cells == 1:
            found.append(Candidate(name, level, options, ("model",)))
        else:
            options |= {"cells": cells, "seed": grid.seed}
            found.append(Candidate(name, level, options, ("model", "data")))
    return found, left_out
