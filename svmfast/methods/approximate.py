"""approximate: replace the sum over support vectors by one truncated expansion (Claesen et al., centred).

Linear and polynomial kernels are polynomials already and collapse exactly.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from svmfast.certificate import gamma_max
from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.cost import exact_operations, polynomial_operations, sparse_pays
from svmfast.methods.terms import Terms, terms_of
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.taylor import (
    MAX_ORDER,
    check_memory,
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
        smaller mean error on the support vectors.
    calibrate : Rows, optional
        Unlabelled rows on which the terms of each degree are rescaled, by least squares to the exact values.
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
    build = _Builder(model, terms, order, threads, progress)
    errors: dict[str, float] = {}
    if exact:
        center, made = "origin", build.collapsed()
    else:
        names = ("mean", "origin") if center == "auto" else (center,)
        candidates = {name: build.expanded(build.centre(name)) for name in names}
        sample = build.sample()
        values = model.decision_values(sample, threads=threads)
        for name, candidate in candidates.items():
            difference = np.abs(candidate.decision_values(sample, threads=threads) - values)
            errors[name] = float(difference.mean()) if difference.size else 0.0
        center = min(errors, key=lambda name: errors[name])
        made = candidates[center]
        if calibrate is not None:
            made = build.calibrated(build.centre(center), calibrate)
    parameters = f"order={order} center={center}" + (" calibrated" if calibrate is not None else "")
    made = replace(made, provenance={**(provenance or {}), "method": "approximate", "parameters": parameters})
    return made, build.report(made, center, errors, calibrate is not None, exact, begin)


class _Builder:
    """Expansions of one model."""

    def __init__(
        self, model: KernelExpansion, terms: Terms, order: int, threads: int, progress: Progress
    ) -> None:
        self.model, self.terms, self.order, self.threads, self.progress = (
            model,
            terms,
            order,
            threads,
            progress,
        )
        self.mean = terms.points.mean(axis=0) if len(terms.points) else np.zeros(len(terms.features))

    def centre(self, name: str) -> FloatArray:
        return self.mean if name == "mean" else np.zeros_like(self.mean)

    def sample(self) -> Rows:
        n = len(self.model.sv)
        return self.model.sv.take(np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)))

    def squared_norms(self, centre: FloatArray) -> float:
        """Largest squared distance of a support vector from `centre`."""
        if not len(self.terms.points):
            return 0.0
        u = self.terms.points - centre
        return float(np.einsum("ij,ij->i", u, u).max())

    def expanded(self, centre: FloatArray, scales: FloatArray | None = None) -> PolynomialModel:
        """The expansion about `centre`; `scales` are (p, order + 1) factors of the degrees."""
        about_zero = not centre.any() or self._sparse_pays()
        parts = []
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
        return self._model(self.model.kernel.gamma, centre, "zero" if about_zero else "centre", parts)

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

    def calibrated(self, centre: FloatArray, rows: Rows) -> PolynomialModel:
        """The expansion whose degrees and constant are fitted to the exact values of `rows`."""
        if not len(rows):
            raise OptionError("no rows to calibrate on")
        values = self.model.decision_values(rows, threads=self.threads)
        values = values + self.model.rho
        p, k = self.terms.n_functions, self.order
        columns = np.empty((k + 1, len(rows), p))
        for m in range(k + 1):
            only = np.zeros((p, k + 1))
            only[:, m] = 1
            columns[m] = (
                self.expanded(centre, only).decision_values(rows, threads=self.threads) + self.model.rho
            )
        scales, rho = np.ones((p, k + 1)), self.model.rho.copy()
        for q in range(p):
            design = np.concatenate([columns[:, :, q].T, np.ones((len(rows), 1))], axis=1)
            size = np.maximum(np.sqrt((design * design).mean(axis=0)), 1e-300)
            # Small singular values would let a degree that hardly shows on these rows go anywhere.
            solution = np.linalg.lstsq(design / size, values[:, q], rcond=1e-10)[0] / size
            scales[q] = solution[:-1]
            rho[q] -= solution[-1]
        return replace(self.expanded(centre, scales), rho=rho)

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
