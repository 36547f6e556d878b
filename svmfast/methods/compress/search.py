"""The search for a size: the smallest model that is close enough, or the largest that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from svmfast.caches import cached
from svmfast.display import count
from svmfast.errors import NothingFitsError
from svmfast.methods.candidates import Candidate, CandidateRequest, NotTried
from svmfast.methods.common.error_statement import ErrorStatement
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.compress.data_split import bytes_each, map_bytes
from svmfast.methods.compress.made_model import Compressed
from svmfast.methods.compress.metric import has_metric
from svmfast.methods.compress.report import CompressReport, coordinates
from svmfast.methods.method import Inputs, Outcome, Setting
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.options import changed_words
from svmfast.progress import Progress, silent
from svmfast.solvers.arithmetic import provenance
from svmfast.solvers.intervals import trials_needed

#: The search for a difference ends when the ratio of the sizes that pass and fail is at most this.
_SIZE_STEP = 1.15
#: The search begins with this share of the model's support vectors.
_FIRST_SHARE = 0.01
#: Compression to more than this share of the model's support vectors is not worthwhile.
LARGEST_SHARE = 0.5
_BYTE_TRIES = 5
#: Support vectors from which the size of a large model's file is estimated.
_ESTIMATED_FROM = 1000
#: A file that uses at least this share of the limit is large enough.
_BYTES_USED = 0.95

SizeOf = Callable[[Model], int]
Made = tuple[Compressed, CompressReport]


@dataclass(frozen=True, eq=False)
class Found:
    #: None if no model smaller than the exact one is as small or as close as required.
    model: Compressed | None
    #: Of the model, or of the closest one that was tried.
    report: CompressReport
    #: Why there is no model, or empty, and what may help.
    verdict: str = ""
    advice: str | None = None


def doubtful(statement: ErrorStatement, limit: float) -> str | None:
    """A sentence if more than `limit` differs on the held-out rows, or they are too few to show less."""
    rows, most = statement.rows + statement.frequent_rows, round(100 * limit, 10)
    shown = round(statement.differing_percent, 10) <= most
    if statement.values_differing_percent is None:
        shown = shown and limit > 0 and rows >= trials_needed(limit)
    found = f"{count(rows, 'held-out row')} cannot show `max_diff`: {statement.difference()}"
    return None if shown else found


class ExactSize:
    """The size of the exact model's file, computed only if an estimate from some vectors does not decide.

    The text of a million support vectors takes as much memory as the vectors.
    """

    def __init__(self, model: KernelExpansion, size_of: SizeOf) -> None:
        self._model, self._size_of = model, size_of

    @cached
    def bytes(self) -> int:
        return self._size_of(self._model)

    @cached
    def _estimate(self) -> float:
        model, n = self._model, len(self._model.sv)
        some = np.arange(0, n, n // _ESTIMATED_FROM)
        nr_sv = model.nr_sv
        if nr_sv is not None:
            nr_sv = np.diff(np.searchsorted(some, [0, *np.cumsum(nr_sv)]))
        part = replace(model, sv=model.sv.take(some), sv_coef=model.sv_coef[:, some], nr_sv=nr_sv)
        return self._size_of(part) * n / len(some)

    def exceeds(self, size: int) -> bool:
        """Whether the file has more than `size` bytes."""
        clearly = len(self._model.sv) > 4 * _ESTIMATED_FROM
        if clearly and not self._estimate / 2 < size < 2 * self._estimate:
            return self._estimate > size
        return self.bytes > size


def search(compressor: Compressor, size_of: SizeOf, *, progress: Progress = silent) -> Found:
    """Make the model of the size that one option sets, or explain why none is smaller than the exact one."""
    options, exact, n = compressor.options, compressor.model, len(compressor.model.sv)
    own, split = ExactSize(exact, size_of), compressor.split
    limit = options.max_bytes or options.max_flash
    if options.max_diff is not None:
        if not len(split.frequent) and not (len(split.choose) and len(split.state)):
            what = "there are too few distinct rows to hold some out, so `max_diff` cannot be checked"
            raise NothingFitsError(what, "give more rows in `data`")
        found = _search_difference(compressor, options.max_diff, size_of, own, progress)
    elif limit is not None and own.exceeds(limit):
        found = _search_bytes(compressor, limit, size_of, progress)
    else:
        count = n if limit else options.sv or max(compressor.smallest, round((options.ratio or 0) * n))
        if count >= n:
            size = f"{n:,} support vectors and {own.bytes:,} bytes"
            raise NothingFitsError(f"the model, of {size}, is already small enough", "ask for less")
        found = Found(*compressor.compress(count, progress=progress))
    if found.model is None:
        rows = found.report.rows_compared
        tried = ", ".join(f"{size:,}: {value or 0:.2%}" for size, value in found.report.sizes_tried)
        verdict = f"no smaller model is close enough on the {rows:,} rows for choices; tried {tried}"
        return replace(found, verdict=verdict)
    final = size_of(found.model)
    if own.exceeds(final):
        return found
    return Found(
        None,
        found.report,
        f"the file would grow: {found.report.support_vectors:,} dense support vectors take {final:,} bytes, "
        f"the model {own.bytes:,}",
        "ask for fewer",
    )


def _search_difference(
    compressor: Compressor, limit: float, size_of: SizeOf, own: ExactSize, progress: Progress
) -> Found:
    """Find the fewest support vectors whose difference on the rows for choices is at most `limit`.

    A size that loses a class there does not pass, since few labels differ where the class is rare.
    Sizes double until one passes; then the gap is bisected, in ratio, until it is below 15 %. The held-out
    rows take no part, so that the error statement is not biased by the choice.
    """
    n, smallest = len(compressor.model.sv), compressor.smallest
    largest = max(int(LARGEST_SHARE * n), smallest)
    tried: dict[int, Made] = {}

    def passes(count: int) -> bool:
        made, report = tried[count] = compressor.compress(count, progress=progress)
        kept = report.kept_choosing.lost() is None
        return (
            kept
            and report.choosing_difference <= limit
            and report.support_vectors < n
            and own.exceeds(size_of(made))
        )

    size = min(max(round(_FIRST_SHARE * n), smallest), largest)
    failed = smallest - 1
    while not passes(size):
        failed = size
        if size >= largest:
            closest = min((one for _, one in tried.values()), key=lambda one: one.choosing_difference)
            return Found(None, _with_tries(closest, tried))
        size = min(2 * size, largest)
    while size > max(_SIZE_STEP * failed, failed + 1):
        middle = max(failed + 1, min(round((max(failed, 1) * size) ** 0.5), size - 1))
        if passes(middle):
            size = middle
        else:
            failed = middle
    made, report = tried[size]
    return Found(made, _with_tries(report, tried))


def _search_bytes(compressor: Compressor, limit: int, size_of: SizeOf, progress: Progress) -> Found:
    """Find the most support vectors whose file has at most `limit` bytes.

    The first try settles the metric.
    """
    smallest, most = compressor.smallest, compressor.largest
    tried: dict[int, Made] = {}
    each = bytes_each(compressor.options, compressor.split.width, len(compressor.model.sv_coef))
    size = max(smallest, min(limit // each, most))
    fits, too_large = 0, most + 1
    for left in reversed(range(_BYTE_TRIES)):
        found = compressor.compress(size, limit=None if tried else limit, progress=progress)
        used, report = size_of(found[0]), found[1]
        size = report.support_vectors
        tried[size] = found
        if used <= limit:
            fits = size
            if used >= _BYTES_USED * limit:
                break
        else:
            too_large = size
            if size == smallest:
                what = f"{size} dense support vector{'s' * (size > 1)}"
                if report.metric is not None:
                    what += f" and a map to {coordinates(report.metric)}"
                takes = "takes" if size == 1 and report.metric is None else "take"
                raise NothingFitsError(f"{what} {takes} {used:,} bytes, more than {limit:,}", "allow more")
        fixed = map_bytes(compressor.options, compressor.split.width, report.metric)
        fixed *= fixed < min(limit, used)
        guess = round(size * (limit - fixed) / (used - fixed) * (0.99 if used <= limit else 0.97))
        size = max(fits + 1, smallest, min(guess, too_large - 1))
        if left == 1 and not fits:
            size = smallest
        if size >= too_large or size in tried:
            break
    made, report = tried[fits]
    return Found(made, _with_tries(report, tried))


def _with_tries(report: CompressReport, tried: dict[int, Made]) -> CompressReport:
    reports = (report for _, (_, report) in sorted(tried.items()))
    sizes = ((one.support_vectors, one.choosing_difference if one.rows_compared else None) for one in reports)
    return replace(report, sizes_tried=tuple(sizes))


#: Shares of the support vectors that the candidates for ``frontier`` keep.
RATIOS = (0.01, 0.025, 0.05, 0.1, 0.25)
#: Options that make candidates quick; a run with the defaults improves agreement by about 0.1 %.
SHORT: dict[str, Any] = {"rows": 20_000, "iterations": 300}


def run(inputs: Inputs, options: CompressOptions, setting: Setting) -> Outcome:
    source, data = inputs.model("model"), inputs["data"]
    exact = cast(KernelExpansion, source.model)
    origin = None
    if options.metric != "none" or options.scores != "pairs":  # LIBSVM's text has no place for it
        words = " ".join(changed_words(replace(options, libsvm_form=False)))
        origin = provenance("compress", words, options.seed, source.identity)
    compressor = Compressor(
        exact,
        None if data is None else data.rows,
        None if data is None else data.labels,
        options,
        origin,
        threads=setting.threads,
        progress=setting.progress,
    )
    size_of = setting.table_size if options.max_flash else setting.stored_size
    found = search(compressor, size_of, progress=setting.progress)
    report, limit = found.report, options.max_diff
    if found.model is not None and limit is not None and (doubt := doubtful(report.statement, limit)):
        advice = "ask for less, or give more rows in `data`"
        low = report.statement.labels_differing_percent_low
        if low is not None and low > 100 * limit:  # the whole interval
            found = replace(found, model=None, verdict=doubt, advice=advice)
        else:
            setting.warn(f"{doubt}; {advice}")
    if found.model is not None:
        report = replace(report, bytes=setting.stored_size(found.model))
        if options.max_flash:
            report = replace(report, table_bytes=size_of(found.model))
        if not report.statement.rows + report.statement.frequent_rows and report.method != "collapse":
            setting.warn(
                "no rows were held out: how much the model differs is not measured; give more rows in `data`"
            )
    report = replace(report, source_bytes=source.n_bytes)
    for note in report.notes:
        setting.note(note)
    if found.model is not None and (lost := report.kept.lost()):
        setting.warn(f"a class is lost: {lost}")
    return Outcome(found.model, report, found.verdict or None, advice=found.advice)


def candidates(request: CandidateRequest) -> tuple[list[Candidate], list[NotTried]]:
    model = request.exact
    n, least = len(model.sv), max(2, model.head.n_classes if model.head.is_classifier else 2)
    common = {**SHORT, "seed": request.seed}
    kept = {max(least, round(ratio * n)) for ratio in RATIOS}
    found = [
        Candidate(f"compress-{size}", level, {"sv": size, **common}, ("model", "data"))
        for level, size in enumerate(sorted(kept))
        if size < n
    ]
    if limit := request.max_bytes:
        options = {"max_bytes": limit, **common}
        found.insert(0, Candidate(f"compress-{limit}-bytes", 0, options, ("model", "data"), sized=True))
        if has_metric(model.kernel):
            options = {**options, "metric": "auto", "scores": "auto"}
            found.append(
                Candidate(f"compress-{limit}-bytes-metric", 1, options, ("model", "data"), sized=True)
            )
    return found, []
