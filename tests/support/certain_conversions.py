"""Certified conversions that are exported, and the exact answers with fifty digits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import mpmath
import numpy as np
from approximations import approximate
from fifty_digits import exactly, kernel_values, mpf
from program import data, model
from random_models import random_model

import svmfast
from svmfast.formats.model_files import load_model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray

PRECISIONS = {"float": np.float32, "double": np.float64}


def _rounded(kernel: str, gamma: float) -> KernelExpansion:
    model = random_model(1, 12, 30, 2, gamma, 1.0, 1.0, kernel)
    # The values of a narrow kernel are about the sum of its coefficients.
    return replace(model, rho=np.array([1e-3 if gamma > 1e-3 else model.sv_coef.sum()]))


#: Models of 30 features whose conversions have nearly no other error than rounding.
ROUNDED = {
    kernel: _rounded(kernel, gamma) for kernel, gamma in (("linear", 1), ("polynomial", 0.1), ("rbf", 1e-6))
}

#: Conversions with a certificate: orders, centers, cells, classes, one class, exact polynomials.
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "order 2": ("breast_c_rbf", {"order": 2}),
    "about zero": ("breast_c_rbf", {"order": 3, "center": "origin"}),
    "order 1": ("breast_c_rbf_weights", {"order": 1}),
    "three classes": ("iris_c_rbf_prob", {"order": 3}),
    "two cells": ("wine_c_rbf_prob", {"order": 2, "cells": 2}),
    "one class": ("normal_one_rbf", {"order": 4}),
    "polynomial kernel": ("breast_c_poly2", {}),
    "linear kernel": ("breast_c_linear", {}),
    "sparse": ("onehot_c_rbf", {"order": 2}),
    **{f"30 features, {kernel}": (kernel, {"order": 2} if kernel == "rbf" else {}) for kernel in ROUNDED},
}


@cache
def made(name: str) -> tuple[KernelExpansion, PolynomialModel]:
    source, options = CASES[name]
    exact = ROUNDED[source] if source in ROUNDED else load_model(model(source))
    if "cells" in options:
        options = {**options, "data": svmfast.read_svmlight(data(f"{source.split('_')[0]}.train")).rows}
    return exact, approximate(exact, **options)[0]


def exact_values(exact: KernelExpansion, z: FloatArray) -> list[mpmath.mpf]:
    """The decision values of the exact model, from their definition."""
    vectors = exact.sv.to_dense(len(z))
    kernels = kernel_values(exact.kernel, vectors, z)
    coefficients = [exactly(row) for row in exact.sv_coef]
    k = exact.head.n_classes if exact.head.is_classifier else 2
    ends = np.concatenate([[0], np.cumsum(exact.nr_sv if exact.nr_sv is not None else [len(vectors), 0])])
    if exact.nr_sv is None:
        return [
            mpmath.fsum(c * v for c, v in zip(coefficients[0], kernels, strict=True))
            - mpf(float(exact.rho[0]))
        ]
    out = []
    pair = 0
    for i in range(k):
        for j in range(i + 1, k):
            terms = [coefficients[j - 1][n] * kernels[n] for n in range(ends[i], ends[i + 1])]
            terms += [coefficients[i][n] * kernels[n] for n in range(ends[j], ends[j + 1])]
            out.append(mpmath.fsum(terms) - mpf(float(exact.rho[pair])))
            pair += 1
    return out


def exact_label(exact: KernelExpansion, z: FloatArray) -> float:
    signs = np.array([[float(mpmath.sign(value)) for value in exact_values(exact, z)]])
    return float(exact.head.predict(signs)[0])
