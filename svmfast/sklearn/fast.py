"""FastSVC and FastSVR: LIBSVM's estimators, converted to fast models after fitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR

from svmfast.importers.estimators import model_of
from svmfast.sklearn.base import ModelClassifier, ModelEstimator, ModelRegressor, as_value_errors
from svmfast.sklearn.conversion import Conversion

Self = TypeVar("Self", bound="_Fast")


@dataclass(kw_only=True, eq=False, repr=False)
class _Fast(ModelEstimator):
    """An estimator that fits an exact machine and converts it."""

    _kind: ClassVar[type]

    C: float = 1.0
    kernel: str = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    max_iter: int = -1
    method: str = "auto"
    max_diff: float = 0.005
    max_bytes: int | None = None
    method_options: dict[str, Any] | None = None
    estimator: Any = None
    keep_exact: bool = False
    n_jobs: int | None = None
    random_state: Any = 0

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the exact machine, and convert it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of `C` for each row.

        Returns
        -------
        self
        """
        rows, targets = self._training_set(X, y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        machine = self._machine().fit(X, self._targets_of(targets), **weights)
        if hasattr(machine, "classes_"):  # those of a frozen machine may differ
            self.classes_ = machine.classes_
        self.exact_estimator_ = machine if self.keep_exact else None
        last = machine[-1] if isinstance(machine, Pipeline) else machine
        self.n_iter_ = getattr(last, "n_iter_", None)
        with as_value_errors():
            work = Conversion(
                model_of(machine), rows, self.max_diff, self.max_bytes, self.method_options or {},
                self._seed(), self._threads(),
            )  # fmt: skip
            self.method_, model, self.report_ = work.converted(self.method)
        self.model_ = self._named(model)
        return self

    def _machine(self) -> Any:
        """The machine to fit: the given one, or scikit-learn's with this estimator's parameters."""
        if self.estimator is not None:
            return clone(self.estimator)
        own = self.get_params(deep=False)
        return self._kind(**{name: own[name] for name in self._kind().get_params() if name in own})


@dataclass(kw_only=True, eq=False, repr=False)
class FastSVC(_Fast, ModelClassifier):
    """C-support vector classification with fast prediction: scikit-learn's SVC, converted after fitting.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size, class_weight, max_iter
        As in :class:`sklearn.svm.SVC`.
    method : {"auto", "exact", "approximate", "compress", "dcpred", "cascade"}, default="auto"
        How the exact machine is converted; svmfast's functions have the same names. auto takes the first of
        approximate and compress that meets the limits with fewer multiply-adds than the exact machine, or
        else that machine in svmfast's engine; one of at most 5,000 multiply-adds per row is kept at once.
    max_diff : float, default=0.005
        Limit on the share of rows whose label differs from the exact machine's, for auto, approximate,
        compress (unless `max_bytes` gives its size) and cascade. It is measured on rows that are held out;
        NegativeAnswerError if no model keeps it. cascade guarantees the share for new rows, but for this it
        needs rows on which the machine was not trained: pass a FrozenEstimator.
    max_bytes : int, default=None
        Limit on the size of the model's file, for methods that have this option, and for the exact machine.
    method_options : dict, default=None
        Options of `method`: the keyword arguments of svmfast's function of that name.
    estimator : estimator, default=None
        An SVC or NuSVC, alone or after scalers in a Pipeline, that is cloned and fitted instead of an SVC
        with the parameters above. A FrozenEstimator is not fitted again, only converted.
    keep_exact : bool, default=False
        Keep the exact machine as `exact_estimator_`; it is then part of pickles.
    n_jobs : int, default=None
        Threads for conversion and prediction. None: the cores this process may use, at most OMP_NUM_THREADS.
    random_state : int, RandomState instance or None, default=0

    Attributes
    ----------
    model_ : Model
        The model, which :func:`svmfast.save_model` and all other functions of svmfast accept.
    method_ : str
        The method of the model; ``exact`` if it is the exact machine.
    report_ : object
        The report of that method, with ``lines()`` and ``to_dict()``; None for ``exact``.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Defined only if X has feature names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from svmfast.sklearn import FastSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> FastSVC().fit(X, y).predict(X[:2])
    array([0, 0])
    """

    _kind = SVC

    class_weight: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class FastSVR(_Fast, ModelRegressor):
    """Epsilon-support vector regression with fast prediction: scikit-learn's SVR, converted after fitting.

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0, shrinking, tol, cache_size, max_iter
        As in :class:`sklearn.svm.SVR`.
    method : {"auto", "exact", "approximate", "compress", "dcpred"}, default="auto"
        As in :class:`FastSVC`.
    max_diff : float, default=0.005
        Limit on the root mean square difference from the exact machine's values, divided by their standard
        deviation.
    max_bytes, method_options, estimator, keep_exact, n_jobs, random_state
        As in :class:`FastSVC`; `estimator` is an SVR or NuSVR.

    Attributes
    ----------
    model_, method_, report_, n_features_in_, feature_names_in_
        As in :class:`FastSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from svmfast.sklearn import FastSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> FastSVR(C=100).fit(X, y).predict(X[:2]).round()
    array([189.,  85.])
    """

    _kind = SVR

    epsilon: float = 0.1
