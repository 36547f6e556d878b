"""Makes cells from centers: the rows of each cell, and bounds on the residual of its expansion."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.approximate.cells import Cell
from svmfast.methods.approximate.certification_sample import CertificationSample
from svmfast.methods.approximate.certify import NEGLIGIBLE, last_degree
from svmfast.methods.approximate.dual_expansion import DualExpansion
from svmfast.methods.approximate.residual import Tail, residual_tail
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.threads import map_with_threads


class OutOfTimeError(Exception):
    """The time limit of planning has passed."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CellMaker:
    """Makes the cells of one model.

    Attributes
    ----------
    terms : DualExpansion
    gamma : float
    sample : CertificationSample
        The rows for fitting and choosing.
    lowest, highest : int
        The orders that a polynomial may have.
    seed : int
        Seed of k-means.
    deadline : float
        In the time of ``time.monotonic``; cells that are not finished by then raise OutOfTimeError.
    threads : int
    progress : Progress
    """

    terms: DualExpansion
    gamma: float
    sample: CertificationSample
    lowest: int
    highest: int
    seed: int = 0
    deadline: float = math.inf
    threads: int = 1
    progress: Progress = silent

    def centers(self, size: int) -> FloatArray:
        """Return at most `size` centers, found by k-means on the fitting rows."""
        fitting = Rows.from_dense(self.sample.points[self.sample.fitting])
        return kmeans_centers(fitting, size, seed=self.seed)

    def cells(self, centers: FloatArray) -> tuple[Cell, ...]:
        """Return the cells about `centers`, leaving out centers that are nearest to no row."""
        nearest = nearest_center(self.sample.points, centers)
        order = np.argsort(nearest, kind="stable")
        start = np.searchsorted(nearest[order], np.arange(len(centers) + 1))
        filled = [c for c in range(len(centers)) if start[c + 1] > start[c] or len(centers) == 1]
        groups = [order[start[c] : start[c + 1]] for c in filled]
        squared = [
            self.sample.squared_distances(rows, centers[c]) for c, rows in zip(filled, groups, strict=True)
        ]
        reaches = [float(np.sqrt(np.quantile(s, 0.95))) if len(s) else 0.0 for s in squared]
        top = max(last_degree(self.terms, self.gamma, reach, self.highest) for reach in reaches)
        done = 0

        def tails(cell: tuple[int, float], threads: int) -> tuple[Tail, ...]:
            nonlocal done
            center, reach = centers[cell[0]], cell[1]
            found = tuple(self._tail(p, center, top, reach, threads) for p in range(self.terms.n_functions))
            done += 1
            self.progress(done, len(filled), f"certify {len(filled)} cell{'s' * (len(filled) != 1)}")
            return found

        all_tails = map_with_threads(tails, zip(filled, reaches, strict=True), self.threads)
        return tuple(
            Cell(np.ascontiguousarray(centers[c]), rows, s, t)
            for c, rows, s, t in zip(filled, groups, squared, all_tails, strict=True)
        )

    def _tail(self, p: int, center: FloatArray, top: int, reach: float, threads: int) -> Tail:
        """Return function p's residual: for the only allowed order, otherwise for all orders at once."""
        return residual_tail(
            self.terms.points_of(p),
            self.terms.beta[p],
            self.gamma,
            center,
            self.highest if self.lowest == self.highest else -1,
            top=top,
            reach=reach,
            negligible=NEGLIGIBLE,
            tick=self._check_time,
            threads=threads,
        )

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError


def nearest_center(points: FloatArray, centers: FloatArray) -> NDArray[np.int64]:
    """Return the index of the center nearest to each of ``(n, d)`` points."""
    if len(centers) == 1:
        return np.zeros(len(points), dtype=np.int64)
    squares = np.einsum("ij,ij->i", centers, centers)
    parts = [
        (squares - 2 * points[s : s + 4096] @ centers.T).argmin(axis=1) for s in range(0, len(points), 4096)
    ]
    nearest: NDArray[np.int64] = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return nearest
