"""Expansions in cells, with the certificate of each."""

from __future__ import annotations

import numpy as np

from svmfast.kernels import Kernel
from svmfast.methods.approximate.bounds import certificate, gaussian_rounding
from svmfast.methods.approximate.exact_sums import exact_sums
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.residual import residual_tail
from svmfast.solvers.taylor import gaussian_coefficients


def exact_model(
    seed: int, classes: int, n: int, d: int, gamma: float, *, density: float = 1.0
) -> KernelExpansion:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n * classes, d)) * (rng.uniform(size=(n * classes, d)) < density)
    x[0, ~x.any(axis=0)] = 0.5  # an expansion leaves empty columns out
    return KernelExpansion(
        Head("c_svc", np.arange(classes)),
        Kernel("rbf", gamma),
        Rows.from_dense(x),
        rng.normal(size=(classes - 1, n * classes)),
        rng.normal(size=classes * (classes - 1) // 2),
        np.full(classes, n),
    )


def in_cells(model: KernelExpansion, centers: FloatArray, orders: np.ndarray, about: str) -> PolynomialModel:
    """Expand a model about every center, with the certificate of each."""
    sums, gamma, top = exact_sums(model, memory_limit=1 << 30), model.kernel.gamma, int(orders.max()) + 6
    packed, degrees, rest = [], np.zeros((*orders.shape, top + 1)), np.zeros((*orders.shape, 5))
    for cell, center in enumerate(centers):
        for p in range(sums.n_functions):
            order, points, beta = int(orders[cell, p]), sums.points[sums.support[p]], sums.beta[p]
            zero = about == "zero"
            packed.append(gaussian_coefficients(points, beta, gamma, center, order, about_zero=zero))
            moved, rho = np.zeros(order + 1), float(model.rho[p])
            rounding = gaussian_rounding(
                points, beta, gamma, center, packed[-1], moved, rho, order=order, about_zero=zero
            )
            tail = residual_tail(points, beta, gamma, center, order, top=top)
            degrees[cell, p], rest[cell, p] = certificate(rounding, order, tail)
    squares = [((sums.points - center) ** 2).sum(axis=1).max() for center in centers]
    return PolynomialModel(
        head=model.head,
        gamma=gamma,
        n_features=model.n_features,
        features=sums.features,
        about=about,
        centers=np.ascontiguousarray(centers),
        orders=orders.astype(np.int32),
        coefficients=np.concatenate(packed),
        rho=model.rho,
        sv_squared_norm=float((sums.points**2).sum(axis=1).max()),
        sv_squared_norms=np.array(squares),
        bound_degrees=degrees,
        bound_rest=rest,
    )
