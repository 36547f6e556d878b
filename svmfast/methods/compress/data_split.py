"""The distinct rows for compression, with exact values: some to fit, some to choose, some to measure.

Rows are drawn by what they hold: copies of a row are in one part, and count as often as they occur. Rows that
are frequent are fitted, and count in every comparison (:class:`svmfast.methods.common.equal_rows.Counted`).

Only a sample of the support vectors of a large model takes part, of a size that depends on the bytes that the
compressed model is estimated to take. Then the number of exact values does not grow with the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.common.equal_rows import Counted, frequent_groups, groups_of, row_keys, vector_keys
from svmfast.methods.common.row_sample import drawn_by_class
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.reduced_set import Target
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.training_data import compact, expand, occurring
from svmfast.votes import pairs_of_each

#: Shares of the rows for choices (early stop, start, size) and for the error statement, with upper limits.
_CHOOSE_SHARE, _CHOOSE_CAP = 0.1, 5000
_STATE_SHARE, _STATE_CAP = 0.1, 10000


#: Support vectors that take part, at least.
LEAST_DRAWN = 10_000
#: Support vectors that take part for each one of the compressed model.
DRAWN_FOR_EACH = 10
#: Rows of data, and support vectors if there are no data, that suffice where support vectors are drawn.
ENOUGH_ROWS = 30_000


@dataclass(frozen=True, eq=False)
class Answered:
    #: n rows in the compressed model's own columns (see :attr:`DataSplit.columns`).
    rows: Rows
    #: Index of the class that the exact model predicts, ascending; 0 if there is only one function.
    winner: NDArray[np.int64]
    #: The exact model's decision values, (n, p).
    exact: FloatArray
    #: How often each row occurs in the data, or how many rows of the data it stands for.
    times: FloatArray
    frequent: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class DataSplit:
    #: The support vectors that take part, in the columns of `columns`.
    sv: Rows
    #: (width, s) their coefficients.
    sv_coef: FloatArray
    #: How many of each class take part (:func:`class_sizes`).
    sv_sizes: NDArray[np.int64]
    #: (d,) original numbers of the columns that occur in the support vectors or the data.
    columns: NDArray[np.int32]
    #: No row is in two of these, even if the data repeat rows or contain the support vectors.
    fit: Answered
    choose: Answered
    state: Answered
    #: The rows of `fit` that are frequent.
    frequent: Answered
    #: (r,) how often each row of the data occurs that is not frequent.
    rest: FloatArray
    #: Whether `choose` and `state` are rows of data; otherwise they are support vectors, which the exact
    #: model fits more closely than other rows.
    from_data: bool
    #: Whether the data contain more than half of the support vectors, so that the model was trained on them.
    trained_on: bool = False

    @property
    def width(self) -> int:
        return len(self.columns)

    def counted(self, part: Answered) -> Counted:
        """How often rows occur in `part`, which :meth:`with_frequent` returned."""
        return Counted(part.times, part.frequent, self.rest)

    def with_frequent(self, part: Answered) -> Answered:
        """Join `part` and the frequent rows; `times` is how many rows of the data each row stands for."""
        both = (part, self.frequent)
        winner = np.concatenate([p.winner for p in both])
        order = np.argsort(winner, kind="stable")
        joined = Answered(
            Rows.concatenate([p.rows for p in both]).take(order),
            winner[order],
            np.concatenate([p.exact for p in both])[order],
            np.concatenate([p.times for p in both])[order],
            np.concatenate([p.frequent for p in both])[order],
        )
        return replace(joined, times=self.counted(joined).weights)


def class_sizes(model: KernelExpansion) -> NDArray[np.int64]:
    """The number of support vectors of each class, or the total if there is one function."""
    nr_sv = model.nr_sv
    return np.array([len(model.sv)]) if nr_sv is None or len(nr_sv) <= 2 else nr_sv


def gather(
    model: KernelExpansion, data: Rows | None, *, vectors: int | None = None, seed: int, threads: int
) -> DataSplit:
    """Split support vectors and data into the parts of a :class:`DataSplit`.

    At most about `vectors` support vectors take part, drawn by class.
    """
    sv, sv_coef, sizes = model.sv, model.sv_coef, class_sizes(model)
    if vectors is not None and vectors < len(sv):
        places, taken = drawn_by_class(sizes if model.nr_sv is None else model.nr_sv, vectors, seed)
        sv, sv_coef = sv.take(places), np.ascontiguousarray(sv_coef[:, places])
        sizes = taken if len(sizes) > 1 else np.array([len(sv)])
    n_sv = len(sv)
    everything = sv if data is None else Rows.concatenate([sv, data])
    columns, width = occurring(everything), everything.n_columns
    everything = compact(everything, columns)
    keys = row_keys(everything)
    keys[:n_sv] = vector_keys(everything[:n_sv], everything[n_sv:], keys[n_sv:])
    group, first = groups_of(keys)
    own = group if data is None else group[n_sv:]
    times = np.bincount(own, minlength=len(first)).astype(np.float64)
    frequent = np.zeros(len(first), dtype=np.bool_)
    frequent[: own.max(initial=-1) + 1] = frequent_groups(own)
    trained_on = data is not None and 2 * np.count_nonzero(times[group[:n_sv]]) > n_sv
    candidates = np.flatnonzero((times > 0) & ~frequent)
    order = np.random.default_rng([seed, len(candidates)]).permutation(candidates)
    n_choose = min(_CHOOSE_CAP, max(int(_CHOOSE_SHARE * len(order)), min(10, len(order) // 4)))
    n_state = min(_STATE_CAP, max(int(_STATE_SHARE * len(order)), min(10, len(order) // 4)))
    chosen = {"choose": order[:n_choose], "state": order[n_choose : n_choose + n_state]}
    kept = np.ones(len(first), dtype=bool)
    kept[order[: n_choose + n_state]] = False
    chosen |= {"fit": np.flatnonzero(kept), "frequent": np.flatnonzero(frequent)}

    once = replace(model)  # with its own engine, whose memory is free afterwards

    def part(groups: NDArray[np.int64]) -> Answered:
        groups = np.sort(groups)
        original = expand(everything.take(first[groups]), columns, width)
        exact = once.decision_values(original, threads=threads)
        del original  # one copy of the rows at a time
        winner = winners(model, exact)
        order = np.argsort(winner, kind="stable")
        groups = groups[order]
        rows = everything.take(first[groups])
        return Answered(rows, winner[order], exact[order], np.maximum(times[groups], 1.0), frequent[groups])

    parts = {name: part(groups) for name, groups in chosen.items()}
    return DataSplit(
        sv=everything.take(np.arange(n_sv)),  # a slice would keep all rows in memory
        sv_coef=sv_coef,
        sv_sizes=sizes,
        columns=columns,
        **parts,
        rest=times[candidates],
        from_data=data is not None,
        trained_on=bool(trained_on),
    )


def scale_of(model: KernelExpansion, exact: FloatArray) -> float:
    """The size below which decision values count as small: for a classifier the margin, 1."""
    if model.head.is_classifier:
        return 1.0
    return float(np.median(np.abs(exact))) or 1.0


def winners(model: KernelExpansion, exact: FloatArray) -> NDArray[np.int64]:
    """The index of the predicted class of each row; 0 if there is only one function."""
    labels = model.head.labels
    if labels is None or len(labels) <= 2:
        return np.zeros(len(exact), dtype=np.int64)
    order = np.argsort(labels)
    found: NDArray[np.int64] = order[np.searchsorted(labels[order], model.head.predict(exact))]
    return found


def target(model: KernelExpansion, split: DataSplit, part: Answered, scale: float, threads: int) -> Target:
    """The values that a reduced set should have on the rows of `part`, with their weights.

    Labels depend on signs, so errors of large decision values matter less: f has weight
    ``1 / (1 + (f / scale)^2)``. In regression all errors have the same weight.
    """
    k = model.head.n_classes
    values = part.exact
    if k > 2:
        values = np.take_along_axis(part.exact, pairs_of_each(k)[part.winner], axis=1)
    weight = np.broadcast_to(part.times[:, None], values.shape)
    if not model.head.is_regression:
        ratio = values / scale
        weight = weight / (1 + ratio * ratio)
    return Target(model.kernel, part.rows, split.width, part.winner, values, weight, threads=threads)


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
