"""The sums over support vectors that an exact model's decision functions are, one for each function."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from svmfast.errors import MemoryLimitError
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, IntArray, Rows


@dataclass(frozen=True, eq=False)
class ExactSums:
    """sum_{i in support[p]} beta[p]_i K(points_i, .) for every decision function p."""

    #: (d,) columns in which any support vector has an entry, ascending.
    features: IntArray
    #: (n, d) the support vectors in these columns.
    points: FloatArray
    #: For each function, the indices of its support vectors and their coefficients; both (m,).
    support: tuple[IntArray, ...]
    beta: tuple[FloatArray, ...]

    @property
    def n_functions(self) -> int:
        return len(self.support)

    def points_of(self, p: int) -> FloatArray:
        """The support vectors of decision function `p`, without a copy if it uses all of them."""
        support = self.support[p]
        return self.points if len(support) == len(self.points) else self.points[support]

    def dense(self, rows: Rows) -> FloatArray:
        """Make `rows` dense vectors of the columns in `features`; other entries are left out."""
        d = len(self.features)
        return rows.renumbered(rows.places_among(self.features), d + 1).to_dense(d)


def exact_sums(model: KernelExpansion, *, memory_limit: int) -> ExactSums:
    """Separate the sums of `model` (MemoryLimitError if its dense support vectors exceed the limit)."""
    features = np.unique(model.sv.indices).astype(np.int64)
    needed = 8 * len(model.sv) * len(features)
    if needed > memory_limit:
        raise MemoryLimitError(
            f"{len(model.sv):,} support vectors of {len(features):,} features, stored densely,",
            needed,
            memory_limit,
            "raise `memory`; with so many features an expansion would not be smaller than the model",
        )
    sums = [(np.arange(len(model.sv)), model.sv_coef[0])]
    if model.head.is_classifier and model.nr_sv is not None:
        start = np.concatenate(([0], np.cumsum(model.nr_sv)))
        own = [np.arange(a, b) for a, b in itertools.pairwise(start)]
        sums = [
            (
                np.concatenate([own[i], own[j]]),
                np.concatenate([model.sv_coef[j - 1][own[i]], model.sv_coef[i][own[j]]]),
            )
            for i, j in itertools.combinations(range(model.head.n_classes), 2)
        ]
    # A support vector that only other pairs use has coefficient 0.
    return ExactSums(
        features,
        ExactSums(features, np.zeros((0, 0)), (), ()).dense(model.sv),
        tuple(index[coef != 0] for index, coef in sums),
        tuple(coef[coef != 0] for _, coef in sums),
    )
