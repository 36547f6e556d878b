"""The search for a size: the smallest model that is close enough, or the largest that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from svmfast.display import count as count_of
from svmfast.errors import NothingFitsError
from svmfast.methods.common.error_statement import labels_line
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.compress.data_split import MOST_CHOOSING, ROWS_FOR_ONE
from svmfast.methods.compress.options import CompressOptions
from svmfast.methods.compress.report import CompressReport
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import Progress, silent
from svmfast.solvers.intervals import trials_needed

#: The search for a difference ends when the ratio of the sizes that pass and fail is at most this.
_SIZE_STEP = 1.15
#: The search begins with this share of the model's support vectors.
_FIRST_SHARE = 0.01
#: Compression to more than this share of the model's support vectors is not worthwhile.
LARGEST_SHARE = 0.5
_BYTE_TRIES = 5
#: A file that uses at least this share of the limit is large enough.
_BYTES_USED = 0.95

SizeOf = Callable[[KernelExpansion], int]


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search.

    Attributes
    ----------
    model : KernelExpansion or None
        None if no model smaller than the exact one is as small or as close as required.
    report : CompressReport or None
        The report of the model, or of the closest one that was tried.
    verdict : str
        Why there is no model, or empty.
    advice : str or None
        What may help if there is no model.
    """

    model: KernelExpansion | None
    report: CompressReport | None
    verdict: str = ""
    advice: str | None = None


#: The verdict if `max_diff` cannot be measured.
NO_ROWS = "there are too few distinct rows to hold some out, so `max_diff` cannot be checked"


def held_out_difference(report: CompressReport) -> float:
    """Return the figure that `max_diff` limits on the held-out rows, which chose nothing: the share whose
    label differs, or for regression the difference of the values relative to their spread."""
    statement = report.statement
    found = statement.values_differing_percent
    if found is None:
        found = statement.labels_differing_percent or 0.0  # None if there are no values to compare
    return round(found / 100, 12)  # the 7 % of 7 of 100 rows are not more than 0.07


def refuted(report: CompressReport, limit: float) -> str | None:
    """Return a sentence if the held-out rows show that `max_diff` is exceeded, else None.

    They show it for labels if the whole confidence interval lies beyond the limit.
    """
    low = report.statement.labels_differing_percent_low
    if low is None or low <= 100 * limit:
        return None
    return (
        f"{labels_line(asdict(report.statement))} on the held-out rows, more than `max_diff`; fewer did on "
        "the rows for choices"
    )


def search(
    compressor: Compressor, size_of: SizeOf, options: CompressOptions, *, progress: Progress = silent
) -> Found:
    """Make the required model, or explain why there is none that is smaller than the exact one.

    Parameters
    ----------
    compressor : Compressor
    size_of : callable
        Returns the size in bytes of a model's file.
    options : CompressOptions
        Exactly one of `sv`, `ratio`, `max_diff` and `max_bytes` sets the size.
    progress : Progress
    """
    exact, n = compressor.model, len(compressor.model.sv)
    own, limit = size_of(exact), options.max_bytes
    if options.max_diff is not None:
        split = compressor.split
        if not len(split.frequent) and not (len(split.choose) and len(split.state)):
            return Found(None, None, NO_ROWS, "give more rows in `data`")
        found = search_difference(compressor, options.max_diff, size_of, progress=progress)
    elif limit is not None and own > limit:
        found = search_bytes(compressor, limit, size_of, progress=progress)
    else:
        count = n if limit else options.sv or max(compressor.smallest, round((options.ratio or 0) * n))
        if count >= n:
            size = f"{n:,} support vectors and {own:,} bytes"
            return Found(None, None, f"the model, of {size}, is already small enough")
        found = Found(*compressor.compress(count, progress=progress))
    if found.model is None:
        assert found.report is not None
        tried = ", ".join(f"{size:,}: {value:.2%}" for size, value in found.report.sizes_tried)
        verdict = f"no smaller model is close enough on the {found.report.rows_choosing:,} rows for choices"
        few = None
        if options.max_diff is not None and not exact.head.is_regression:
            split = compressor.split
            few = too_few(found.report.rows_choosing, split.least_percent(split.choose), options.max_diff)
            few = None if few is None else f"rows for choices: {few}"
        return replace(found, verdict=f"{verdict}; tried {tried}", advice=few)
    final = size_of(found.model)
    if final < own:
        return found
    return Found(
        None,
        found.report,
        f"the file would grow: {len(found.model.sv):,} dense support vectors take {final:,} bytes, the "
        f"model {own:,}",
        "ask for fewer, or drop small entries by `sparse_tolerance`",
    )


def too_few(rows: int, least: float, limit: float) -> str | None:
    """Return a sentence if rows cannot show that at most the share `limit` differs, or None.

    `least` is the upper limit if no label differs, in percent.
    """
    if least <= 100 * limit:
        return None
    needed = trials_needed(limit)
    source = f"which takes about {needed * ROWS_FOR_ONE:,} distinct rows of `data`"
    if needed > MOST_CHOOSING:
        source = "more than are held out: measure the model on other rows with svmfast compare"
    return (
        f"{count_of(rows, 'row')} cannot show that at most {100 * limit:.4g}% of the labels differ, even if "
        f"none of them does; {needed:,} distinct ones could, {source}"
    )


def search_difference(
    compressor: Compressor, limit: float, size_of: SizeOf, *, progress: Progress = silent
) -> Found:
    """Find the fewest support vectors whose difference on the rows for choices is at most `limit`.

    A size that loses a class there does not pass, since few labels differ where the class is rare.
    Sizes double until one passes; then the gap is bisected, in ratio, until it is below 15 %. The held-out
    rows take no part, so that the error statement is not biased by the choice.
    """
    n = len(compressor.model.sv)
    own = size_of(compressor.model)
    largest = max(int(LARGEST_SHARE * n), compressor.smallest)
    tried: dict[int, tuple[KernelExpansion, CompressReport]] = {}

    def passes(count: int) -> bool:
        made, report = compressor.compress(count, progress=progress)
        tried[count] = made, report
        kept = report.kept_choosing.lost() is None
        return kept and report.choosing_difference <= limit and len(made.sv) < n and size_of(made) < own

    size = min(max(round(_FIRST_SHARE * n), compressor.smallest), largest)
    failed = compressor.smallest - 1
    while not passes(size):
        failed = size
        if size >= largest:
            return Found(None, _with_tries(min((r for _, r in tried.values()), key=_closeness), tried))
        size = min(2 * size, largest)
    while size > max(_SIZE_STEP * failed, failed + 1):
        middle = max(failed + 1, min(round((max(failed, 1) * size) ** 0.5), size - 1))
        if passes(middle):
            size = middle
        else:
            failed = middle
    made, report = tried[size]
    split, few = compressor.split, None
    if not made.head.is_regression:
        few = too_few(report.statement.rows, split.least_percent(split.state), limit)
    if few is not None:
        report = replace(report, notes=(*report.notes, f"held-out rows: {few}"))
    return Found(made, _with_tries(report, tried))


def search_bytes(
    compressor: Compressor, limit: int, size_of: SizeOf, *, progress: Progress = silent
) -> Found:
    """Find the most support vectors whose file has at most `limit` bytes.

    Raises
    ------
    NothingFitsError
        Even one support vector per class is too large.
    """
    n = len(compressor.model.sv)
    tried: dict[int, tuple[KernelExpansion, CompressReport]] = {}
    best: tuple[KernelExpansion, CompressReport] | None = None
    # A value with its index takes about 13 characters, a coefficient 20.
    each = 13 * compressor.split.width + 20 * compressor.model.sv_coef.shape[0]
    size = max(compressor.smallest, min(limit // each, n - 1))
    fits, too_large = 0, n
    for _ in range(_BYTE_TRIES):
        made, report = compressor.compress(size, progress=progress)
        tried[size] = made, report
        used = size_of(made)
        if used <= limit:
            best, fits = (made, report), size
            if used >= _BYTES_USED * limit:
                break
        else:
            too_large = size
            if size == compressor.smallest:
                raise NothingFitsError(
                    f"{size} dense support vector{'s take' if size > 1 else ' takes'} {used:,} bytes, "
                    f"more than {limit:,}",
                    "allow more, or drop small entries by `sparse_tolerance`",
                )
        guess = round(size * limit / used * (0.99 if used <= limit else 0.97))
        size = max(fits + 1, compressor.smallest, min(guess, too_large - 1))
        if size >= too_large or size in tried:
            break
    if best is None:
        return Found(None, _with_tries(min((r for _, r in tried.values()), key=_closeness), tried))
    return Found(best[0], _with_tries(best[1], tried))


def _closeness(report: CompressReport) -> float:
    return report.choosing_difference


def _with_tries(
    report: CompressReport, tried: dict[int, tuple[KernelExpansion, CompressReport]]
) -> CompressReport:
    return replace(
        report, sizes_tried=tuple((n, r.choosing_difference) for n, (_, r) in sorted(tried.items()))
    )
