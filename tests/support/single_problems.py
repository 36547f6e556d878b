"""Random expansions for single precision, and their values with fifty digits."""

import numpy as np
from fifty_digits import mpf
from random_models import exact_sums

from svmfast.kernels import DecisionEngine, Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows


class Problem:
    """A random expansion of `classes` classes (1: a single function), and rows near its support vectors.

    A number for the kernel is gamma of rbf.
    """

    def __init__(
        self, seed, n, d, classes, kernel, scale = 1.0,
        density = 1.0, mixed = False,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        center = rng.normal(0, 3 * scale, d) if density == 1 else np.zeros(d)

        def rows(count, width):
            stored = rng.random((count, d)) < density
            return np.where(stored, center + rng.normal(0, width * scale, (count, d)), 0.0)

        self.sv = rows(n, 1.0)
        self.kernel = kernel if isinstance(kernel, Kernel) else Kernel("rbf", gamma=kernel)
        self.share(rng, n, classes, mixed, 1)
        self.test = np.vstack([rows(6, 1.0), rows(3, 4.0), self.sv[:2]])
        self.engine = self.fresh_engine()

    def share(self, rng, n, classes, mixed, least):
        """Divide the vectors among the classes and draw their coefficients."""
        sizes = rng.multinomial(n - least * classes, np.ones(classes) / classes) + least
        self.owner = np.repeat(np.arange(classes), sizes)
        self.coef = rng.exponential(10.0 ** rng.uniform(-3, 3), (max(classes - 1, 1), n)) + 1e-12
        for row in range(classes - 1):
            # LIBSVM's coefficients: positive in the first class of a pair, negative in the second.
            self.coef[row, self.owner > row] *= -1
        if mixed:
            self.coef *= rng.choice([-1.0, 1.0], self.coef.shape)
        self.rho = rng.normal(0, np.abs(self.coef).mean(), len(self.pairs))

    @classmethod
    def of(cls, kernel, sv, coef, owner):
        """Return a problem of given numbers; rho is 0."""
        found = cls.__new__(cls)
        found.kernel, found.sv, found.coef, found.owner = kernel, sv, coef, np.array(owner)
        found.rho = np.zeros(len(found.pairs))
        found.engine = found.fresh_engine()
        return found

    @property
    def pairs(self):
        k = self.owner[-1] + 1
        return [(i, j) for i in range(k) for j in range(i + 1, k)] or [(0, -1)]

    def fresh_engine(self, rho=None):
        """Return an engine of the present numbers, or of another rho."""
        found = self.expansion()
        return DecisionEngine(self.kernel, found.sv, self.coef, self.rho if rho is None else rho, found.nr_sv)

    def expansion(self):
        """Return a model of the present numbers."""
        head, sizes = Head("one_class"), None
        if self.owner[-1]:
            head, sizes = Head("c_svc", np.arange(self.owner[-1] + 1)), np.bincount(self.owner)
        return KernelExpansion(head, self.kernel, Rows.from_dense(self.sv), self.coef, self.rho, sizes)

    def exactly(self, z):
        """Every decision value of a row, in 50 digits."""
        return exact_sums(self.expansion(), z[None])[0]


def worst_error(problem, test):
    """Return the largest error over its bound, against 50 digits, and the share of values that have one."""
    values, bounds = problem.engine.single_values(Rows.from_dense(test))
    worst = 0.0
    for z, value, bound in zip(test, values, bounds, strict=True):
        for true, v, b in zip(problem.exactly(z), value, bound, strict=True):
            error = abs(mpf(float(v)) - true) if np.isfinite(b) else 0
            worst = max(worst, float(error / mpf(float(b)) if error else 0))
    return worst, float(np.isfinite(bounds).mean())


def check_bounds(problem, test):
    """Compare every bound with 50 digits; return the share of values that have one."""
    worst, share = worst_error(problem, test)
    assert worst <= 1
    return share


def check_labels(problem, rows, proven):
    """Compare labels with votes in LIBSVM's order and in double; single precision proves over `proven`."""
    winner, counts = problem.engine.labels(rows, threads=2)
    for libsvm_order in (True, False):
        decisions = problem.engine.decision_values(rows, libsvm_order=libsvm_order)
        votes = np.zeros((len(rows), max(problem.owner.max() + 1, 2)), dtype=int)
        for p, (i, j) in enumerate(problem.pairs):
            votes[np.arange(len(rows)), np.where(decisions[:, p] > 0, i, j if j >= 0 else 1)] += 1
        assert winner.tolist() == votes.argmax(axis=1).tolist()
    assert counts.single > proven


def check_alone(engine, rows):
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
