"""Small examples of all kinds of models, which the contract tests take."""

from dataclasses import replace

import numpy as np
from approximations import approximate
from read_fixtures import exact
from routed_models import routed

from svmfast.kernels import Kernel
from svmfast.models.cascade import CascadeModel
from svmfast.models.encoding import Encoding, Feature
from svmfast.models.expansion import ScoreModel
from svmfast.models.head import Head
from svmfast.models.mapped import MappedModel
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.rows import Rows


def polynomial(name, order):
    return approximate(exact(name), order=order, provenance={"seed": "3"})[0]


def iris():
    return CascadeModel(exact("iris_c_rbf_prob"), exact("iris_c_rbf_prob"), 0.25)


def mapped():
    """Iris in five coordinates of columns 1, 2, 3, 5 and 6."""
    numbers = np.random.default_rng(3).normal(size=(2, 5, 5)).astype(np.float32)
    columns = np.array([0, 1, 2, 4, 5])
    origin = {"method": "compress", "seed": "3"}
    return MappedModel(exact("iris_c_rbf_prob"), 6, columns, 0.4 * numbers[0], numbers[1, 0], origin)


def scores(kernel=None):
    """Iris by its support vectors, which serve all classes."""
    model, rng = exact("iris_c_rbf_prob"), np.random.default_rng(4)
    head = Head("nu_svc", model.head.labels, one_vs_rest=True)
    coef, rho = rng.normal(size=(3, len(model.sv))), rng.normal(size=3)
    return ScoreModel(head, kernel or model.kernel, model.sv, coef, rho, {"method": "compress"})


RANGES = Scaling.from_ranges([-1, 0, 2], [3, 1, 2], 0, 1, target=TargetRange(-1, 1, 0, 5))
COLUMNS = ("a b", "\u00e9", ""), ("x", "y", "z")
AFFINE = Scaling(np.array([0.5, 0, -2]), np.array([2, 0, 0.25]), (-3, 2.5), *COLUMNS)
FEATURES = Feature(0), Feature(1, ("x", "")), Feature(2, ("0.5", "-3"), others=True), Feature(1, ("\u00e9",))
ENCODING = Encoding(("a b", "c", "d"), FEATURES, (Feature(1, ("z",)), Feature(1, others=True)), (2,))
CATEGORIES = Scaling(np.array([2, 0, 0, 0.25]), np.ones(4), None, ENCODING.names, encoding=ENCODING)
EXAMPLES = {
    "libsvm": lambda: exact("iris_c_rbf_prob"),
    "libsvm one-class": lambda: exact("normal_one_rbf_prob"),
    "libsvm regression": lambda: exact("diabetes_eps_rbf_prob"),
    "libsvm one label": lambda: exact("single_class"),
    "polynomial": lambda: polynomial("wine_c_rbf_prob", 2),
    "polynomial order 3": lambda: polynomial("iris_c_rbf_prob", 3),
    "polynomial exact": lambda: polynomial("breast_c_poly2", 2),
    "routed": lambda: routed(),
    "routed poly": lambda: routed(pseudo="poly"),
    "routed triangle": lambda: routed(pseudo="triangle"),
    "routed rule": lambda: routed(head=Head("c_svc", np.array([3, 1, 2]), one_vs_rest=True)),
    "scores": scores,
    "scores polynomial": lambda: scores(Kernel("polynomial", 0.25, 0.5, 2)),
    "mapped": mapped,
    "mapped scores": lambda: replace(mapped(), model=scores()),
    "cascade": iris,
    "cascade order 3": lambda: CascadeModel(polynomial("iris_c_rbf_prob", 3), exact("iris_c_rbf_prob"), 0.25),
    "scaled libsvm": lambda: ScaledModel(exact("iris_c_rbf_prob"), RANGES, {"method": "compress"}),
    "scaled polynomial": lambda: ScaledModel(polynomial("wine_c_rbf_prob", 2), AFFINE),
    "scaled categories": lambda: ScaledModel(exact("iris_c_rbf_prob"), CATEGORIES),
    "scaled mapped": lambda: ScaledModel(mapped(), RANGES),
    "scaled cascade": lambda: ScaledModel(iris(), RANGES),
}
NAMES = sorted(EXAMPLES)
#: The message for examples that cannot be exported.
NOT_EXPORTED = {
    "libsvm one label": "^the model has a single class; every row has its label$",
    "scaled polynomial": "^the scaling clips 3 columns and does not change the model's other columns",
    **dict.fromkeys(
        ("cascade", "cascade order 3", "scaled cascade"),
        "^a cascade consists of two models and a rule; export its two models",
    ),
}


def rows_for(model, n=37):
    rng = np.random.default_rng(8)
    width = model.n_features + 3  # some columns are new to the model
    return Rows.from_dense(np.where(rng.random((n, width)) < 0.6, rng.normal(0, 0.5, (n, width)), 0))
