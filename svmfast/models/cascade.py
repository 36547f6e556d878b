"""Two models in one: a fast model for rows far from every decision boundary, the exact model for the others.

No useful certificate is known for compressed models (the norm of their error is as large as the norm of the
model), but their error can be measured on rows that both models predict. From these measurements an error
bound is chosen. The fast model answers the rows whose labels no error within the bound can change: that these
labels are the exact model's is a statistical statement, not a proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from svmfast.caches import Cacheless, cached
from svmfast.errors import ModelContentError, UnsupportedError
from svmfast.models.base import Model
from svmfast.models.certified import check_same_labels
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.sizes import expect
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False, repr=False)
class CascadeModel(Cacheless, Model):
    """A fast model with an assumed error, and the exact model for the rows that this error leaves undecided.

    Its decision values are the fast model's alone; `exact` answers rows where ``answer`` is given it.
    The two have the same type and labels. Regression is refused: a constant error says nothing about single
    rows.
    """

    #: A model of any other kind.
    fast: Model
    exact: KernelExpansion
    #: The assumed bound on the error of every decision value: chosen by the method cascade or, for example,
    #: the 99.9 % quantile in the report of compress.
    error: float
    provenance: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "cascade"
    has_error_bound: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.error < math.inf:
            raise ModelContentError("error", "not an error", "a number of at least 0", f"{self.error:g}")
        simple = self.fast.scaling is None and self.fast.fast_part is self.fast
        expect("fast", simple, "a scaled model or a cascade", "another kind of model")
        check_same_labels(self.fast, self.exact)
        if self.fast.head.is_regression:
            raise UnsupportedError(
                "an assumed error is the same for every row and does not distinguish rows in regression",
                "predict with one of the models; approximate's bound the error of each row, and predict then "
                "leaves rows with a bound above a tolerance to the exact model",
            )

    @property
    def head(self) -> Head:
        return self.fast.head

    @property
    def n_features(self) -> int:
        return max(self.fast.n_features, self.exact.n_features)

    @property
    def fast_part(self) -> Model:
        return self.fast

    @property
    def assumed_error(self) -> float:
        return self.error

    @property
    def vectors(self) -> Rows | None:
        return self.exact.vectors

    @property
    def embedded_exact(self) -> KernelExpansion:
        return self.exact

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        return self.fast.decision_values(rows, threads=threads)

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Compute the fast model's decision values; the bound of each is the assumed error."""
        decisions = self.fast.decision_values(rows, threads=threads)
        return decisions, np.full(decisions.shape, self.error)

    @cached
    def working_bytes(self) -> int:
        return self.fast.working_bytes + self.exact.working_bytes
