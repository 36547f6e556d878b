"""The least and the greatest value of each column of rows that stream by."""

from __future__ import annotations

from svmfast import _core
from svmfast.errors import MemoryLimitError
from svmfast.rows import FloatArray, Rows

#: Bytes that a column takes: both values and how many are stored.
_COLUMN_BYTES = 24


class ColumnExtremes:
    """Gathers them block by block; zeros that are not stored count.

    Parameters
    ----------
    memory : int
        Limit on the memory for the columns, in bytes.

    Attributes
    ----------
    width : int
        Of the widest rows so far.
    rows, values : int
        Rows and stored values so far.
    """

    def __init__(self, memory: int) -> None:
        self._native = _core.ColumnExtremes()
        self._memory = memory
        self.width = self.rows = self.values = 0

    def add(self, rows: Rows) -> None:
        """Take in a block.

        Raises
        ------
        MemoryLimitError
        """
        self.width = max(self.width, rows.n_columns)
        needed = self.width * _COLUMN_BYTES
        if needed > self._memory:
            raise MemoryLimitError(
                f"the range of {self.width:,} columns", needed, self._memory, "allow more memory"
            )
        self._native.add(rows.indptr, rows.indices, rows.values, self.width)
        self.rows += len(rows)
        self.values += rows.nnz

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value of each column, ``(width,)`` each."""
        return self._native.result()
