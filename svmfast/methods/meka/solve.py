"""Routed models from an approximate kernel matrix: eigenvalues made nonnegative, and systems of equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.methods.meka.approximation import Meka
from svmfast.methods.meka.plan import DENSE_SIZE
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
    """Convert a solution, `inner` ``(sum k, p)`` and `rho` ``(p,)``, to an expansion for each cluster.

    A row x of cluster s has the features q(x) = projection_s^T K(landmarks_s, x) and the value
    q(x) . inner_s - rho. The landmarks' coefficients are therefore projection_s @ inner_s.
    """
    coef = [(p @ inner[at]).T for p, at in zip(meka.projections, meka.slices(), strict=True)]
    rho = np.tile(rho, (len(coef), 1))
    return RoutedModel.flat(head, meka.kernel, meka.partition.centers, meka.landmarks, coef, rho)


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
    weights: FloatArray | None = None,
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
    """L made positive semidefinite, vectors @ diag(values) @ vectors^T; `smallest` was its own eigenvalue."""

    values: FloatArray
    vectors: FloatArray
    smallest: float


def positive_spectrum(meka: Meka, repair: str) -> Spectrum:
    """Return the eigenvalues and -vectors of L after making it positive semidefinite.

    ``clip`` sets negative eigenvalues to zero (the paper's MEKA-PSD). This gives the nearest positive
    semidefinite matrix, since the basis is orthonormal. ``shift`` adds the magnitude of the most negative
    eigenvalue to all.
    """
    values, vectors = eigen_descending(meka.link_matrix())
    smallest = float(values[-1])
    values = np.maximum(values, 0) if repair == "clip" else values + max(0.0, -smallest)
    kept = values > 1e-14 * max(values[0], 1e-300)
    return Spectrum(values[kept], np.ascontiguousarray(vectors[:, kept]), smallest)


def smallest_eigenvalue(meka: Meka) -> float:
    """Return the smallest eigenvalue of L; if L is large, by the Lanczos method on its blocks."""
    size = int(meka.ranks.sum())
    if size <= DENSE_SIZE:
        return float(np.linalg.eigvalsh(meka.link_matrix())[0])
    # The smallest eigenvalues cluster around zero, where Lanczos hardly converges. It does converge to the
    # largest eigenvalue of largest * I - L.
    largest = _largest_eigenvalue(size, meka.link_product)
    return largest - _largest_eigenvalue(size, lambda z: largest * z - meka.link_product(z))


def _largest_eigenvalue(size: int, product: Callable[[FloatArray], FloatArray]) -> float:
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((size, size), matvec=lambda z: product(z.ravel()), dtype=np.float64)
    start = np.random.default_rng(0).normal(size=size)
    return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0])


def ridge_by_cg(meka: Meka, targets: FloatArray, regularization: float) -> FloatArray:
    """Return L z with (L + lambda I) z = Q^T targets, by conjugate gradients.

    Since Q is orthonormal, this solves (Q L Q^T + lambda I) alpha = targets in the coordinates of the basis,
    z = Q^T alpha. A step takes (sum k)^2 instead of n k + (sum k)^2 multiply-adds.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    least = smallest_eigenvalue(meka)
    if least + regularization <= 0:
        raise UnsupportedError(
            f"the approximation's eigenvalue {least:.3g} plus lambda {regularization:g} is not positive",
            "use `psd` clip or shift, or a larger `lambda_`",
        )
    size = int(meka.ranks.sum())
    operator = LinearOperator(
        (size, size),
        matvec=lambda z: meka.link_product(z.ravel()) + regularization * z.ravel(),
        dtype=np.float64,
    )
    inner = meka.backward(targets)
    solved = np.empty_like(inner)
    # SciPy before 1.12 calls it tol.
    tolerance = {"rtol" if "rtol" in signature(cg).parameters else "tol": 1e-8}
    for p in range(inner.shape[1]):
        solved[:, p], failed = cg(operator, inner[:, p], atol=0.0, maxiter=20 * size + 1000, **tolerance)
        if failed:
            raise UnsupportedError(
                f"conjugate gradients did not converge with lambda {regularization:g}",
                "use a larger `lambda_`",
            )
    return meka.link_product(solved)
