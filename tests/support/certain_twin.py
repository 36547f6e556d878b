"""The bound of NAME_certain in NumPy, operation by operation: the slow reference of the C text."""

import numpy as np
from export_twin import exp, root

from svmfast.certificate import proven_signs, vote_is_certain
from svmfast.exports.certain import EXP_UNITS


def certain(computation, bound, decisions, cells, squared):
    """Decide in the file's own arithmetic which labels are certain, given `export_twin.values`."""
    bounds = error_bounds(computation, bound, decisions, cells, squared)
    sure = proven_signs(decisions, bounds)
    head = computation.head
    if head.labels is None or head.n_classes == 2:
        return np.asarray(sure[:, 0])
    return np.asarray(vote_is_certain(sure, decisions.astype(np.float64), head.n_classes))


def error_bounds(computation, bound, decisions, cells, squared):
    values, precision, real = computation.values, bound.precision, squared.dtype.type
    u, gamma, n_terms = real(precision.unit), real(values.gamma), real(computation.n_features + 8)
    with np.errstate(all="ignore"):
        s = squared[:, None]
        r = root(np.ascontiguousarray(s))
        r = r + r * (real(0.51) * n_terms * u) + real(precision.tiny)
        eps = bound.step * r + bound.shift[cells][:, None]
        phi = gamma * (real(1.01) * n_terms * u * s + (real(2) * r + eps) * eps)
        open_ = ~(gamma * s < real(precision.largest_exponent)) | ~(phi < real(0.01))
        if values.gamma:
            phi = real(1.05) * (phi + real(EXP_UNITS) * u)
            factor = exp(-gamma * s) * (real(1) + phi)
            of_value = phi + real(2.02) * u
        else:
            factor, of_value = real(1), real(1.01) * u
        r = r + eps
        square = r * r
        rho = r + bound.reach[cells][:, None]
        size = np.abs(decisions) + np.abs(values.rho.astype(real))
        near = factor * (_horner(bound.rounding[cells], rho) + eps * _horner(bound.slope[cells], rho))
        near = near + size * of_value
        rest = bound.rest[cells]
        beyond = rest[..., 0]
        for _ in range(bound.degrees.shape[-1]):
            beyond = beyond * r
        beyond = beyond + (rest[..., 1] + rest[..., 2] * square)
        beyond = beyond + (size + near) * (rest[..., 3] + rest[..., 4] * square)
        beyond = beyond + factor * _horner(bound.degrees[cells], r)
        out = (near + beyond) * real(precision.slack)
    return np.asarray(np.where(open_ | np.isnan(out), real(np.inf), out))


def _horner(coefficients, at):
    total = coefficients[..., -1]
    for j in range(coefficients.shape[-1] - 2, -1, -1):
        total = total * at + coefficients[..., j]
    return np.asarray(total)
