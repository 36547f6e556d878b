"""Certified conversions that are exported, and the exact answers with fifty digits."""

from dataclasses import replace
from functools import cache

import mpmath
import numpy as np
from approximations import approximate
from program import data, model
from random_models import exact_sums, random_model

import svmfast
from svmfast.formats.model_files import load_model

PRECISIONS = {"float": np.float32, "double": np.float64}


#: Models of 30 features whose conversions have nearly no other error than rounding.
ROUNDED = {}
for kernel, gamma in (("linear", 1), ("polynomial", 0.1), ("rbf", 1e-6)):
    one = random_model(1, 12, 30, 2, gamma, 1.0, 1.0, kernel)
    # The values of a narrow kernel are about the sum of its coefficients.
    ROUNDED[kernel] = replace(one, rho=np.array([1e-3 if gamma > 1e-3 else one.sv_coef.sum()]))

#: Conversions with a certificate: orders, centers, cells, classes, one class, exact polynomials.
CASES = {
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
def made(name):
    source, options = CASES[name]
    exact = ROUNDED[source] if source in ROUNDED else load_model(model(source))
    if "cells" in options:
        options = {**options, "data": svmfast.read_svmlight(data(f"{source.split('_')[0]}.train")).rows}
    return exact, approximate(exact, **options)[0]


def exact_label(exact, z):
    signs = np.array([[float(mpmath.sign(value)) for value in exact_sums(exact, z[None])[0]]])
    return float(exact.head.predict(signs)[0])
