"""A model whose error is assumed instead of proven: what held-out rows showed of it, taken as a bound.

Compressed models have no certificate worth its name (the norm of their error is as large as the model's own),
but the differences on rows held out are known. With such a quantile for a bound a row far from every boundary
can be answered by the compressed model and the others by the exact one: statistically, not provably.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.models.base import Model
from svmfast.models.certified import certifies
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False)
class AssumedError:
    """`model`, with `error` for the bound of every decision value.

    Attributes
    ----------
    model : Model
        Of any kind without a certificate of its own.
    error : float
        For example the 99.9 % quantile in the report of compress.

    Raises
    ------
    UnsupportedError
        The model has a certificate, which is better; or it is a regression model, of which a constant error
        tells nothing about single rows.
    """

    model: Model
    error: float
    has_certificate = True
    embedded_exact = None

    def __post_init__(self) -> None:
        if certifies(self.model):
            raise UnsupportedError("the model has a certificate of its own", "leave out the assumed error")
        if self.model.head.is_regression:
            raise UnsupportedError(
                "an assumed error is the same for every row and tells no regression values apart",
                "predict with one of the models",
            )

    @property
    def kind(self) -> str:
        """The kind of the model."""
        return self.model.kind

    @property
    def head(self) -> Head:
        """The model's head."""
        return self.model.head

    @property
    def n_features(self) -> int:
        """The model's width."""
        return self.model.n_features

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Return the model's decision values."""
        return self.model.decision_values(rows, threads=threads)

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return decision values and, for each, the assumed error."""
        decisions = self.model.decision_values(rows, threads=threads)
        return decisions, np.full(decisions.shape, self.error)
