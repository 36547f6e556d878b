"""Kernel expansions with one score for each class, which share all vectors: compress makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from svmfast.errors import NotFiniteError
from svmfast.models.expansion import VectorModel
from svmfast.models.sizes import expect
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False, repr=False)
class ScoreModel(VectorModel):
    """s_c(z) = sum_j coef_cj K(x_j, z) - rho_c for each class c, of which the largest score wins."""

    provenance: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "scores"

    def __post_init__(self) -> None:
        n, k, kernel = len(self.sv), self.head.n_classes, self.kernel
        expect("head", self.head.one_vs_rest, "no score for each class", "one_vs_rest")
        known = kernel.kind != "precomputed" and 0 <= kernel.degree < 2**31
        expect("kernel", known, "not a kernel of vectors", "one, with its degree", kernel.kind)
        shape = self.sv_coef.shape
        expect("sv_coef", shape == (k, n), f"shape {shape}", f"{(k, n)}")
        expect("rho", self.rho.shape == (k,), f"{self.rho.size} values", f"{k}, one for each class")

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the scores of the classes, ``(n, k)``."""
        values = self._engine.decision_values(rows, threads=threads)
        if not np.isfinite(values).all():
            raise NotFiniteError("a score leaves the range of floating point")
        return values
