"""The common parts of the estimators: checks of rows, numeric labels, predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from svmfast.commands.predict import predict
from svmfast.errors import OptionError, SingleClassError
from svmfast.importers.attributes import are_boolean, labels_of
from svmfast.models.answer import Answer
from svmfast.models.base import Model
from svmfast.models.head import Head
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows, as_rows
from svmfast.threads import usable_cores


class ModelEstimator(BaseEstimator, ABC):
    """An estimator that predicts with `model_`, a model of svmfast."""

    model_: Model
    report_: Any
    n_features_in_: int
    n_jobs: int | None
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_rows(self, X: Any, y: Any, *, numeric: bool) -> tuple[Rows, NDArray[Any]]:
        """Check rows and targets; store the number and names of the features."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2, y_numeric=numeric
        )
        return as_rows(X), y

    @abstractmethod
    def _training_set(self, X: Any, y: Any) -> tuple[Rows, FloatArray]:
        """Checked rows and numeric targets: values, or svmfast's labels for the classes."""

    def _targets_of(self, targets: FloatArray) -> NDArray[Any]:
        """Values, or classes as scikit-learn knows them."""
        return targets

    def _named(self, model: Model) -> Model:
        """Add the names of the classes and features to a model, if its classes need names."""
        return model

    def _answer(self, X: Any, *, probability: bool = False) -> Answer:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return predict(self.model_, as_rows(X), probability=probability, threads=self._threads())

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class or the value of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
        """
        return self._targets_of(self._answer(X).predicted)

    def _threads(self) -> int | None:
        """Threads for `n_jobs`; as in joblib, negative values count back from the cores."""
        jobs = self.n_jobs
        if jobs == 0:
            raise ValueError("n_jobs == 0 has no meaning")
        return jobs if jobs is None or jobs > 0 else max(1, usable_cores() + 1 + jobs)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))


class ModelClassifier(ClassifierMixin, ModelEstimator):
    """A classifier that predicts with `model_`."""

    classes_: NDArray[Any]
    C: float
    class_weight: Any

    def _training_set(self, X: Any, y: Any) -> tuple[Rows, FloatArray]:
        """Set `classes_`, too."""
        rows, y = self._training_rows(X, y, numeric=False)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs rows of two classes, the data have 1 class")
        return rows, self._labels[codes].astype(np.float64)

    def _targets_of(self, targets: FloatArray) -> NDArray[Any]:
        return self.classes_[self._places(targets)]

    def _class_weights(self, labels: FloatArray) -> dict[int, float]:
        """Factors of C other than 1, by svmfast's labels."""
        y = self._targets_of(labels)
        found = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        pairs = zip(self._labels.tolist(), found.tolist(), strict=True)
        return {label: weight for label, weight in pairs if weight != 1}

    @property
    def _labels(self) -> NDArray[np.int64]:
        """The label of each class, in the ascending order of `classes_`."""
        return labels_of(self.classes_)[0]

    def _named(self, model: Model) -> Model:
        """Add the names of classes that are not integers, and those of features, to a model."""
        names = labels_of(self.classes_)[1]
        if names is None or model.scaling is not None:
            return model
        # A model has its own order of classes.
        labels = model.head.labels
        assert labels is not None
        names = tuple(names[i] for i in np.searchsorted(self._labels, labels))
        features, d = getattr(self, "feature_names_in_", None), self.n_features_in_
        called = None if features is None else tuple(map(str, features))
        boolean = are_boolean(self.classes_)
        scaling = Scaling(np.zeros(d), np.ones(d), None, called, names, boolean_classes=boolean)
        return with_scaling(model, scaling)

    def decision_function(self, X: Any) -> FloatArray:
        """Return decision values; the largest is that of the predicted class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes a single value, positive for ``classes_[1]``. For a model with values for pairs of
            classes, the number of votes plus a fraction that increases with the sum of the values.
        """
        answer = self._answer(X)
        head = self.model_.head
        assert head.labels is not None
        order = np.argsort(head.labels)
        if head.one_vs_rest:
            return answer.decisions[:, order]
        if len(order) == 2:
            first = answer.decisions[:, 0]
            return -first if order[0] == 0 else first
        return _vote_values(answer.decisions, head, order, self._places(answer.predicted))

    @available_if(lambda self: self._check_probabilities())
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes by LIBSVM's coupling, if the model has probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        found = self._answer(X, probability=True).probabilities
        labels = self.model_.head.labels
        assert found is not None
        assert labels is not None
        return found[:, np.argsort(labels)]

    def _check_probabilities(self) -> bool:
        check_is_fitted(self)
        if not self.model_.head.has_probability:
            raise AttributeError("the model has no probabilities")
        return True

    def _places(self, predicted: FloatArray) -> NDArray[np.intp]:
        """Indices of labels in `classes_`."""
        return np.searchsorted(self._labels, predicted.astype(np.int64))


class ModelRegressor(RegressorMixin, ModelEstimator):
    """A regressor that predicts with `model_`."""

    def _training_set(self, X: Any, y: Any) -> tuple[Rows, FloatArray]:
        rows, y = self._training_rows(X, y, numeric=True)
        return rows, np.asarray(y, dtype=np.float64)


def _vote_values(
    pairs: FloatArray, head: Head, order: NDArray[np.intp], predicted: NDArray[np.intp]
) -> FloatArray:
    """A value for each class from those of the pairs: votes plus a confidence below 1/3, as scikit-learn's.

    `predicted` are places in the sorted `order` of the model's classes.
    """
    k = len(order)
    sums = np.zeros((len(pairs), k))
    for value, first, second in zip(pairs.T, *np.triu_indices(k, 1), strict=True):
        sums[:, first] += value
        sums[:, second] -= value
    values: FloatArray = (head.votes(pairs) + sums / (3 * (np.abs(sums) + 1)))[:, order]
    # Ties go to LIBSVM's first class, whatever its sum is.
    tied = np.flatnonzero(values.argmax(axis=1) != predicted)
    values[tied, predicted[tied]] = np.nextafter(values[tied].max(axis=1), np.inf)
    return values


@contextmanager
def as_value_errors() -> Iterator[None]:
    """Turn svmfast's errors about parameters into the ValueError that scikit-learn's tools expect."""
    try:
        yield
    except (OptionError, SingleClassError) as error:
        raise ValueError(str(error)) from error
