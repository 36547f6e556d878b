"""Area under the ROC curve of a decision value, over any number of blocks of rows, in bounded memory.

The area is the probability that a row of the positive class has a larger value than one of the negative
class, where ties count half (Mann and Whitney; scikit-learn's ``roc_auc_score``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Up to this number of rows, the values themselves are kept (8 MB) and the area is exact.
MAX_VALUES = 1 << 20
#: Beyond it, values are counted in bins: the sign, an exponent within these limits, and 10 bits of the
#: mantissa.
_SMALLEST, _LARGEST, _BITS = 2.0**-32, 2.0**32, 10
_SHIFT = 52 - _BITS
_ZERO = int(np.float64(_SMALLEST).view(np.int64)) >> _SHIFT
_REACH = (int(np.float64(_LARGEST).view(np.int64)) >> _SHIFT) - _ZERO


class RocAuc:
    """The area under the ROC curve of the rows added so far; rows of other classes do not count.

    A positive decision value votes for the label `positive`. Beyond `most` rows, values are counted in
    131,073 bins, whose ends differ by 0.1 %. Two rows in the same bin count as a tie, and :attr:`error`
    bounds the effect on the area.
    """

    def __init__(self, positive: float, negative: float, *, most: int = MAX_VALUES) -> None:
        self._labels, self._most = (negative, positive), most
        self._values: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        self._kept = 0
        self._bins: NDArray[np.int64] | None = None
        self._valid = True

    def add(self, decisions: FloatArray, target: FloatArray) -> None:
        """Count n decision values and targets, both ``(n,)`` float64."""
        for which, label in enumerate(self._labels):
            values = decisions[target == label]
            self._valid &= not bool(np.isnan(values).any())
            if self._bins is None:
                self._values[which].append(values)
                self._kept += len(values)
            else:
                self._bins[which] += _counted(values)
        if self._bins is None and self._kept > self._most:
            self._bins = np.array([_counted(np.concatenate(values)) for values in self._values])
            self._values = ([], [])

    @property
    def value(self) -> float:
        """The area, from 0 to 1; nan unless there are rows of both classes, or if a value is nan."""
        return self._area()[0]

    @property
    def error(self) -> float:
        """Bound on the error of the area due to the bins: 0 while the values themselves are kept."""
        return self._area()[1]

    def _area(self) -> tuple[float, float]:
        if not self._valid:
            return math.nan, math.nan
        if self._bins is None:
            low, high = (np.sort(np.concatenate([*values, np.empty(0)])) for values in self._values)
            pairs = len(low) * len(high)
            below = int(np.searchsorted(low, high, "left").sum())
            not_above = int(np.searchsorted(low, high, "right").sum())
            return ((below + not_above) / (2 * pairs), 0.0) if pairs else (math.nan, math.nan)
        lower, upper = self._bins.astype(np.float64)
        product = float(lower.sum() * upper.sum())
        if not product:
            return math.nan, math.nan
        tied = float(lower @ upper) / product
        ordered = float((np.cumsum(lower) - lower) @ upper) / product
        return ordered + tied / 2, tied / 2


def _counted(values: FloatArray) -> NDArray[np.int64]:
    """Return the number of values in each bin, in ascending order of the values."""
    values = np.nan_to_num(values)
    keys = (np.clip(np.abs(values), _SMALLEST, _LARGEST).view(np.int64) >> _SHIFT) - _ZERO
    return np.bincount(_REACH + np.where(values < 0, -keys, keys), minlength=2 * _REACH + 1)
