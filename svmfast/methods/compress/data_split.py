"""The rows a model is compressed on: distinct, split to fit, to choose and to state, with exact values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.compress.reduced_set import Target
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows

#: Shares of the rows that choose (early stop, start, size) and that the error statement is made on, and caps.
_CHOOSE_SHARE, _CHOOSE_CAP = 0.1, 5000
_STATE_SHARE, _STATE_CAP = 0.1, 10000


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows.

    Attributes
    ----------
    rows : Rows of n rows
        In the compressed model's own columns (see :attr:`DataSplit.columns`).
    winner : (n,) int64
        Class given by the exact model, as a number, ascending; 0 if there is only one function.
    exact : (n, p) float64
        The exact model's decision values.
    times : (n,) float64
        How often each row occurs in the data.
    """

    rows: Rows
    winner: NDArray[np.int64]
    exact: FloatArray
    times: FloatArray

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class DataSplit:
    """The data on which a model is compressed.

    Attributes
    ----------
    sv : Rows
        The support vectors in the columns of `columns`.
    columns : (d,) int32
        Original column of every column that occurs in the support vectors or the data.
    fit, choose, state : Part
        No row is in two of them, even where data repeat rows or hold the support vectors.
    from_data : bool
        Whether `choose` and `state` are data; else they are support vectors, which the exact model fits
        closer than other rows.
    trained_on : bool
        Whether the data hold more than half of the support vectors, so that the model was trained on them.
    """

    sv: Rows
    columns: NDArray[np.int32]
    fit: Part
    choose: Part
    state: Part
    from_data: bool
    trained_on: bool = False

    @property
    def width(self) -> int:
        """Number of columns d."""
        return len(self.columns)


def gather(model: KernelExpansion, data: Rows | None, *, seed: int, threads: int) -> DataSplit:
    """Split support vectors and data into the parts of a :class:`DataSplit`.

    Parameters
    ----------
    model : KernelExpansion
    data : Rows, optional
    seed : int
    threads : int
    """
    n_sv = len(model.sv)
    everything = model.sv if data is None else Rows.concatenate([model.sv, data])
    columns = np.unique(everything.indices)
    everything = everything.renumbered(
        np.searchsorted(columns, everything.indices).astype(np.int32), len(columns)
    )
    group, first = _distinct(everything)
    times = np.bincount(group[n_sv:] if data is not None else group, minlength=len(first)).astype(np.float64)
    trained_on = data is not None and 2 * np.count_nonzero(times[group[:n_sv]]) > n_sv
    candidates = np.flatnonzero(times)
    order = np.random.default_rng([seed, len(candidates)]).permutation(candidates)
    n_choose = min(_CHOOSE_CAP, max(int(_CHOOSE_SHARE * len(order)), min(10, len(order) // 4)))
    n_state = min(_STATE_CAP, max(int(_STATE_SHARE * len(order)), min(10, len(order) // 4)))
    chosen = {"choose": order[:n_choose], "state": order[n_choose : n_choose + n_state]}
    kept = np.ones(len(first), dtype=bool)
    kept[order[: n_choose + n_state]] = False
    chosen["fit"] = np.flatnonzero(kept)

    def part(groups: NDArray[np.int64]) -> Part:
        groups = np.sort(groups)
        rows = everything.take(first[groups])
        original = rows.renumbered(columns[rows.indices], int(columns[-1]) + 1 if len(columns) else 0)
        exact = model.decision_values(original, threads=threads)
        winner = winners(model, exact)
        order = np.argsort(winner, kind="stable")
        return Part(rows.take(order), winner[order], exact[order], np.maximum(times[groups[order]], 1.0))

    parts = {name: part(groups) for name, groups in chosen.items()}
    return DataSplit(
        everything[:n_sv],
        columns,
        parts["fit"],
        parts["choose"],
        parts["state"],
        data is not None,
        bool(trained_on),
    )


def _distinct(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of every row and the first row of each group, groups in order of appearance."""
    seen: dict[bytes, int] = {}
    group = np.empty(len(rows), dtype=np.int64)
    first: list[int] = []
    ends = rows.indptr.tolist()
    for i in range(len(rows)):
        cut = slice(ends[i], ends[i + 1])
        key = rows.indices[cut].tobytes() + rows.values[cut].tobytes()
        found = seen.setdefault(key, len(first))
        if found == len(first):
            first.append(i)
        group[i] = found
    return group, np.array(first, dtype=np.int64)


def scale_of(model: KernelExpansion, exact: FloatArray) -> float:
    """Return the size below which decision values count as small: the margin, 1, of a classifier."""
    if model.head.is_classifier:
        return 1.0
    return float(np.median(np.abs(exact))) or 1.0


def winners(model: KernelExpansion, exact: FloatArray) -> NDArray[np.int64]:
    """Return the number of the class that each row gets; 0 where there is only one function."""
    labels = model.head.labels
    if labels is None or len(labels) <= 2:
        return np.zeros(len(exact), dtype=np.int64)
    order = np.argsort(labels)
    found: NDArray[np.int64] = order[np.searchsorted(labels[order], model.head.predict(exact))]
    return found


def target(model: KernelExpansion, material: DataSplit, part: Part, scale: float, threads: int) -> Target:
    """Return what a reduced set should be on the rows of `part`.

    Labels hang on signs, so an error counts relative to the exact value: by ``1 / (1 + (f / scale)^2)``.
    In regression all errors count alike.
    """
    k = model.head.n_classes
    values = part.exact
    if k > 2:
        pair = np.zeros((k, k), dtype=np.int64)
        pair[np.triu_indices(k, 1)] = np.arange(k * (k - 1) // 2)
        pair += pair.T
        functions = np.array([np.delete(pair[g], g) for g in range(k)])
        values = np.take_along_axis(part.exact, functions[part.winner], axis=1)
    weight = np.broadcast_to(part.times[:, None], values.shape)
    if not model.head.is_regression:
        ratio = values / scale
        weight = weight / (1 + ratio * ratio)
    return Target(model.kernel, part.rows, material.width, part.winner, values, weight, threads=threads)
