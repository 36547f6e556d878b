"""The ladder of expansions, from cheap to expensive, each built and measured on rows that choose.

The first that is accurate and small enough is taken; with ``auto``, the accurate one of the least work. If
order and cells are given, there is one expansion and no choice. The rows that make centers, those that
choose, and those of the report are different. A certificate takes far longer than an expansion, so
where there is a choice one is made only for an expansion that is accurate and, with ``auto``, may be faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from svmfast.errors import NegativeAnswerError
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.expander import Expander, better_center
from svmfast.methods.approximate.measuring import Divided, measure
from svmfast.methods.method import Setting
from svmfast.models.polynomial import PolynomialModel
from svmfast.monomials import coefficient_count
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import kmeans_centers, partition
from svmfast.solvers.residual import squared_norms_about


class Rung(NamedTuple):
    order: int
    cells: int

    def __str__(self) -> str:
        return f"order {self.order}" + (f" in {self.cells:,} cells" if self.cells > 1 else "")


#: From cheap to expensive.
LADDER = tuple(Rung(*one) for one in ((1, 1), (2, 1), (3, 1), (2, 64), (4, 1), (3, 64), (4, 64)))
#: Rungs that would store more than this multiple of the exact model's numbers are left out. The first is not,
#: unless it would also take more than this share of the memory: it may be fast, but takes minutes to build.
MOST_NUMBERS, MOST_MEMORY = 20, 1 / 8
#: Rows per cell: a center of fewer rows does not represent others.
ROWS_A_CELL = 10
#: A later expansion is taken if it needs at most this share of an earlier one's multiply-adds.
MOST_WORK = 0.75


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
    """The expansions of one model that the options allow; `rows` are those for choices."""

    def __init__(
        self,
        expander: Expander,
        options: ApproximateOptions,
        rungs: list[Rung],
        rows: Divided,
        setting: Setting,
        provenance: Mapping[str, str],
    ) -> None:
        self.expander, self.options, self.rungs = expander, options, rungs
        self.rows, self.setting, self.provenance = rows, setting, provenance
        exact = expander.model
        self._exact_numbers = exact.sv.nnz + exact.sv_coef.size
        self._exact_work = exact.multiply_adds(rows.choosing.rows)
        #: The centers, and how far most of their rows reach, for each number of cells.
        self._cells: dict[int, tuple[list[FloatArray], list[float]]] = {}

    def best_first(self) -> list[tuple[PolynomialModel, str]]:
        """The best expansion, then those that it surpassed; each with its center: mean, origin or cells.

        Without auto the best is the first that is accurate and small enough. With auto it is the one that
        takes the least work, the exact model's for the rows that are not certified included. `force` changes
        nothing unless there is none. NegativeAnswerError: none is accurate and small enough.
        """
        found, failed = self._found(forced=False)
        if not found and self.options.force:
            found, failed = self._found(forced=True)
        if not found:
            tried = "; ".join(failed)
            raise NegativeAnswerError(f"no expansion is accurate and small enough ({tried})")
        return found

    def _found(self, *, forced: bool) -> tuple[list[tuple[PolynomialModel, str]], list[str]]:
        """Find the expansions, accurate or not if `forced`, and why others are not among them."""
        found: list[tuple[PolynomialModel, str]] = []
        failed: list[str] = []
        least, compares = math.inf, len(self.rungs) > 1
        for rung in self.rungs:
            made, reason = None, self._obstacle(rung)
            if reason is None:
                made, center = self._built(rung, certify=not compares)
                reason = self._shortcoming(made, least, forced) if compares else None
            if made is not None and reason is None:
                if compares:
                    made, center = self._built(rung, certify=True)
                reason = self._too_large(made)
            if made is None or reason is not None:
                failed.append(f"{rung}: {reason}")
                continue
            if (work := self._work(made)) <= MOST_WORK * least:
                found.insert(0, (made, center))
                least = work
            if not self.options.auto:
                break
        return found, failed

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
        options, sums = self.options, self.expander.sums
        stored = rung.cells * sums.n_functions * coefficient_count(len(sums.features), rung.order)
        # The size of a packed file, and the number of cells that are not empty, are known only afterwards.
        known = rung.cells == 1 and not self.setting.compressed
        if options.max_bytes is not None and known and 8 * stored > options.max_bytes:
            return f"{stored:,} numbers do not fit into {options.max_bytes:,} bytes"
        if rung == self.rungs[0] and (len(self.rungs) == 1 or 8 * stored <= MOST_MEMORY * options.memory):
            return None
        if stored > MOST_NUMBERS * self._exact_numbers:
            return f"{stored:,} numbers for {self._exact_numbers:,}"
        if 8 * stored > options.memory:
            return f"{8 * stored:,} bytes of memory"
        if rung.cells not in (1, options.cells) and len(self.rows.centers) < ROWS_A_CELL * rung.cells:
            return f"{len(self.rows.centers):,} rows are too few"
        return None

    def _shortcoming(self, made: PolynomialModel, least: float, forced: bool) -> str | None:
        """Why `made`, which has no certificate yet, is not taken.

        `least` is the work of the best one so far, at first infinite.
        """
        choosing, options = self.rows.choosing, self.options
        if not (options.embed_exact or forced):
            measured = measure(made, self.expander.model, choosing, threads=self.setting.threads)
            if measured.percent > 100 * options.max_diff:
                return f"{measured.percent:.3g}% differ"
            if reason := measured.inaccurate(options.max_diff):
                return reason
        if options.auto and not forced:
            least = min(least, self._exact_work)
        work, most = made.multiply_adds(choosing.rows), MOST_WORK * least
        return f"{work:,.0f} multiply-adds, more than {most:,.0f}" if work > most else None

    def _work(self, made: PolynomialModel) -> float:
        """The multiply-adds for a row, with those of the exact model for rows that are not certified."""
        work, choosing = made.multiply_adds(self.rows.choosing.rows), self.rows.choosing
        if not self.options.auto:
            return work
        measured = measure(made, self.expander.model, choosing, threads=self.setting.threads)
        return work + (1 - (measured.certified_percent or 0.0) / 100) * self._exact_work

    def _built(self, rung: Rung, *, certify: bool) -> tuple[PolynomialModel, str]:
        options, expander = self.options, self.expander
        certify = certify and options.certificate != "none"
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
        """Add the provenance of `made` and, with `embed_exact`, the exact model."""
        provenance = {**self.provenance, "method": "approximate", "parameters": parameters}
        embedded = self.expander.model if self.options.embed_exact else None
        return replace(made, provenance=provenance, embedded_exact=embedded)

    def _centers(self, cells: int) -> tuple[list[FloatArray], list[float]]:
        """At most `cells` centers of the rows by k-means, and how far most of their rows reach.

        Centers that are nearest to no row are left out.
        """
        if cells not in self._cells:
            rows = Rows.from_dense(self.expander.sums.dense(self.rows.centers))
            parted = partition(rows, kmeans_centers(rows, cells, seed=self.options.seed))
            reaches = []
            for c, center in enumerate(parted.centers):
                squares = squared_norms_about(parted.cluster(c).to_dense(len(center)), center)
                reaches.append(math.sqrt(np.quantile(squares, 0.95)))
            self._cells[cells] = list(parted.centers), reaches
        return self._cells[cells]
