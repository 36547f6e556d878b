"""Random expansions for single precision, and their values with fifty digits."""

from __future__ import annotations

import mpmath
import numpy as np
from fifty_digits import kernel_values, mpf

from svmfast.kernels import DecisionEngine, Kernel
from svmfast.rows import FloatArray, Rows


class Problem:
    """A random expansion of `classes` classes (1: a single function), and rows near its support vectors."""

    def __init__(
        self,
        seed: int,
        n: int,
        d: int,
        classes: int,
        gamma: float,
        scale: float,
        density: float,
        mixed: bool,
        kernel: Kernel | None = None,
    ) -> None:
        rng = np.random.default_rng(seed)
        center = rng.normal(0, 3 * scale, d) if density == 1 else np.zeros(d)

        def rows(count: int, width: float) -> FloatArray:
            stored = rng.random((count, d)) < density
            return np.where(stored, center + rng.normal(0, width * scale, (count, d)), 0.0)

        sizes = rng.multinomial(n - classes, np.ones(classes) / classes) + 1
        self.owner = np.repeat(np.arange(classes), sizes)
        self.sv = rows(n, 1.0)
        self.coef = rng.exponential(10.0 ** rng.uniform(-3, 3), (max(classes - 1, 1), n)) + 1e-12
        for row in range(classes - 1):
            # LIBSVM's coefficients: positive in the first class of a pair, negative in the second.
            self.coef[row, self.owner > row] *= -1
        if mixed:
            self.coef *= rng.choice([-1.0, 1.0], self.coef.shape)
        self.pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)] or [(0, -1)]
        self.rho = rng.normal(0, np.abs(self.coef).mean(), len(self.pairs))
        self.kernel = kernel or Kernel("rbf", gamma=gamma)
        self.test = np.vstack([rows(6, 1.0), rows(3, 4.0), self.sv[:2]])
        self.engine = self.fresh_engine()

    def fresh_engine(self) -> DecisionEngine:
        """Return an engine of the present numbers."""
        sizes = np.bincount(self.owner).astype(np.int64)
        return DecisionEngine(
            self.kernel,
            Rows.from_dense(self.sv),
            self.coef,
            self.rho,
            sizes if len(sizes) > 1 else None,
        )

    def exactly(self, z: FloatArray) -> list[mpmath.mpf]:
        """Every decision value of a row, in 50 digits."""
        kernel = kernel_values(self.kernel, self.sv, z)
        out = []
        for p, (i, j) in enumerate(self.pairs):
            terms = (
                [
                    mpf(float(self.coef[j - 1 if own == i else i, s])) * kernel[s]
                    for s, own in enumerate(self.owner)
                    if own in (i, j)
                ]
                if j >= 0
                else [mpf(float(c)) * k for c, k in zip(self.coef[0], kernel, strict=True)]
            )
            out.append(mpmath.fsum(terms) - mpf(float(self.rho[p])))
        return out
