"""From decision values to labels and probabilities: LIBSVM's rules, for all kinds of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.errors import ModelContentError, OptionError, UnsupportedError
from svmfast.libsvm_names import SVM_TYPES as SVM_TYPES
from svmfast.models.sizes import expect
from svmfast.rows import FloatArray, IntArray
from svmfast.votes import pair_votes

DENSITY_MARKS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Head:
    """The meaning of a model's decision values."""

    #: One of ``c_svc nu_svc one_class epsilon_svr nu_svr``.
    svm_type: str
    #: (k,) class labels in the model's order; None for one-class and regression.
    labels: IntArray | None = None
    #: (p,) sigmoid parameters of every pair. Regression has only `prob_a`, of length 1: the Laplace sigma.
    prob_a: FloatArray | None = None
    prob_b: FloatArray | None = None
    #: (10,) one-class: the decision values that separate the density bins.
    density_marks: FloatArray | None = None
    #: Whether this is a classifier of three or more classes with one decision value for each class, of which
    #: the largest wins, instead of LIBSVM's one for each pair. Such a head has no probabilities.
    one_vs_rest: bool = False

    def __post_init__(self) -> None:
        known = self.svm_type in SVM_TYPES
        expect("svm_type", known, "unknown svm_type", " or ".join(SVM_TYPES), self.svm_type)
        labels, marks = self.labels, self.density_marks
        if self.is_classifier:
            if labels is None or not len(labels):
                raise ModelContentError("label", "a classifier without labels", "one label for each class")
            # Not np.unique, which imports numpy.ma: that is a tenth of the start-up time of a prediction.
            holds = len(set(labels.tolist())) == len(labels)
            expect("label", holds, "the same label twice", "labels that differ")
        expect("label", self.is_classifier or labels is None, f"labels in a {self.svm_type} model", "none")
        expect(
            "decision",
            not self.one_vs_rest or (self.n_classes > 2 and self.prob_a is None and self.prob_b is None),
            "one decision value for each class in this model",
            "this rule only with three or more classes and without probabilities",
        )
        pairs = self.n_functions
        for name, values in (("probA", self.prob_a), ("probB", self.prob_b)):
            if values is not None:
                expected = f"{pairs}, one for each decision function"
                expect(name, values.shape == (pairs,), f"{values.size} values", expected)
        if marks is not None:
            what, expected = f"{marks.size} values", f"exactly {DENSITY_MARKS}"
            expect("prob_density_marks", marks.shape == (DENSITY_MARKS,), what, expected)

    def __repr__(self) -> str:
        return f"<head: {self.words}>"

    @property
    def words(self) -> str:
        """The type and the number of classes."""
        return self.svm_type if self.labels is None else f"{self.svm_type}, classes: {len(self.labels):,}"

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
        """Number of decision values per row: k(k-1)/2; k for one-vs-rest; 1 for one-class and regression."""
        if self.one_vs_rest:
            return self.n_classes
        return self.n_classes * (self.n_classes - 1) // 2

    @property
    def linear_functions(self) -> int:
        """Weight vectors of a linear model: one, or one per class (one-vs-rest) for three or more classes."""
        return self.n_classes if self.is_classifier and self.n_classes > 2 else 1

    @property
    def sides(self) -> tuple[float, float] | None:
        """The labels of a positive and of a negative decision value; None unless rows have a single value."""
        if self.svm_type == "one_class":
            return 1.0, -1.0
        if not self.is_classifier or self.n_functions != 1 or self.labels is None:
            return None
        return float(self.labels[0]), float(self.labels[1])

    @property
    def has_probability(self) -> bool:
        """Whether the model supports probability estimates (svm_check_probability_model)."""
        if self.is_classifier:
            return self.prob_a is not None and self.prob_b is not None
        return self.density_marks is not None if self.svm_type == "one_class" else self.prob_a is not None

    def same_functions(self, other: Head) -> bool:
        """Whether the decision functions of both separate the same classes in the same order."""
        if self.labels is None or other.labels is None:
            return True
        return self.one_vs_rest == other.one_vs_rest and np.array_equal(self.labels, other.labels)

    def predict(self, decisions: FloatArray) -> FloatArray:
        """Answer decision values as LIBSVM (svm_predict), ``(n,)``.

        Classification: the label with the most votes, where a decision value above 0 is a vote for the first
        class of its pair and any other value, nan too, for the second; ties go to the lower index.
        One-vs-rest: the label of the largest value; ties go to the lower index. One-class: +1 if the value is
        above 0, else -1. Regression: the value.
        """
        self._check_shape(decisions)
        if self.labels is None:
            value: FloatArray = decisions[:, 0].copy()
            return value if self.is_regression else np.where(value > 0, 1.0, -1.0)
        place: Any
        if self.one_vs_rest:
            place = np.argmax(decisions, axis=1)
        elif len(self.labels) > 2:
            place = np.argmax(self.votes(decisions), axis=1)
        else:  # a single class has no decision values
            place = np.where((decisions > 0).all(axis=1), 0, 1)
        return self.answers(place)

    def answers(self, place: NDArray[np.integer[Any]]) -> FloatArray:
        """The labels with these numbers, ``(n,)``; of one-class models, 0 is the positive side."""
        labels = [1.0, -1.0] if self.labels is None else self.labels
        found: FloatArray = np.asarray(labels, dtype=np.float64)[place]
        return found

    def votes(self, decisions: FloatArray) -> NDArray[np.int32]:
        """The number of pairs that each class wins, ``(n, k)``."""
        first = decisions > 0
        return pair_votes(first, ~first, self.n_classes)

    def probabilities(self, decisions: FloatArray) -> FloatArray:
        """Estimate probabilities as LIBSVM (svm_predict_probability), ``(n, k)``.

        One column for each label, in the model's order: sigmoids of the pairs, coupled as in Wu, Lin and
        Weng (JMLR 5, 2004), method 2. One-class: the columns "normal" and "outlier", from ten density bins
        (Que and Lin). A row's estimates do not depend on the other rows.
        """
        self._check_shape(decisions)
        if self.is_regression or not self.has_probability:
            raise UnsupportedError(
                "the model does not support probability estimates", "train it with `probability`"
            )
        if self.density_marks is not None:
            normal = _density(decisions[:, 0], self.density_marks)
            return np.column_stack([normal, 1 - normal])
        if self.n_classes == 1:
            return np.ones((len(decisions), 1))
        return _core.probabilities(_reals(decisions), *self._sigmoids, self.n_classes, None, 1)[0]

    def predict_with_probabilities(self, decisions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute ``(answers, probabilities)`` as ``svm-predict -b 1`` gives them.

        A classifier's label is the most probable one, which may differ from the winner of the vote. A
        one-class label is given by the sign of the decision value, as without probabilities.
        """
        estimates = self.probabilities(decisions)
        if self.labels is None:
            return self.predict(decisions), estimates
        return self.labels.astype(np.float64)[np.argmax(estimates, axis=1)], estimates

    @property
    def _sigmoids(self) -> tuple[FloatArray, FloatArray]:
        assert self.prob_a is not None
        assert self.prob_b is not None
        return _reals(self.prob_a), _reals(self.prob_b)

    def _check_shape(self, decisions: FloatArray) -> None:
        if decisions.ndim != 2 or decisions.shape[1] != self.n_functions:
            raise OptionError(f"decision values of shape {decisions.shape}; expected (n, {self.n_functions})")


def _reals(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)


def _density(decisions: FloatArray, marks: FloatArray) -> FloatArray:
    """The probability of being normal, given by the density bin of the decision value."""
    p = np.zeros(len(decisions))
    for i in range(DENSITY_MARKS - 1, 0, -1):
        p[decisions < marks[i]] = i / DENSITY_MARKS
    p[decisions > marks[-1]] = 0.999
    p[decisions < marks[0]] = 0.001
    return p
