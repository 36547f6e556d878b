"""From decision values to labels and probabilities: LIBSVM's rules, written once for all model kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError

FloatArray = NDArray[np.float64]

SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
DENSITY_MARKS = 10


@dataclass(frozen=True, eq=False)
class Head:
    """What a decision value means.

    Attributes
    ----------
    svm_type : str
        One of ``c_svc nu_svc one_class epsilon_svr nu_svr``.
    labels : (k,) int64 or None
        Class labels in the model's order; None for one-class and regression.
    prob_a, prob_b : (p,) float64 or None
        Sigmoid parameters of every pair. Regression has `prob_a` only, of length 1: the Laplace sigma.
    density_marks : (10,) float64 or None
        One-class: decision values that bound the ten density bins.
    """

    svm_type: str
    labels: NDArray[np.int64] | None = None
    prob_a: FloatArray | None = None
    prob_b: FloatArray | None = None
    density_marks: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.svm_type not in SVM_TYPES:
            raise ModelContentError("svm_type", f"unknown svm_type '{self.svm_type}'", " or ".join(SVM_TYPES))
        if self.is_classifier:
            if self.labels is None or len(self.labels) == 0:
                raise ModelContentError("label", "a classifier without labels", "one label for each class")
            if len(np.unique(self.labels)) != len(self.labels):
                raise ModelContentError("label", "the same label twice", "labels that differ")
        elif self.labels is not None:
            raise ModelContentError("label", f"labels in a {self.svm_type} model", "none")
        pairs = self.n_functions
        for name, values in (("probA", self.prob_a), ("probB", self.prob_b)):
            if values is not None and values.shape != (pairs,):
                raise ModelContentError(
                    name, f"{values.size} values", f"{pairs}, one for each decision function"
                )
        if self.density_marks is not None and self.density_marks.shape != (DENSITY_MARKS,):
            raise ModelContentError(
                "prob_density_marks", f"{self.density_marks.size} values", f"exactly {DENSITY_MARKS}"
            )

    @property
    def is_classifier(self) -> bool:
        """Whether this is C-SVC or nu-SVC."""
        return self.svm_type in ("c_svc", "nu_svc")

    @property
    def is_regression(self) -> bool:
        """Whether this is epsilon-SVR or nu-SVR."""
        return self.svm_type in ("epsilon_svr", "nu_svr")

    @property
    def n_classes(self) -> int:
        """LIBSVM's ``nr_class``: the number of labels; 2 for one-class and regression."""
        return 2 if self.labels is None else len(self.labels)

    @property
    def n_functions(self) -> int:
        """Decision values a row: k(k-1)/2, or 1 for one-class and regression."""
        return self.n_classes * (self.n_classes - 1) // 2

    @property
    def has_probability(self) -> bool:
        """Whether ``-b 1`` has something to work with (svm_check_probability_model)."""
        if self.is_classifier:
            return self.prob_a is not None and self.prob_b is not None
        return self.density_marks is not None if self.svm_type == "one_class" else self.prob_a is not None
