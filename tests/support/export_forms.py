"""A model file of every form that an exported file can take."""

from __future__ import annotations

from pathlib import Path

from program import FIXTURES, model

FROZEN = FIXTURES / "frozen" / "1.0"
FORMS: dict[str, Path] = {
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
    "one label": model("single_class"),
    "large labels": model("large_labels_prob"),
    "ties": model("tie_votes_four"),
    **{path.stem: path for path in sorted(FROZEN.glob("[!c]*.model"))},  # no cascades
}
