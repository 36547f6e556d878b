"""A model file of every form that an exported file can take."""

import numpy as np
from program import FIXTURES, model

from svmfast.exports.accuracy import own_rows
from svmfast.exports.computation import computation_of

FROZEN = FIXTURES / "frozen" / "1.0"
FORMS = {
    "rbf": model("breast_c_rbf"),
    "rbf, three classes": model("iris_c_rbf_prob"),
    "rbf, ten classes": model("digits_c_rbf_prob"),
    "rbf, sparse": model("onehot_c_rbf"),
    "linear": model("breast_c_linear"),
    "polynomial kernel": model("iris_c_poly3"),
    "sigmoid": model("iris_c_sigmoid"),
    "one class": model("normal_one_rbf"),
    "one class, probabilities": model("normal_one_rbf_prob"),
    "regression": model("diabetes_eps_rbf"),
    "large labels": model("large_labels_prob"),
    "ties": model("tie_votes_four"),
    **{path.stem: path for path in sorted(FROZEN.glob("[!c]*.model"))},  # no cascades
}


def raw_rows(model):
    """Vectors of a model, or random rows, as they are before its scaling, ``(n, n_features)``."""
    width = computation_of(model).n_features
    vectors = own_rows(model.unscaled)
    table = np.random.default_rng(0).normal(size=(200, width)) / 2
    if vectors is not None:
        table = vectors.to_dense(width)
    scaling = model.scaling
    if scaling is None:
        return table
    scaling = scaling.widened(width)
    return table / np.where(scaling.factor, scaling.factor, np.inf) + scaling.offset
