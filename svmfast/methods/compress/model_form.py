"""A model's support vectors by class, and a reduced set as a LIBSVM model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.compress.data_split import DataSplit
from svmfast.methods.compress.reduced_set import ReducedSet
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import Rows
from svmfast.solvers.file_digits import eight_digits


def class_sizes(model: KernelExpansion) -> NDArray[np.int64]:
    """The number of support vectors of each class, or the total if there is one function."""
    nr_sv = model.nr_sv
    return np.array([len(model.sv)]) if nr_sv is None or len(nr_sv) <= 2 else nr_sv


def rounded(reduced: ReducedSet) -> ReducedSet:
    """Round the vectors to the 8 digits of LIBSVM's files, so that saving does not change the model."""
    return replace(reduced, vectors=eight_digits(reduced.vectors))


def collapsed(model: KernelExpansion, split: DataSplit, count: int) -> ReducedSet | None:
    """Sum up a linear kernel's support vectors, which gives vectors too: one per row of coefficients.

    None if the kernel is not linear, or if there are more than `count` of these vectors.
    """
    sizes, width = class_sizes(model), model.sv_coef.shape[0]
    if model.kernel.kind != "linear" or count < len(sizes) * width:
        return None
    edge = np.concatenate([[0], np.cumsum(sizes)])
    sv = split.sv.to_dense(split.width)
    vectors = np.vstack(
        [model.sv_coef[:, edge[g] : edge[g + 1]] @ sv[edge[g] : edge[g + 1]] for g in range(len(sizes))]
    )
    coef = np.tile(np.eye(width), len(sizes))
    return ReducedSet(vectors, coef, model.rho, np.full(len(sizes), width))


def as_model(model: KernelExpansion, columns: NDArray[np.int32], reduced: ReducedSet) -> KernelExpansion:
    """Make a LIBSVM model with the head and kernel of `model`; `columns` are the original columns."""
    rows = Rows.from_dense(reduced.vectors)
    width = max(model.sv.n_columns, int(columns[-1]) + 1 if len(columns) else 0)
    sv = rows.renumbered(columns[rows.indices].astype(np.int32), width)
    coef, sizes = reduced.coef, model.nr_sv
    if sizes is not None and len(reduced.sizes) > 1:
        sizes = reduced.sizes
    elif sizes is not None:
        # One function for two classes: as in LIBSVM, vectors with positive coefficients belong to the first
        # class.
        order = np.argsort(coef[0] <= 0, kind="stable")
        first = int(np.count_nonzero(coef[0] > 0))
        sv, coef = sv.take(order), np.ascontiguousarray(coef[:, order])
        sizes = np.array([first, len(order) - first])
    return KernelExpansion(model.head, model.kernel, sv, coef, reduced.rho, sizes)
