"""Random samples: of a stream of rows that is too long to keep, and of many support vectors."""

from __future__ import annotations

import itertools

import numpy as np

from svmfast.rows import FloatArray, IntArray, Rows

#: Support vectors that are drawn of each class, at least, if it has so many.
LEAST_OF_CLASS = 500


def drawn_by_class(sizes: IntArray, count: int, seed: int) -> tuple[IntArray, IntArray]:
    """Draw about `count` support vectors by class; return their places, and how many are of each class."""
    share = np.round(count * sizes / sizes.sum()).astype(np.int64)
    taken = np.minimum(np.maximum(share, LEAST_OF_CLASS), sizes)
    ends = itertools.pairwise([0, *np.cumsum(sizes)])
    rng = np.random.default_rng([seed, int(sizes.sum()), count])
    parts = [a + rng.choice(b - a, n, replace=False) for (a, b), n in zip(ends, taken, strict=True)]
    return np.concatenate([np.sort(part) for part in parts]), taken


class RowSample:
    """A uniform sample of at most `limit` rows without replacement, in the order of the stream.

    It takes memory for about twice its rows. `seen` is the number of rows in the stream.
    """

    def __init__(self, limit: int, seed: int) -> None:
        self.limit, self.seen = limit, 0
        self._rng = np.random.default_rng([seed, 0])
        self._parts: list[Rows] = []
        self._labels: list[FloatArray] = []
        self._keys: list[FloatArray] = []
        self._numbers: list[IntArray] = []
        self._held = 0

    def add(self, rows: Rows, labels: FloatArray) -> None:
        """Offer rows with their labels; the sample does not depend on the division into blocks."""
        self._parts.append(rows)
        self._labels.append(np.asarray(labels, dtype=np.float64))
        self._keys.append(self._rng.random(len(rows)))
        self._numbers.append(np.arange(self.seen, self.seen + len(rows)) + 1)
        self.seen += len(rows)
        self._held += len(rows)
        if self._held > 2 * self.limit:
            self._prune()

    def _prune(self) -> None:
        rows, labels = Rows.concatenate(self._parts), np.concatenate(self._labels)
        keys, numbers = np.concatenate(self._keys), np.concatenate(self._numbers)
        if len(rows) > self.limit:
            # Keep the smallest keys: the sample does not depend on when it is pruned.
            kept = np.sort(np.argpartition(keys, self.limit - 1)[: self.limit])
            rows, labels, keys, numbers = rows.take(kept), labels[kept], keys[kept], numbers[kept]
        self._parts, self._labels, self._keys, self._numbers = [rows], [labels], [keys], [numbers]
        self._held = len(rows)

    def result(self) -> tuple[Rows, FloatArray]:
        if not self._parts:
            return Rows.empty(), np.zeros(0)
        self._prune()
        return self._parts[0], self._labels[0]

    @property
    def numbers(self) -> IntArray:
        """The number of each row of :meth:`result` in the stream, from 1."""
        return np.concatenate(self._numbers)
