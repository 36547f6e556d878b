"""Checks of the memory that training needs, before it starts."""

from __future__ import annotations

from svmfast.errors import MemoryLimitError
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.rows import Rows


def check_width(rows: Rows, options: DcpredOptions) -> None:
    """Raise MemoryLimitError if the dense centers and landmarks do not fit into memory."""
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
    """Raise MemoryLimitError if the largest leaves that are trained at the same time do not fit.

    Training holds three dense copies of a leaf's rows, two of them in tiles for the gradient, one copy of its
    kernel values, and one of their products with the root of W.
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
