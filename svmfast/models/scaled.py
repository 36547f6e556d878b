"""A model with a scaling in front of it: it accepts unscaled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError, UnsupportedError
from svmfast.models.base import Model, Record, Schema, bounded
from svmfast.models.certified import bounds_its_error, certifies
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaling import SCALING_ARRAYS, SCALING_SCALARS, Scaling
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False)
class ScaledModel:
    """``model(scaling(row))``.

    Attributes
    ----------
    model : Model
        Of any other kind, in the space of scaled rows.
    scaling : Scaling
    own_provenance : mapping of str to str
        The origin of a LIBSVM model, which its text cannot hold; other kinds have their own record.

    Raises
    ------
    ModelContentError
        The names of the classes are not as many as the model's, or `model` has a scaling already.
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
            raise ModelContentError("model", "a model with a scaling of its own", "one without")
        if isinstance(self.model, KernelExpansion) and self.model.kernel.kind == "precomputed":
            raise UnsupportedError("a precomputed kernel has no rows to scale", "scale before the kernel")
        names, labels = self.scaling.class_names, self.head.labels
        if names is not None and (labels is None or len(names) != len(labels)):
            expected = "no names" if labels is None else f"{len(labels)}, one for each label"
            raise ModelContentError("class_names", f"{len(names)} names", expected)
        if names is not None and labels is not None:
            named = replace(self.scaling, class_labels=tuple(map(float, labels)))
            object.__setattr__(self, "scaling", named)

    @property
    def head(self) -> Head:
        """The model's head."""
        return self.model.head

    @property
    def n_features(self) -> int:
        """Width of the rows before they are scaled."""
        return len(self.scaling) if self.scaling.ranges else max(len(self.scaling), self.model.n_features)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The model's origin as recorded in its file."""
        own: Mapping[str, str] = getattr(self.model, "provenance", None) or self.own_provenance or {}
        return own

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Return the model's decision values of the scaled rows."""
        return self.model.decision_values(self.scaling.apply(rows), threads=threads)

    @property
    def has_error_bound(self) -> bool:
        """Whether the model knows, or assumes, how far its values can lie from the exact model's."""
        return bounds_its_error(self.model)

    @property
    def is_rigorous(self) -> bool:
        """Whether that is proven."""
        return certifies(self.model)

    @property
    def embedded_exact(self) -> KernelExpansion | None:
        """The exact model in the same file; it takes scaled rows."""
        return self.model.embedded_exact if bounds_its_error(self.model) else None

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return decision values and bounds, ``(n, p)``, of the scaled rows."""
        if not bounds_its_error(self.model):
            raise UnsupportedError("the model has no certificate", "convert again, with a `certificate`")
        return self.model.certified_values(self.scaling.apply(rows), threads=threads)

    @property
    def has_validity_bound(self) -> bool:
        """Whether the model has a validity bound that is known."""
        return bounded(self.model)

    def inside_bound(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for each row whether it lies inside the model's validity bound; ``(n,)`` bool."""
        if not bounded(self.model):
            raise UnsupportedError("the model has no validity bound", "ask for one that approximate made")
        return self.model.inside_bound(self.scaling.apply(rows))

    def multiply_adds(self, rows: Rows) -> float:
        """Return the mean count of multiply-adds a row costs, that of its columns' scaling included."""
        inner: Any = self.model
        return float(inner.multiply_adds(self.scaling.apply(rows))) + len(self.scaling)

    @property
    def working_bytes(self) -> int:
        """Upper limit on the bytes that a prediction needs besides the model's arrays and the rows."""
        # Both ends of each column, its scaled zero as computed and as read back.
        return self.model.working_bytes + 40 * len(self.scaling)

    def to_record(self) -> Record:
        """Return everything needed to rebuild the model."""
        scalars, arrays = self.scaling.stored()
        return Record(self.kind, dict(self.own_provenance or {}), scalars, arrays, {"model": self.model})

    def uncertified(self) -> ScaledModel:
        """Return the model without what was proved or measured of it."""
        if isinstance(self.model, KernelExpansion):
            return self
        inner: Any = self.model
        return replace(self, model=inner.uncertified())

    @classmethod
    def from_record(cls, record: Record) -> ScaledModel:
        """Make the model; raise ModelContentError where the content contradicts itself."""
        if "model" not in record.embedded:
            raise ModelContentError("model", "no model inside", "one in the space of scaled rows")
        scaling = Scaling.from_stored(record.scalars, record.arrays)
        try:
            return cls(record.embedded["model"], scaling, dict(record.provenance))
        except UnsupportedError as error:
            raise ModelContentError("model", str(error), "a kernel of vectors") from error


def scaling_of(model: Model) -> Scaling | None:
    """Return the scaling that a model carries."""
    return model.scaling if isinstance(model, ScaledModel) else None


def names_of_labels(model: Model) -> dict[float, str] | None:
    """Return the name of each label of a model whose classes have names."""
    scaling = scaling_of(model)
    return None if scaling is None else scaling.names_of_labels


def unscaled(model: Model) -> Model:
    """Return the model that takes scaled rows: the one inside, or `model` itself."""
    return model.model if isinstance(model, ScaledModel) else model


def with_scaling(model: Model, scaling: Scaling | None) -> Model:
    """Return `model` with a scaling in front; `model` itself if there is none."""
    if scaling is None:
        return model
    labels = model.head.labels
    return ScaledModel(model, scaling.for_labels(None if labels is None else labels.tolist()))
