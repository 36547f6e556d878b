"""Routed models from an approximate kernel matrix: low-rank blocks with links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.methods.meka.approximation import Meka
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray
from svmfast.solvers.nystrom import eigen_descending
from svmfast.solvers.squared_hinge import solve_squared_hinge

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
