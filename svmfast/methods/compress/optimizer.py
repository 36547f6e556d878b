"""L-BFGS on a reduced set: optimizes vectors, coefficients and offsets together; held-out rows stop it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.compress.reduced_set import ReducedSet, Target
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray
from svmfast.threads import one_blas_thread

#: Corrections that L-BFGS keeps (as measured, 20 need a third fewer evaluations than 10).
_MEMORY = 20
#: Iterations between two checks on the held-out rows.
_CHECK_EVERY = 20
#: The optimization goes on while a check finds an error below this share of the best one.
_CLEARLY_BETTER = 0.999


@dataclass(frozen=True)
class Optimized:
    """The result of L-BFGS."""

    #: The best set on the held-out rows, that of `best_iteration`.
    reduced: ReducedSet
    iterations: int
    best_iteration: int
    #: Evaluations of E with its gradient.
    evaluations: int
    #: ``held-out`` (no improvement for some time), ``converged`` or ``limit``.
    stopped: str


class Variables:
    """The entries of a reduced set as one array, scaled so that unit steps change E by similar amounts.

    Vectors are in units of the kernel's width, coefficients and offsets in units of the coefficients' RMS;
    `start` gives shapes and units.
    """

    def __init__(self, target: Target, start: ReducedSet) -> None:
        kernel = target.kernel
        rbf = kernel.kind == "rbf" and kernel.gamma > 0
        self.start = start
        self.unit = 1 / np.sqrt(2 * kernel.gamma) if rbf else _rms(start.vectors)
        self.scale = _rms(start.coef)
        self._ends = start.vectors.size, start.vectors.size + start.coef.size

    def pack(self, reduced: ReducedSet) -> FloatArray:
        """The array for a reduced set."""
        vectors, scale = reduced.vectors.ravel() / self.unit, self.scale
        return np.concatenate([vectors, reduced.coef.ravel() / scale, reduced.rho / scale])

    def unpack(self, x: FloatArray) -> ReducedSet:
        """The reduced set for an array."""
        vectors, coef, rho = x[: self._ends[0]], x[self._ends[0] : self._ends[1]], x[self._ends[1] :]
        return replace(
            self.start,
            vectors=np.multiply(vectors.reshape(self.start.vectors.shape), self.unit),
            coef=np.multiply(coef.reshape(self.start.coef.shape), self.scale),
            rho=np.multiply(rho, self.scale),
        )

    def gradient(self, by_vectors: FloatArray, by_coef: FloatArray, by_rho: FloatArray) -> FloatArray:
        """The gradient for the array, given that for the set; `by_vectors` is overwritten."""
        by_vectors *= self.unit
        return np.concatenate([by_vectors.ravel(), by_coef.ravel() * self.scale, by_rho * self.scale])


class EarlyStop:
    """The best set so far on the held-out rows; stops after `patience` checks without a clear improvement."""

    def __init__(self, held_out: Target, start: ReducedSet, patience: int) -> None:
        self.held_out, self.patience = held_out, patience
        self.best, self.best_error, self.best_iteration = start, held_out.error(start), 0
        self._last_clear_gain = 0  # an iteration

    def check(self, reduced: ReducedSet, iteration: int) -> bool:
        """Compare the set of this iteration with the best; return whether to stop."""
        error = self.held_out.error(reduced)
        if error < self.best_error:
            # A smaller gain is accepted, but is not a reason to go on.
            if error < _CLEARLY_BETTER * self.best_error:
                self._last_clear_gain = iteration
            self.best, self.best_error, self.best_iteration = reduced, error, iteration
        return iteration - self._last_clear_gain >= self.patience * _CHECK_EVERY


class _StoppedEarly(Exception):
    pass


def optimize(
    target: Target,
    start: ReducedSet,
    held_out: Target,
    *,
    max_iterations: int,
    patience: int = 8,
    keep: NDArray[np.bool_] | None = None,
    progress: Progress = silent,
    what: str = "moving vectors",
) -> Optimized:
    """Optimize vectors, coefficients and offsets together by L-BFGS; `held_out` decides when to stop.

    `keep`, ``(m, d)``, are the entries of the vectors that may change; `what` names the step for `progress`.
    """
    from scipy.optimize import minimize

    if max_iterations == 0:  # L-BFGS-B would still make one
        return Optimized(start, 0, 0, 0, "limit")
    variables, best = Variables(target, start), EarlyStop(held_out, start, patience)
    iterations = evaluations = 0
    # L-BFGS-B's tolerances are absolute below 1.
    first_value = 0.5 * target.error(start) * target.total_weight or 1.0

    def fun(x: FloatArray) -> tuple[float, FloatArray]:
        nonlocal evaluations
        evaluations += 1
        value, by_vectors, by_coef, by_rho = target.gradient(variables.unpack(x))
        if keep is not None:
            by_vectors[~keep] = 0
        return value / first_value, variables.gradient(by_vectors, by_coef, by_rho) / first_value

    def callback(x: FloatArray) -> None:
        nonlocal iterations
        iterations += 1
        progress(iterations, max_iterations, what)
        if iterations % _CHECK_EVERY == 0 and best.check(variables.unpack(x), iterations):
            raise _StoppedEarly

    options: dict[str, float] = {"ftol": 1e-11, "gtol": 1e-10, "maxcor": _MEMORY}
    options |= {"maxiter": max_iterations, "maxfun": 4 * max_iterations + 20}
    try:
        with one_blas_thread():
            result = minimize(
                fun, variables.pack(start), jac=True, method="L-BFGS-B", callback=callback, options=options
            )
        best.check(variables.unpack(result.x), iterations)
        stopped = "converged" if iterations < max_iterations else "limit"
    except _StoppedEarly:
        stopped = "held-out"
    return Optimized(best.best, iterations, best.best_iteration, evaluations, stopped)


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values * values))) or 1.0 if values.size else 1.0
