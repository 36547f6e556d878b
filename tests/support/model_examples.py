"""A small example of every kind of model; register a kind and add one here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from approximations import approximate
from routed_models import routed

from svmfast.formats.detect import load_model
from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.rows import Rows

MODELS = Path(__file__).parents[2] / "fixtures" / "models"


def polynomial(name: str, order: int) -> Model:
    return approximate(load_model(MODELS / f"{name}.model"), order=order, provenance={"seed": "3"})[0]


def cascade(fast: str, exact: str) -> Model:
    return CascadeModel(EXAMPLES[fast](), load_model(MODELS / f"{exact}.model"), 0.25)


EXAMPLES: dict[str, Callable[[], Model]] = {
    "libsvm": lambda: load_model(MODELS / "iris_c_rbf_prob.model"),
    "libsvm one-class": lambda: load_model(MODELS / "normal_one_rbf_prob.model"),
    "libsvm regression": lambda: load_model(MODELS / "diabetes_eps_rbf_prob.model"),
    "libsvm one label": lambda: load_model(MODELS / "single_class.model"),
    "polynomial": lambda: polynomial("wine_c_rbf_prob", 2),
    "polynomial order 3": lambda: polynomial("iris_c_rbf_prob", 3),
    "polynomial exact": lambda: polynomial("breast_c_poly2", 2),
    "routed": lambda: routed(),
    "routed poly": lambda: routed(pseudo="poly"),
    "routed triangle": lambda: routed(pseudo="triangle"),
    "routed rule": lambda: routed(head=Head("c_svc", np.array([3, 1, 2]), one_vs_rest=True)),
}


EXAMPLES |= {
    "cascade": lambda: cascade("libsvm", "iris_c_rbf_prob"),
    "cascade order 3": lambda: cascade("polynomial order 3", "iris_c_rbf_prob"),
}


RANGES = Scaling.from_ranges([-1, 0, 2], [3, 1, 2], 0, 1, target=TargetRange(-1, 1, 0, 5))


AFFINE = Scaling(
    np.array([0.5, 0, -2]), np.array([2, 0, 0.25]), (-3, 2.5), ("a b", "\u00e9", ""), ("x", "y", "z")
)


EXAMPLES |= {
    "scaled libsvm": lambda: ScaledModel(EXAMPLES["libsvm"](), RANGES, {"method": "compress"}),
    "scaled polynomial": lambda: ScaledModel(EXAMPLES["polynomial"](), AFFINE),
    "scaled cascade": lambda: ScaledModel(EXAMPLES["cascade"](), RANGES),
}


NAMES = sorted(EXAMPLES)


def rows_for(model: Model, n: int = 37) -> Rows:
    rng = np.random.default_rng(8)
    width = model.n_features + 3  # some columns are new to the model
    return Rows.from_dense(np.where(rng.random((n, width)) < 0.6, rng.normal(0, 0.5, (n, width)), 0))
