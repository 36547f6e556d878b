"""A model with a scaling in front of it: it accepts unscaled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError, UnsupportedError
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaling import Scaling
from svmfast.rows import BoolArray, FloatArray, Rows


@dataclass(frozen=True, eq=False, repr=False)
class ScaledModel(Model):
    """``model(scaling(row))``, with a name for each class or none; not for precomputed kernels."""

    #: A model of any other kind, which takes scaled rows.
    model: Model
    scaling: Scaling = field()
    #: The origin of a LIBSVM model, which its text format cannot store; other kinds store their own.
    own_provenance: Mapping[str, str] | None = None

    kind: ClassVar[str] = "scaled"

    def __post_init__(self) -> None:
        if self.model.scaling is not None:
            raise ModelContentError("model", "a model with its own scaling", "one without")
        if self.model.expansion is not None and self.model.expansion.kernel.kind == "precomputed":
            raise UnsupportedError(
                "a precomputed kernel has no rows to scale", "scale the rows before computing the kernel"
            )
        names, labels = self.scaling.class_names, self.head.labels
        if names is not None and (labels is None or len(names) != len(labels)):
            expected = "no names" if labels is None else f"{len(labels)}, one for each label"
            raise ModelContentError("class_names", f"{len(names)} names", expected)
        if names is not None and labels is not None:
            named = replace(self.scaling, class_labels=tuple(map(float, labels)))
            object.__setattr__(self, "scaling", named)

    @property
    def head(self) -> Head:
        return self.model.head

    @property
    def n_features(self) -> int:
        """Number of columns of the rows before they are scaled."""
        return len(self.scaling) if self.scaling.ranges else max(len(self.scaling), self.model.n_features)

    @property
    def unscaled(self) -> Model:
        return self.model

    @property
    def provenance(self) -> Mapping[str, str]:
        return self.model.provenance or self.own_provenance or {}

    @property
    def has_error_bound(self) -> bool:
        return self.model.has_error_bound

    @property
    def assumed_error(self) -> float | None:
        return self.model.assumed_error

    @property
    def embedded_exact(self) -> KernelExpansion | None:
        return self.model.embedded_exact if self.has_error_bound else None

    @property
    def has_validity_bound(self) -> bool:
        return self.model.has_validity_bound

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the model's decision values for the scaled rows, ``(n, p)``."""
        return _joined([self.model.decision_values(few, threads=threads) for few in self.scaling.parts(rows)])

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Compute decision values and bounds for the scaled rows, both ``(n, p)``."""
        found = [self.model.certified_values(few, threads=threads) for few in self.scaling.parts(rows)]
        return _joined([values for values, _ in found]), _joined([bounds for _, bounds in found])

    def inside_bound(self, rows: Rows) -> BoolArray:
        return _joined([self.model.inside_bound(few) for few in self.scaling.parts(rows)])

    def multiply_adds(self, rows: Rows) -> float:
        """Compute the mean number of multiply-adds for a row, and one for the scaling of each column."""
        return mean_work(self.model, rows, self.scaling) + len(self.scaling)

    @property
    def working_bytes(self) -> int:
        # For each column, the two ends of its range, and its scaled zero as computed and as read back.
        return self.model.working_bytes + 40 * len(self.scaling)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def mean_work(model: Model, rows: Rows, scaling: Scaling | None) -> float:
    """Compute a model's mean number of multiply-adds for a row, after `scaling`, which is not counted."""
    if scaling is None:
        return model.multiply_adds(rows)
    found = [(len(few), float(model.multiply_adds(few))) for few in scaling.parts(rows)]
    first = found[0][1]  # the mean is exact where there is one part
    return first + sum(n * (one - first) for n, one in found) / max(1, len(rows))


def counted_work(
    model: Model,
    rows: Rows,
    exact: KernelExpansion | None = None,
    open_share: float | None = None,
    scaling: Scaling | None = None,
) -> float:
    """Multiply-adds per row, with those of `exact` for its share of the rows.

    A `scaling` that the rows still need is not counted.
    """
    count = mean_work(model.fast_part, rows, scaling)
    if exact is None or open_share is None:
        return count
    return count + open_share * mean_work(exact, rows, scaling)


def with_scaling(model: Model, scaling: Scaling | None) -> Model:
    """Put `scaling` in front of `model`; None changes nothing."""
    if scaling is None:
        return model
    labels = model.head.labels
    return ScaledModel(model, scaling.for_labels(None if labels is None else labels.tolist()))
