"""How many bytes a compressed model takes, estimated, and how many vectors of a large model take part."""

from __future__ import annotations

from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.data_split import DRAWN_FOR_EACH, ENOUGH_ROWS, LEAST_DRAWN
from svmfast.models.expansion import KernelExpansion

#: Ranks of metrics that ``auto`` tries.
RANKS = (8, 16, 24, 32)


def bytes_each(options: CompressOptions, width: int, functions: int, scores: bool = False) -> int:
    """Estimate the bytes of a vector of a model of pairs with so many `functions`, or of scores.

    They are 4 a number in C, in text 13 for a value and 20 for a coefficient, 12 and 8 in files of scores.
    """
    if options.max_flash:
        return 4 * (width + functions + scores)
    return 12 * width + 8 * (functions + 2) if scores else 13 * width + 20 * functions


def map_bytes(options: CompressOptions, width: int, rank: int | None) -> int:
    """The bytes of a map of `width` columns, its center and, in a file, the numbers of its columns."""
    return 0 if rank is None else 4 * width * (rank + (1 if options.max_flash else 3))


def vectors_for(model: KernelExpansion, options: CompressOptions, *, from_data: bool) -> int:
    """How many support vectors of `model` are enough for the size that the options ask for."""
    n = len(model.sv)
    if model.kernel.kind == "linear" or options.max_diff is not None:
        return n  # a linear kernel needs the sums of all; the search may need up to half of the vectors
    size = options.sv or round((options.ratio or 0) * n)
    if limit := options.max_bytes or options.max_flash:
        rank = min(RANKS) if options.metric == "auto" else options.metric
        width = min(model.n_features, rank) if isinstance(rank, int) else model.n_features
        size = limit // bytes_each(options, width, len(model.sv_coef))
    return max(LEAST_DRAWN if from_data else ENOUGH_ROWS, DRAWN_FOR_EACH * size)
