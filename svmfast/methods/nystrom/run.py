"""A run of ``nystrom``, and its candidates for ``frontier``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.common.class_weights import warn_of_absent
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.head_score import remark_on_classes
from svmfast.methods.common.problem import Problem
from svmfast.methods.given import Inputs, Outcome, Setting
from svmfast.methods.grid import IMPORTS, RATE, Candidate, Grid, NotTried
from svmfast.methods.nystrom.fit import fit
from svmfast.methods.nystrom.options import NystromOptions
from svmfast.models.expansion import KernelExpansion
from svmfast.solvers.arithmetic import provenance

#: Default regularization of ridge, and of fits to decision values.
LAMBDA, EXACT_LAMBDA = 0.1, 1e-6
#: Numbers of landmarks of the candidates for ``frontier``.
SIZES = (64, 256, 1024)


def run(inputs: Inputs, options: NystromOptions, setting: Setting) -> Outcome:
    """Train on `data`, or fit `exact` on its rows."""
    data, source = inputs.rows("data"), inputs["exact"]
    rows, gamma = data.rows, options.gamma or 1.0 / max(1, data.rows.n_columns)
    if source is not None:
        exact = source.model
        assert isinstance(exact, KernelExpansion), "the declaration requires it"
        if options.gamma is None:
            if exact.kernel.kind != "rbf":
                raise OptionError(f"the exact model's kernel is {exact.kernel.kind}; give `gamma`")
            gamma = exact.kernel.gamma
        if not exact.head.n_functions:
            raise UnsupportedError("the model has no decision function", "it needs no conversion")
        setting.progress(0, None, "exact model on the rows")
        values = exact.decision_values(rows, threads=setting.threads)
        problem, task = Problem(rows, values, exact.head, "squares"), "exact"
    else:
        task = str(options.task)
        if data.labels is None:
            raise OptionError(f"`task` {task} needs labels")
        if task == "ridge":
            problem = Problem.of_values(rows, data.labels)
        else:
            problem = Problem.of_classes(rows, data.labels, options.weights)
        warn_of_absent(options.weights, data.labels, data.name, setting)
    # Decision values have no noise.
    lambda_ = options.lambda_ or (LAMBDA if source is None else EXACT_LAMBDA)
    regularization = options.C if problem.hinge else lambda_
    model, report = fit(problem, replace(options, gamma=gamma), regularization, source is not None, setting)
    parameters = f"task {task} gamma {gamma!r} {'C' if problem.hinge else 'lambda'} {regularization!r}"
    parameters += "".join(f" w{label} {weight!r}" for label, weight in options.weights)
    parameters += f" landmarks {options.landmarks}"
    origin = provenance("nystrom", parameters, options.seed, None if source is None else source.identity)
    remark_on_classes(report.held_out, setting)
    return Outcome(replace(model, provenance=origin), report)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Return the candidates for ``frontier``: some numbers of landmarks."""
    if not grid.exact.head.n_functions:
        return [], [NotTried("nystrom", "a model without decision functions needs no conversion")]
    options: dict[str, Any] = {"seed": grid.seed}
    if grid.exact.kernel.kind != "rbf":
        options["gamma"] = 1.0 / max(1, grid.exact.n_features)
    sizes = FileSizes(grid)
    bytes_of = partial(sizes.routed, 1, head=grid.exact.head)
    found: dict[int, Candidate] = {}

    def add(size: int, level: int, sized: bool = False) -> None:
        chosen = {"landmarks": size, **options}
        # k-means, then the features and their products.
        work = grid.rows * size * (20 * grid.width + 2 * size) + 30 * size**3
        seconds, inputs = IMPORTS + grid.exact_seconds + work / (2 * RATE), ("data", "exact")
        most = bytes_of(size)
        found[size] = Candidate(f"nystrom-{size}", level, chosen, inputs, most, sized, seconds)

    most = len(grid.exact.sv) - 1
    for level, size in enumerate(size for size in SIZES if size <= most):
        add(size, level)
    if fitting := sizes.largest(bytes_of, most):
        add(fitting, sum(size < fitting for size in SIZES), sized=True)
    return list(found.values()), []
