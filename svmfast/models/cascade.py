"""Two models in one: a fast one for rows far from every boundary, the exact one for the others.

Compressed models have no certificate worth its name (the norm of their error is as large as the model's own),
but how often they err is known from rows on which both were asked. With an error chosen there for a bound,
a row farther than that from every boundary is answered by the fast model: statistically, not provably.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from svmfast.caches import Cacheless, cached
from svmfast.errors import ModelContentError, UnsupportedError
from svmfast.models.base import Model, Record, ScalarField, Schema, as_edited
from svmfast.models.certified import check_same_labels
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False)
class CascadeModel(Cacheless):
    """`fast`, with `error` for the bound of every decision value, and `exact` for what that leaves open.

    Attributes
    ----------
    fast : Model
        Of any kind but this one.
    exact : KernelExpansion
    error : float
        Chosen by the method cascade, or for example the 99.9 % quantile in the report of compress.
    provenance : mapping of str to str

    Raises
    ------
    UnsupportedError
        `exact` and `fast` differ in type or labels, or they are regression models, of which a constant
        error tells nothing about single rows.
    """

    fast: Model
    exact: KernelExpansion
    error: float
    provenance: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "cascade"
    has_error_bound: ClassVar[bool] = True
    is_rigorous: ClassVar[bool] = False
    schema: ClassVar[Schema] = Schema(
        scalars=(ScalarField("error", "float", since=2),),
        embedded=("fast", "exact"),
        own=("fast",),
        source="exact",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.error < math.inf:
            raise ModelContentError("error", "not an error", "a number of at least 0", f"{self.error:g}")
        check_same_labels(self.fast, self.exact)
        if self.fast.head.is_regression:
            raise UnsupportedError(
                "an assumed error is the same for every row and tells no regression values apart",
                "predict with one of the models",
            )

    @property
    def head(self) -> Head:
        """The fast model's head."""
        return self.fast.head

    @property
    def n_features(self) -> int:
        """Width of the wider model."""
        return max(self.fast.n_features, self.exact.n_features)

    @property
    def embedded_exact(self) -> KernelExpansion:
        """The exact model."""
        return self.exact

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Return the fast model's decision values."""
        return self.fast.decision_values(rows, threads=threads)

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return the fast model's decision values and, for each, the assumed error."""
        decisions = self.fast.decision_values(rows, threads=threads)
        return decisions, np.full(decisions.shape, self.error)

    @cached
    def working_bytes(self) -> int:
        """Upper limit on the bytes that a prediction needs besides the model's arrays and the rows."""
        return self.fast.working_bytes + self.exact.working_bytes

    def to_record(self) -> Record:
        """Return everything needed to rebuild the model."""
        embedded = {"fast": self.fast, "exact": self.exact}
        return Record(self.kind, self.provenance, {"error": self.error}, {}, embedded)

    def uncertified(self) -> CascadeModel:
        """Return the model with a note that its error is no longer the one that was measured."""
        return replace(self, provenance=as_edited(self.provenance))

    @classmethod
    def from_record(cls, record: Record) -> CascadeModel:
        """Make the model; raise ModelContentError where the content contradicts itself."""
        for name in cls.schema.embedded:
            if name not in record.embedded:
                raise ModelContentError(name, "no such model inside", "a fast and an exact one")
        fast, exact = record.embedded["fast"], record.embedded["exact"]
        try:
            return cls(fast, exact, float(record.scalars["error"]), dict(record.provenance))  # type: ignore[arg-type]
        except UnsupportedError as error:
            raise ModelContentError(
                "fast", str(error), "a classifier of the same labels as the exact one"
            ) from error
