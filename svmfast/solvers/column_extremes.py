"""The smallest and the largest value of each column, over a stream of blocks of rows."""

from __future__ import annotations

from svmfast import _core
from svmfast.errors import MemoryLimitError
from svmfast.rows import FloatArray, Rows

#: Bytes per column: both values and the number of stored entries, here and in the scaling made of them.
_COLUMN_BYTES = 112


class ColumnExtremes:
    """The smallest and the largest value of each column; zeros that are not stored count too.

    `memory` limits the bytes for the columns. `width` is that of the widest block so far, `rows` and `values`
    are the numbers of rows and of stored values.
    """

    def __init__(self, memory: int) -> None:
        self._native = _core.ColumnExtremes()
        self._memory = memory
        self.width = self.rows = self.values = 0

    def add(self, rows: Rows) -> None:
        """Add a block of rows."""
        self.width = max(self.width, rows.n_columns)
        needed = self.width * _COLUMN_BYTES
        if needed > self._memory:
            raise MemoryLimitError(
                f"the range of {self.width:,} columns", needed, self._memory, "allow more memory"
            )
        self._native.add(rows, self.width)
        self.rows += len(rows)
        self.values += rows.nnz

    def result(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest value of each column, both ``(width,)``."""
        return self._native.result()
