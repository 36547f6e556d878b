"""Routed models: a small kernel expansion in each cell, chosen by the nearest center (meka, dcpred).

A cell may have pseudo landmarks: cheap functions of a row's kernel values that serve as additional features
(Hsieh, Si and Dhillon, "Fast Prediction for Large-Scale Kernel Machines", NIPS 2014, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.caches import Cacheless, cached
from svmfast.kernel_memory import ExpansionSizes, cell_bytes, decision_bytes
from svmfast.kernels import LAPLACIAN, DecisionEngine, Kernel
from svmfast.models.base import Model
from svmfast.models.head import Head
from svmfast.models.sizes import check_sizes, check_tree, expect, total_of
from svmfast.routing import ROUTER_WIDTH, Router, flat_tree
from svmfast.rows import FloatArray, IntArray, Rows

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


#: Kernels that a routed model may have.
ROUTED_KERNELS = ("rbf", LAPLACIAN)
#: In LIBSVM's layout, cells whose landmarks are sparser than this are evaluated one by one.
_DENSE_SHARE = 0.2


@dataclass(frozen=True, eq=False, repr=False)
class RoutedModel(Cacheless, Model):
    """f_p(z) = sum_i coef_pi K_c(x_i, z) - rho_cp, summed over the landmarks of z's cell c.

    The sum includes the cell's pseudo landmarks.
    """

    head: Head
    #: ``rbf`` or ``laplacian``.
    kernel: str
    #: (cells,) the kernel's width in each cell.
    gamma: FloatArray
    #: (nodes,) and (nodes - 1, d): the tree of centers, in the form that :class:`Router` takes.
    children: IntArray
    centers: FloatArray
    #: The m landmarks of all cells, cell by cell.
    landmarks: Rows
    #: (cells,) number of landmarks of each cell; the model is constant in a cell that has none.
    sizes: IntArray
    #: (p, m) one row for each decision function, or with `nr_sv` (k - 1, m) in LIBSVM's layout.
    coef: FloatArray
    #: (cells, p)
    rho: FloatArray
    #: (cells, k) if every cell is a LIBSVM classifier: how many of its landmarks belong to each class.
    nr_sv: IntArray | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    #: Only with the rbf kernel and without `nr_sv`.
    pseudo: PseudoLandmarks | None = None
    #: Whether it was fitted to the labels of an exact model instead of its decision values, so that the
    #: probabilities of that model do not apply to it.
    fits_labels: bool = False

    kind: ClassVar[str] = "routed"
    has_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_tree("children", self.children)
        nodes, p = len(self.children) - 1, self.head.n_functions
        shape = self.centers.shape
        holds = len(shape) == 2 and len(self.centers) == nodes
        expect("centers", holds, f"shape {shape}", f"({nodes}, d), a row for each node but the root")
        cells, m = int(np.count_nonzero(self.children == 0)), len(self.landmarks)
        stored = len(self.landmarks.indices)
        whole = self.landmarks.nnz == stored
        expect("landmarks", whole, "not starts of all values", f"numbers from 0 to {stored}")
        holds = self.kernel in ROUTED_KERNELS
        expect("kernel_type", holds, "unknown kernel", " or ".join(ROUTED_KERNELS), self.kernel)
        holds = self.gamma.shape == (cells,) and bool((self.gamma > 0).all())
        expect("gamma", holds, "not a positive width for each cell", f"{cells} positive numbers")
        check_sizes("sizes", self.sizes, cells, m, "cells")
        shape = self.rho.shape
        expect("rho", shape == (cells, p), f"rho of shape {shape}", f"({cells}, {p})")
        width = p
        if self.nr_sv is not None:
            k, pairs = self.head.n_classes, self.head.is_classifier and not self.head.one_vs_rest
            expect("nr_sv", pairs, "class sizes in a model without pairs of classes", "none")
            expected = f"({cells}, {k}) numbers from 0 to {m}"
            holds = self.nr_sv.shape == (cells, k) and not ((self.nr_sv < 0) | (self.nr_sv > m)).any()
            expect("nr_sv", holds, "not one count for each cell and class", expected)
            holds = bool((self.nr_sv.sum(axis=1) == self.sizes).all())
            expect("nr_sv", holds, "counts that do not sum to the cells' sizes", "equal sums")
            width = k - 1
        shape = self.coef.shape
        expect("coef", shape == (width, m), f"coef of shape {shape}", f"({width}, {m})")
        if self.pseudo is not None:
            expect(
                "pseudo_type",
                self.kernel == "rbf" and self.nr_sv is None,
                "pseudo landmarks in a model that cannot have them",
                "pseudo landmarks only with kernel rbf and without nr_sv",
            )
            self.pseudo.check(self.sizes, p)
        # Kernel values are at most 1.
        with np.errstate(over="ignore"):
            largest = float(np.abs(self.coef).sum() + np.abs(self.rho).sum())
            if self.pseudo is not None:
                largest += float(np.abs(self.pseudo.coef).sum())
        expected = "a finite sum of their absolute values"
        expect("coef", bool(np.isfinite(largest)), "coefficients whose sum overflows", expected)

    @classmethod
    def flat(
        cls,
        head: Head,
        kernel: Kernel,
        centers: FloatArray,
        landmarks: Sequence[Rows],
        coef: Sequence[FloatArray],
        rho: FloatArray,
        nr_sv: IntArray | None = None,
    ) -> RoutedModel:
        """Make a model of one level and one width from the landmarks and coefficients of each cell."""
        cells = len(landmarks)
        return cls(
            head=head,
            kernel=kernel.kind,
            gamma=np.full(cells, kernel.gamma),
            children=flat_tree(cells),
            centers=centers,
            landmarks=Rows.concatenate(landmarks),
            sizes=np.array([len(rows) for rows in landmarks], dtype=np.int64),
            coef=np.ascontiguousarray(np.hstack(coef)),
            rho=np.ascontiguousarray(rho),
            nr_sv=nr_sv,
        )

    @property
    def n_cells(self) -> int:
        """Number of leaves."""
        return len(self.sizes)

    @property
    def n_features(self) -> int:
        return max(int(self.centers.shape[1]), self.landmarks.n_columns)

    @property
    def vectors(self) -> Rows:
        return self.landmarks

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the decision values; columns that the model does not have count in distances."""
        if self._cells is not None:
            values, doubtful = self._cells.decide(rows, threads)
            # In LIBSVM's layout, rounding could change the votes of rows with a value near zero.
            for mine, engine in self._by_engine(rows, np.flatnonzero(doubtful)):
                values[mine] = engine.decision_values(rows.take(mine), threads=threads)
            return values
        order, start, grouped = self._router.group(rows, threads=threads)
        out = np.empty((len(rows), self.head.n_functions))
        for cell in np.flatnonzero(np.diff(start)):
            a, b = start[cell], start[cell + 1]
            if self.sizes[cell]:
                few = grouped[a:b]
                out[order[a:b]] = self._engine(int(cell)).decision_values(few, threads=threads)
            else:
                out[order[a:b]] = -self.rho[cell]
        return out

    def labels(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Find the labels of ``head.predict(decision_values(rows))``, faster, ``(n,)``.

        Single precision answers the rows whose label its error bound proves (docs/single-precision.md).
        """
        head = self.head
        if self._cells is None or head.is_regression:
            return head.predict(self.decision_values(rows, threads=threads))
        rule = 1 if head.one_vs_rest else 0 if head.n_functions == 1 else 2
        place, doubtful = self._cells.labels(rows, rule, threads)
        for mine, engine in self._by_engine(rows, np.flatnonzero(doubtful)):
            place[mine] = engine.labels(rows.take(mine), threads=threads)[0]
        return head.answers(place)

    def _by_engine(self, rows: Rows, which: IntArray) -> Iterator[tuple[IntArray, DecisionEngine]]:
        """Divide some of `rows` by cells; a cell's engine gives LIBSVM's results."""
        cell_of = self.route(rows.take(which)) if len(which) else which
        for cell in np.unique(cell_of):
            yield which[cell_of == cell], self._engine(int(cell))

    def route(self, rows: Rows, *, threads: int = 1) -> NDArray[np.int32]:
        """Find the cell of each row, ``(n,)`` int32."""
        return self._router.route(rows, threads=threads)

    def multiply_adds(self, rows: Rows) -> float:
        """Compute the mean number of multiply-adds for a dense row: centers compared, landmarks and sums.

        The papers divide this by d, the multiply-adds of a linear decision function.
        """
        share = np.bincount(self.route(rows), minlength=self.n_cells) / max(1, len(rows))
        d, active = self.n_features, self._active_functions()
        operations = centers_on_the_way(self.children) * d + self.sizes * (d + active)
        if self.pseudo is not None:
            operations = operations + self.pseudo.multiply_adds(self.sizes, active)
        return float(share @ operations)

    def _active_functions(self) -> IntArray:
        """Count the decision functions that are not constant in each cell, ``(cells,)``.

        The others, such as those of classes absent from the cell, take no operations.
        """
        if self.nr_sv is not None:  # a landmark takes part in the k - 1 pairs of its class
            return np.full(self.n_cells, len(self.coef))
        active = np.zeros((self.head.n_functions, self.n_cells), dtype=bool)
        for part in (self, self.pseudo):
            if part is not None:
                for cell, (end, size) in enumerate(zip(np.cumsum(part.sizes), part.sizes, strict=True)):
                    active[:, cell] |= part.coef[:, end - size : end].any(axis=1)
        return np.asarray(active.sum(axis=0), dtype=np.int64)

    @property
    def _together(self) -> bool:
        """Whether one native call evaluates all cells."""
        if self.kernel != "rbf" or not self.head.n_functions:
            return False
        return self.nr_sv is None or self.landmarks.density >= _DENSE_SHARE

    @cached
    def working_bytes(self) -> int:
        p, d = self.head.n_functions, self.centers.shape[1]
        siblings = np.ceil(self.children / ROUTER_WIDTH) * ROUTER_WIDTH
        tree = 12.0 * float(siblings[self.children > 1].sum()) * (d + 1) + 64 * len(self.children)
        sizes = ExpansionSizes.of(self.landmarks, self.sizes[:, None] if self.nr_sv is None else self.nr_sv)
        if self._together:
            pseudo = np.zeros_like(self.sizes) if self.pseudo is None else self.pseudo.sizes
            return int(2 * tree + cell_bytes(sizes, pseudo, p, len(self._columns)))
        return int(tree + decision_bytes(self.kernel, sizes, len(self.coef), p))

    @cached
    def _cells(self) -> _core.CellSums | None:
        if not self._together:
            return None
        pseudo = self.pseudo or PseudoLandmarks.none(self.n_cells, self.head.n_functions)
        packed = np.ascontiguousarray
        return _core.CellSums(
            self._columns,
            packed(self.children),
            packed(self.centers),
            packed(self.gamma),
            packed(self.sizes),
            self.landmarks,
            packed(self.coef),
            packed(self.rho),
            PSEUDO_KINDS.index(pseudo.kind) + 1,
            packed(pseudo.sizes),
            packed(pseudo.pairs),
            packed(pseudo.distances),
            packed(pseudo.coef),
            self.head.n_classes,
            np.zeros((self.n_cells, 0), np.int64) if self.nr_sv is None else packed(self.nr_sv),
        )

    @property
    def _columns(self) -> NDArray[np.int32]:
        """The columns of centers, 0, 1, ..., and of landmarks, ascending."""
        own = np.arange(self.centers.shape[1], dtype=np.int32)
        wider = self.landmarks.indices[self.landmarks.indices >= len(own)]
        return np.concatenate([own, np.unique(wider)]).astype(np.int32)

    @cached
    def _router(self) -> Router:
        return Router(self.children, self.centers)

    @cached
    def _engines(self) -> list[DecisionEngine | None]:
        return [None] * self.n_cells

    def _engine(self, cell: int) -> DecisionEngine:
        """Get a cell's engine, which is made when the first row is routed to the cell."""
        engine = self._engines[cell]
        if engine is None:
            end = int(self.sizes[: cell + 1].sum())
            part = slice(end - int(self.sizes[cell]), end)
            engine = self._engines[cell] = DecisionEngine(
                Kernel(self.kernel, float(self.gamma[cell])),
                self.landmarks[part],
                self.coef[:, part],
                self.rho[cell],
                None if self.nr_sv is None else self.nr_sv[cell],
            )
        return engine


def centers_on_the_way(children: IntArray) -> FloatArray:
    """Count the centers with which a row is compared on its way to each cell, ``(cells,)``."""
    compared: FloatArray = np.zeros(len(children))
    following = 1
    for node, number in enumerate(children):
        # An only child is reached without a comparison.
        compared[following : following + number] = compared[node] + (number if number > 1 else 0)
        following += number
    leaves: FloatArray = compared[children == 0]
    return leaves
