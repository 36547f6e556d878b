"""Block kernel approximation (BKA): exact within each cluster, zero between clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import UnsupportedError
from svmfast.kernels import LAPLACIAN, Kernel
from svmfast.methods.meka.plan import BLOCK_CACHE_MEGABYTES
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import Rows
from svmfast.solvers.kernel_clusters import Partition
from svmfast.threads import map_in_threads

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def block_ridge(
    kernel: Kernel, parted: Partition, targets: FloatArray, head: Head, lambdas: Sequence[float], threads: int
) -> list[RoutedModel]:
    """Fit ridge regression in each cluster, with every row as a landmark; return a model for each lambda."""
    mean = targets.mean(axis=0)
    centered = targets - mean

    def solve(s: int) -> list[FloatArray]:
        x = parted.cluster(s).to_dense()
        y = centered[parted.start[s] : parted.start[s + 1]]
        gram = kernel.matrix(x, x)
        out = []
        for regularization in lambdas:
            system = gram.copy()
            system[np.diag_indices(len(gram))] += regularization
            try:
                lower = np.linalg.cholesky(system)
            except np.linalg.LinAlgError:
                raise UnsupportedError(
                    f"a block's kernel matrix plus lambda {regularization:g} is numerically singular",
                    "use a larger `lambda_`",
                ) from None
            from scipy.linalg import cho_solve

            out.append(np.asarray(cho_solve((lower, True), y)).T)
        return out

    solved = map_in_threads(solve, range(len(parted.sizes)), threads)
    cells = len(solved)
    return [
        RoutedModel(
            head=head,
            kernel=kernel.kind,
            gamma=np.full(cells, kernel.gamma),
            children=flat_tree(cells),
            centers=parted.centers,
            landmarks=parted.rows,
            sizes=parted.sizes,
            coef=np.ascontiguousarray(np.hstack([cell[i] for cell in solved])),
            rho=np.tile(-mean, (cells, 1)),
        )
        for i in range(len(lambdas))
    ]


def block_svc(
    kernel: Kernel,
    parted: Partition,
    targets: FloatArray,
    weights: FloatArray | None,
    head: Head,
    cost: float,
    threads: int,
) -> RoutedModel:
    """Train BKA-SVM: a C-SVC of LIBSVM in each cluster, for the rows of that cluster.

    `weights` has one number for each row, which is equal for all rows of a class.
    """
    k = head.n_classes
    which = np.where(targets[:, 0] > 0, 0, 1) if k == 2 else np.argmax(targets, axis=1)
    of_class: tuple[tuple[int, float], ...] = ()
    if weights is not None:
        present, first = np.unique(which, return_index=True)
        of_class = tuple(zip(present.tolist(), weights[first].tolist(), strict=True))

    def local(s: int) -> _Cell:
        own = slice(int(parted.start[s]), int(parted.start[s + 1]))
        # Sorted by class, so that LIBSVM finds the classes in the head's order. It would group them anyway.
        order = np.argsort(which[own], kind="stable")
        return _local_svm(kernel, parted.cluster(s).take(order), which[own][order], k, cost, of_class)

    cells = map_in_threads(local, range(len(parted.sizes)), threads)
    return RoutedModel(
        head=head,
        kernel=kernel.kind,
        gamma=np.full(len(cells), kernel.gamma),
        children=flat_tree(len(cells)),
        centers=parted.centers,
        landmarks=Rows.concatenate([sv for sv, _, _, _ in cells]),
        sizes=np.array([len(sv) for sv, _, _, _ in cells], dtype=np.int64),
        coef=np.ascontiguousarray(np.hstack([coef for _, coef, _, _ in cells])),
        rho=np.stack([rho for _, _, rho, _ in cells]),
        nr_sv=np.stack([nr_sv for _, _, _, nr_sv in cells]),
    )


#: Support vectors, coefficients (k - 1, n), rho (pairs,) and sizes of the classes (k,), for all k classes.
_Cell = tuple[Rows, FloatArray, FloatArray, IntArray]


def _local_svm(
    kernel: Kernel, rows: Rows, which: IntArray, k: int, cost: float, weights: tuple[tuple[int, float], ...]
) -> _Cell:
    present = np.unique(which)
    rho, nr_sv = _absent_lose(present, k), np.zeros(k, dtype=np.int64)
    if len(present) == 1:
        return rows[:0], np.zeros((k - 1, 0)), rho, nr_sv
    options = TrainOptions(gamma=kernel.gamma, C=cost, cache_size=BLOCK_CACHE_MEGABYTES, weights=weights)
    if kernel.kind == LAPLACIAN:
        x = rows.to_dense()
        numbered = np.column_stack([np.arange(1.0, len(x) + 1), kernel.matrix(x, x)])
        options = replace(options, kernel="precomputed", gamma=0.0)
        model = train(numbered, which, options)
        sv = rows.take(model.sv.values.astype(np.int64) - 1)
    else:
        model = train(rows, which, options)
        sv = model.sv
    assert model.nr_sv is not None
    nr_sv[present] = model.nr_sv
    coef = np.zeros((k - 1, len(sv)))
    ends = np.cumsum(model.nr_sv)
    pair = 0
    for a in range(len(present)):
        for b in range(a + 1, len(present)):
            i, j = present[a], present[b]
            first = slice(ends[a] - model.nr_sv[a], ends[a])
            second = slice(ends[b] - model.nr_sv[b], ends[b])
            coef[j - 1, first] = model.sv_coef[b - 1, first]
            coef[i, second] = model.sv_coef[a, second]
            rho[_pair_number(int(i), int(j), k)] = model.rho[pair]
            pair += 1
    return sv, coef, rho, nr_sv


def _absent_lose(present: IntArray, k: int) -> FloatArray:
    """Return constant decision values by which classes without rows lose to all others."""
    rho = np.zeros(k * (k - 1) // 2)
    here = np.isin(np.arange(k), present)
    for i in range(k):
        for j in range(i + 1, k):
            rho[_pair_number(i, j, k)] = float(here[j]) - float(here[i])
    return rho


def _pair_number(i: int, j: int, k: int) -> int:
    """Return the position of the pair i < j in LIBSVM's order."""
    return i * (2 * k - i - 1) // 2 + j - i - 1
