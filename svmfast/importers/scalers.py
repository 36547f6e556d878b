"""Converts scikit-learn's fitted scalers to the scaling of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.importers.machines import attribute_of_fit, class_among
from svmfast.models.scaling import Scaling, identity

#: The class names of the supported scalers.
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")


def composed(first: Scaling, later: Scaling, called: str) -> Scaling:
    """The map `first` and then `later`, which is the step `called`, with the names of `later`."""
    if first.missing is not None:
        later = replace(later, missing=first.missing)
    if len(later) != len(first):
        raise UnsupportedError(
            f"{called} scales {len(later)} features, the step before it {len(first)}",
            "fit the pipeline as a whole",
        )
    if later.is_identity:
        return replace(later, offset=first.offset, factor=first.factor, clip=first.clip)
    if first.clip is not None:
        raise UnsupportedError(
            f"{called} follows a scaler that clips", "clip in the last scaler only, or scale once"
        )
    # ((x - a) f - b) g = (x - (a + b / f)) f g
    offset = first.offset + later.offset / first.factor
    return replace(later, offset=offset, factor=first.factor * later.factor)


def imputation_from(imputer: Any, called: str) -> Scaling:
    """The values that a fitted SimpleImputer puts in place of nan, in a scaling that changes nothing else."""
    statistics, absent = attribute_of_fit(imputer, "statistics_", called), imputer.missing_values
    if not (isinstance(absent, float) and np.isnan(absent)) or imputer.add_indicator:
        what = "adds columns (add_indicator)" if imputer.add_indicator else f"replaces {absent!r}"
        raise UnsupportedError(f"{called} {what}", "expected an imputer that only replaces nan")
    try:
        values = np.array(statistics, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if not np.isfinite(values).all():
        raise UnsupportedError(
            f"{called} does not have a number for each feature", "leave out features without any value"
        )
    return replace(identity(len(values)), missing=values)


def scaling_from(scaler: Any, called: str) -> Scaling:
    """The map of a fitted scaler."""
    kind = class_among(type(scaler), SCALERS)
    d = int(attribute_of_fit(scaler, "n_features_in_", called))
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
