"""Makes the expansions of a model about given centers: the polynomials, and their certificates if wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.approximate.bounds import (
    NEGLIGIBLE,
    Numbers,
    certificate,
    gaussian_rounding,
    last_degree,
    polynomial_rounding,
)
from svmfast.methods.approximate.exact_sums import ExactSums
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.monomials import coefficient_count, symmetric_norms
from svmfast.progress import Progress
from svmfast.rows import FloatArray
from svmfast.solvers.residual import residual_tail, squared_norms_about
from svmfast.solvers.taylor import gaussian_coefficients, polynomial_kernel_coefficients, shorten
from svmfast.threads import map_with_threads

# Terms about zero may exceed their sum by up to exp(16): nine digits remain after cancellation.
LARGEST_GROWTH = 16.0
# Relative rounding of the coefficients, far below the error of truncation. It drops the last digits, which
# depend on the instruction set, so that the files rarely do. Exported C is shorter too.
ROUNDING = 1e-8
# A term of a sparse row is a load from an arbitrary address; this many of a dense row take as long.
SPARSE_TERM = 18.0
# Support vectors by which centers are compared, also if there are rows: enough for a choice, and quick.
SAMPLE = 2000


#: A cell: each function's packed coefficients, and the symmetric norm of what shortening changed by degree.
ExpandedCell = list[tuple[FloatArray, FloatArray]]


class Expander:
    """Makes the polynomials and certificates for one model, cell by cell."""

    def __init__(
        self, model: KernelExpansion, sums: ExactSums, *, threads: int = 1, progress: Progress
    ) -> None:
        self.model, self.sums = model, sums
        self.threads, self.progress = threads, progress
        self.mean = sums.points.mean(axis=0) if len(sums.points) else np.zeros(len(sums.features))

    def center(self, name: str) -> FloatArray:
        return self.mean if name == "mean" else np.zeros_like(self.mean)

    def largest_squared_distance(self, center: FloatArray) -> float:
        if not len(self.sums.points):
            return 0.0
        return float(squared_norms_about(self.sums.points, center).max())

    def about(self, centers: Sequence[FloatArray], order: int) -> str:
        """The `about` of the model: whether polynomials are written in z or in z minus the center.

        Either way the center is where the series is expanded. ``zero``, z itself, keeps the zeros of sparse
        rows, where that is cheaper; else ``centre``.
        """
        if not any(center.any() for center in centers):
            return "zero"
        # With a center mu far from zero, terms are up to exp(2 gamma ||x - mu|| ||mu||) before they cancel.
        growth = max(
            2
            * self.model.kernel.gamma
            * math.sqrt(self.largest_squared_distance(center) * float(center @ center))
            for center in centers
        )
        # Rows are taken to have as many entries as the support vectors.
        entries = self.model.sv.nnz / max(len(self.model.sv), 1)
        terms = math.prod((entries + m) / m for m in range(1, order + 1))
        cheaper = SPARSE_TERM * terms < coefficient_count(len(self.sums.features), order)
        return "zero" if growth <= LARGEST_GROWTH and cheaper else "centre"

    def collapsed(self, order: int) -> PolynomialModel:
        """Make the exact polynomial of a linear or polynomial kernel, with a bound on its rounding."""
        kernel, sums = self.model.kernel, self.sums
        gamma, coef0 = (1.0, 0.0) if kernel.kind == "linear" else (kernel.gamma, kernel.coef0)
        parts, bounds = [], []
        for p in range(sums.n_functions):
            points, beta, rho = sums.points_of(p), sums.beta[p], float(self.model.rho[p])
            made = polynomial_kernel_coefficients(points, beta, gamma, coef0, order, threads=self.threads)
            parts.append((made, np.zeros(order + 1)))
            rounding = polynomial_rounding(points, beta, gamma, coef0, order, made, rho)
            bounds.append(certificate(rounding, order))
        orders = np.full((1, sums.n_functions), order, dtype=np.int32)
        model = self._assembled([np.zeros_like(self.mean)], orders, "zero", [parts], [bounds])
        return replace(model, gamma=0.0)

    def expanded(
        self,
        centers: Sequence[FloatArray],
        order: int,
        reaches: Sequence[float] | None = None,
        *,
        certify: bool,
    ) -> PolynomialModel:
        """Expand every function about each center.

        `reaches` are distances from the centers, up to which the certificate is made tight; it holds for all
        rows. They set its last degree, and which vectors are negligible. By default 90 % of the support
        vectors set the degree, and no vector is negligible.
        """
        sums, gamma = self.sums, self.model.kernel.gamma
        about = self.about(centers, order)
        top, done = 0, 0
        far = reaches if certify else None
        if certify:
            if far is None:
                squares = [squared_norms_about(sums.points, center) for center in centers]
                far = [math.sqrt(float(np.quantile(s, 0.9))) if len(s) else 0.0 for s in squares]
            top = max(last_degree(sums, gamma, reach, order) for reach in far)

        def one(c: int, threads: int) -> tuple[ExpandedCell, list[Numbers]]:
            nonlocal done
            cell = self._cell(centers[c], order, about, threads)
            bounds: list[Numbers] = []
            if far is not None:
                negligible = 0.0 if reaches is None else NEGLIGIBLE
                bounds = self._bounds(centers[c], order, about, cell, top, far[c], negligible, threads)
            done += 1
            self.progress(done, len(centers), "certify" if certify else "expand")
            return cell, bounds

        made = map_with_threads(one, range(len(centers)), self.threads)
        orders = np.full((len(centers), sums.n_functions), order, dtype=np.int32)
        return self._assembled(
            centers, orders, about, [cell for cell, _ in made], [bounds for _, bounds in made]
        )

    def _cell(self, center: FloatArray, order: int, about: str, threads: int) -> ExpandedCell:
        """Expand every function about `center`."""
        gamma, d, made = self.model.kernel.gamma, len(center), []
        for p in range(self.sums.n_functions):
            full = gaussian_coefficients(
                self.sums.points_of(p),
                self.sums.beta[p],
                gamma,
                center,
                order,
                about_zero=about == "zero",
                threads=threads,
            )
            short = shorten(full, d, order, symmetric_norms(full, d, order) * ROUNDING)
            made.append((short, symmetric_norms(short - full, d, order)))
        return made

    def _bounds(
        self, center: FloatArray, order: int, about: str, cell: ExpandedCell, top: int,
        reach: float, negligible: float, threads: int,
    ) -> list[Numbers]:  # fmt: skip
        """The numbers of one cell's certificate, function by function."""
        bounds, sums, gamma, zero = [], self.sums, self.model.kernel.gamma, about == "zero"
        for p, (short, moved) in enumerate(cell):
            points, beta, rho = sums.points_of(p), sums.beta[p], float(self.model.rho[p])
            tail = residual_tail(
                points,
                beta,
                gamma,
                center,
                order,
                top=top,
                reach=reach,
                negligible=negligible,
                threads=threads,
            )
            rounding = gaussian_rounding(
                points, beta, gamma, center, short, moved, rho, order=order, about_zero=zero
            )
            bounds.append(certificate(rounding, order, tail))
        return bounds

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
            features=self.sums.features,
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
#: The most features for which bounds are compared; their matrices then take 128 MiB each.
_WIDEST = 4096


def better_center(expander: Expander, names: Sequence[str], order: int) -> str:
    """The center of `names` with the smallest bound; with many features the first, without a comparison."""
    if len(names) == 1 or len(expander.sums.features) > _WIDEST:
        return names[0]
    return min(names, key=lambda name: _leading_term(expander, expander.center(name), order))


def _leading_term(expander: Expander, center: FloatArray, order: int) -> float:
    """The bound's first term at the root mean square distance of the support vectors, over all functions."""
    sums, gamma = expander.sums, expander.model.kernel.gamma
    worst = 0.0
    for p in range(sums.n_functions):
        step = max(1, -(-len(sums.beta[p]) // SAMPLE))
        points, beta = sums.points[sums.support[p][::step]], sums.beta[p][::step]
        s = float(squared_norms_about(points, center).mean()) if len(points) else 0.0
        tail = residual_tail(points, beta, gamma, center, order, top=order + 1, threads=expander.threads)
        lead = float(tail.degrees[order + 1])
        if lead > 0 and s > 0:  # in logarithms, because the power alone may overflow
            power = math.log(lead) + (order + 1) / 2 * math.log(s) - gamma * s
            worst = max(worst, math.exp(power) if power < _LARGEST_POWER else math.inf)
    return worst
