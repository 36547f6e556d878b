"""Search for a violated certificate: extreme models in 50 digits.

Draws models of the rbf, polynomial and linear kernels, with orders 0 to 16, degrees 1 to 16 and features from
1e-300 to 1e300, and compares their expansions with sums of 50 digits on rows near and far. rho is then moved
between the expansion's value and the exact one, where a label is wrong unless the bound says that it is open.
A violation is a row that errs by more than its bound, or that is certified with a label that differs from the
sign of the exact value or from that of LIBSVM's order of summation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import mpmath
import numpy as np
from fifty_digits import mpf
from random_models import exact_sums

from svmfast.errors import SvmfastError
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.run import approximate
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows

ROWS = 8
LARGEST = 300


def power(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a power of ten between two exponents, within the range of doubles."""
    exponent = np.clip(rng.uniform(low, high), -307, 307)
    return float(10.0**exponent)


def draw(rng: np.random.Generator) -> tuple[KernelExpansion, dict[str, object], FloatArray]:
    """Return a model of two classes, the options of its expansion, and rows."""
    d, n = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    # Half of the scales are those where a high power just leaves the range of doubles.
    reach = LARGEST if rng.random() < 0.5 else 40
    scale = power(rng, -reach, reach)
    kind = str(rng.choice(["rbf", "rbf", "polynomial", "linear"]))
    spread = scale * (10.0 ** rng.uniform(-20, 0, d) if rng.random() < 0.3 else np.ones(d))
    x = rng.normal(size=(2 * n, d)) * spread
    x += rng.choice([0.0, 1.0, 10.0]) * rng.normal(size=d) * spread
    x[rng.random(x.shape) < 0.1] = 0
    if rng.random() < 0.2:
        x[n:] = -x[:n]
    size = power(rng, -200, 100) if rng.random() < 0.2 else power(rng, -1, 1)
    beta = rng.normal(size=2 * n) * size
    if rng.random() < 0.2:
        beta *= 10.0 ** rng.uniform(-100, 0, 2 * n)
    exponent = np.log10(scale)
    degree, coef0, gamma = 0, 0.0, 0.0
    if kind == "rbf":
        gamma = power(rng, -2 * exponent - 4, -2 * exponent + 1)
        if rng.random() < 0.1:
            gamma = power(rng, -LARGEST, LARGEST)
    elif kind == "polynomial":
        degree = int(rng.integers(1, 17))
        coef0 = float(rng.choice([0.0, 1.0, -0.3, power(rng, -40, 40), power(rng, -300, 300)]))
        gamma = power(rng, -2 * exponent - 2, -2 * exponent + 2)
        if rng.random() < 0.3:
            gamma = power(rng, -LARGEST, LARGEST)
    head, kernel, sizes = (
        Head("c_svc", np.array([1, -1])),
        Kernel(kind, gamma, coef0, degree),
        np.array([n, n]),
    )
    model = KernelExpansion(head, kernel, Rows.from_dense(x), beta[None], np.zeros(1), sizes)
    far = rng.choice([1e-30, 1e-3, 0.1, 0.7, 1.0, 1.5, 3.0, 1e3], size=(ROWS, 1))
    with np.errstate(over="ignore"):
        z = x[rng.integers(0, 2 * n, ROWS)] * far + rng.normal(size=(ROWS, d)) * spread * far * 0.3
    options = {"order": int(rng.integers(0, 17)), "center": str(rng.choice(["mean", "origin"]))}
    return model, options, np.clip(z, -1e307, 1e307)


def made_of(model: KernelExpansion, options: dict[str, object]) -> PolynomialModel | None:
    """Return the expansion; None if there is none or it has no certificate."""
    try:
        made, _ = approximate(model, ApproximateOptions(**options))  # type: ignore[arg-type]
    except SvmfastError:
        return None
    return made if made.has_error_bound else None


def judged(
    model: KernelExpansion, made: PolynomialModel, z: FloatArray, exact: list[mpmath.mpf], count: Counter[str]
) -> list[str]:
    """Count the rows of one model; return a description of each faulty one."""
    rows, wrong = Rows.from_dense(z), []
    decisions, bounds = made.certified_values(rows)
    certified = certified_rows(made.head, decisions, bounds)
    engine = DecisionEngine(model.kernel, model.sv, model.sv_coef, model.rho, model.nr_sv)
    libsvm = engine.decision_values(rows, libsvm_order=True)[:, 0]
    count["certified"] += int(certified.sum())
    for i, total in enumerate(exact):
        true, value, bound = total - mpf(float(model.rho[0])), float(decisions[i, 0]), float(bounds[i, 0])
        over = np.isfinite(bound) and abs(mpf(value) - true) > mpf(bound)
        printed = np.isfinite(libsvm[i]) and (value > 0) != (libsvm[i] > 0)
        if over or (certified[i] and ((value > 0) != (true > 0) or printed)):
            wrong.append(f"row {z[i].tolist()}: {value!r} +- {bound!r}, exactly {mpmath.nstr(true, 17)}")
    return wrong


def search(models: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return the counts over this many models, and a description of each violation."""
    count: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(models):
        rng = np.random.default_rng([seed, number])
        with np.errstate(all="ignore"):
            model, options, z = draw(rng)
            made = made_of(model, options)
            if made is None:
                continue
            count["models with a certificate"] += 1
            sums = [one[0] for one in exact_sums(model, z)]  # rho is 0
            found = judged(model, made, z, sums, count)
            # The row with the largest error in units of the bound, and rho between its two values.
            decisions, bounds = made.certified_values(Rows.from_dense(z))
            share = [
                float(abs(mpf(float(v)) - t) / mpf(float(b))) if 0 < b < np.inf else 0.0
                for v, t, b in zip(decisions[:, 0], sums, bounds[:, 0], strict=True)
            ]
            worst = int(np.argmax(share))
            between = float((mpf(float(decisions[worst, 0])) + sums[worst]) / 2)
            if np.isfinite(between):
                moved = replace(model, rho=np.array([between]))
                again = made_of(moved, options)
                if again is not None:
                    found += judged(moved, again, z, sums, count)
        wrong += [f"model {number}: {model.kernel}, {options}, {line}" for line in found]
    return count, wrong
