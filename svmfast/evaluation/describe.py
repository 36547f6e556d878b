"""The description of a model or a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from svmfast.figures import Figures, computed, figure
from svmfast.models.base import KINDS, Model
from svmfast.models.expansion import VectorModel
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows

#: The most distinct labels of data that are listed one by one; otherwise only their range is given.
LISTED_LABELS = 20


def _some(help: str) -> Any:
    """A figure that is left out where a model or a file has none."""
    return figure(help, default=None, optional=True)


@dataclass(frozen=True, kw_only=True)
class ScalingDescription(Figures):
    """A scaling: parameters common to all columns, and counts of columns."""

    columns: int = figure("Columns.")
    lower: float | None = figure("Lower limit of scaled columns.", optional=True)
    upper: float | None = figure("Upper limit of scaled columns.", optional=True)
    dropped_columns: int = figure("Columns that are dropped.")
    columns_with_moved_zeros: int = figure("Columns whose zeros become values.")
    digits: int | None = figure("Digits of scaled values; null: all.")
    clip: list[float] | None = figure("The range to which values are clipped.")
    labels: list[float] | None = figure("Of scaled labels: minimum, maximum, lower, upper.")
    feature_names: list[str] | None = figure("Names of the columns.")
    class_names: list[str] | None = figure("Names of the classes.")


@dataclass(frozen=True, kw_only=True)
class ModelDescription(Figures):
    """A model: figures of all kinds, then those of LIBSVM's models, then those of ours."""

    path: str | None = _some("The file as it was named.")
    format: str | None = _some("libsvm-model, svmfast-model, data or empty.")
    kind: str = figure("The kind of model.")
    svm_type: str = figure("LIBSVM's name of the type.")
    labels: list[int] | None = figure("The model's labels; null for regression.")
    functions: int = figure("Decision functions.")
    features: int = figure("Features: the largest index.")
    probability: bool = figure("Whether the model has probabilities.")
    kernel: str | None = _some("The kernel's name.")
    degree: int | None = _some("Degree of the kernel.")
    gamma: float | None = _some("Gamma of the kernel.")
    coef0: float | None = _some("Coef0 of the kernel.")
    support_vectors: int | None = _some("Support vectors.")
    support_vectors_of_labels: list[int] | None = _some("Support vectors of each label.")
    stored_values: int | None = _some("Values that are stored.")
    max_squared_norm: float | None = _some("Largest squared norm of a support vector.")
    provenance: Mapping[str, Any] | None = _some("Where the model comes from.")
    certificate: bool | None = _some("Whether the model has a certificate.")
    embedded_exact: Mapping[str, Any] | None = _some(
        "The exact model inside, its kernel and number of support vectors."
    )
    scaling: ScalingDescription | None = _some("The scaling in front of a model.")
    map: list[int] | None = _some("Coordinates and columns of a linear map in front of a model.")
    model: Mapping[str, Any] | None = _some("The model that takes the scaled or mapped rows.")
    landmarks: int | None = _some("Landmarks that the rows are compared with.")
    scalars: Mapping[str, Any] | None = _some("Other figures that the kind of model stores, by name.")
    fast: Mapping[str, Any] | None = _some("The fast model of a cascade.")
    bytes: int | None = _some("Size of the file.")
    sha256: str | None = _some("Hash of the unpacked file.")


def describe_model(model: Model) -> dict[str, Any]:
    """The figures of a model as plain JSON types."""
    head = model.head
    found: dict[str, Any] = {
        "kind": model.kind,
        "svm_type": head.svm_type,
        "labels": None if head.labels is None else [int(label) for label in head.labels],
        "functions": head.n_functions,
        "features": model.n_features,
        "probability": head.has_probability,
    }
    if isinstance(model, VectorModel):
        found |= {
            "kernel": model.kernel.kind,
            **model.kernel.parameters,
            "support_vectors": len(model.sv),
            "support_vectors_of_labels": None if model.nr_sv is None else [int(n) for n in model.nr_sv],
            "stored_values": model.sv.nnz,
            "max_squared_norm": _largest_squared_norm(model.sv),
        }
        if model.provenance:
            found["provenance"] = dict(model.provenance)
    elif model.kind in KINDS:
        found |= _of_ours(model)
    return ModelDescription(**found).to_dict()


def _of_ours(model: Model) -> dict[str, Any]:
    """The figures that only models of ours have."""
    embedded = model.embedded_exact if model.has_error_bound else None
    found: dict[str, Any] = {
        "provenance": dict(model.provenance),
        "certificate": model.certifies,
        "embedded_exact": None
        if embedded is None
        else {"kernel": embedded.kernel.kind, "support_vectors": len(embedded.sv)},
    }
    if model.scaling is not None:
        return {**found, "scaling": describe_scaling(model.scaling), "model": describe_model(model.unscaled)}
    found["scalars"] = {
        one.name: value
        for one in fields(model)  # type: ignore[arg-type]
        if isinstance(value := getattr(model, one.name), int | float | str) and one.name != "n_features"
    }
    if model.behind_map is not None:
        map, inner = model.behind_map
        found |= {"map": list(map.matrix.shape), "model": describe_model(inner)}
    if model.fast_part is not model:
        found["fast"] = describe_model(model.fast_part)
    elif model.vectors is not None:
        found["landmarks"] = len(model.vectors)
    return found


def describe_scaling(scaling: Scaling) -> ScalingDescription:
    """The figures of a scaling."""
    target, names, classes = scaling.target, scaling.feature_names, scaling.class_names
    return ScalingDescription(
        columns=len(scaling),
        lower=None if scaling.ranges is None else scaling.ranges.lower,
        upper=None if scaling.ranges is None else scaling.ranges.upper,
        dropped_columns=int(np.count_nonzero(scaling.factor == 0)),
        columns_with_moved_zeros=scaling.moved_zeros,
        digits=scaling.digits,
        clip=None if scaling.clip is None else list(scaling.clip),
        labels=None if target is None else [target.minimum, target.maximum, target.lower, target.upper],
        feature_names=None if names is None else list(names),
        class_names=None if classes is None else list(classes),
    )


def _largest_squared_norm(rows: Rows) -> float:
    with np.errstate(over="ignore"):
        return float(rows.squared_norms().max()) if len(rows) else 0.0


def _label_rows(labels: Mapping[float, int] | None) -> list[dict[str, Any]] | None:
    if labels is None:
        return None
    return [{"label": label, "rows": count} for label, count in sorted(labels.items())]


def _nullable(value: float) -> float | None:
    return value


@dataclass(kw_only=True)
class DataDescription(Figures):
    """Figures of data, collected block by block in bounded memory."""

    path: str | None = _some("The file as it was named.")
    format: str | None = _some("libsvm-model, svmfast-model, data or empty.")
    rows: int = figure("Rows.", default=0)
    features: int = figure("Features: the largest index.", default=0)
    values: int = figure("Values that are stored.", key="stored_values", default=0)

    @computed.figure("Stored values over rows times features.")
    def density(self) -> float:
        cells = self.rows * self.features
        return self.values / cells if cells else 0.0

    empty_rows: int = figure("Rows without any value.", key="rows_without_features", default=0)

    value_range: list[float] | None = figure("Smallest and largest value.", default=None)
    max_squared_norm: float = figure("Largest squared norm of a row.", default=0.0, value=_nullable)
    labels: dict[float, int] | None = figure(
        "Rows of every label; null where there are many labels.",
        key="label_rows",
        value=_label_rows,
        default_factory=dict,
    )
    label_range: list[float] | None = figure("Smallest and largest label.", default=None)

    def add(self, rows: Rows, labels: FloatArray) -> None:
        if not len(rows):
            return
        self.rows += len(rows)
        self.values += rows.nnz
        self.empty_rows += int(np.count_nonzero(np.diff(rows.indptr) == 0))
        self.max_squared_norm = max(self.max_squared_norm, _largest_squared_norm(rows))
        if rows.nnz:
            self.features = max(self.features, int(rows.indices.max()) + 1)
            self.value_range = _widened(self.value_range, rows.values)
        if np.isnan(labels).all():
            return  # rows without labels
        self.label_range = _widened(self.label_range, labels)
        if self.labels is not None:
            for label, count in zip(*np.unique(labels, return_counts=True), strict=True):
                self.labels[float(label)] = self.labels.get(float(label), 0) + int(count)
            if len(self.labels) > LISTED_LABELS:
                self.labels = None


def _widened(known: list[float] | None, values: FloatArray) -> list[float]:
    """The smallest and largest value, also of those before."""
    ends = [float(values.min()), float(values.max())]
    return ends if known is None else [min(known[0], ends[0]), max(known[1], ends[1])]


def describe_data(blocks: Iterable[tuple[Rows, FloatArray]]) -> dict[str, Any]:
    """The figures of blocks of rows and their labels."""
    found = DataDescription()
    for rows, labels in blocks:
        found.add(rows, labels)
    return found.to_dict()
