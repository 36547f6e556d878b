"""The description of a model or a data set: its figures by name, in the order in which they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from svmfast.figures import plain
from svmfast.models.base import KINDS, Model, Record
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import bounds_its_error, certifies
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows

#: The most distinct labels of data that are listed one by one; otherwise only their range is given.
LISTED_LABELS = 20


def describe_model(model: Model) -> dict[str, Any]:
    """Return a model's figures as plain JSON types.

    All kinds have ``kind``, ``svm_type``, ``labels`` (or None), ``functions``, ``features`` and
    ``probability``. An exact model also has figures of its kernel and support vectors. A container kind has
    ``certificate`` (whether there is one), ``embedded_exact`` (a model or None), scalars and array shapes. A
    cascade also has the figures of its ``fast`` model, and a scaled model those of its ``scaling`` and of the
    ``model`` that it scales for.
    """
    head = model.head
    description: dict[str, Any] = {
        "kind": model.kind,
        "svm_type": head.svm_type,
        "labels": None if head.labels is None else [int(label) for label in head.labels],
        "functions": head.n_functions,
        "features": model.n_features,
        "probability": head.has_probability,
    }
    if isinstance(model, KernelExpansion):
        kernel = model.kernel
        description["kernel"] = kernel.kind
        description |= kernel.parameters
        description["support_vectors"] = len(model.sv)
        if model.nr_sv is not None:
            description["support_vectors_of_labels"] = [int(count) for count in model.nr_sv]
        description["stored_values"] = model.sv.nnz
        description["max_squared_norm"] = plain(_largest_squared_norm(model.sv))
    elif model.kind in KINDS:
        record: Record = model.to_record()  # type: ignore[attr-defined]
        description["provenance"] = dict(getattr(model, "provenance", record.provenance))
        description["certificate"] = certifies(model)
        embedded = model.embedded_exact if bounds_its_error(model) else None
        description["embedded_exact"] = (
            None
            if embedded is None
            else {"kernel": embedded.kernel.kind, "support_vectors": len(embedded.sv)}
        )
        if isinstance(model, ScaledModel):
            description["scaling"] = describe_scaling(model.scaling)
            description["model"] = describe_model(model.model)
            return description
        description["scalars"] = {
            name: value for name, value in record.scalars.items() if name not in description
        }
        if isinstance(model, CascadeModel):
            description["fast"] = describe_model(model.fast)
        description["arrays"] = {name: list(array.shape) for name, array in record.arrays.items()}
    return description


def describe_scaling(scaling: Scaling) -> dict[str, Any]:
    """Return the figures of a scaling: parameters common to all columns, and counts of columns."""
    description: dict[str, Any] = {"columns": len(scaling)}
    if scaling.ranges is not None:
        description |= {"lower": scaling.ranges.lower, "upper": scaling.ranges.upper}
    description["dropped_columns"] = int(np.count_nonzero(scaling.factor == 0))
    description["columns_with_moved_zeros"] = scaling.moved_zeros
    description["digits"] = scaling.digits
    description["clip"] = None if scaling.clip is None else list(scaling.clip)
    target = scaling.target
    description["labels"] = (
        None if target is None else [target.minimum, target.maximum, target.lower, target.upper]
    )
    for name in ("feature_names", "class_names"):
        names = getattr(scaling, name)
        description[name] = None if names is None else list(names)
    return description


def _largest_squared_norm(rows: Rows) -> float:
    with np.errstate(over="ignore"):
        return float(rows.squared_norms().max()) if len(rows) else 0.0


class DataSummary:
    """Figures of data, collected block by block in bounded memory."""

    def __init__(self) -> None:
        self.rows = self.features = self.values = 0
        self.empty_rows = 0
        self.max_squared_norm = 0.0
        self.least_value, self.greatest_value = math.inf, -math.inf
        self.labels: dict[float, int] | None = {}
        self.least_label, self.greatest_label = math.inf, -math.inf

    def add(self, rows: Rows, labels: FloatArray) -> None:
        """Add a block."""
        if not len(rows):
            return
        self.rows += len(rows)
        self.values += rows.nnz
        self.empty_rows += int(np.count_nonzero(np.diff(rows.indptr) == 0))
        self.max_squared_norm = max(self.max_squared_norm, _largest_squared_norm(rows))
        if rows.nnz:
            self.features = max(self.features, int(rows.indices.max()) + 1)
            self.least_value = min(self.least_value, float(rows.values.min()))
            self.greatest_value = max(self.greatest_value, float(rows.values.max()))
        if np.isnan(labels).all():
            return  # rows without labels
        self.least_label = min(self.least_label, float(labels.min()))
        self.greatest_label = max(self.greatest_label, float(labels.max()))
        if self.labels is not None:
            for label, count in zip(*np.unique(labels, return_counts=True), strict=True):
                self.labels[float(label)] = self.labels.get(float(label), 0) + int(count)
            if len(self.labels) > LISTED_LABELS:
                self.labels = None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types."""
        cells = self.rows * self.features
        return {
            "rows": self.rows,
            "features": self.features,
            "stored_values": self.values,
            "density": self.values / cells if cells else 0.0,
            "rows_without_features": self.empty_rows,
            "value_range": [self.least_value, self.greatest_value] if self.values else None,
            "max_squared_norm": plain(self.max_squared_norm),
            "labels": None
            if self.labels is None
            else [{"label": label, "rows": count} for label, count in sorted(self.labels.items())],
            "label_range": [self.least_label, self.greatest_label] if self.labels != {} else None,
        }


def describe_data(blocks: Iterable[tuple[Rows, FloatArray]]) -> dict[str, Any]:
    """Return the figures of blocks of rows and their labels."""
    summary = DataSummary()
    for rows, labels in blocks:
        summary.add(rows, labels)
    return summary.as_dict()
