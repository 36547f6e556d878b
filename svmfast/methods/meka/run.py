"""A run of ``meka``, and its candidates for ``frontier``."""

from __future__ import annotations

from functools import partial

from svmfast.methods.common.cross_validation import checked_labels
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.landmarks import outcome, widths_to_try
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.fit import fit, fit_exact
from svmfast.methods.meka.options import MekaOptions
from svmfast.methods.meka.plan import plan_bytes
from svmfast.methods.method import Inputs, Outcome, Setting

#: Clusters and rank of the candidates for ``frontier``.
BLOCKS = ((8, 16), (16, 32), (32, 64))
#: Clusters of the candidate that is sized to a limit: the first with which the rank is at least LEAST_RANK.
SIZED_CLUSTERS, LEAST_RANK = (8, 4, 2, 1), 16


def run(inputs: Inputs, options: MekaOptions, setting: Setting) -> Outcome:
    """Train on `data`, convert `exact` with its rows, or report the error of their kernel matrix."""
    data, source = inputs.rows("data"), inputs["exact"]
    exact = None if source is None else source.model
    task = str(options.task) if exact is None else "exact"
    options = options.resolved(data.rows.n_columns, exact)
    functions = 1 if exact is None else exact.head.n_functions
    planned = plan_bytes(data.rows, options, task, functions, threads=setting.threads)
    setting.note(f"memory: at most {planned / 2**20:,.0f} MiB; limit {options.memory / 2**20:,.0f} MiB")
    if task == "error":
        return Outcome(None, kernel_error(data.rows, options, setting))
    if source is not None:
        made = fit_exact(data.rows, source.model, options, setting, source.identity)
        return outcome(made, data.rows, setting, converted=True)
    missing = "`labels` are needed to train; for rows without labels, use `exact` or `task` error"
    labels = checked_labels(data, options, setting, missing)
    return outcome(fit(data.rows, labels, options, setting), data.rows, setting, converted=False)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Propose conversions with a few numbers of clusters and ranks."""
    common = {**widths_to_try(grid.exact), "seed": grid.seed}
    sizes = FileSizes(grid)
    found: dict[tuple[int, int], Candidate] = {}

    def bytes_of(clusters: int, rank: int) -> int | None:
        return sizes.routed(clusters, clusters * rank, grid.exact.head)

    def add(clusters: int, rank: int, level: int, sized: bool = False) -> None:
        options = {"clusters": clusters, "rank": rank, **common}
        most = bytes_of(clusters, rank)
        name, inputs = f"meka-{clusters}x{rank}", ("data", "exact")
        found[clusters, rank] = Candidate(name, level, options, inputs, most, sized)

    for level, (clusters, rank) in enumerate(BLOCKS):
        add(clusters, rank, level)
    for clusters in SIZED_CLUSTERS:
        most = len(grid.exact.sv) // clusters
        rank = sizes.largest(partial(bytes_of, clusters), most)
        if rank >= LEAST_RANK or (rank and clusters == SIZED_CLUSTERS[-1]):
            add(clusters, rank, sum(c * r < clusters * rank for c, r in BLOCKS), sized=True)
            break
    return list(found.values()), []
