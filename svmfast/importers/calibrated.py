"""CalibratedClassifierCV of scikit-learn: its sigmoid, if it is LIBSVM's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.importers.machines import machine_type


def is_calibrated(estimator: Any) -> bool:
    """Return whether an estimator is a CalibratedClassifierCV."""
    return any(
        one.__name__ == "CalibratedClassifierCV" and one.__module__.partition(".")[0] == "sklearn"
        for one in type(estimator).__mro__
    )


def calibrated_estimator(calibrated: Any, called: str) -> Any:
    """Return the estimator in a fitted CalibratedClassifierCV.

    Raises
    ------
    UnsupportedError
        It is not fitted, or its probabilities are not a single sigmoid of a decision value.
    """
    fitted = getattr(calibrated, "calibrated_classifiers_", None)
    if not fitted:
        raise UnsupportedError(f"{called} is not fitted", "call its fit first")
    if len(fitted) != 1:
        raise UnsupportedError(
            f"{called} is an ensemble of {len(fitted)} calibrated estimators", "fit it with ensemble=False"
        )
    (one,) = fitted
    alone = "or import the estimator in it, without probabilities"
    if one.method != "sigmoid":
        raise UnsupportedError(
            f"{called} is calibrated by method='{one.method}'", f"fit it with method='sigmoid', {alone}"
        )
    if len(one.calibrators) != 1:
        raise UnsupportedError(
            f"{called} has a sigmoid for each of {len(one.calibrators)} classes, but LIBSVM couples one for "
            "each pair",
            f"fit SVC with probability=True, {alone}",
        )
    return one.estimator


def with_sigmoid(calibrated: Any, machine: Any, called: str) -> Any:
    """Return a copy of the SVC in a CalibratedClassifierCV whose decision value is the log-odds.

    The estimator predicts the more probable class, not the side of the machine's decision value. Its
    probability of the second class is 1 / (1 + exp(a T + b)), with T = -f of LIBSVM's value f. So b - a f is
    the logarithm of the odds of the first class: as a decision value it has that class on its positive side,
    and LIBSVM's sigmoid 1 / (1 + exp(A f + B)) with A = -1 and B = 0 gives the probability.
    """
    if machine_type(machine) not in ("c_svc", "nu_svc") or not hasattr(machine, "_dual_coef_"):
        raise UnsupportedError(
            f"{called} is calibrated, but a {type(machine).__name__}", "expected SVC or NuSVC of scikit-learn"
        )
    (sigmoid,) = calibrated.calibrated_classifiers_[0].calibrators
    a, b = float(sigmoid.a_), float(sigmoid.b_)
    made = copy.copy(machine)
    made._dual_coef_, made._intercept_ = machine._dual_coef_ * -a, machine._intercept_ * -a + b
    made._probA, made._probB = np.array([-1.0]), np.array([0.0])
    return made
