"""Estimators that train with svmfast's methods: budgeted SGD, MEKA and trees of landmarks (DC-Pred++)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from svmfast.api.functions import function_of
from svmfast.methods.registry import method as method_named
from svmfast.rows import FloatArray, Rows
from svmfast.sklearn.base import (
    ModelClassifier,
    ModelEstimator,
    ModelRegressor,
    as_value_errors,
    kernel_width,
)

Self = TypeVar("Self", bound="_Trained")


class _Trained(ModelEstimator):
    """An estimator that trains with one of svmfast's functions."""

    #: The method, and its task if it has several.
    _method: ClassVar[str]
    _task: ClassVar[str | None] = None

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Train on the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        rows, targets = self._training_set(X, y)
        self.model_ = self._named(self._trained(rows, targets, self._all_options(targets)))
        return self

    def _all_options(self, targets: FloatArray) -> dict[str, Any]:
        """Return all options of the call: the task, its regularization and the method's own."""
        task = {} if self._task is None else {"task": self._task}
        return {**task, **self._regularization(targets), **self._options()}

    @abstractmethod
    def _regularization(self, targets: FloatArray) -> dict[str, Any]:
        """Return the regularization options of the task."""

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Return the method's own options."""

    def _trained(self, rows: Rows, targets: FloatArray, options: dict[str, Any]) -> Any:
        with as_value_errors():
            options["gamma"] = kernel_width(self.gamma, rows)
            made = function_of(method_named(self._method))(
                rows, targets, seed=self._seed(), threads=self._threads(), **options
            )
        self.report_ = made.report
        return made.model


class _TrainedClassifier(_Trained, ModelClassifier):
    """Trains with the cost `C` and class weights."""

    def _regularization(self, targets: FloatArray) -> dict[str, Any]:
        return {"C": float(self.C), "weights": self._class_weights(targets)}


class _TrainedRegressor(_Trained, ModelRegressor):
    """Trains with the regularization `alpha`."""

    def _regularization(self, targets: FloatArray) -> dict[str, Any]:
        return {"lambda_": float(self.alpha)}


class BudgetSVC(_TrainedClassifier):
    """A classifier with at most `budget` support vectors per decision function, by stochastic gradients.

    The prediction cost is known before training, and training streams the rows: docs/budget-train.md.

    Parameters
    ----------
    C : float, default=1.0
        Cost of errors, as in :class:`sklearn.svm.SVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the Gaussian kernel.
    budget : int, default=100
        Maximum number of support vectors for each pair of classes.
    passes : int, default=10
        Passes over the rows.
    class_weight : dict or "balanced", default=None
        `C` of a class is `C` times its weight; "balanced": n_samples / (n_classes * rows of the class).
    n_jobs : int, default=None
        Threads. None: the cores this process may use, at most OMP_NUM_THREADS.
    random_state : int, RandomState instance or None, default=0

    Attributes
    ----------
    model_ : KernelExpansion
    report_ : object
        Figures of the training.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    _method = "budget-train"

    def __init__(
        self,
        *,
        C: float = 1.0,
        gamma: float | str = "scale",
        budget: int = 100,
        passes: int = 10,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C, self.gamma, self.budget, self.passes = C, gamma, budget, passes
        self.class_weight, self.n_jobs, self.random_state = class_weight, n_jobs, random_state

    def _options(self) -> dict[str, Any]:
        return {"budget": self.budget, "passes": self.passes}


class _Meka(_Trained):
    _method = "meka"

    def _options(self) -> dict[str, Any]:
        if self.kernel not in ("rbf", "laplacian"):
            raise ValueError(f"kernel is '{self.kernel}'; expected 'rbf' or 'laplacian'")
        laplacian = self.kernel == "laplacian"
        return {"clusters": self.clusters, "rank": self.rank, "laplacian": laplacian}


class MekaSVC(_Meka, _TrainedClassifier):
    """A classifier on the memory efficient kernel approximation (MEKA): docs/meka.md.

    Parameters
    ----------
    C : float, default=10.0
        Cost of errors.
    kernel : {"rbf", "laplacian"}, default="rbf"
    gamma : {"scale", "auto"} or float, default="scale"
    clusters : int, default=10
        Blocks of the kernel.
    rank : int, default=None
        Rank of each block.
    class_weight : dict or "balanced", default=None
        `C` of a class is `C` times its weight; "balanced": n_samples / (n_classes * rows of the class).
    n_jobs : int, default=None
        Threads. None: the cores this process may use, at most OMP_NUM_THREADS.
    random_state : int, RandomState instance or None, default=0

    Attributes
    ----------
    model_ : RoutedModel
    report_ : object
        Figures of the training.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    _task = "svc"

    def __init__(
        self,
        *,
        C: float = 10.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        clusters: int = 10,
        rank: int | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C, self.kernel, self.gamma, self.clusters, self.rank = C, kernel, gamma, clusters, rank
        self.class_weight, self.n_jobs, self.random_state = class_weight, n_jobs, random_state


class MekaRidge(_Meka, _TrainedRegressor):
    """Kernel ridge regression on the memory efficient kernel approximation (MEKA): docs/meka.md.

    Parameters
    ----------
    alpha : float, default=0.1
        Regularization, the `lambda_` of :func:`svmfast.meka`.
    kernel, gamma, clusters, rank, n_jobs, random_state
        As in :class:`MekaSVC`.

    Attributes
    ----------
    model_ : RoutedModel
    report_ : object
        Figures of the training.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    _task = "ridge"

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        clusters: int = 10,
        rank: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.alpha, self.kernel, self.gamma, self.clusters, self.rank = alpha, kernel, gamma, clusters, rank
        self.n_jobs, self.random_state = n_jobs, random_state


class _DCPred(_Trained):
    _method = "dcpred"

    def _options(self) -> dict[str, Any]:
        return {"clusters": self.clusters, "landmarks": self.landmarks, "iterations": self.iterations}


class DCPredSVC(_DCPred, _TrainedClassifier):
    """A classifier on a tree of clusters with a few landmarks each (DC-Pred++): docs/dcpred.md.

    Parameters
    ----------
    C : float, default=10.0
        Cost of errors.
    gamma : {"scale", "auto"} or float, default="scale"
        Initial width of the Gaussian kernel.
    clusters : int, default=None
        Leaves of the tree; None: 16, but at most one for each 16 rows.
    landmarks : int, default=None
        Landmarks of each leaf; None: 32.
    iterations : int, default=None
        Gradient steps that move the landmarks; None: 150.
    class_weight : dict or "balanced", default=None
        `C` of a class is `C` times its weight; "balanced": n_samples / (n_classes * rows of the class).
    n_jobs : int, default=None
        Threads. None: the cores this process may use, at most OMP_NUM_THREADS.
    random_state : int, RandomState instance or None, default=0

    Attributes
    ----------
    model_ : RoutedModel
    report_ : object
        Figures of the training.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    _task = "svc"

    def __init__(
        self,
        *,
        C: float = 10.0,
        gamma: float | str = "scale",
        clusters: int | None = None,
        landmarks: int | None = None,
        iterations: int | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C, self.gamma, self.clusters, self.landmarks = C, gamma, clusters, landmarks
        self.iterations, self.class_weight = iterations, class_weight
        self.n_jobs, self.random_state = n_jobs, random_state


class DCPredRidge(_DCPred, _TrainedRegressor):
    """Ridge regression on a tree of clusters with a few landmarks each (DC-Pred++): docs/dcpred.md.

    Parameters
    ----------
    alpha : float, default=0.1
        Regularization, the `lambda_` of :func:`svmfast.dcpred`.
    gamma, clusters, landmarks, iterations, n_jobs, random_state
        As in :class:`DCPredSVC`.

    Attributes
    ----------
    model_ : RoutedModel
    report_ : object
        Figures of the training.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    _task = "ridge"

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        gamma: float | str = "scale",
        clusters: int | None = None,
        landmarks: int | None = None,
        iterations: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.alpha, self.gamma, self.clusters, self.landmarks = alpha, gamma, clusters, landmarks
        self.iterations, self.n_jobs, self.random_state = iterations, n_jobs, random_state
