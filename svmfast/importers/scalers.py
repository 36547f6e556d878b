"""Converts scikit-learn's fitted scalers to the scaling of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray

#: The class names of the supported scalers.
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")


def composed(first: Scaling, later: Scaling, called: str) -> Scaling:
    """Return the map `first` and then `later`, which is the step `called`, with the names of `later`.

    Raises
    ------
    UnsupportedError
        The first map clips, so that the composition is not a Scaling.
    """
    if first.clip is not None:
        raise UnsupportedError(
            f"{called} follows a scaler that clips", "clip in the last scaler only, or scale once"
        )
    if len(later) != len(first):
        raise UnsupportedError(
            f"{called} scales {len(later)} features, the step before it {len(first)}",
            "fit the pipeline as a whole",
        )
    # ((x - a) f - b) g = (x - (a + b / f)) f g
    offset = first.offset + later.offset / first.factor
    return replace(later, offset=offset, factor=first.factor * later.factor)


def is_scaler(step: Any) -> bool:
    """Return whether a step of a pipeline is one of scikit-learn's scalers."""
    return _is_one_of(SCALERS, step)


def is_imputer(step: Any) -> bool:
    """Return whether a step of a pipeline is scikit-learn's SimpleImputer."""
    return _is_one_of(("SimpleImputer",), step)


def _is_one_of(names: Sequence[str], step: Any) -> bool:
    return any(
        one.__name__ in names and one.__module__.partition(".")[0] == "sklearn" for one in type(step).__mro__
    )


def values_for_missing(imputer: Any, called: str) -> FloatArray:
    """Return the values that a fitted SimpleImputer puts in place of nan, ``(d,)``.

    Raises
    ------
    UnsupportedError
        It is not fitted, replaces another value than nan, or removes or adds columns.
    """
    if not hasattr(imputer, "statistics_"):
        raise UnsupportedError(f"{called} is not fitted", "call its fit first")
    absent = imputer.missing_values
    if not (isinstance(absent, float) and np.isnan(absent)) or imputer.add_indicator:
        what = "adds columns (add_indicator)" if imputer.add_indicator else f"replaces {absent!r}"
        raise UnsupportedError(f"{called} {what}", "expected an imputer that only replaces nan")
    try:
        values = np.array(imputer.statistics_, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if not np.isfinite(values).all():
        raise UnsupportedError(
            f"{called} does not have a number for each feature", "leave out features without any value"
        )
    return values


def scaling_from(scaler: Any, called: str) -> Scaling:
    """Return the map of a fitted scaler.

    Raises
    ------
    UnsupportedError
        The scaler is not fitted, or its numbers are not finite.
    """
    kind = next(one.__name__ for one in type(scaler).__mro__ if one.__name__ in SCALERS)
    if not hasattr(scaler, "n_features_in_"):
        raise UnsupportedError(f"{called} is not fitted", "call its fit first")
    d = int(scaler.n_features_in_)
    clip = None
    if kind == "StandardScaler":
        offset = scaler.mean_ if scaler.with_mean else None
        scale = scaler.scale_ if scaler.with_std else None
    elif kind == "RobustScaler":
        offset = scaler.center_ if scaler.with_centering else None
        scale = scaler.scale_ if scaler.with_scaling else None
    elif kind == "MaxAbsScaler":
        offset, scale = None, scaler.scale_
        clip = (-1.0, 1.0) if getattr(scaler, "clip", False) else None
    else:  # x scale_ + min_
        low, high = map(float, scaler.feature_range)
        offset, scale = scaler.data_min_ - low / scaler.scale_, 1 / np.asarray(scaler.scale_)
        clip = (low, high) if getattr(scaler, "clip", False) else None
    offset = np.zeros(d) if offset is None else np.array(offset, dtype=np.float64)
    factor = np.ones(d) if scale is None else 1 / np.asarray(scale, dtype=np.float64)
    if offset.shape != (d,) or factor.shape != (d,) or not np.isfinite([offset, factor]).all():
        raise UnsupportedError(
            f"{called} does not have a finite offset and scale for each of {d} features", "fit it again"
        )
    return Scaling(offset, factor, clip)
