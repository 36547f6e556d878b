"""A routed model's tree of k-means centers, and the training of its leaves on their own and nearby rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmfast.errors import MemoryLimitError, NothingFitsError
from svmfast.methods.common.problem import Problem
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.leaf import CellExpansion, LeafRows, train_leaf
from svmfast.methods.method import Setting
from svmfast.models.head import Head
from svmfast.models.routed import PseudoLandmarks, RoutedModel, centers_on_the_way
from svmfast.progress import counting
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.center_tree import CenterTree, grown
from svmfast.solvers.intervals import largest
from svmfast.threads import map_in_threads

#: Up to this many leaves, the default is one level. Two levels are less accurate (letter, 30 leaves of 60
#: landmarks: 95.5 % instead of 96.1 %), but take about 2 sqrt(leaves) distances instead of one per leaf.
FLAT_LEAVES = 64
#: Weight of nearby rows of other leaves (as measured, better than 0 or 1). There are as many as own rows.
NEIGHBOR_WEIGHT = 0.5
#: The most rows on which a leaf is trained, including nearby rows of other leaves.
MOST_LEAF_ROWS = 60_000


@dataclass(frozen=True, eq=False)
class KMeansTree(CenterTree):
    """A tree of centers without neighbors."""

    #: (n,) leaf of each row; no leaf is empty.
    leaf: IntArray


def kmeans_tree(rows: Rows, leaves: int, *, levels: int = 0, seed: int = 0) -> KMeansTree:
    """Cluster in one level, or in two with about sqrt(leaves) branches; 0 means two above 64 leaves."""
    flat = levels == 1 or leaves <= 3 or (levels == 0 and leaves <= FLAT_LEAVES)

    def branches(count: int, level: int) -> int:
        if flat or level > 1:
            return 0 if level else leaves
        share = count * leaves / len(rows)
        return round(share if level else np.sqrt(leaves)) if share >= 1.5 else 0

    tree, leaf = grown(rows, branches, seed)
    return KMeansTree(tree.children, tree.centers, tree.near, tree.reach, leaf)


def affordable_landmarks(problem: Problem, tree: KMeansTree, most_operations: float) -> int:
    """The most landmarks of a leaf for which a prediction takes `most_operations` linear models at most.

    Operations are multiply-adds, on average over the rows; a linear model has one weight vector per class.
    """
    d, leaves = max(1, problem.rows.n_columns), len(tree.leaf_centers)
    budget = most_operations * d * problem.head.linear_functions
    rows = np.bincount(tree.leaf, minlength=leaves)
    portion = rows / len(tree.leaf)
    # The functions of each leaf that are not constant.
    active = np.full(leaves, float(problem.targets.shape[1]))
    for s in range(leaves) if problem.hinge else ():
        present = len(present_classes(problem.targets[tree.leaf == s]))
        active[s] = 0 if present < 2 else min(present, active[s])
    routing = centers_on_the_way(tree.children) * d

    def fits(landmarks: int) -> bool:
        own = np.where(active > 0, np.minimum(landmarks, np.maximum(1, rows // 2)), 0)
        return float(portion @ (routing + own * (d + active))) <= budget

    # Small leaves cannot use their share and constant ones need none, so other leaves may have more landmarks
    # than the limit divided by d. No leaf has more landmarks than half of the rows of the largest leaf.
    found = largest(fits, 0, max(1, int(rows.max()) // 2))
    if not found:
        what = f"`max_operations` {most_operations:g}x does not allow a single landmark"
        raise NothingFitsError(what, "allow more, or fewer `clusters`" if leaves > 1 else "allow more")
    return found


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A leaf's expansion of the functions that are not constant, their numbers, and the offsets of all."""

    cell: CellExpansion | None
    functions: IntArray
    rho: FloatArray
    gamma: float


def train_tree(
    problem: Problem,
    tree: KMeansTree,
    options: DcpredOptions,
    gamma: float,
    regularization: float,
    setting: Setting,
) -> RoutedModel:
    """Train every leaf; `regularization` is C (hinge loss) or lambda (squares)."""
    rows, leaves, threads = problem.rows, len(tree.leaf_centers), setting.threads
    order = np.argsort(tree.leaf, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(tree.leaf, minlength=leaves))])
    sizes = [min(MOST_LEAF_ROWS, 2 * int(n) if leaves > 1 else int(n)) for n in np.diff(start)]
    _check_memory(problem, sizes, options, threads)
    distance = _distances(rows, tree) if leaves > 1 else np.zeros((len(rows), 1))
    cost = regularization if problem.hinge else 0.5 / regularization
    nearest = None
    if problem.vectors is not None:
        nearest = tree.router.route(problem.vectors[0], threads=threads)

    def work(s: int) -> _Leaf:
        own = order[start[s] : start[s + 1]]
        functions, chosen, n_own = _rows_of(problem, own, distance[:, s], tree.leaf, s, options.seed)
        if not len(functions):
            return _Leaf(None, functions, -problem.targets[own[0]], gamma)
        given = None
        if problem.vectors is not None:
            inside = np.flatnonzero(nearest == s)
            vectors = problem.vectors[0].take(inside).to_dense(rows.n_columns)
            given = (vectors, problem.vectors[1][inside])
        of_leaf = LeafRows(
            rows.take(chosen).to_dense(),
            np.ascontiguousarray(problem.targets[np.ix_(chosen, functions)]),
            problem.hinge,
            np.where(np.arange(len(chosen)) < n_own, 1.0, NEIGHBOR_WEIGHT),
            None if problem.weights is None else problem.weights[chosen],
            n_own,
            given,
        )
        cell = train_leaf(of_leaf, options, gamma, cost, (options.seed, s), inner)
        # Classes without rows in the leaf must lose; kernel values are at most 1.
        most = 1 + float((np.abs(cell.coef).sum(axis=1) + np.abs(cell.rho)).max())
        rho = np.full(problem.targets.shape[1], most)
        rho[functions] = cell.rho
        return _Leaf(cell, functions, rho, cell.gamma)

    # If there are few leaves, the threads work within each leaf; the result is the same.
    inner = 1 if leaves >= 2 * threads else threads
    counted = counting(work, setting.progress, leaves, "leaves")
    found = map_in_threads(counted, range(leaves), threads if inner == 1 else 1)
    return _assembled(problem.head, tree, found, rows.n_columns, problem.targets.shape[1])


def _check_memory(problem: Problem, sizes: list[int], options: DcpredOptions, threads: int) -> None:
    """Raise MemoryLimitError if the largest leaves that are trained at the same time do not fit.

    Training holds three dense copies of a leaf's rows, two of them in tiles for the gradient, one copy of its
    kernel values, and one of their products with the root of W.
    """
    at_once, (n, functions) = sorted(sizes, reverse=True)[:threads], problem.targets.shape
    width = options.landmarks + options.pseudo_count
    needed = 8 * sum(at_once) * (3 * problem.rows.n_columns + 3 * width + 2 * functions)
    needed += 8 * n * (len(sizes) + functions) + 24 * problem.rows.nnz
    if needed > options.memory:
        advice = "raise `memory`, or use more `clusters` or fewer `threads`"
        what = f"training on leaves of up to {at_once[0]:,} rows"
        raise MemoryLimitError(what, needed, options.memory, advice)


def _distances(rows: Rows, tree: KMeansTree) -> FloatArray:
    """``(n, leaves)`` squared distances from the leaves' centers, minus that of the row's own leaf."""
    centers = tree.leaf_centers
    product = np.asarray(rows.to_scipy() @ centers[:, : rows.n_columns].T)
    relative = (centers**2).sum(axis=1) - 2 * product
    gap: FloatArray = relative - relative[np.arange(len(rows)), tree.leaf][:, None]
    return gap


def _rows_of(
    problem: Problem, own: IntArray, distance: FloatArray, leaf: IntArray, s: int, seed: int
) -> tuple[IntArray, IntArray, int]:
    """The functions that vary in leaf `s`, the rows to train on, and how many of these are its own."""
    targets = problem.targets
    functions = np.arange(targets.shape[1])
    others = np.flatnonzero(leaf != s)
    if problem.hinge:
        present = present_classes(targets[own])
        if len(present) == 1:  # its rows are of one class, so all functions are constant
            return functions[:0], own, len(own)
        if len(functions) > 1:
            functions = present
            others = others[(targets[others][:, present] > 0).any(axis=1)]
    count = min(len(own), len(others))
    near = others[np.argsort(distance[others], kind="stable")[:count]]
    if len(own) + len(near) > MOST_LEAF_ROWS:
        rng = np.random.default_rng([seed, s, 3])
        own = np.sort(rng.choice(own, min(len(own), MOST_LEAF_ROWS), replace=False))
        near = near[: MOST_LEAF_ROWS - len(own)]
    return functions, np.concatenate([own, near]), len(own)


def present_classes(targets: FloatArray) -> IntArray:
    """Find the classes that occur in the rows; for a single column, the sides that occur, 0 or 1."""
    if targets.shape[1] == 1:
        return np.unique(targets[:, 0] > 0).astype(np.int64)
    return np.flatnonzero((targets > 0).any(axis=0))


def _assembled(
    head: Head, tree: KMeansTree, leaves: list[_Leaf], columns: int, functions: int
) -> RoutedModel:
    sizes, widths = np.zeros((2, len(leaves)), dtype=np.int64)
    coef = [np.zeros((functions, 0))]
    pseudo_coef = coef[:]
    cells: list[CellExpansion] = []
    for s, leaf in enumerate(leaves):
        if leaf.cell is None:
            continue
        cells.append(leaf.cell)
        sizes[s], widths[s] = leaf.cell.landmarks, leaf.cell.coef.shape[1]
        full = np.zeros((functions, widths[s]))
        full[leaf.functions] = leaf.cell.coef
        coef.append(full[:, : sizes[s]])
        pseudo_coef.append(full[:, sizes[s] :])
    pseudo = None
    if (widths > sizes).any():
        pseudo = PseudoLandmarks(
            "triangle" if any(len(cell.distances) for cell in cells) else "poly",
            widths - sizes,
            np.ascontiguousarray(np.hstack(pseudo_coef)),
            np.ascontiguousarray(np.vstack([np.zeros((0, 2), np.int64), *(cell.pairs for cell in cells)])),
            np.concatenate([np.zeros(0), *(cell.distances.ravel() for cell in cells)]),
        )
    return RoutedModel(
        head=head,
        kernel="rbf",
        gamma=np.array([leaf.gamma for leaf in leaves]),
        children=tree.children,
        centers=tree.centers,
        landmarks=Rows.from_dense(np.vstack([np.zeros((0, columns)), *(cell.vectors for cell in cells)])),
        sizes=sizes,
        coef=np.ascontiguousarray(np.hstack(coef)),
        rho=np.stack([leaf.rho for leaf in leaves]),
        pseudo=pseudo,
    )
