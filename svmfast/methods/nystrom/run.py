"""nystrom on what the front end has read, and its candidates."""

from __future__ import annotations

from typing import Any

from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.common.class_targets import svc_targets
from svmfast.methods.common.class_weights import row_weights, warn_of_absent
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.head_score import remark_on_classes
from svmfast.methods.given import Inputs, Outcome, Setting
from svmfast.methods.grid import IMPORTS, RATE, Candidate, Grid, NotTried
from svmfast.methods.nystrom.fit import fit, regularization_of
from svmfast.methods.nystrom.options import NystromOptions
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray
from svmfast.solvers.arithmetic import arithmetic

#: Numbers of landmarks of the candidates for ``frontier``.
SIZES = (64, 256, 1024)


def run(inputs: Inputs, options: NystromOptions, setting: Setting) -> Outcome:
    """Train on `data`, or fit `exact` on its rows."""
    data, source = inputs.rows("data"), inputs["exact"]
    rows = data.rows
    each: FloatArray | None = None
    gamma = options.gamma or 1.0 / max(1, rows.n_columns)
    provenance = {"method": "nystrom", "seed": str(options.seed), "arithmetic": arithmetic()}
    if source is not None:
        exact: Model = source.model
        assert isinstance(exact, KernelExpansion), "the declaration requires it"
        if options.gamma is None:
            if exact.kernel.kind != "rbf":
                raise OptionError(f"the exact model's kernel is {exact.kernel.kind}; give `gamma`")
            gamma = exact.kernel.gamma
        if not exact.head.n_functions:
            raise UnsupportedError("the model has no decision function", "it needs no conversion")
        setting.progress(0, None, "exact model on the rows")
        head, targets = exact.head, exact.decision_values(rows, threads=setting.threads)
        provenance["source"] = source.identity
    else:
        if data.labels is None:
            raise OptionError(f"`task` {options.task} needs labels")
        if options.task == "ridge":
            head, targets = Head("epsilon_svr"), data.labels[:, None]
        else:
            head, targets = svc_targets(data.labels, pairs=False)
        warn_of_absent(options.weights, data.labels, data.name, setting)
        each = row_weights(options.weights, data.labels)
    provenance["parameters"] = _parameters(options, gamma, source is not None)
    model, report = fit(
        rows,
        targets,
        head,
        options,
        gamma,
        values=options.task != "svc",
        weights=each,
        provenance=provenance,
        setting=setting,
    )
    remark_on_classes(report.held_out, setting)
    return Outcome(model, report)


def _parameters(options: NystromOptions, gamma: float, converted: bool) -> str:
    task = "exact" if converted else options.task
    lambda_ = regularization_of(options, converted)
    regularization = f"C {options.C!r}" if task == "svc" else f"lambda {lambda_!r}"
    weights = "".join(f" w{label} {weight!r}" for label, weight in options.weights)
    return f"task {task} gamma {gamma!r} {regularization}{weights} landmarks {options.landmarks}"


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Return the candidates for ``frontier``: some numbers of landmarks."""
    if not grid.exact.head.n_functions:
        return [], [NotTried("nystrom", "a model without decision functions needs no conversion")]
    options: dict[str, Any] = {"seed": grid.seed}
    if grid.exact.kernel.kind != "rbf":
        options["gamma"] = 1.0 / max(1, grid.exact.n_features)
    sizes, head = FileSizes(grid), grid.exact.head
    found: dict[int, Candidate] = {}

    def bytes_of(size: int) -> int | None:
        return sizes.routed(1, size, head)

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
