"""A run of ``compress``, and its candidates for ``frontier``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from svmfast.methods.compress.compressor import prepare
from svmfast.methods.compress.options import CompressOptions
from svmfast.methods.compress.report import Nothing
from svmfast.methods.compress.search import search
from svmfast.methods.given import Inputs, Outcome, Setting
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.models.expansion import KernelExpansion

#: Shares of the support vectors that the candidates for ``frontier`` keep.
RATIOS = (0.01, 0.025, 0.05, 0.1, 0.25)
#: Options that make candidates quick; a run with the defaults improves agreement by about 0.1 %.
SHORT: dict[str, Any] = {"rows": 20_000, "iterations": 300}


def run(inputs: Inputs, options: CompressOptions, setting: Setting) -> Outcome:
    """Compress `model`, on `data` if there are any."""
    source, data = inputs.model("model"), inputs["data"]
    exact = cast(KernelExpansion, source.model)
    compressor = prepare(
        exact,
        None if data is None else data.rows,
        None if data is None else data.labels,
        options,
        threads=setting.threads,
        progress=setting.progress,
    )
    found = search(compressor, setting.stored_size, options, progress=setting.progress)
    if found.report is None:
        return Outcome(None, Nothing(found.verdict), found.verdict)
    written = None if found.model is None else setting.stored_size(found.model)
    report = replace(
        found.report, bytes=written, source_bytes=source.n_bytes, verdict=found.verdict or "compressed"
    )
    for note in report.notes:
        setting.note(note)
    held = report.statement
    error = None if held.label_agreement is None else held.quantile_999
    return Outcome(found.model, report, found.verdict or None, fallback_error=error)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Return the candidates for ``frontier``: some sizes, and the size that a limit on bytes requires."""
    model = grid.exact
    n, least = len(model.sv), max(2, model.head.n_classes if model.head.is_classifier else 2)
    common = {**SHORT, "seed": grid.seed}
    found: dict[int, Candidate] = {}
    for level, ratio in enumerate(RATIOS):
        size = max(least, round(ratio * n))
        if size < n and size not in found:
            options = {"sv": size, **common}
            found[size] = Candidate(f"compress-{size}", level, options, ("model", "data"))
    every = list(found.values())
    if grid.max_bytes is not None:
        options = {"max_bytes": grid.max_bytes, **common}
        name = f"compress-{grid.max_bytes}-bytes"
        # First, so that a time limit does not leave out the size that was asked for.
        every.insert(0, Candidate(name, 0, options, ("model", "data")))
    return every, []
