"""The steps of a pipeline before its machine: a table of what each class of them does to a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.importers.attributes import attribute_of_fit, class_among, kernel_of, refused, vectors_of
from svmfast.kernels import Kernel
from svmfast.models.scaling import Scaling, identity
from svmfast.rows import FloatArray, Rows

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Front:
    """``z = scaling(x)[columns]``, and with a matrix ``matrix @ (z, 1)``."""

    scaling: Scaling
    #: (c,) distinct
    columns: IntArray
    #: (m, c + 1)
    matrix: FloatArray | None = None

    @classmethod
    def of(cls, scaling: Scaling, matrix: Any = None) -> Front:
        """Scale all columns, and mix them by a matrix, ``(m, c)``."""
        if matrix is not None:
            matrix = np.column_stack([np.asarray(matrix, dtype=np.float64), np.zeros(len(matrix))])
        return cls(scaling, np.arange(len(scaling)), matrix)

    def __len__(self) -> int:
        return len(self.columns) if self.matrix is None else len(self.matrix)

    @property
    def mixing(self) -> FloatArray:
        """The matrix, also where there is none."""
        c = len(self.columns)
        return np.eye(c, c + 1) if self.matrix is None else self.matrix

    def then(self, later: Front, called: str) -> Front:
        """This map and then `later`, which is that of the step `called`."""
        if len(self) != len(later.scaling):
            what = f"has {len(later.scaling)} features, the step before it {len(self)}"
            raise refused(called, what, "fit the pipeline as a whole")
        scaling = later.scaling
        if self.matrix is None:
            both = composed(self.scaling, scaling, self.columns, called)
            return replace(later, scaling=both, columns=self.columns[later.columns])
        if scaling.clip is not None or scaling.missing is not None:
            raise refused(called, "clips or replaces values that are mixed from several columns")
        matrix = self.matrix.copy()
        matrix[:, -1] -= scaling.offset
        matrix = (matrix * scaling.factor[:, None])[later.columns]
        if later.matrix is not None:
            matrix = later.matrix[:, :-1] @ matrix
            matrix[:, -1] += later.matrix[:, -1]
        return replace(self, matrix=matrix)

    def same(self, other: Front | None) -> bool:
        """Whether both map every row to the same numbers."""
        if other is None or not self.scaling.same_map(other.scaling):
            return False
        return np.array_equal(self.columns, other.columns) and np.array_equal(self.mixing, other.mixing)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """``z = matrix @ K(vectors, x)``."""

    kernel: Kernel
    vectors: Rows
    #: (m, n)
    matrix: FloatArray


def composed(first: Scaling, later: Scaling, columns: IntArray, called: str) -> Scaling:
    """The scaling `first` of all columns, and then `later`, of the step `called`, of some of them."""
    if later.is_identity and later.missing is None:
        return first
    if first.clip is not None:
        raise refused(called, "follows a scaler that clips", "clip in the last scaler only, or scale once")
    offset, factor, missing = first.offset.copy(), first.factor.copy(), first.missing
    if missing is None and later.missing is not None:
        missing = np.zeros(len(first))
        missing[columns] = later.missing / factor[columns] + offset[columns]
    # ((x - a) f - b) g = (x - (a + b / f)) f g
    offset[columns] += later.offset / factor[columns]
    factor[columns] *= later.factor
    return replace(first, offset=offset, factor=factor, clip=later.clip, missing=missing)


def joined(parts: Sequence[tuple[IntArray, Front]], width: int, called: str) -> Front:
    """The maps of parts of the columns, one after another: those of `called`, of rows of `width` columns."""
    from scipy.linalg import block_diag

    fronts = [front for _, front in parts]
    columns = np.concatenate([at[front.columns] for at, front in parts])
    if len(np.unique(columns)) < len(columns):
        raise refused(called, "uses a column twice")
    if len({(one.scaling.clip, one.scaling.missing is None) for one in fronts}) > 1:
        raise refused(called, "clips, or replaces missing values of, some columns only")
    whole, offset, factor, missing = fronts[0].scaling, np.zeros(width), np.ones(width), np.zeros(width)
    for at, front in parts:
        own, one = front.columns, front.scaling
        offset[at[own]], factor[at[own]] = one.offset[own], one.factor[own]
        missing[at[own]] = 0 if one.missing is None else one.missing[own]
    scaling = Scaling(offset, factor, whole.clip, missing=None if whole.missing is None else missing)
    if all(one.matrix is None for one in fronts):
        return Front(scaling, columns)
    matrix = block_diag(*(one.mixing[:, :-1] for one in fronts))
    shift = np.concatenate([one.mixing[:, -1] for one in fronts])
    return Front(scaling, columns, np.column_stack([matrix, shift]))


def step_of(step: Any, called: str) -> Front | Landmarks:
    """What a fitted step does to a row."""
    kind = class_among(type(step), STEPS)
    if kind is None:
        name = type(step).__name__
        raise refused(called, f"is a {name}: {REASONS.get(name, _KNOWN)}")
    return STEPS[kind](step, called)


def flat(step: Any, called: str) -> Iterator[tuple[str, Any]]:
    """Yield a step, or those of a pipeline that do something, each preceded by its name for messages."""
    idle = type(step).__name__ == "FunctionTransformer" and step.func is None
    if class_among(type(step), ("Pipeline",)) is not None:
        for name, one in step.steps:
            yield from flat(one, f"{called}, '{name}'")
    elif not (idle or step is None or (isinstance(step, str) and step == "passthrough")):
        yield called, step


def front_of(whole: Any, called: str, width: int) -> Front:
    """What a fitted step or pipeline of steps does to a row of so many columns."""
    front = Front.of(identity(width))
    for name, one in flat(whole, called):
        part = step_of(one, name)
        if isinstance(part, Landmarks):
            raise refused(name, "has a kernel for a part of the columns")
        front = front.then(part, name)
    return front


def _width(step: Any, called: str) -> int:
    return int(attribute_of_fit(step, "n_features_in_", called))


def _scaler(step: Any, called: str) -> Front:
    d = _width(step, called)
    offset = step.mean_ if getattr(step, "with_mean", False) else getattr(step, "center_", None)
    scale, (low, high) = step.scale_, map(float, getattr(step, "feature_range", (-1, 1)))
    if hasattr(step, "data_min_"):  # a MinMaxScaler's x scale_ + min_
        offset, scale = step.data_min_ - low / scale, 1 / np.asarray(scale)
    offset = np.zeros(d) if offset is None else np.array(offset, dtype=np.float64)
    factor = np.ones(d) if scale is None else 1 / np.asarray(scale, dtype=np.float64)
    if offset.shape != (d,) or factor.shape != (d,) or not np.isfinite([offset, factor]).all():
        what = f"does not have a finite offset and scale for each of {d} features"
        raise refused(called, what, "fit it again")
    return Front.of(Scaling(offset, factor, (low, high) if getattr(step, "clip", False) else None))


def _imputer(step: Any, called: str) -> Front:
    statistics, absent = attribute_of_fit(step, "statistics_", called), step.missing_values
    if not (isinstance(absent, float) and np.isnan(absent)) or step.add_indicator:
        what = "adds columns (add_indicator)" if step.add_indicator else f"replaces {absent!r}"
        raise refused(called, what, "expected an imputer that only replaces nan")
    try:
        values = np.array(statistics, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if not np.isfinite(values).all():
        what = "does not have a number for each feature"
        raise refused(called, what, "leave out features without any value")
    return Front.of(replace(identity(len(values)), missing=values))


def _linear(step: Any, called: str) -> Front:
    """``matrix @ (x - offset)``."""
    d, offset = _width(step, called), getattr(step, "mean_", None)
    if class_among(type(step), ("LinearDiscriminantAnalysis",)) is not None:
        matrix = attribute_of_fit(step, "scalings_", called)[:, : step._max_components].T
        offset = step.xbar_ if step.solver == "svd" else None
    else:
        matrix = attribute_of_fit(step, "components_", called)
    if getattr(step, "whiten", False):
        scale = np.sqrt(step.explained_variance_)
        matrix = matrix / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    return Front.of(identity(d) if offset is None else Scaling(np.asarray(offset), np.ones(d)), matrix)


def _columns(step: Any, called: str) -> Front:
    places, parts = attribute_of_fit(step, "_transformer_to_input_indices", called), []
    if step.transformer_weights:
        raise refused(called, "has transformer_weights")
    for name, whole, _ in step.transformers_:
        at = np.array(places[name], dtype=np.int64)
        if len(at) and not (isinstance(whole, str) and whole == "drop"):
            parts.append((at, front_of(whole, f"{called}, '{name}'", len(at))))
    return joined(parts, _width(step, called), called)


def _nystroem(step: Any, called: str) -> Landmarks:
    vectors = vectors_of(attribute_of_fit(step, "components_", called))
    own = {one: getattr(step, one) for one in ("gamma", "coef0", "degree") if getattr(step, one) is not None}
    given = {"gamma": None, "coef0": 1, "degree": 3, **(step.kernel_params or {}), **own}
    kernel = kernel_of(step.kernel, given, vectors.n_columns, called)
    return Landmarks(kernel, vectors, np.asarray(step.normalization_, dtype=np.float64))


#: What each class of steps does to a row. A class stands for those that inherit it, too.
STEPS: dict[str, Callable[[Any, str], Front | Landmarks]] = {
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), _scaler),
    "SimpleImputer": _imputer,
    "SelectorMixin": lambda step, called: Front(identity(_width(step, called)), step.get_support(True)),
    "ColumnTransformer": _columns,
    **dict.fromkeys(("PCA", "IncrementalPCA", "TruncatedSVD", "LinearDiscriminantAnalysis"), _linear),
    "Nystroem": _nystroem,
}
#: Why other classes are refused.
REASONS = {
    "Normalizer": "it divides a row by its own norm, which is no linear map",
    "RBFSampler": "its cosines are no kernel values, as Nystroem's are",
    "PolynomialFeatures": "its products are no linear map; SVC(kernel='poly') has them in its kernel",
}
_KNOWN = "only scalers, imputers, selections of columns, PCA and Nystroem become a part of a model"
