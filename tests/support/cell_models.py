"""Polynomials: of one function, and expansions in cells, with the certificate of each."""

import numpy as np

from svmfast.kernels import Kernel
from svmfast.methods.approximate.bounds import certificate, gaussian_rounding
from svmfast.methods.approximate.exact_sums import exact_sums
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import Rows
from svmfast.solvers.residual import residual_tail
from svmfast.solvers.taylor import gaussian_coefficients


def one_function(d, order, coefficients, about="centre", center=None, **changes):
    """A polynomial without a factor in one cell, or in a cell about each of several centers."""
    centers = np.zeros((1, d)) if center is None else np.atleast_2d(center)
    known = {
        "head": Head("epsilon_svr"),
        "gamma": 0.0,
        "n_features": d,
        "features": np.arange(d),
        "about": about,
    }
    orders = np.full((len(centers), 1), order, dtype=np.int32)
    known |= {"centers": centers, "orders": orders, "rho": np.zeros(1)}
    known |= {"coefficients": np.array(coefficients), "sv_squared_norm": 1.0}
    return PolynomialModel(**{**known, "sv_squared_norms": np.ones(len(centers)), **changes})


def exact_model(seed, classes, n, d, gamma, *, density=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n * classes, d)) * (rng.uniform(size=(n * classes, d)) < density)
    x[0, ~x.any(axis=0)] = 0.5  # an expansion leaves empty columns out
    coef, rho = rng.normal(size=(classes - 1, n * classes)), rng.normal(size=classes * (classes - 1) // 2)
    head, kernel = Head("c_svc", np.arange(classes)), Kernel("rbf", gamma)
    return KernelExpansion(head, kernel, Rows.from_dense(x), coef, rho, np.full(classes, n))


def in_cells(model, centers, orders, about):
    """Expand a model about every center, with the certificate of each."""
    sums, gamma, top = exact_sums(model, memory_limit=1 << 30), model.kernel.gamma, int(orders.max()) + 6
    packed, degrees, rest = [], np.zeros((*orders.shape, top + 1)), np.zeros((*orders.shape, 5))
    for cell, center in enumerate(centers):
        for p in range(sums.n_functions):
            order, points, beta = int(orders[cell, p]), sums.points[sums.support[p]], sums.beta[p]
            zero = about == "zero"
            packed.append(gaussian_coefficients(points, beta, gamma, center, order, about_zero=zero))
            moved, rho = np.zeros(order + 1), float(model.rho[p])
            numbers = (points, beta, gamma, center, packed[-1], moved, rho)
            rounding = gaussian_rounding(*numbers, order=order, about_zero=zero)
            tail = residual_tail(points, beta, gamma, center, order, top=top)
            degrees[cell, p], rest[cell, p] = certificate(rounding, order, tail)
    squares = [((sums.points - center) ** 2).sum(axis=1).max() for center in centers]
    numbers = {"orders": orders.astype(np.int32), "rho": model.rho, "sv_squared_norms": np.array(squares)}
    numbers |= {"gamma": gamma, "features": sums.features, "bound_degrees": degrees, "bound_rest": rest}
    numbers["sv_squared_norm"] = float((sums.points**2).sum(axis=1).max())
    at = np.ascontiguousarray(centers)
    return one_function(model.n_features, 0, np.concatenate(packed), about, at, head=model.head, **numbers)
