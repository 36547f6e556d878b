"""Routed models from an approximate kernel matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.meka.approximation import Meka
from svmfast.methods.meka.systems import Spectrum, positive_spectrum, ridge_by_cg, smallest_eigenvalue
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import Rows
from svmfast.solvers.squared_hinge import solve_squared_hinge

FloatArray = NDArray[np.float64]

#: A squared hinge problem counts as solved when the gradient, relative to that at zero, is at most this. With
#: 1e-3 the error of the weights may be as large as their norm, and the solution for one C may pass for the
#: next.
HINGE_TOLERANCE = 1e-5

Solution = tuple[FloatArray, FloatArray]


def assemble(meka: Meka, head: Head, inner: FloatArray, rho: FloatArray) -> RoutedModel:
    """Convert a solution to an expansion for each cluster.

    A row x of cluster s has the features q(x) = projection_s^T K(landmarks_s, x) and the value
    q(x) . inner_s - rho. The landmarks' coefficients are therefore projection_s @ inner_s.

    Parameters
    ----------
    meka : Meka
    head : Head
    inner : (sum k, p) float64
    rho : (p,) float64
    """
    coef = [(p @ inner[at]).T for p, at in zip(meka.projections, meka.slices(), strict=True)]
    cells = len(coef)
    return RoutedModel(
        head=head,
        kernel=meka.kernel.kind,
        gamma=np.full(cells, meka.kernel.gamma),
        children=flat_tree(cells),
        centers=meka.partition.centers,
        landmarks=Rows.concatenate(meka.landmarks),
        sizes=np.array([len(rows) for rows in meka.landmarks], dtype=np.int64),
        coef=np.ascontiguousarray(np.hstack(coef)),
        rho=np.tile(rho, (cells, 1)),
    )


def meka_ridge(meka: Meka, targets: FloatArray, lambdas: Sequence[float], psd: str) -> Iterator[Solution]:
    """Solve (G + lambda I) alpha = targets - mean for each lambda; yield (inner, rho)."""
    mean = targets.mean(axis=0)
    centered = targets - mean
    if psd == "clip":
        spectrum = positive_spectrum(meka, "clip")
        turned = spectrum.vectors.T @ meka.backward(centered)
        for regularization in lambdas:
            shrunk = (spectrum.values / (spectrum.values + regularization))[:, None] * turned
            yield spectrum.vectors @ shrunk, -mean
        return
    # Shifting the diagonal is equivalent to a larger lambda.
    shift = max(0.0, -smallest_eigenvalue(meka)) if psd == "shift" else 0.0
    for regularization in lambdas:
        yield ridge_by_cg(meka, centered, regularization + shift), -mean


def meka_svc(
    meka: Meka,
    targets: FloatArray,
    costs: Sequence[float],
    psd: str,
    *,
    weights: FloatArray | None = None,
) -> Iterator[Solution]:
    """Solve the squared hinge SVM for each C, starting from the previous solution; yield (inner, rho).

    C is multiplied by the rows' `weights`, ``(n,)`` in the order of the clusters. The features are Q V
    sqrt(values), and a constant 1 for the bias (LIBLINEAR's -B 1). Products with them are computed cluster by
    cluster, so that the n x (sum k) matrix is never formed.
    """
    spectrum: Spectrum = positive_spectrum(meka, psd)
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
        found = solve_squared_hinge(
            forward,
            backward,
            targets,
            cost,
            squares,
            tolerance=HINGE_TOLERANCE,
            start=start,
            weights=weights,
        )
        start = found.weights
        yield spectrum.vectors @ (root * start[:-1]), -start[-1]
