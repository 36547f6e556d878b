"""approximate: replace the sum over support vectors by one truncated expansion (Claesen et al., centred).

Linear and polynomial kernels are polynomials already and collapse exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from svmfast.certificate import gamma_max
from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.certify import gaussian_certificate, last_degree, polynomial_certificate
from svmfast.methods.cost import exact_operations, polynomial_operations, sparse_pays
from svmfast.methods.terms import Terms, terms_of
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.residual import residual_tail
from svmfast.solvers.taylor import (
    MAX_ORDER,
    check_memory,
    coefficient_count,
    gaussian_coefficients,
    polynomial_kernel_coefficients,
    shorten,
    symmetric_norms,
)

CENTERS = ("auto", "mean", "origin")
MEMORY_LIMIT = 2 << 30
# Support vectors on which the centres are compared: enough for a mean, and the exact values stay cheap.
SAMPLE = 2000
# Coefficients are rounded to so few digits that the text is short and the error far below the truncation's.
ROUNDING = 1e-8


@dataclass(frozen=True)
class ApproximationReport:
    """What was made, from what, and how far it reaches.

    Attributes
    ----------
    svm_type, kernel : str
    features, n_sv, functions : int
        Features in use, support vectors, decision functions.
    order : int
        Degree of the polynomials.
    exact : bool
        The kernel is a polynomial itself: nothing was truncated.
    center : str
        ``mean`` or ``origin``; ``origin`` for exact conversions.
    center_errors : mapping of str to float
        Mean |difference of decision values| on the support vectors, for every centre that was tried.
    gamma : float
    gamma_max_paper, gamma_max_centred : float
        Largest gamma for which the second order is trusted when rows reach as far as the support vectors do:
        about the origin, and about their mean.
    calibrated : bool
    certified_percent : float or None
        Support vectors whose label (or sign) is certified; None without a certificate, and for regression.
    coefficients, numbers_before : int
        Numbers stored by the polynomials, and by the exact model (entries and coefficients).
    operations, operations_before : float
        Multiply-adds a row, in full vector lanes, for a row with as many entries as the mean support vector.
    seconds : float
    warnings : tuple of str
    """

    svm_type: str
    kernel: str
    features: int
    n_sv: int
    functions: int
    order: int
    exact: bool
    center: str
    center_errors: Mapping[str, float]
    gamma: float
    gamma_max_paper: float
    gamma_max_centred: float
    calibrated: bool
    certified_percent: float | None
    coefficients: int
    numbers_before: int
    operations: float
    operations_before: float
    seconds: float
    warnings: tuple[str, ...]


def approximate(
    model: KernelExpansion,
    *,
    order: int = 2,
    center: str = "auto",
    calibrate: Rows | None = None,
    certificate: bool = True,
    embed_exact: bool = False,
    memory_limit: int = MEMORY_LIMIT,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[PolynomialModel, ApproximationReport]:
    """Return the truncated expansion of `model`, and a report.

    Parameters
    ----------
    model : KernelExpansion
        rbf: truncated at `order`. linear, polynomial: converted exactly; `order` and `center` do not matter.
    order : int
        Degree of the polynomial, 0 to 16; 2 is the paper's.
    center : {"auto", "mean", "origin"}
        Where to expand: the mean of the support vectors, the origin (the paper's form), or the one with the
        smaller bound (without a certificate: the smaller mean error on the support vectors).
    calibrate : Rows, optional
        Unlabelled rows on which the terms of each degree are rescaled, by least squares to the exact values.
    certificate : bool
        Bound the model's own error, so that rows can be certified. Costs O(n^2 d) once.
    embed_exact : bool
        Keep `model` inside the result, to answer rows that are not certified.
    memory_limit : int
        Bytes of the largest arrays.
    threads : int
    provenance : mapping of str to str, optional
        Kept in the model, beside the method and its parameters.

    Raises
    ------
    UnsupportedError
        For sigmoid and precomputed kernels.
    MemoryLimitError
        Before any work.
    """
    begin = time.perf_counter()
    if center not in CENTERS:
        raise OptionError(f"center '{center}' is not one of {', '.join(CENTERS)}")
    if not 0 <= order <= MAX_ORDER:
        raise OptionError(f"order {order} is not between 0 and {MAX_ORDER}")
    kernel = model.kernel
    exact = kernel.kind in ("linear", "polynomial")
    if exact:
        order = 1 if kernel.kind == "linear" else kernel.degree
    elif kernel.kind != "rbf":
        raise UnsupportedError(
            f"the {kernel.kind} kernel has no truncated expansion",
            "approximate takes rbf (svm-train -t 2), linear and polynomial kernels",
        )
    if order > MAX_ORDER:
        raise UnsupportedError(
            f"a polynomial kernel of degree {order} has too many monomials",
            f"degrees up to {MAX_ORDER} are converted",
        )
    terms = terms_of(model, memory_limit=memory_limit)
    d = len(terms.features)
    tried = 2 if center == "auto" and not exact else 1
    check_memory(d, order, tried * terms.n_functions, memory_limit)
    build = _Builder(model, terms, order, exact, threads, progress)
    errors: dict[str, float] = {}
    moved: list[FloatArray] = []
    scales: FloatArray | None = None
    if exact:
        center, made = "origin", build.collapsed()
    else:
        names = ("mean", "origin") if center == "auto" else (center,)
        candidates = {name: build.expanded(build.centre(name)) for name in names}
        sample = build.sample()
        values = model.decision_values(sample, threads=threads)
        for name, (candidate, _) in candidates.items():
            difference = np.abs(candidate.decision_values(sample, threads=threads) - values)
            errors[name] = float(difference.mean()) if difference.size else 0.0
        if len(names) == 1:
            center = names[0]
        elif certificate:
            center = min(names, key=lambda name: build.leading(build.centre(name)))
        else:
            center = min(names, key=lambda name: errors[name])
        made, moved = candidates[center]
        if calibrate is not None:
            scales, rho = build.calibration(build.centre(center), calibrate)
            made, moved = build.expanded(build.centre(center), scales)
            made = replace(made, rho=rho)
    if certificate:
        made = build.certificate(made, moved, build.centre(center), scales)
    if embed_exact:
        made = replace(made, embedded_exact=model)
    parameters = f"order={order} center={center}" + (" calibrated" if calibrate is not None else "")
    made = replace(made, provenance={**(provenance or {}), "method": "approximate", "parameters": parameters})
    return made, build.report(made, center, errors, calibrate is not None, exact, begin)


class _Builder:
    """Expansions of one model."""

    def __init__(
        self,
        model: KernelExpansion,
        terms: Terms,
        order: int,
        exact: bool,
        threads: int,
        progress: Progress,
    ) -> None:
        self.model, self.terms, self.order, self.exact = model, terms, order, exact
        self.threads, self.progress = threads, progress
        self.mean = terms.points.mean(axis=0) if len(terms.points) else np.zeros(len(terms.features))

    def centre(self, name: str) -> FloatArray:
        return self.mean if name == "mean" else np.zeros_like(self.mean)

    def sample(self) -> Rows:
        n = len(self.model.sv)
        return self.model.sv.take(np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)))

    def certified_percent(self, made: PolynomialModel) -> float | None:
        """Share of the sampled support vectors whose label is certified."""
        rows = self.sample()
        if not made.has_certificate or made.head.is_regression or not len(rows):
            return None
        values, bounds = made.certified_values(rows, threads=self.threads)
        return 100 * float(certified_rows(made.head, values, bounds).mean())

    def squared_norms(self, centre: FloatArray) -> float:
        """Largest squared distance of a support vector from `centre`."""
        if not len(self.terms.points):
            return 0.0
        u = self.terms.points - centre
        return float(np.einsum("ij,ij->i", u, u).max())

    def expanded(
        self, centre: FloatArray, scales: FloatArray | None = None
    ) -> tuple[PolynomialModel, list[FloatArray]]:
        """The expansion about `centre`, and by how much shortening moved each degree of each function.

        `scales` are (p, order + 1) factors of the degrees.
        """
        about_zero = not centre.any() or self._sparse_pays()
        parts: list[FloatArray] = []
        moved: list[FloatArray] = []
        for p in range(self.terms.n_functions):
            self.progress(p, self.terms.n_functions, "expand")
            part = gaussian_coefficients(
                self.terms.points[self.terms.support[p]],
                self.terms.beta[p],
                self.model.kernel.gamma,
                centre,
                self.order,
                about_zero=about_zero,
                scales=None if scales is None else scales[p],
                threads=self.threads,
            )
            norms = symmetric_norms(part, len(centre), self.order)
            parts.append(shorten(part, len(centre), self.order, norms * ROUNDING))
            moved.append(symmetric_norms(parts[-1] - part, len(centre), self.order))
        made = self._model(self.model.kernel.gamma, centre, "zero" if about_zero else "centre", parts)
        return made, moved

    def collapsed(self) -> PolynomialModel:
        """The exact polynomial of a linear or polynomial kernel."""
        kernel = self.model.kernel
        gamma, coef0 = (1.0, 0.0) if kernel.kind == "linear" else (kernel.gamma, kernel.coef0)
        parts = [
            polynomial_kernel_coefficients(
                self.terms.points[self.terms.support[p]],
                self.terms.beta[p],
                gamma,
                coef0,
                self.order,
                threads=self.threads,
            )
            for p in range(self.terms.n_functions)
        ]
        return self._model(0.0, np.zeros_like(self.mean), "zero", parts)

    def calibration(self, centre: FloatArray, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Factors of the degrees and new rho, fitted by least squares to the exact values of `rows`."""
        if not len(rows):
            raise OptionError("no rows to calibrate on")
        values = self.model.decision_values(rows, threads=self.threads)
        values = values + self.model.rho
        p, k = self.terms.n_functions, self.order
        columns = np.empty((k + 1, len(rows), p))
        for m in range(k + 1):
            only = np.zeros((p, k + 1))
            only[:, m] = 1
            part, _ = self.expanded(centre, only)
            columns[m] = part.decision_values(rows, threads=self.threads) + self.model.rho
        scales, rho = np.ones((p, k + 1)), self.model.rho.copy()
        for q in range(p):
            design = np.concatenate([columns[:, :, q].T, np.ones((len(rows), 1))], axis=1)
            size = np.sqrt((design * design).mean(axis=0))
            # Corrections to 1 rather than factors: a degree that hardly shows on these rows stays as it is.
            shows = size > 1e-6 * size.max()
            left = values[:, q] - columns[:, :, q].sum(axis=0)
            found = np.linalg.lstsq(design[:, shows] / size[shows], left, rcond=1e-8)[0]
            correction = np.zeros(k + 2)
            correction[shows] = found / size[shows]
            scales[q] += correction[:-1]
            rho[q] -= correction[-1]
        return scales, rho

    def leading(self, centre: FloatArray) -> float:
        """The bound's first term at the distance of the mean support vector, over all functions."""
        gamma, k = self.model.kernel.gamma, self.order
        worst = 0.0
        for p in range(self.terms.n_functions):
            # Every so many support vectors: enough to choose by, at a fraction of the certificate's cost.
            step = max(1, -(-len(self.terms.beta[p]) // SAMPLE))
            points, beta = self.terms.points[self.terms.support[p][::step]], self.terms.beta[p][::step]
            u = points - centre
            s = float(np.einsum("ij,ij->i", u, u).mean()) if len(u) else 0.0
            tail = residual_tail(points, beta, gamma, centre, k, top=k + 1, threads=self.threads)
            worst = max(worst, math.exp(-gamma * s) * float(tail.degrees[k + 1]) * s ** ((k + 1) / 2))
        return worst

    def certificate(
        self,
        made: PolynomialModel,
        moved: list[FloatArray],
        centre: FloatArray,
        scales: FloatArray | None = None,
    ) -> PolynomialModel:
        """The same model with the bound of its own error."""
        kernel, terms = self.model.kernel, self.terms
        size = coefficient_count(len(centre), self.order)
        rows = []
        if not self.exact:
            top = last_degree(terms, kernel.gamma, centre, self.order)
        for p in range(terms.n_functions):
            self.progress(p, terms.n_functions, "certify")
            own = made.coefficients[p * size : (p + 1) * size]
            rho = float(made.rho[p])
            if self.exact:
                gamma, coef0 = (1.0, 0.0) if kernel.kind == "linear" else (kernel.gamma, kernel.coef0)
                rows.append(polynomial_certificate(terms, p, gamma, coef0, self.order, own, rho))
                continue
            rows.append(
                gaussian_certificate(
                    terms,
                    p,
                    kernel.gamma,
                    centre,
                    own,
                    moved[p],
                    rho,
                    order=self.order,
                    top=top,
                    about_zero=made.about == "zero",
                    scales=None if scales is None else scales[p],
                    shift=rho - float(self.model.rho[p]),
                    threads=self.threads,
                )
            )
        if not rows:
            return made
        degrees = np.stack([degrees for degrees, _ in rows])[None]
        rest = np.stack([rest for _, rest in rows])[None]
        if not (np.isfinite(degrees).all() and np.isfinite(rest).all()):
            return made
        return replace(made, bound_degrees=degrees, bound_rest=rest)

    def report(
        self,
        made: PolynomialModel,
        center: str,
        errors: Mapping[str, float],
        calibrated: bool,
        exact: bool,
        begin: float,
    ) -> ApproximationReport:
        model, sv = self.model, self.model.sv
        d, n = len(self.terms.features), len(sv)
        entries = sv.nnz / n if n else 0.0
        operations = polynomial_operations(d, self.order, entries, about_zero=made.about == "zero")
        operations *= self.terms.n_functions
        before = exact_operations(model, d, entries)
        origin, mean = self.squared_norms(np.zeros_like(self.mean)), self.squared_norms(self.mean)
        numbers = sv.nnz + model.sv_coef.size
        warnings = []
        if len(made.coefficients) >= numbers:
            warnings.append(
                f"the approximation stores {len(made.coefficients):,} numbers, the exact model only "
                f"{numbers:,}: {d:,} features are many against {n:,} support vectors"
            )
        if operations >= before:
            warnings.append(
                f"a prediction takes about {operations:,.0f} multiply-adds, the exact model only "
                f"{before:,.0f}: predict with the exact model, or compress it"
            )
        return ApproximationReport(
            svm_type=model.head.svm_type,
            kernel=model.kernel.kind,
            features=d,
            n_sv=n,
            functions=self.terms.n_functions,
            order=self.order,
            exact=exact,
            center=center,
            center_errors=errors,
            gamma=model.kernel.gamma,
            gamma_max_paper=gamma_max(origin),
            gamma_max_centred=gamma_max(mean),
            calibrated=calibrated,
            certified_percent=self.certified_percent(made),
            coefficients=len(made.coefficients),
            numbers_before=numbers,
            operations=operations,
            operations_before=before,
            seconds=time.perf_counter() - begin,
            warnings=tuple(warnings),
        )

    def _sparse_pays(self) -> bool:
        n = len(self.model.sv)
        return sparse_pays(len(self.terms.features), self.order, self.model.sv.nnz / n if n else 0.0)

    def _model(
        self, gamma: float, centre: FloatArray, about: str, parts: list[FloatArray]
    ) -> PolynomialModel:
        p = self.terms.n_functions
        return PolynomialModel(
            head=self.model.head,
            gamma=gamma,
            n_features=self.model.n_features,
            features=self.terms.features,
            about=about,
            centres=centre[None, :].copy(),
            orders=np.full((1, p), self.order, dtype=np.int32),
            coefficients=np.concatenate(parts) if parts else np.zeros(0),
            rho=self.model.rho,
            sv_squared_norm=self.squared_norms(np.zeros_like(self.mean)),
            sv_squared_norms=np.array([self.squared_norms(centre)]),
        )
