"""A run of ``compress``, and its candidates for ``frontier``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.compress.options import CompressOptions
from svmfast.methods.compress.report import Nothing
from svmfast.methods.compress.search import LARGEST_SHARE, held_out_difference, refuted, search
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.models.expansion import KernelExpansion

#: Shares of the support vectors that the candidates for ``frontier`` keep.
RATIOS = (0.01, 0.025, 0.05, 0.1, 0.25)
#: Options that make candidates quick; a run with the defaults improves agreement by about 0.1 %.
SHORT: dict[str, Any] = {"rows": 20_000, "iterations": 300}
#: Advice if the held-out rows exceed a limit that the rows for choices met.
MORE_ROWS = "ask for less, or give more rows in `data`"


def run(inputs: Inputs, options: CompressOptions, setting: Setting) -> Outcome:
    """Compress `model`, on `data` if there are any."""
    source, data = inputs.model("model"), inputs["data"]
    exact = cast(KernelExpansion, source.model)
    compressor = Compressor(
        exact,
        None if data is None else data.rows,
        None if data is None else data.labels,
        options,
        threads=setting.threads,
        progress=setting.progress,
    )
    found = search(compressor, setting.stored_size, progress=setting.progress)
    report = found.report
    if report is None:
        return Outcome(None, Nothing(found.verdict), found.verdict, advice=found.advice)
    limit = options.max_diff
    if found.model is not None and limit is not None and (beyond := refuted(report, limit)):
        found = replace(found, model=None, verdict=beyond, advice=MORE_ROWS)
    written = None if found.model is None else setting.stored_size(found.model)
    report = replace(
        report, bytes=written, source_bytes=source.n_bytes, verdict=found.verdict or "compressed"
    )
    for note in report.notes:
        setting.note(note)
    differing = held_out_difference(report)
    if found.model is not None and limit is not None and differing > limit:
        what = "of their spread the values" if exact.head.is_regression else "of the labels"
        setting.warn(
            f"on the held-out rows {differing:.3%} {what} differ, more than `max_diff`; on the rows for "
            f"choices fewer do: {MORE_ROWS}"
        )
    if found.model is not None and (lost := report.kept.lost()):
        setting.warn(f"a class is lost: {lost}")
    held = report.statement
    error = None if held.labels_differing_percent is None else held.quantile_999
    return Outcome(found.model, report, found.verdict or None, fallback_error=error, advice=found.advice)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """List the candidates for ``frontier``: some sizes, and the size that a limit on bytes requires."""
    model = grid.exact
    n, least = len(model.sv), max(2, model.head.n_classes if model.head.is_classifier else 2)
    common = {**SHORT, "seed": grid.seed}
    sizes = FileSizes(grid)
    found: dict[int, Candidate] = {}

    def add(size: int, level: int, sized: bool = False) -> None:
        options, inputs = {"sv": size, **common}, ("model", "data")
        most = sizes.expansion(size)
        found[size] = Candidate(f"compress-{size}", level, options, inputs, most, sized)

    for level, ratio in enumerate(RATIOS):
        size = max(least, round(ratio * n))
        if size < n and size not in found:
            add(size, level)
    every = list(found.values())
    if not sizes.binding:
        return every, []
    fitting = sizes.largest(sizes.expansion, max(least, int(LARGEST_SHARE * n)))
    if least <= fitting < n:
        add(fitting, sum(ratio * n < fitting for ratio in RATIOS), sized=True)
        return list(found.values()), []
    # Too few vectors are certain to fit, or no bound is known: the command searches for the number that does.
    options = {"max_bytes": grid.max_bytes, **common}
    name = f"compress-{grid.max_bytes}-bytes"
    return [Candidate(name, 0, options, ("model", "data"), None, True), *every], []
