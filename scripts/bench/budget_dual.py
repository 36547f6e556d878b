"""Dual coordinate ascent on a budget, in NumPy, with which budget.py compares SGD.

    max over 0 <= a_i <= C:   sum_i a_i - 1/2 ||w||^2,   w = sum_i a_i y_i phi(x_i)
    step i:   a_i' = min(max(a_i + 1 - y_i f(x_i), 0), C);   w += (a_i' - a_i) y_i phi(x_i)

(K(x, x) = 1). Beyond the budget two vectors of one sign are merged as in SGD; the a_i of merged rows stay as
they are, so w drifts from their sum. Qaadan, Schueler and Glasmachers, "Dual SVM Training on a Budget"
(ICPRAM 2019), without their choice of working sets and stopping rule.
"""

from __future__ import annotations

import numpy as np

from svmfast.methods.budget.sgd import BudgetExpansion, merge_tables
from svmfast.rows import FloatArray
from svmfast.solvers.training_data import random_order


class Lookup:
    """Bilinear lookup of wd and h; m is the share of the vector whose weight in the merged point is h."""

    def __init__(self) -> None:
        self.tables = merge_tables()
        self.n = self.tables[0].shape[1]

    def __call__(self, which: int, m: FloatArray, kappa: FloatArray) -> FloatArray:
        table, u, v = self.tables[which], m * self.n, kappa * (self.n - 1)
        i, j = np.minimum(u.astype(int), self.n // 2 - 1), np.minimum(v.astype(int), self.n - 2)
        a, b = u - i, v - j
        low = table[i, j] * (1 - b) + table[i, j + 1] * b
        high: FloatArray = table[i + 1, j] * (1 - b) + table[i + 1, j + 1] * b
        return low * (1 - a) + high * a


def dual_ascent(
    x: FloatArray, y: FloatArray, budget: int, gamma: float, cost: float, passes: int, seed: int
) -> tuple[BudgetExpansion, int]:
    """Train on dense rows (n, d) with labels +1 and -1; returns the model and the number of merges."""
    lookup = Lookup()
    n, norms = len(y), (x * x).sum(axis=1)
    alpha = np.zeros(n)
    slot_of = np.full(n, -1)
    row_of = np.full(budget + 1, -1)
    vectors, coef, norm = np.zeros((budget + 1, x.shape[1])), np.zeros(budget + 1), np.zeros(budget + 1)
    merges = 0

    def empty(slot: int) -> None:
        if row_of[slot] >= 0:
            slot_of[row_of[slot]] = row_of[slot] = -1
        coef[slot] = 0.0

    for epoch in range(passes):
        for row in random_order(n, seed, epoch):
            kernel = np.exp(-gamma * np.maximum(norm + norms[row] - 2 * (vectors @ x[row]), 0))
            old = alpha[row]
            alpha[row] = min(max(old + 1 - y[row] * (coef @ kernel), 0.0), cost)
            change = y[row] * (alpha[row] - old)
            if change == 0:
                continue
            slot = slot_of[row]
            if slot >= 0:
                coef[slot] += change
                if alpha[row] == 0 or coef[slot] == 0:
                    empty(slot)
                continue
            slot = int(np.flatnonzero(coef == 0)[0])
            vectors[slot], norm[slot], coef[slot] = x[row], norms[row], change
            slot_of[row], row_of[slot] = slot, row
            if (coef != 0).all():
                merges += 1
                _merge(vectors, coef, norm, gamma, lookup, empty, row_of, slot_of)
    used = coef != 0
    return BudgetExpansion(vectors[used].copy(), coef[used].copy(), 0.0), merges


def _merge(vectors, coef, norm, gamma, lookup, empty, row_of, slot_of) -> None:  # type: ignore[no-untyped-def]
    first = int(np.argmin(np.abs(coef)))
    others = np.flatnonzero((coef * coef[first] > 0) & (np.arange(len(coef)) != first))
    if len(others):
        distance = norm[others] + norm[first] - 2 * (vectors[others] @ vectors[first])
        kappa = np.exp(-gamma * np.maximum(distance, 0))
        both = np.abs(coef[others]) + abs(coef[first])
        m = np.minimum(abs(coef[first]) / both, 0.5)
        best = int(np.argmin(both**2 * lookup(0, m, kappa)))
        partner, share, near = others[best], m[best], kappa[best]
        h = float(lookup(1, m[best : best + 1], kappa[best : best + 1])[0])
        length = share * near ** ((1 - h) ** 2) + (1 - share) * near ** (h**2)
        value = np.copysign(both[best] * length, coef[partner])
        vectors[partner] = h * vectors[first] + (1 - h) * vectors[partner]
        norm[partner] = vectors[partner] @ vectors[partner]
        empty(partner)
        coef[partner] = value
    empty(first)
