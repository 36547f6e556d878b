"""A run of ``dcpred``, and its candidates for ``frontier``."""

from __future__ import annotations

from svmfast.methods.common.cross_validation import checked_labels
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.landmarks import outcome, widths_to_try
from svmfast.methods.dcpred.fit import fit, fit_exact, what_is_fitted
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.models.head import Head

#: Multiples of a linear model's multiply-adds, for the candidates.
OPERATIONS = (5, 10, 20, 40)


def run(inputs: Inputs, options: DcpredOptions, setting: Setting) -> Outcome:
    """Train on `data`, or convert `exact` with its rows."""
    data, source = inputs.rows("data"), inputs["exact"]
    if source is None:
        missing = "`labels` are needed for `task`; for rows without labels, use `exact`"
        labels = checked_labels(data, options, setting, missing)
        return outcome(fit(data.rows, labels, options, setting), data.rows, setting, converted=False)
    head = source.model.head
    if head.has_probability and what_is_fitted(head, options.fit) == "labels":
        setting.warn(
            f"the probabilities of {source.name} will be dropped: `fit` labels gives values that LIBSVM's "
            "pairwise probabilities are not defined for; `fit` values or `fit` pairs keeps them"
        )
    made = fit_exact(data.rows, source.model, options, setting, source.identity)
    return outcome(made, data.rows, setting, converted=True)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Propose conversions at a few multiples of a linear model's cost."""
    common = {**widths_to_try(grid.exact), "seed": grid.seed}
    inputs = ("data", "exact")
    found = [
        Candidate(
            f"dcpred-{times}x",
            level,
            {"max_operations": float(times), **common},
            inputs,
        )
        for level, times in enumerate(OPERATIONS)
    ]
    sizes, head = FileSizes(grid), grid.exact.head
    if what_is_fitted(head, "auto") == "labels":
        head = Head(head.svm_type, head.labels, one_vs_rest=True)

    def bytes_of(landmarks: int) -> int | None:
        return sizes.routed(1, landmarks, head)

    if fitting := sizes.largest(bytes_of, len(grid.exact.sv) - 1):
        # One leaf: every landmark then serves every row, which is best for the size.
        options = {"clusters": 1, "landmarks": fitting, **common}
        name = f"dcpred-{fitting}-landmarks"
        found.append(Candidate(name, len(OPERATIONS), options, inputs, bytes_of(fitting), True))
    return found, []
