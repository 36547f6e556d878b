"""Expansions of a model: dense support vectors, the polynomials, their certificates, and a model of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.approximate.certificate import (
    DualExpansion,
    Numbers,
    certificate,
    gaussian_rounding,
    last_degree,
    polynomial_rounding,
)
from svmfast.methods.approximate.costs import entries_of, sparse_is_cheaper
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.progress import Progress
from svmfast.rows import FloatArray
from svmfast.solvers.residual import Tail, residual_tail, squared_norms_about
from svmfast.solvers.taylor import (
    gaussian_coefficients,
    polynomial_kernel_coefficients,
    shorten,
    symmetric_norms,
)
from svmfast.threads import map_with_threads

# Terms about zero may exceed their sum by up to exp(16): nine digits remain after cancellation.
LARGEST_GROWTH = 16.0
# Relative rounding of the coefficients: the text is short, and the error far below that of truncation.
ROUNDING = 1e-8
# Support vectors by which centers are compared: enough for a choice, and quick to evaluate.
SAMPLE = 2000


#: A cell: each function's packed coefficients, and the symmetric norm of what shortening changed by degree.
ExpandedCell = list[tuple[FloatArray, FloatArray]]


class Expander:
    """Makes the polynomials and certificates for one model, cell by cell."""

    def __init__(
        self, model: KernelExpansion, terms: DualExpansion, *, threads: int = 1, progress: Progress
    ) -> None:
        self.model, self.terms = model, terms
        self.threads, self.progress = threads, progress
        self.mean = terms.points.mean(axis=0) if len(terms.points) else np.zeros(len(terms.features))

    def center(self, name: str) -> FloatArray:
        return self.mean if name == "mean" else np.zeros_like(self.mean)

    def largest_squared_distance(self, center: FloatArray) -> float:
        if not len(self.terms.points):
            return 0.0
        return float(squared_norms_about(self.terms.points, center).max())

    def about(self, centers: Sequence[FloatArray], order: int) -> str:
        """Where to center the polynomials: ``zero``, if cheaper for sparse rows, or ``centre``."""
        if not any(center.any() for center in centers):
            return "zero"
        # With a center mu far from zero, terms are up to exp(2 gamma ||x - mu|| ||mu||) before they cancel.
        growth = max(
            2
            * self.model.kernel.gamma
            * math.sqrt(self.largest_squared_distance(center) * float(center @ center))
            for center in centers
        )
        cheaper = sparse_is_cheaper(len(self.terms.features), order, entries_of(self.model))
        return "zero" if growth <= LARGEST_GROWTH and cheaper else "centre"

    def collapsed(self, order: int) -> PolynomialModel:
        """Make the exact polynomial of a linear or polynomial kernel, with a bound on its rounding."""
        kernel, terms = self.model.kernel, self.terms
        gamma, coef0 = (1.0, 0.0) if kernel.kind == "linear" else (kernel.gamma, kernel.coef0)
        parts, bounds = [], []
        for p in range(terms.n_functions):
            points, beta, rho = terms.points_of(p), terms.beta[p], float(self.model.rho[p])
            made = polynomial_kernel_coefficients(points, beta, gamma, coef0, order, threads=self.threads)
            parts.append((made, np.zeros(order + 1)))
            rounding = polynomial_rounding(points, beta, gamma, coef0, order, made, rho)
            bounds.append(certificate(rounding, order))
        orders = np.full((1, terms.n_functions), order, dtype=np.int32)
        model = self._assembled([np.zeros_like(self.mean)], orders, "zero", [parts], [bounds])
        return replace(model, gamma=0.0)

    def single(
        self, names: Sequence[str], order: int, *, certify: bool
    ) -> tuple[PolynomialModel, str, dict[str, float]]:
        """Expand about each named center; keep the better one, and the mean error of each."""
        n, orders = len(self.model.sv), np.full((1, self.terms.n_functions), order, dtype=np.int32)
        sample = self.model.sv.take(np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)))
        values = self.model.decision_values(sample, threads=self.threads)
        candidates: dict[str, tuple[PolynomialModel, ExpandedCell]] = {}
        errors: dict[str, float] = {}
        for name in names:
            self.progress(0, None, "expand")
            center = self.center(name)
            about = self.about([center], order)
            cell = self._cell(center, orders[0].tolist(), about, None, self.threads)
            made = self._assembled([center], orders, about, [cell], [[]])
            difference = np.abs(made.decision_values(sample, threads=self.threads) - values)
            candidates[name] = made, cell
            errors[name] = float(difference.mean()) if difference.size else 0.0
        best = better_center(self, names, order) if certify else min(names, key=lambda name: errors[name])
        made, cell = candidates[best]
        if certify:
            center = self.center(best)
            bounds = self._bounds(center, orders[0].tolist(), made.about, cell, self._tails(center, order))
            made = self._assembled([center], orders, made.about, [cell], [bounds])
        return made, best, errors

    def _tails(self, center: FloatArray, order: int) -> list[Tail]:
        """Bound every function's residual above `order`, for rows as far out as the support vectors."""
        terms, gamma = self.terms, self.model.kernel.gamma
        squares = squared_norms_about(terms.points, center)
        reach = math.sqrt(float(np.quantile(squares, 0.9))) if len(squares) else 0.0
        top = last_degree(terms, gamma, reach, order)
        out = []
        for p in range(terms.n_functions):
            self.progress(p, terms.n_functions, "certify")
            points, beta = terms.points_of(p), terms.beta[p]
            out.append(residual_tail(points, beta, gamma, center, order, top=top, threads=self.threads))
        return out

    def _cell(
        self,
        center: FloatArray,
        orders: Sequence[int],
        about: str,
        allowances: Sequence[FloatArray] | None,
        threads: int,
    ) -> ExpandedCell:
        """Expand every function about `center`; `allowances` limit what shortening changes, by degree."""
        gamma, d, made = self.model.kernel.gamma, len(center), []
        for p, order in enumerate(orders):
            full = gaussian_coefficients(
                self.terms.points_of(p),
                self.terms.beta[p],
                gamma,
                center,
                order,
                about_zero=about == "zero",
                threads=threads,
            )
            tolerance = symmetric_norms(full, d, order) * ROUNDING
            if allowances is not None:
                tolerance = np.maximum(tolerance, allowances[p])
            short = shorten(full, d, order, tolerance)
            made.append((short, symmetric_norms(short - full, d, order)))
        return made

    def _bounds(
        self, center: FloatArray, orders: Sequence[int], about: str, cell: ExpandedCell, tails: Sequence[Tail]
    ) -> list[Numbers]:
        """The numbers of one cell's certificate, function by function."""
        bounds, gamma, zero = [], self.model.kernel.gamma, about == "zero"
        for p, ((short, moved), order, tail) in enumerate(zip(cell, orders, tails, strict=True)):
            points, beta, rho = self.terms.points_of(p), self.terms.beta[p], float(self.model.rho[p])
            rounding = gaussian_rounding(
                points, beta, gamma, center, short, moved, rho, order=order, about_zero=zero
            )
            bounds.append(certificate(rounding, order, tail))
        return bounds

    def cells(
        self,
        centers: Sequence[FloatArray],
        orders: NDArray[np.int32],
        tails: Sequence[Sequence[Tail]] | None,
        allowances: Sequence[Sequence[FloatArray]],
    ) -> PolynomialModel:
        """Make the model of these cells; `tails` of a lower order give its certificate (None: without)."""
        about = self.about(centers, int(orders.max(initial=0)))
        done = 0

        def one(c: int, threads: int) -> tuple[ExpandedCell, list[Numbers]]:
            nonlocal done
            own = orders[c].tolist()
            cell = self._cell(centers[c], own, about, allowances[c], threads)
            bounds = [] if tails is None else self._bounds(centers[c], own, about, cell, tails[c])
            done += 1
            self.progress(done, len(centers), "expand")
            return cell, bounds

        made = map_with_threads(one, range(len(centers)), self.threads)
        return self._assembled(
            centers, orders, about, [cell for cell, _ in made], [bounds for _, bounds in made]
        )

    def _assembled(
        self,
        centers: Sequence[FloatArray],
        orders: NDArray[np.int32],
        about: str,
        cells: Sequence[ExpandedCell],
        bounds: Sequence[Sequence[Numbers]],
    ) -> PolynomialModel:
        """Make the model of these cells, without a certificate if there is none or a bound overflows."""
        coefficients = [part for cell in cells for part, _ in cell]
        degrees = rest = None
        if all(bounds):
            degrees, rest = (np.array([[one[i] for one in cell] for cell in bounds]) for i in (0, 1))
            if not (np.isfinite(degrees).all() and np.isfinite(rest).all()):
                degrees = rest = None
        return PolynomialModel(
            head=self.model.head,
            gamma=self.model.kernel.gamma,
            n_features=self.model.n_features,
            features=self.terms.features,
            about=about,
            centers=np.array(centers).reshape(len(centers), len(self.mean)),
            orders=orders,
            coefficients=np.concatenate(coefficients) if coefficients else np.zeros(0),
            rho=self.model.rho,
            sv_squared_norm=self.largest_squared_distance(np.zeros_like(self.mean)),
            sv_squared_norms=np.array([self.largest_squared_distance(center) for center in centers]),
            bound_degrees=degrees,
            bound_rest=rest,
        )


#: exp() of larger numbers overflows.
_LARGEST_POWER = 709.0
#: The most features for which the full bound is computed; its matrices then take 128 MiB each.
_WIDEST_LEADING = 4096


def better_center(expander: Expander, names: Sequence[str], order: int) -> str:
    """The center of `names` with the smallest bound."""
    if len(names) == 1:
        return names[0]
    return min(names, key=lambda name: _leading_term(expander, expander.center(name), order))


def _leading_term(expander: Expander, center: FloatArray, order: int) -> float:
    """The bound's first term at the distance of the mean support vector, over all functions."""
    terms, gamma = expander.terms, expander.model.kernel.gamma
    worst = 0.0
    for p in range(terms.n_functions):
        step = max(1, -(-len(terms.beta[p]) // SAMPLE))
        points, beta = terms.points[terms.support[p][::step]], terms.beta[p][::step]
        s = float(squared_norms_about(points, center).mean()) if len(points) else 0.0
        # For a mere choice, no (features, features) matrix is made if there are many features.
        wide = points.shape[1] > _WIDEST_LEADING
        tail = residual_tail(
            points, beta, gamma, center, order, top=order + 1, by_row_norms=wide, threads=expander.threads
        )
        lead = float(tail.degrees[order + 1])
        if lead > 0 and s > 0:  # in logarithms, because the power alone may overflow
            power = math.log(lead) + (order + 1) / 2 * math.log(s) - gamma * s
            worst = max(worst, math.exp(power) if power < _LARGEST_POWER else math.inf)
    return worst
