"""Expansions with random numbers, and their sums with fifty digits."""

from __future__ import annotations

import mpmath
import numpy as np
from fifty_digits import exactly, kernel_values

from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows


def random_model(
    seed: int, n: int, d: int, classes: int, gamma: float, scale: float, size: float, kernel: str = "rbf"
) -> KernelExpansion:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n * classes, d)) * scale + rng.normal(size=d) * scale
    x[rng.uniform(size=x.shape) < 0.3] = 0
    coef = rng.normal(size=(classes - 1, n * classes)) * size
    return KernelExpansion(
        head=Head("c_svc", np.arange(classes)),
        kernel=Kernel(
            kernel,
            0.0 if kernel == "linear" else gamma,
            0.7 if kernel == "polynomial" else 0.0,
            3 if kernel == "polynomial" else 0,
        ),
        sv=Rows.from_dense(x),
        sv_coef=coef,
        rho=rng.normal(size=classes * (classes - 1) // 2),
        nr_sv=np.full(classes, n),
    )


def exact_sums(model: KernelExpansion, z: FloatArray) -> list[list[mpmath.mpf]]:
    """Decision values with 50 digits, from the numbers of the model file."""
    x = model.sv.to_dense(z.shape[1])
    k, start = model.head.n_classes, np.concatenate(([0], np.cumsum(model.nr_sv)))
    out = []
    for row in z:
        values = kernel_values(model.kernel, x, row)
        coef, sums, pair = [exactly(row) for row in model.sv_coef], [], 0
        for i in range(k):
            for j in range(i + 1, k):
                total = -mpmath.mpf(float(model.rho[pair]))
                for at in range(start[i], start[i + 1]):
                    total += coef[j - 1][at] * values[at]
                for at in range(start[j], start[j + 1]):
                    total += coef[i][at] * values[at]
                sums.append(total)
                pair += 1
        out.append(sums)
    return out
