"""Estimators that train with svmfast's methods: budgeted SGD, MEKA and trees of landmarks (DC-Pred++)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from svmfast.commands.functions import function_of
from svmfast.methods.registry import method as method_named
from svmfast.rows import FloatArray, Rows
from svmfast.sklearn.base import ModelClassifier, ModelEstimator, ModelRegressor, as_value_errors

Self = TypeVar("Self", bound="_Trained")


@dataclass(kw_only=True, eq=False, repr=False)
class _Trained(ModelEstimator):
    """An estimator that trains with one of svmfast's functions."""

    #: The method, its task if it has several, and its options among the parameters.
    _method: ClassVar[str]
    _task: ClassVar[str | None] = None
    _own: ClassVar[tuple[str, ...]]

    gamma: float | str = "scale"
    n_jobs: int | None = None
    random_state: Any = 0

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
        options = self._options(targets)
        with as_value_errors():
            options["gamma"] = _kernel_width(self.gamma, rows)
            made = function_of(method_named(self._method))(
                rows, targets, seed=self._seed(), threads=self._threads(), **options
            )
        assert made.model is not None, "a refusal is an error"
        self.model_, self.report_ = self._named(made.model), made.report
        return self

    def _options(self, targets: FloatArray) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in self._own}
        if self._task is not None:
            options["task"] = self._task
        if isinstance(self, ModelClassifier):
            return {**options, "C": float(self.C), "weights": self._class_weights(targets)}
        return {**options, "lambda_": float(vars(self)["alpha"])}


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetSVC(_Trained, ModelClassifier):
    """A classifier with at most `budget` support vectors per decision function, by stochastic gradients.

    The prediction cost is known before training, and training streams the rows: docs/methods.md.

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
    _own = ("budget", "passes")

    C: float = 1.0
    budget: int = 100
    passes: int = 10
    class_weight: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class _Meka(_Trained):
    _method = "meka"
    _own = ("clusters", "rank")

    kernel: str = "rbf"
    clusters: int = 10
    rank: int | None = None

    def _options(self, targets: FloatArray) -> dict[str, Any]:
        if self.kernel not in ("rbf", "laplacian"):
            raise ValueError(f"kernel is '{self.kernel}'; expected 'rbf' or 'laplacian'")
        return {**super()._options(targets), "laplacian": self.kernel == "laplacian"}


@dataclass(kw_only=True, eq=False, repr=False)
class MekaSVC(_Meka, ModelClassifier):
    """A classifier on the memory efficient kernel approximation (MEKA): docs/methods.md.

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
    class_weight, n_jobs, random_state
        As in :class:`BudgetSVC`.

    Attributes
    ----------
    model_ : RoutedModel
    report_, classes_, n_features_in_, feature_names_in_
        As in :class:`BudgetSVC`.
    """

    _task = "svc"

    C: float = 10.0
    class_weight: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class MekaRidge(_Meka, ModelRegressor):
    """Kernel ridge regression on the memory efficient kernel approximation (MEKA): docs/methods.md.

    Parameters
    ----------
    alpha : float, default=0.1
        Regularization, the `lambda_` of :func:`svmfast.meka`.
    kernel, gamma, clusters, rank, n_jobs, random_state
        As in :class:`MekaSVC`.

    Attributes
    ----------
    model_ : RoutedModel
    report_, n_features_in_, feature_names_in_
        As in :class:`BudgetSVC`.
    """

    _task = "ridge"

    alpha: float = 0.1


@dataclass(kw_only=True, eq=False, repr=False)
class _DCPred(_Trained):
    _method = "dcpred"
    _own = ("clusters", "landmarks", "iterations")

    clusters: int | None = None
    landmarks: int | None = None
    iterations: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class DCPredSVC(_DCPred, ModelClassifier):
    """A classifier on a tree of clusters with a few landmarks each (DC-Pred++): docs/methods.md.

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
    class_weight, n_jobs, random_state
        As in :class:`BudgetSVC`.

    Attributes
    ----------
    model_ : RoutedModel
    report_, classes_, n_features_in_, feature_names_in_
        As in :class:`BudgetSVC`.
    """

    _task = "svc"

    C: float = 10.0
    class_weight: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class DCPredRidge(_DCPred, ModelRegressor):
    """Ridge regression on a tree of clusters with a few landmarks each (DC-Pred++): docs/methods.md.

    Parameters
    ----------
    alpha : float, default=0.1
        Regularization, the `lambda_` of :func:`svmfast.dcpred`.
    gamma, clusters, landmarks, iterations, n_jobs, random_state
        As in :class:`DCPredSVC`.

    Attributes
    ----------
    model_ : RoutedModel
    report_, n_features_in_, feature_names_in_
        As in :class:`BudgetSVC`.
    """

    _task = "ridge"

    alpha: float = 0.1


def _kernel_width(gamma: float | str, rows: Rows) -> float:
    """The value of `gamma`, with "scale" and "auto" as in scikit-learn's SVC."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1 / rows.n_columns
    if gamma != "scale":
        raise ValueError(f"gamma is '{gamma}'; expected 'scale', 'auto' or a positive number")
    n = len(rows) * rows.n_columns
    variance = (rows.values**2).sum() / n - (rows.values.sum() / n) ** 2
    return float(1 / (rows.n_columns * variance)) if variance > 0 else 1.0
