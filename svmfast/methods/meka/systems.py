"""Linear systems with a MEKA approximation: its eigenvalues, made nonnegative, and conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import UnsupportedError
from svmfast.methods.meka.approximation import Meka
from svmfast.solvers.nystrom import eigen_descending

FloatArray = NDArray[np.float64]

#: Up to this size all eigenvalues are computed, above it only the extreme ones.
DENSE_SIZE = 2048


@dataclass(frozen=True, eq=False)
class Spectrum:
    """L made positive semidefinite, vectors @ diag(values) @ vectors^T; `smallest` was its own eigenvalue."""

    values: FloatArray
    vectors: FloatArray
    smallest: float


def positive_spectrum(meka: Meka, repair: str) -> Spectrum:
    """Return the eigenvalues and -vectors of L after making it positive semidefinite.

    Parameters
    ----------
    meka : Meka
    repair : {"clip", "shift"}
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

    Raises
    ------
    UnsupportedError
        L + lambda I is not positive definite, or the iteration does not converge.
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
