"""Routed models from an approximate kernel matrix: low-rank blocks with links, or exact blocks (BKA)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.kernels import LAPLACIAN, Kernel
from svmfast.methods.common.problem import Problem, class_weights_of
from svmfast.methods.meka.approximation import BLOCK_CACHE_MEGABYTES, Meka
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.kernel_clusters import Partition
from svmfast.solvers.nystrom import eigen_descending
from svmfast.solvers.squared_hinge import solve_squared_hinge
from svmfast.threads import map_in_threads

#: A squared hinge problem counts as solved when the gradient, relative to that at zero, is at most this. With
#: 1e-3 the error of the weights may be as large as their norm, and the solution for one C may pass for the
#: next.
HINGE_TOLERANCE = 1e-5

Solution = tuple[FloatArray, FloatArray]


def assemble(meka: Meka, head: Head, inner: FloatArray, rho: FloatArray) -> RoutedModel:
    """The expansion of each cluster, whose value is q(x) . inner_s - rho, q(x) = projection_s^T
    K(landmarks_s, x).
    """
    coef = [(p @ inner[at]).T for p, at in zip(meka.projections, meka.slices(), strict=True)]
    rho = np.tile(rho, (len(coef), 1))
    return RoutedModel.flat(head, meka.kernel, meka.partition.centers, meka.landmarks, coef, rho)


def meka_ridge(meka: Meka, targets: FloatArray, lambdas: Sequence[float], psd: str) -> Iterator[Solution]:
    """Solve (G + lambda I) alpha = targets - mean for each lambda; yield (inner, rho).

    With ``shift``, the diagonal of G is shifted in training only, which is the same as a larger lambda.
    """
    mean = targets.mean(axis=0)
    spectrum = positive_spectrum(meka, "clip" if psd == "clip" else "none")
    turned = spectrum.vectors.T @ meka.backward(targets - mean)
    shift = max(0.0, -spectrum.smallest) if psd == "shift" else 0.0
    for regularization in lambdas:
        if psd != "clip" and spectrum.smallest + shift + regularization <= 0:
            raise UnsupportedError(
                f"the approximation's eigenvalue {spectrum.smallest:.3g} plus lambda {regularization:g} "
                "is not positive",
                "use `psd` clip or shift, or a larger `lambda_`",
            )
        shrunk = (spectrum.values / (spectrum.values + shift + regularization))[:, None] * turned
        yield spectrum.vectors @ shrunk, -mean


def meka_svc(
    meka: Meka, targets: FloatArray, costs: Sequence[float], psd: str, weights: FloatArray | None = None
) -> Iterator[Solution]:
    """Solve the squared hinge SVM for each C, starting from the previous solution; yield (inner, rho).

    C is multiplied by the rows' `weights`, ``(n,)`` in the order of the clusters. The features are Q V
    sqrt(values), and a constant 1 for the bias (LIBLINEAR's -B 1). Products with them are computed cluster by
    cluster, so that the n x (sum k) matrix is never formed.
    """
    spectrum = positive_spectrum(meka, psd)
    root = np.sqrt(spectrum.values)[:, None]

    def forward(w: FloatArray) -> FloatArray:
        decisions: FloatArray = meka.forward(spectrum.vectors @ (root * w[:-1])) + w[-1]
        return decisions

    def backward(v: FloatArray) -> FloatArray:
        return np.vstack([root * (spectrum.vectors.T @ meka.backward(v)), v.sum(axis=0)])

    # Exact if all rows have equal weight; otherwise the mean is good enough for a preconditioner.
    mean = 1.0 if weights is None else float(weights.mean())
    squares = mean * np.append(spectrum.values, float(len(targets)))
    start: FloatArray | None = None
    for cost in costs:
        start = solve_squared_hinge(
            *(forward, backward, targets, cost, squares),
            tolerance=HINGE_TOLERANCE,
            start=start,
            weights=weights,
        )
        yield spectrum.vectors @ (root * start[:-1]), -start[-1]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """L, perhaps made positive semidefinite, as vectors @ diag(values) @ vectors^T."""

    values: FloatArray
    vectors: FloatArray
    #: The smallest eigenvalue of L itself.
    smallest: float


def positive_spectrum(meka: Meka, repair: str) -> Spectrum:
    """Decompose L, and ``clip`` its negative eigenvalues (MEKA-PSD, the nearest matrix in the orthonormal
    basis), ``shift`` all by the most negative one, or ``none``.
    """
    values, vectors = eigen_descending(meka.link_matrix())
    smallest = float(values[-1])
    if repair == "none":
        return Spectrum(values, vectors, smallest)
    values = np.maximum(values, 0) if repair == "clip" else values + max(0.0, -smallest)
    kept = values > 1e-14 * max(values[0], 1e-300)
    return Spectrum(values[kept], np.ascontiguousarray(vectors[:, kept]), smallest)


def block_ridge(
    kernel: Kernel, parted: Partition, problem: Problem, lambdas: Sequence[float], threads: int
) -> list[RoutedModel]:
    """Fit ridge regression in each cluster, with every row as a landmark: a model for each lambda."""
    mean = problem.targets.mean(axis=0)
    centered = problem.targets - mean

    def solve(s: int) -> list[FloatArray]:
        from scipy.linalg import cho_solve

        x = parted.cluster(s).to_dense()
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
            out.append(np.asarray(cho_solve((lower, True), centered[parted.places(s)])).T)
        return out

    cells = range(len(parted.sizes))
    solved = map_in_threads(solve, cells, threads)
    landmarks, rho = [parted.cluster(s) for s in cells], np.tile(-mean, (len(cells), 1))
    return [
        RoutedModel.flat(problem.head, kernel, parted.centers, landmarks, [cell[i] for cell in solved], rho)
        for i in range(len(lambdas))
    ]


def block_svc(kernel: Kernel, parted: Partition, problem: Problem, cost: float, threads: int) -> RoutedModel:
    """Train BKA-SVM: a C-SVC of LIBSVM in each cluster, for the rows of that cluster."""
    k, targets = problem.head.n_classes, problem.targets
    which = np.where(targets[:, 0] > 0, 0, 1) if k == 2 else np.argmax(targets, axis=1)
    of_class = class_weights_of(which, problem.weights)

    def local(s: int) -> _Cell:
        own = which[parted.places(s)]
        # Sorted by class, so that LIBSVM finds the classes in the head's order. It would group them anyway.
        order = np.argsort(own, kind="stable")
        return _local_svm(kernel, parted.cluster(s).take(order), own[order], k, cost, of_class)

    cells = map_in_threads(local, range(len(parted.sizes)), threads)
    landmarks, coef, rho, nr_sv = zip(*cells, strict=True)
    return RoutedModel.flat(
        problem.head, kernel, parted.centers, landmarks, coef, np.stack(rho), np.stack(nr_sv)
    )


#: Support vectors, coefficients (k - 1, n), rho (pairs,) and sizes of the classes (k,), for all k classes.
_Cell = tuple[Rows, FloatArray, FloatArray, IntArray]


def _local_svm(
    kernel: Kernel, rows: Rows, which: IntArray, k: int, cost: float, weights: tuple[tuple[int, float], ...]
) -> _Cell:
    present = np.unique(which)
    here = np.isin(np.arange(k), present).astype(np.float64)
    # Constant decision values, by which classes without rows lose to all others.
    rho = np.array([here[j] - here[i] for i in range(k) for j in range(i + 1, k)])
    nr_sv = np.zeros(k, dtype=np.int64)
    if len(present) == 1:
        return rows[:0], np.zeros((k - 1, 0)), rho, nr_sv
    options = TrainOptions(gamma=kernel.gamma, C=cost, cache_size=BLOCK_CACHE_MEGABYTES, weights=weights)
    if kernel.kind == LAPLACIAN:
        x = rows.to_dense()
        numbered = np.column_stack([np.arange(1.0, len(x) + 1), kernel.matrix(x, x)])
        model = train(numbered, which, replace(options, kernel="precomputed", gamma=0.0))
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
            i, j = int(present[a]), int(present[b])
            first = slice(ends[a] - model.nr_sv[a], ends[a])
            second = slice(ends[b] - model.nr_sv[b], ends[b])
            coef[j - 1, first] = model.sv_coef[b - 1, first]
            coef[i, second] = model.sv_coef[a, second]
            # The position of the pair i < j in LIBSVM's order.
            rho[i * (2 * k - i - 1) // 2 + j - i - 1] = model.rho[pair]
            pair += 1
    return sv, coef, rho, nr_sv
