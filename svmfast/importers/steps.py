"""The steps of a pipeline before its machine: a table of what each class of them does to a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.display import fault_of_name
from svmfast.importers.attributes import attribute_of_fit, class_among, kernel_of, refused, vectors_of
from svmfast.kernels import Kernel
from svmfast.models.encoding import Encoding, Feature, numbered
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
    #: How the columns of `scaling` are made of those before; None if they are the same.
    encoding: Encoding | None = None
    #: Words in place of missing values, of all columns.
    filled: tuple[str, ...] | None = None

    @classmethod
    def of(cls, scaling: Scaling, matrix: Any = None) -> Front:
        """Scale all columns, and mix them by a matrix, ``(m, c)``."""
        if matrix is not None:
            # The order in memory, which a file need not keep, decides how sums are rounded.
            matrix = np.ascontiguousarray(np.column_stack([matrix, np.zeros(len(matrix))]), dtype=np.float64)
        return cls(scaling, np.arange(len(scaling)), matrix)

    def __len__(self) -> int:
        return len(self.columns) if self.matrix is None else len(self.matrix)

    @property
    def width(self) -> int:
        """Number of columns that it takes."""
        return len(self.scaling) if self.encoding is None else len(self.encoding.columns)

    @property
    def mixing(self) -> FloatArray:
        """The matrix, also where there is none."""
        c = len(self.columns)
        return np.eye(c, c + 1) if self.matrix is None else self.matrix

    def then(self, later: Front, called: str) -> Front:
        """This map and then `later`, which is that of the step `called`."""
        if len(self) != later.width:
            what = f"has {later.width} features, the step before it {len(self)}"
            raise refused(called, what, "fit the pipeline as a whole")
        scaling = later.scaling
        if later.encoding is not None:
            return self._encoded(later, later.encoding, called)
        if self.filled is not None:
            raise refused(called, "follows an imputer of words, and is no one-hot encoder")
        if later.filled is not None and not self.same(Front.of(identity(self.width))):
            raise refused(called, "imputes words in columns that a step before it has changed")
        if self.matrix is None:
            both = composed(self.scaling, scaling, self.columns, called)
            return replace(later, scaling=both, columns=self.columns[later.columns], encoding=self.encoding)
        if scaling.clip is not None or scaling.missing is not None:
            raise refused(called, "clips or replaces values that are mixed from several columns")
        matrix = self.matrix.copy()
        matrix[:, -1] -= scaling.offset
        matrix = (matrix * scaling.factor[:, None])[later.columns]
        if later.matrix is not None:
            matrix = later.matrix[:, :-1] @ matrix
            matrix[:, -1] += later.matrix[:, -1]
        return replace(self, matrix=matrix)

    def _encoded(self, later: Front, encoding: Encoding, called: str) -> Front:
        """A later map, which encodes, by the columns before this one, which may fill in missing values."""
        missing = self.scaling.missing
        if self.encoding is not None or self.matrix is not None or not self.scaling.is_identity:
            raise refused(called, "encodes columns that a step before it has changed")
        filled = self.filled if missing is None else tuple(map(_word, missing.tolist()))
        made = encoding.taken_from(self.columns, numbered(len(self.scaling)), filled)
        if filled is None:
            return replace(later, encoding=made)
        values = [0.0 if one.is_indicator else float(filled[one.column]) for one in made.features]
        return replace(later, scaling=replace(later.scaling, missing=np.array(values)), encoding=made)

    def same(self, other: Front | None) -> bool:
        """Whether both map every row to the same numbers."""
        if other is None or not self.scaling.same_map(other.scaling):
            return False
        equal = np.array_equal(self.columns, other.columns) and np.array_equal(self.mixing, other.mixing)
        return equal and self.encoding == other.encoding


Parts = Sequence[tuple[IntArray, Front]]


@dataclass(frozen=True, eq=False)
class Landmarks:
    """``z = matrix @ K(vectors, x) + shift``."""

    kernel: Kernel
    vectors: Rows
    #: (m, n)
    matrix: FloatArray
    #: (m,)
    shift: FloatArray | float = 0.0


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


def joined(parts: Parts, width: int, called: str) -> Front:
    """The maps of parts of the columns, one after another: those of `called`, of rows of `width` columns."""
    from scipy.linalg import block_diag

    is_encoded = any(front.encoding is not None for _, front in parts)
    parts, encoding = _encoded_parts(parts, width, called) if is_encoded else (parts, None)
    width = width if encoding is None else len(encoding.features)
    fronts = [front for _, front in parts]
    columns = np.concatenate([at[front.columns] for at, front in parts])
    only = [one for one in fronts if one.encoding and all(f.is_indicator for f in one.encoding.features)]
    clips = {one.scaling.clip for one in fronts if one not in only or not one.scaling.is_identity}
    missing = {one.scaling.missing is None for one in fronts if one not in only}
    clip = next(iter(clips), None)
    if len(clips) > 1 or len(missing) > 1 or (only and clip is not None and not clip[0] <= 0 < 1 <= clip[1]):
        raise refused(called, "clips, or replaces missing values of, some columns only")
    if len(np.unique(columns)) < len(columns):
        return _mixed(parts, np.unique(columns), width, called)
    offset, factor, filled = np.zeros(width), np.ones(width), np.zeros(width)
    for at, front in parts:
        own, one = front.columns, front.scaling
        offset[at[own]], factor[at[own]] = one.offset[own], one.factor[own]
        filled[at[own]] = 0 if one.missing is None else one.missing[own]
    scaling = Scaling(offset, factor, clip, missing=filled if missing == {False} else None)
    if all(one.matrix is None for one in fronts):
        return Front(scaling, columns, encoding=encoding)
    matrix = block_diag(*(one.mixing[:, :-1] for one in fronts))
    shift = np.concatenate([one.mixing[:, -1] for one in fronts])
    return Front(scaling, columns, np.column_stack([matrix, shift]), encoding)


def _encoded_parts(parts: Parts, width: int, called: str) -> tuple[Parts, Encoding]:
    """The parts with columns of their own, and how these are made of the `width` columns before."""
    names, placed, made = numbered(width), [], list[Encoding]()
    for at, front in parts:
        own = front.encoding or Encoding(numbered(front.width), tuple(map(Feature, range(front.width))))
        placed.append((sum(len(one.features) for one in made) + np.arange(len(own.features)), front))
        made.append(own.taken_from(at, names))
    if any(a.categories.keys() & b.categories.keys() for a, b in combinations(made, 2)):
        raise refused(called, "encodes a column twice")
    fields = ("features", "ignored", "numbers")
    return placed, Encoding(names, *(sum((getattr(one, field) for one in made), ()) for field in fields))


def _mixed(parts: Parts, used: IntArray, width: int, called: str) -> Front:
    """The maps of parts that share columns, as one matrix of the columns that they use."""
    if any(front.scaling.clip is not None or front.scaling.missing is not None for _, front in parts):
        raise refused(called, "uses a column twice, and clips or replaces missing values")
    blocks = []
    for at, front in parts:
        own = front.columns
        weights = front.mixing[:, :-1] * front.scaling.factor[own]
        block = np.zeros((len(front), len(used) + 1))
        block[:, np.searchsorted(used, at[own])] = weights
        block[:, -1] = front.mixing[:, -1] - weights @ front.scaling.offset[own]
        blocks.append(block)
    return Front(identity(width), used, np.vstack(blocks))


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
    if _word(absent) != "" or step.add_indicator:
        what = "adds columns (add_indicator)" if step.add_indicator else f"replaces {absent!r}"
        raise refused(called, what, "expected an imputer that only replaces nan")
    given = np.asarray(statistics).tolist()
    filled = tuple(map(_word, given))
    if not all(filled):
        raise refused(
            called, "does not have a value for each feature", "leave out features without any value"
        )
    front = Front.of(identity(len(given)))
    if any(isinstance(one, str) for one in given):
        return replace(front, filled=filled)
    return replace(front, scaling=replace(front.scaling, missing=np.array(given, dtype=np.float64)))


def _word(value: Any) -> Any:
    """A category as a word, '' for a missing one; None for what is neither a word nor a finite number."""
    if value is None or value != value:
        return ""
    if isinstance(value, int | float):
        return f"{float(value):.17g}" if abs(value) < np.inf else None
    return value if isinstance(value, str) and value and fault_of_name(value) is None else None


def _one_hot(step: Any, called: str) -> Front:
    """A feature for each category of each column, and one for all infrequent ones of it."""
    found, drop = attribute_of_fit(step, "categories_", called), step.drop_idx_
    infrequent = step.infrequent_categories_ if step._infrequent_enabled else [None] * len(found)
    falls_back = step.handle_unknown in ("infrequent_if_exist", "warn")
    features, ignored, numbers = list[Feature](), list[Feature](), list[int]()
    for column, (given, some) in enumerate(zip(found, infrequent, strict=True)):
        values, some = np.asarray(given).tolist(), [] if some is None else np.asarray(some).tolist()
        words, rare = [*map(_word, values)], tuple(map(_word, some))
        kinds = {isinstance(one, str) for one, word in zip(values, words, strict=True) if word}
        rounded = any(isinstance(one, int) and abs(one) >= 2**53 for one in values)
        if None in words or len(kinds) > 1 or len(set(words)) < len(words) or rounded:
            what = f"has categories of column {column + 1} that are not only words or numbers below 2^53"
            raise refused(called, what)
        numbers += [] if True in kinds else [column]
        dropped = None if drop is None or drop[column] is None else words[int(drop[column])]
        for group in (*((one,) for one in words if one not in rare), *((rare,) if rare else ())):
            to = ignored if dropped in group else features
            to.append(Feature(column, group, falls_back and group is rare))
        if step.handle_unknown != "error" and not (falls_back and rare):
            ignored.append(Feature(column, others=True))
    encoding = Encoding(numbered(len(found)), tuple(features), tuple(ignored), tuple(numbers))
    return replace(Front.of(identity(len(features))), encoding=encoding)


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


def _union(step: Any, called: str) -> Front:
    d, named = _width(step, called), [(name, one) for name, one in step.transformer_list if one != "drop"]
    if step.transformer_weights:
        raise refused(called, "has transformer_weights")
    return joined([(np.arange(d), front_of(one, f"{called}, '{name}'", d)) for name, one in named], d, called)


def _kernel_pca(step: Any, called: str) -> Landmarks:
    """``A' (k - m - mean(k) + mean(m))``, where m has the mean kernel values of the training rows."""
    vectors, center = vectors_of(attribute_of_fit(step, "X_fit_", called)), step._centerer
    given = {"gamma": step.gamma_, "coef0": step.coef0, "degree": step.degree}
    kernel = kernel_of(step.kernel, given, vectors.n_columns, called)
    weights = step.eigenvectors_ / np.sqrt(np.where(step.eigenvalues_ > 0, step.eigenvalues_, np.inf))
    shift = (center.K_fit_all_ - center.K_fit_rows_) @ weights
    return Landmarks(kernel, vectors, (weights - weights.mean(axis=0)).T, shift)


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
    "KernelPCA": _kernel_pca,
    "OneHotEncoder": _one_hot,
    "FeatureUnion": _union,
}
#: Why other classes are refused.
REASONS = {
    "Normalizer": "it divides a row by its own norm, which is no linear map",
    "RBFSampler": "its cosines are no kernel values, as Nystroem's are",
    "PolynomialFeatures": "its products are no linear map; SVC(kernel='poly') has them in its kernel",
}
_KNOWN = "only scalers, imputers, selections, OneHotEncoder, PCA and Nystroem become a part of a model"
