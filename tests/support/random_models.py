"""Expansions with random numbers, and their sums with fifty digits."""

from itertools import combinations

import mpmath
import numpy as np
from fifty_digits import exactly, kernel_values

from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows


def random_model(seed, n, d, classes, gamma, scale, size, kernel="rbf"):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n * classes, d)) * scale + rng.normal(size=d) * scale
    x[rng.uniform(size=x.shape) < 0.3] = 0
    coef = rng.normal(size=(classes - 1, n * classes)) * size
    if kernel == "polynomial":
        kind = Kernel(kernel, gamma, 0.7, 3)
    else:
        kind = Kernel(kernel, 0.0 if kernel == "linear" else gamma)
    head, rho = Head("c_svc", np.arange(classes)), rng.normal(size=classes * (classes - 1) // 2)
    return KernelExpansion(head, kind, Rows.from_dense(x), coef, rho, np.full(classes, n))


def exact_sums(model, z):
    """Decision values with 50 digits, from the numbers of the model file."""
    x, coef = model.sv.to_dense(z.shape[1]), [exactly(row) for row in model.sv_coef]
    sizes = np.array([len(x), 0]) if model.nr_sv is None else model.nr_sv
    owner, pairs = np.repeat(np.arange(len(sizes)), sizes).tolist(), list(combinations(range(len(sizes)), 2))
    out = []
    for row in z:
        values, sums = list(enumerate(kernel_values(model.kernel, x, row))), []
        for (i, j), rho in zip(pairs, exactly(model.rho), strict=True):
            terms = [coef[j - 1 if owner[n] == i else i][n] * v for n, v in values if owner[n] in (i, j)]
            sums.append(mpmath.fsum(terms) - rho)
        out.append(sums)
    return out
