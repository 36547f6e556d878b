"""A model with a scaling in front of it: it accepts unscaled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError, UnsupportedError
from svmfast.models.base import CountedModel, Model, Record, Schema, bounded, one_line, part
from svmfast.models.certified import bounds_its_error, certifies
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaling import SCALING_ARRAYS, SCALING_SCALARS, Scaling
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False, repr=False)
class ScaledModel:
    """``model(scaling(row))``.

    Attributes
    ----------
    model : Model
        A model of any other kind, which takes scaled rows.
    scaling : Scaling
    own_provenance : mapping of str to str
        The origin of a LIBSVM model, which its text format cannot store; other kinds store their own.

    Raises
    ------
    ModelContentError
        The number of class names differs from the number of classes, or `model` already has a scaling.
    UnsupportedError
        The kernel is precomputed.
    """

    model: Model
    scaling: Scaling
    own_provenance: Mapping[str, str] | None = None

    kind: ClassVar[str] = "scaled"
    schema: ClassVar[Schema] = Schema(
        scalars=SCALING_SCALARS,
        arrays=SCALING_ARRAYS,
        embedded=("model",),
        own=("model",),
        outermost=True,
    )

    def __post_init__(self) -> None:
        if isinstance(self.model, ScaledModel):
            raise ModelContentError("model", "a model with its own scaling", "one without")
        if isinstance(self.model, KernelExpansion) and self.model.kernel.kind == "precomputed":
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

    def __repr__(self) -> str:
        return one_line(self)

    @property
    def summary(self) -> str:
        """The part of ``repr`` that is specific to this kind."""
        return f"{self.scaling.summary}, {part('before a', self.model)}"

    @property
    def head(self) -> Head:
        """The model's head."""
        return self.model.head

    @property
    def n_features(self) -> int:
        """Number of columns of the rows before they are scaled."""
        return len(self.scaling) if self.scaling.ranges else max(len(self.scaling), self.model.n_features)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The model's origin, as recorded in its file."""
        own: Mapping[str, str] = getattr(self.model, "provenance", None) or self.own_provenance or {}
        return own

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Return the model's decision values for the scaled rows, ``(n, p)``."""
        return _joined([self.model.decision_values(few, threads=threads) for few in self.scaling.parts(rows)])

    @property
    def has_error_bound(self) -> bool:
        """Whether the model has bounds, proven or assumed, on the error of its decision values."""
        return bounds_its_error(self.model)

    @property
    def is_rigorous(self) -> bool:
        """Whether these bounds are proven."""
        return certifies(self.model)

    @property
    def embedded_exact(self) -> KernelExpansion | None:
        """The exact model embedded in the same file; it takes scaled rows."""
        return self.model.embedded_exact if bounds_its_error(self.model) else None

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return decision values and bounds for the scaled rows, both ``(n, p)``."""
        if not bounds_its_error(self.model):
            raise UnsupportedError("the model has no certificate", "convert again, with a `certificate`")
        model = self.model
        values, bounds = zip(
            *(model.certified_values(few, threads=threads) for few in self.scaling.parts(rows)), strict=True
        )
        return _joined(values), _joined(bounds)

    @property
    def has_validity_bound(self) -> bool:
        """Whether the model's validity bound is known."""
        return bounded(self.model)

    def inside_bound(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for each row whether it lies inside the model's validity bound; ``(n,)`` bool."""
        if not bounded(self.model):
            raise UnsupportedError(
                "the model has no validity bound", "only models made by approximate have one"
            )
        model = self.model
        return _joined([model.inside_bound(few) for few in self.scaling.parts(rows)])

    def multiply_adds(self, rows: Rows) -> float:
        """Return the mean number of multiply-adds for a row, including one for the scaling of each column."""
        inner: Any = self.model
        return mean_work(inner, rows, self.scaling) + len(self.scaling)

    @property
    def working_bytes(self) -> int:
        """Upper bound on the bytes that a prediction needs in addition to the model's arrays and the rows."""
        # For each column, the two ends of its range, and its scaled zero as computed and as read back.
        return self.model.working_bytes + 40 * len(self.scaling)

    def to_record(self) -> Record:
        """Return everything needed to rebuild the model."""
        scalars, arrays = self.scaling.stored()
        return Record(self.kind, dict(self.own_provenance or {}), scalars, arrays, {"model": self.model})

    @classmethod
    def from_record(cls, record: Record) -> ScaledModel:
        """Return the model that `record` describes; raise ModelContentError if its parts are inconsistent."""
        if "model" not in record.embedded:
            raise ModelContentError("model", "no embedded model", "one for scaled rows")
        scaling = Scaling.from_stored(record.scalars, record.arrays)
        try:
            return cls(record.embedded["model"], scaling, dict(record.provenance))
        except UnsupportedError as error:
            raise ModelContentError("model", str(error), "a kernel of vectors") from error


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def scaling_of(model: Model) -> Scaling | None:
    """Return the scaling that a model carries, if any."""
    return model.scaling if isinstance(model, ScaledModel) else None


def names_of_labels(model: Model) -> dict[float, str] | None:
    """Return the name of each label, or None if the model's classes have no names."""
    scaling = scaling_of(model)
    return None if scaling is None else scaling.names_of_labels


def unscaled(model: Model) -> Model:
    """Return the model that takes scaled rows: the one inside a ScaledModel, or `model` itself."""
    return model.model if isinstance(model, ScaledModel) else model


def mean_work(model: CountedModel, rows: Rows, scaling: Scaling | None) -> float:
    """Return the mean number of multiply-adds of a model for a row, after `scaling`, which is not counted."""
    if scaling is None:
        return model.multiply_adds(rows)
    found = [(len(few), float(model.multiply_adds(few))) for few in scaling.parts(rows)]
    first = found[0][1]  # the mean is exact where there is one part
    return first + sum(n * (one - first) for n, one in found) / max(1, len(rows))


def with_scaling(model: Model, scaling: Scaling | None) -> Model:
    """Return `model` with `scaling` in front of it, or `model` itself if `scaling` is None."""
    if scaling is None:
        return model
    labels = model.head.labels
    return ScaledModel(model, scaling.for_labels(None if labels is None else labels.tolist()))
