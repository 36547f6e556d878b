"""Random expansions for single precision, and their values with fifty digits."""

from __future__ import annotations

import mpmath
import numpy as np
from fifty_digits import kernel_values, mpf
from numpy.typing import NDArray

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

        self.sv = rows(n, 1.0)
        self.kernel = kernel or Kernel("rbf", gamma=gamma)
        self.share(rng, n, classes, mixed, 1)
        self.test = np.vstack([rows(6, 1.0), rows(3, 4.0), self.sv[:2]])
        self.engine = self.fresh_engine()

    def share(self, rng: np.random.Generator, n: int, classes: int, mixed: bool, least: int) -> None:
        """Divide the vectors among the classes and draw their coefficients."""
        sizes = rng.multinomial(n - least * classes, np.ones(classes) / classes) + least
        self.owner = np.repeat(np.arange(classes), sizes)
        self.coef = rng.exponential(10.0 ** rng.uniform(-3, 3), (max(classes - 1, 1), n)) + 1e-12
        for row in range(classes - 1):
            # LIBSVM's coefficients: positive in the first class of a pair, negative in the second.
            self.coef[row, self.owner > row] *= -1
        if mixed:
            self.coef *= rng.choice([-1.0, 1.0], self.coef.shape)
        self.pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)] or [(0, -1)]
        self.rho = rng.normal(0, np.abs(self.coef).mean(), len(self.pairs))

    def fresh_engine(self) -> DecisionEngine:
        """Return an engine of the present numbers."""
        sizes = np.bincount(self.owner).astype(np.int64)
        return DecisionEngine(
            self.kernel, Rows.from_dense(self.sv), self.coef, self.rho, sizes if len(sizes) > 1 else None
        )

    def exactly(self, z: FloatArray) -> list[mpmath.mpf]:
        """Every decision value of a row, in 50 digits."""
        vectors = np.pad(self.sv, ((0, 0), (0, len(z) - self.sv.shape[1])))
        kernel = kernel_values(self.kernel, vectors, z)
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


def check_bounds(problem: Problem, test: FloatArray) -> float:
    """Compare every bound with 50 digits; return the share of values that have one."""
    values, bounds = problem.engine.single_values(Rows.from_dense(test))
    for z, value, bound in zip(test, values, bounds, strict=True):
        for true, v, b in zip(problem.exactly(z), value, bound, strict=True):
            assert np.isinf(b) or abs(mpf(float(v)) - true) <= mpf(float(b))
    return float(np.isfinite(bounds).mean())


def double_labels(engine: DecisionEngine, rows: Rows) -> tuple[NDArray[np.int32], int, int]:
    """Return the labels without single precision, and how many it and double precision proved."""
    found: tuple[NDArray[np.int32], int, int] = engine._sums.labels(rows, single_first=False, threads=1)
    return found


def check_labels(problem: Problem, rows: Rows, proven: int) -> None:
    """Compare labels with the vote in LIBSVM's order; single precision proves more than `proven` of them."""
    winner, counts = problem.engine.labels(rows, threads=2)
    decisions = problem.engine.decision_values(rows, libsvm_order=True)
    votes = np.zeros((len(rows), max(problem.owner.max() + 1, 2)), dtype=int)
    for p, (i, j) in enumerate(problem.pairs):
        votes[np.arange(len(rows)), np.where(decisions[:, p] > 0, i, j if j >= 0 else 1)] += 1
    assert winner.tolist() == votes.argmax(axis=1).tolist()
    assert counts.single > proven
    double, none, _ = double_labels(problem.engine, rows)
    assert (double.tolist(), none) == (winner.tolist(), 0)


def check_alone(engine: DecisionEngine, rows: Rows) -> None:
    """A row has the same bits for any number of threads, alone and among others."""
    labels = engine.labels(rows)[0]
    values, bounds = engine.single_values(rows)
    for threads in (2, 5):
        assert engine.labels(rows, threads=threads)[0].tobytes() == labels.tobytes()
    parts = [slice(i, i + 1) for i in (0, 1, 7, 13, len(rows) - 1)] + [slice(n) for n in (3, 6, 11, 12)]
    for part in parts:
        assert engine.labels(rows[part])[0].tobytes() == labels[part].tobytes()
        some, reach = engine.single_values(rows[part])
        assert (some.tobytes(), reach.tobytes()) == (values[part].tobytes(), bounds[part].tobytes())
