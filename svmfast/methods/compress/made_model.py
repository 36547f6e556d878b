"""The model that compress makes of a reduced set: LIBSVM's, or one of scores, or one of them behind a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.methods.compress.data_split import DataSplit, class_sizes
from svmfast.methods.compress.reduced_set import ROUND, ReducedSet
from svmfast.models.expansion import KernelExpansion, ScoreModel, VectorModel
from svmfast.models.head import Head
from svmfast.models.mapped import MappedModel
from svmfast.rows import Rows
from svmfast.solvers.arithmetic import eight_digits

#: A LIBSVM model or one of scores or, with a metric, one of them behind a map.
Compressed = VectorModel | MappedModel


def rounded(reduced: ReducedSet) -> ReducedSet:
    """Round the numbers as files have them, vectors to LIBSVM's 8 digits, so that saving changes nothing."""
    metric = reduced.metric and reduced.metric.rounded()
    return replace(reduced, vectors=eight_digits(reduced.vectors), metric=metric)


def collapsed(model: KernelExpansion, split: DataSplit, count: int) -> ReducedSet | None:
    """A linear kernel's sums of support vectors, one per row of coefficients; None if over `count`."""
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


def as_model(
    model: KernelExpansion,
    columns: NDArray[np.int32],
    reduced: ReducedSet,
    origin: Mapping[str, str],
) -> Compressed:
    """Make a model with the head and kernel of `model`; `columns` are the original columns."""
    rows, metric = Rows.from_dense(reduced.vectors), reduced.metric
    width = max(model.sv.n_columns, int(columns[-1]) + 1 if len(columns) else 0)
    sv = rows if metric is not None else rows.renumbered(columns[rows.indices].astype(np.int32), width)
    kernel = model.kernel if metric is None else ROUND
    made: VectorModel
    if reduced.scores:
        head = Head(model.head.svm_type, model.head.labels, one_vs_rest=True)
        made = ScoreModel(head, kernel, sv, reduced.coef, reduced.rho, origin if metric is None else {})
    else:
        made = _expansion(model, kernel, sv, reduced)
    if metric is None:
        return made
    w, center = metric.map.astype(np.float32), metric.center.astype(np.float32)
    return MappedModel(made, width, columns.astype(np.int64), w, center, origin)


def _expansion(model: KernelExpansion, kernel: Kernel, sv: Rows, reduced: ReducedSet) -> KernelExpansion:
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
    return KernelExpansion(model.head, kernel, sv, coef, reduced.rho, sizes)


def with_head(model: Compressed, head: Head) -> Compressed:
    if isinstance(model, MappedModel):
        return replace(model, model=replace(model.model, head=head))
    return replace(model, head=head)
