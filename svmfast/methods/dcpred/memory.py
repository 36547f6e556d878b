"""The memory that training takes, checked before it starts."""

from __future__ import annotations

from svmfast.errors import MemoryLimitError
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.rows import Rows


def check_width(rows: Rows, options: DcpredOptions) -> None:
    """Raise MemoryLimitError where centers and landmarks, which are dense, cannot fit."""
    vectors = min(options.clusters * (2 + options.landmarks), 2 * len(rows))
    needed = 8 * 3 * vectors * rows.n_columns
    if needed > options.memory:
        raise MemoryLimitError(
            f"centers and landmarks of {rows.n_columns:,} columns",
            needed,
            options.memory,
            "raise `memory`, or use fewer `clusters` and `landmarks`",
        )


def check_memory(rows: Rows, sizes: list[int], functions: int, options: DcpredOptions, threads: int) -> None:
    """Raise MemoryLimitError if the largest leaves at work together would not fit.

    A leaf's rows are held densely three times: once plainly and twice as the gradient's tiles; its kernel
    values and their products with W's root once each.
    """
    at_once = sorted(sizes, reverse=True)[:threads]
    width = options.landmarks + options.pseudo_count
    needed = 8 * sum(at_once) * (3 * rows.n_columns + 3 * width + 2 * functions)
    needed += 8 * len(rows) * (len(sizes) + functions) + 24 * rows.nnz
    if needed > options.memory:
        raise MemoryLimitError(
            f"training on leaves of up to {at_once[0]:,} rows",
            needed,
            options.memory,
            "raise `memory`, or use more `clusters` or fewer `threads`",
        )
