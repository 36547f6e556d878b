"""Pseudo landmarks: cheap functions of a row's kernel values that serve as additional features of a cell.

Hsieh, Si and Dhillon, "Fast Prediction for Large-Scale Kernel Machines", NIPS 2014, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmfast.models.sizes import check_sizes, expect, total_of
from svmfast.rows import FloatArray, IntArray

#: The kinds of pseudo landmarks.
PSEUDO_KINDS = ("poly", "triangle")


@dataclass(frozen=True, eq=False)
class PseudoLandmarks:
    """The pseudo landmarks of all cells, cell by cell.

    ``poly``: products of two kernel values, c_i(x) c_j(x). ``triangle``: exp(-gamma r^2), where
    r = max_j | ||x - u_j|| - ||v - u_j|| | is a lower bound on the distance of x from a training row v.

    """

    #: ``poly`` or ``triangle``.
    kind: str
    #: (cells,) number of pseudo landmarks of each cell.
    sizes: IntArray
    #: (p, q) one row for each decision function.
    coef: FloatArray
    #: (q, 2) for ``poly``, the numbers of two landmarks of the cell, from 0; empty for ``triangle``.
    pairs: IntArray
    #: For ``triangle``, the distances ||v - u_j|| of each pseudo landmark from its cell's landmarks.
    distances: FloatArray

    @classmethod
    def none(cls, cells: int, functions: int) -> PseudoLandmarks:
        """Make empty pseudo landmarks for this number of cells and decision functions."""
        return cls(
            "poly",
            np.zeros(cells, np.int64),
            np.zeros((functions, 0)),
            np.zeros((0, 2), np.int64),
            np.zeros(0),
        )

    def check(self, sizes: IntArray, functions: int) -> None:
        """Check that the arrays fit cells with `sizes` landmarks, ``(cells,)``."""
        rows, q = self.coef.shape
        expect("pseudo_type", self.kind in PSEUDO_KINDS, "unknown kind", " or ".join(PSEUDO_KINDS), self.kind)
        expected = f"{functions}, one for each decision function"
        expect("pseudo_coef", rows == functions, f"{rows} rows", expected)
        # Their coefficients would take no bytes, so that a file could declare any number of them.
        expect("pseudo_coef", rows > 0 or not q, "pseudo landmarks without decision functions", "none")
        check_sizes("pseudo_sizes", self.sizes, len(sizes), q, "cells")
        if self.kind == "poly":
            shape = self.pairs.shape
            holds = shape == (q, 2) and self.distances.shape == (0,)
            expect("pseudo_pair", holds, f"pairs of shape {shape}", f"({q}, 2)")
            most = np.repeat(sizes, self.sizes)[:, None]
            holds = bool(((self.pairs >= 0) & (self.pairs < most)).all())
            what = "a landmark that its cell does not have"
            expect("pseudo_pair", holds, what, "numbers from 0 within the cell")
            return
        n = total_of(self.sizes * sizes)  # no overflow: both count elements of the file, fewer than 2^31
        holds = (
            self.distances.shape == (n,) and self.pairs.shape == (0, 2) and bool((self.distances >= 0).all())
        )
        what = "not the distances of the pseudo landmarks from their cells' landmarks"
        expect("pseudo_distance", holds, what, f"{n} numbers of 0 or more")

    def multiply_adds(self, sizes: IntArray, active: IntArray) -> FloatArray:
        """Compute the multiply-adds of each cell's pseudo landmarks, ``(cells,)``.

        Each one takes a product (poly) or `sizes` comparisons (triangle), and `active` coefficients.
        """
        each = np.ones_like(sizes) if self.kind == "poly" else sizes
        operations: FloatArray = (self.sizes * (each + active)).astype(np.float64)
        return operations
