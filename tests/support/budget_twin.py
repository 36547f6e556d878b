"""A slow and obvious implementation of budgeted SGD: the oracle of the native step."""

import numpy as np


def s_of_h(m, kappa, h):
    return m * kappa ** ((1 - h) ** 2) + (1 - m) * kappa ** (h**2)


def golden(m, kappa, low, high, eps):
    """Maximize s over [low, high]; return h."""
    ratio = (np.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    while high - low > eps:
        if s_of_h(m, kappa, left) >= s_of_h(m, kappa, right):
            high, right = right, left
            left = high - ratio * (high - low)
        else:
            low, left = left, right
            right = low + ratio * (high - low)
    return (low + high) / 2


def best_merge(m, kappa, eps=1e-10):
    """(wd, h, s) by search over both halves."""
    places = [golden(m, kappa, 0.0, 0.5, eps), golden(m, kappa, 0.5, 1.0, eps), 0.0, 1.0]
    h = max(places, key=lambda at: s_of_h(m, kappa, at))
    s = s_of_h(m, kappa, h)
    return m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - s**2, h, s


class Twin:
    """alpha has no common factor here: it shrinks by 1 - 1/t at every step, as in the paper."""

    def __init__(self, columns, options):
        self.options = options
        self.x, self.alpha, self.born = np.zeros((0, columns)), np.zeros(0), np.zeros(0)
        self.b, self.t, self.violations = 0.0, 0, 0

    def kernel(self, a, b):
        return np.exp(-self.options.gamma * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))

    def step(self, x, y):
        self.t += 1
        shrink = 1 - 1 / self.t
        self.alpha, self.b = self.alpha * shrink, self.b * shrink
        f = self.alpha @ self.kernel(self.x, x[None])[:, 0] + self.b
        if self.options.loss == "hinge":
            direction = y * self.options.weights[int(y > 0)] if y * f < 1 else 0.0
        else:
            direction = np.sign(y - f) if abs(y - f) > self.options.epsilon else 0.0
        if direction == 0:
            return
        self.violations += 1
        eta = 1 / (self.options.lambda_ * self.t)
        self.b += eta * direction * self.options.bias
        self.x = np.vstack([self.x, x])
        self.alpha = np.append(self.alpha, eta * direction)
        self.born = np.append(self.born, self.t)
        if len(self.alpha) > self.options.budget:
            self.maintain()

    def maintain(self):
        size = np.abs(self.alpha)
        tied = np.flatnonzero(size <= size.min() * (1 + 1e-9))
        i = tied[np.argmin(self.born[tied])]
        others = np.delete(np.arange(len(size)), i)
        if self.options.maintenance == "project":
            gram = self.kernel(self.x[others], self.x[others]) + 1e-6 * np.eye(len(others))
            beta = np.linalg.solve(gram, self.kernel(self.x[others], self.x[i : i + 1])[:, 0])
            self.alpha[others] += self.alpha[i] * beta
        elif self.options.maintenance != "remove" and (self.alpha[others] * self.alpha[i] > 0).any():
            best = None
            for j in others[self.alpha[others] * self.alpha[i] > 0]:
                kappa = self.kernel(self.x[i : i + 1], self.x[j : j + 1])[0, 0]
                both = size[i] + size[j]
                wd, h, s = best_merge(size[i] / both, kappa)
                if best is None or both**2 * wd < best[0]:
                    best = both**2 * wd, j, h, np.sign(self.alpha[j]) * both * s
            _, j, h, alpha = best
            self.x[j] = h * self.x[i] + (1 - h) * self.x[j]
            self.alpha[j], self.born[j] = alpha, self.t
        self.x, self.alpha, self.born = self.x[others], self.alpha[others], self.born[others]

    def decisions(self, x):
        return self.kernel(x, self.x) @ self.alpha + self.b
