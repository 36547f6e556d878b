"""The ladder of expansions: each is built and measured, and the first that is good enough is taken.

All are measured on the planning rows, never on the rows of the report. A certificate takes far longer than
an expansion, so one is made only for an expansion that is accurate enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from svmfast.errors import NegativeAnswerError
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.expansion import Expander, better_center
from svmfast.methods.approximate.report import OTHERS, measure
from svmfast.methods.approximate.sample import Sample
from svmfast.methods.method import Setting
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.solvers.taylor import coefficient_count


class Rung(NamedTuple):
    order: int
    cells: int

    def __str__(self) -> str:
        return f"order {self.order}" + (f" in {self.cells:,} cells" if self.cells > 1 else "")


#: From cheap to expensive.
LADDER = tuple(Rung(*one) for one in ((1, 1), (2, 1), (3, 1), (2, 64), (4, 1), (3, 64), (4, 64)))
#: Later rungs that would store more than this multiple of the exact model's numbers are left out.
MOST_NUMBERS = 20
#: Planning rows per cell: a center of fewer rows does not represent others.
ROWS_A_CELL = 10
#: With auto the first expansion is taken that certifies this percentage of the planning rows.
TARGET = 99.0


def rungs_of(options: ApproximateOptions) -> list[Rung]:
    """What the options allow; one rung if they leave no choice."""
    if options.open:
        # Whoever embeds the exact model gets its labels, and whoever forces takes what there is.
        return list(LADDER[1 : 2 if options.embed_exact or options.force else None])
    order, cells = options.order, options.cells
    order, cells = 2 if order is None else order, 1 if cells is None else cells
    found = (
        Rung(one.order if isinstance(order, str) else order, one.cells if isinstance(cells, str) else cells)
        for one in LADDER
    )
    return list(dict.fromkeys(found))


class Ladder:
    """The expansions of one model that the options allow."""

    def __init__(
        self,
        expander: Expander,
        options: ApproximateOptions,
        rungs: list[Rung],
        planning: Sample | None,
        setting: Setting,
        provenance: Mapping[str, str],
    ) -> None:
        self.expander, self.options, self.rungs = expander, options, rungs
        self.planning, self.setting, self.provenance = planning, setting, provenance
        exact = expander.model
        self._exact_numbers = exact.sv.nnz + exact.sv_coef.size
        self._cells: dict[int, tuple[list[FloatArray], list[float]]] = {}

    def taken(self) -> tuple[PolynomialModel, str]:
        """The first expansion that is good enough, and its center: ``mean``, ``origin`` or ``cells``.

        With auto, if none certifies the target, the one of those within the limits that certifies most.
        NegativeAnswerError: none is within the limits.
        """
        options, certify = self.options, self.options.certificate != "none"
        compares = len(self.rungs) > 1 and not (options.embed_exact or options.force)
        best, most, failed = None, -1.0, []
        for rung in self.rungs:
            # Certifying an expansion that is larger than the exact model takes long and gains little.
            if best is not None and self._stored(rung) > self._exact_numbers:
                continue
            if reason := self._obstacle(rung):
                failed.append(f"{rung}: {reason}")
                continue
            made, center = self._built(rung, certify and not compares)
            if compares:
                if reason := self._inaccurate(made):
                    failed.append(f"{rung}: {reason}")
                    continue
                made, center = self._built(rung, certify)
            if reason := self._too_large(made):
                failed.append(f"{rung}: {reason}")
                continue
            share = self._certified(made) if options.auto and len(self.rungs) > 1 else TARGET
            if share > most:
                best, most = (made, center), share
            if share >= TARGET:
                break
        if best is None:
            tried = "; ".join(failed)
            raise NegativeAnswerError(f"no expansion is accurate and small enough ({tried}); {OTHERS}")
        return best

    def collapsed(self, degree: int) -> PolynomialModel:
        """The polynomial of a kernel that is one itself; NegativeAnswerError if it is too large."""
        made = self.expander.collapsed(degree)
        if self.options.certificate == "none":
            made = replace(made, bound_degrees=None, bound_rest=None)
        made = self._finished(made, f"order={degree} center=origin")
        if reason := self._too_large(made):
            raise NegativeAnswerError(f"the exact polynomial {reason}")
        return made

    def _too_large(self, made: PolynomialModel) -> str | None:
        most = self.options.max_bytes
        size = 0 if most is None else self.setting.stored_size(made)
        return None if most is None or size <= most else f"takes {size:,} bytes, more than {most:,}"

    def _obstacle(self, rung: Rung) -> str | None:
        """Why `rung` is not worth building."""
        options, stored = self.options, self._stored(rung)
        if options.max_bytes is not None and 2 * stored > options.max_bytes:  # a digit and a blank
            return f"{stored:,} numbers do not fit into {options.max_bytes:,} bytes"
        if rung == self.rungs[0]:
            return None
        if stored > MOST_NUMBERS * self._exact_numbers:
            return f"{stored:,} numbers for {self._exact_numbers:,}"
        if 8 * stored > options.memory:
            return f"{8 * stored:,} bytes of memory"
        assert self.planning is not None, "a choice is made by rows"
        if rung.cells not in (1, options.cells) and len(self.planning) < ROWS_A_CELL * rung.cells:
            return f"{len(self.planning):,} rows are too few"
        return None

    def _stored(self, rung: Rung) -> int:
        terms = self.expander.terms
        return rung.cells * terms.n_functions * coefficient_count(len(terms.features), rung.order)

    def _inaccurate(self, made: PolynomialModel) -> str | None:
        assert self.planning is not None, "a choice is made by rows"
        measured = measure(made, self.expander.model, self.planning, threads=self.setting.threads)
        if measured.percent > self.options.limit.differing:
            return f"{measured.percent:.3g}% differ"
        return measured.inaccurate(self.options.limit)

    def _certified(self, made: PolynomialModel) -> float:
        """The percentage of the planning rows that `made` certifies."""
        assert self.planning is not None, "a choice is made by rows"
        measured = measure(made, self.expander.model, self.planning, threads=self.setting.threads)
        return measured.certified_percent or 0.0

    def _built(self, rung: Rung, certify: bool) -> tuple[PolynomialModel, str]:
        options, expander = self.options, self.expander
        if rung.cells == 1:
            name = better_center(expander, options.centers, rung.order)
            made = expander.expanded([expander.center(name)], rung.order, certify=certify)
        else:
            name = "cells"
            centers, reaches = self._centers(rung.cells)
            made = expander.expanded(centers, rung.order, reaches, certify=certify)
        parameters = f"order={rung.order} center={name}"
        parameters += f" cells={rung.cells} seed={options.seed}" if rung.cells > 1 else ""
        return self._finished(made, parameters), name

    def _finished(self, made: PolynomialModel, parameters: str) -> PolynomialModel:
        """Add the origin of `made` and, with `embed_exact`, the exact model."""
        origin = {**self.provenance, "method": "approximate", "parameters": parameters}
        embedded = self.expander.model if self.options.embed_exact else None
        return replace(made, provenance=origin, embedded_exact=embedded)

    def _centers(self, cells: int) -> tuple[list[FloatArray], list[float]]:
        """At most `cells` centers of the planning rows by k-means, and how far most of their rows reach.

        Centers that are nearest to no row are left out.
        """
        if cells not in self._cells:
            assert self.planning is not None, "centers are made of rows"
            points = self.expander.terms.dense(self.planning.rows)
            centers = kmeans_centers(Rows.from_dense(points), cells, seed=self.options.seed)
            nearest = _nearest_center(points, centers)
            filled = np.unique(nearest)
            reaches = []
            for c in filled:
                away = points[nearest == c] - centers[c]
                reaches.append(math.sqrt(np.quantile(np.einsum("ij,ij->i", away, away), 0.95)))
            self._cells[cells] = list(centers[filled]), reaches
        return self._cells[cells]


def _nearest_center(points: FloatArray, centers: FloatArray) -> np.ndarray:
    """The index of the center nearest to each of ``(n, d)`` points."""
    squares = np.einsum("ij,ij->i", centers, centers)
    parts = [
        (squares - 2 * points[s : s + 4096] @ centers.T).argmin(axis=1) for s in range(0, len(points), 4096)
    ]
    return np.concatenate(parts)
