"""Two half circles to train on, and their kernel."""

import numpy as np

from svmfast.methods.budget.refit import KernelCache, Refit, RefitProblem
from svmfast.methods.budget.sgd import TrainingBlock
from svmfast.rows import Rows
from svmfast.solvers.row_blocks import TreeSum


def two_moons(n, seed, columns=6):
    """Two noisy half circles in two of several sparse columns; no two distances are equal."""
    rng = np.random.default_rng(seed)
    angle, y = rng.uniform(0, np.pi, n), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x = np.zeros((n, columns))
    x[:, 1] = np.cos(angle) * y + (1 - y) / 2 + rng.normal(0, 0.2, n)
    x[:, 4] = np.sin(angle) * y + (1 - y) / 4 + rng.normal(0, 0.2, n)
    x[:, 0] = np.where(rng.random(n) < 0.3, rng.normal(0, 0.1, n), 0)
    return x, y


def block_of(x, y):
    rows = Rows.from_dense(x)
    return TrainingBlock(rows, rows.squared_norms(), np.asarray(y, dtype=np.float64))


def kernel(a, b, gamma):
    return np.exp(-gamma * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))


def refit(start, blocks, count, options, *, bias=True, room=0):
    """Refit coefficients on blocks of rows, each with an order; return the expansion and the refit."""
    problem, cache = RefitProblem(start, options, bias=bias), KernelCache(room)
    fit = Refit(problem, count)
    while not fit.done:
        sums = (
            problem.sums(block, order, fit.trial, cache, place)
            for place, (block, order) in enumerate(blocks())
        )
        fit.advance(TreeSum.of(0, sums).value())
    return fit.expansion(), fit
