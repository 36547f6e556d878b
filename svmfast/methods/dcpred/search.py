"""The choice of leaves, landmarks and pseudo landmarks within a limit on the multiply-adds of a prediction.

The unit is that of the papers: the multiply-adds of a linear model on the same rows, with one weight vector
per class.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmfast.errors import NothingFitsError
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.methods.common.landmark_report import linear_functions
from svmfast.methods.dcpred.kmeans_tree import KMeansTree
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.dcpred.report import Trial
from svmfast.methods.dcpred.tree_training import Training, build_tree, train_tree
from svmfast.models.routed import centers_on_the_way
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray

#: Trees to try (leaves, levels), as far as rows and multiply-adds allow.
TREES = ((1, 1), (4, 1), (8, 1), (16, 1), (32, 1), (32, 2), (64, 1), (64, 2), (128, 2))
#: Shares of the landmarks' multiply-adds that are spent on pseudo landmarks.
PSEUDO_SHARES = (0.0, 0.25)
#: The least average number of rows per leaf; with fewer, a leaf learns nothing.
LEAST_LEAF_ROWS = 40
#: Rows on which trials are trained, and on which they are scored.
TRIAL_ROWS, SCORE_ROWS = 12_000, 4_000
#: L-BFGS iterations in a trial.
TRIAL_ITERATIONS = 50


def score_of(training: Training, decisions: FloatArray, truth: FloatArray) -> float:
    """Return the percentage of correct labels, or the negative RMSE; higher is better."""
    if training.loss == "squares":
        return -float(np.sqrt(np.mean((decisions - truth) ** 2)))
    if truth.shape[1] == 1:
        return float(np.mean((decisions > 0) == (truth > 0)) * 100)
    return float(np.mean(decisions.argmax(axis=1) == truth.argmax(axis=1)) * 100)


def choose(
    training: Training,
    options: DcpredOptions,
    gamma: float,
    regularization: float,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[DcpredOptions, KMeansTree, tuple[Trial, ...]]:
    """Try candidates on some of the rows; return the options of the best, its tree, and all trials.

    The returned tree is built from all rows. With it, the mean number of multiply-adds over the training rows
    is at most ``options.max_operations``.

    Raises
    ------
    NothingFitsError
        The limit does not allow a single landmark.
    """
    group, first = groups_of(row_keys(training.rows))
    place = np.argsort(np.random.default_rng([options.seed, 11]).permutation(len(first)))[group]
    order = np.argsort(place, kind="stable")  # copies of a row in turn
    scored = int(np.count_nonzero(place < min(SCORE_ROWS, max(1, len(first) // 5)))) % len(order)
    inside = training.only(np.sort(order[scored : scored + TRIAL_ROWS]))
    outside = training.only(np.sort(order[: scored or None][:SCORE_ROWS]))
    plans: list[tuple[KMeansTree, DcpredOptions, float]] = []
    progress(0, None, "clusters")
    for leaves, levels in TREES:
        if leaves > 1 and len(training.rows) < leaves * LEAST_LEAF_ROWS:
            break
        shape = replace(options, clusters=leaves, levels=levels)
        tree = build_tree(inside, shape, threads)
        for share in PSEUDO_SHARES:
            fitting = _fitting(inside, tree, shape, share)
            if fitting is not None and fitting not in [p for _, p, _ in plans]:
                plans.append((tree, fitting, share))
    tried: list[tuple[float, int, Trial]] = []
    progress(0, len(plans), "candidates")
    for i, (tree, plan, _) in enumerate(plans):
        trial = replace(plan, iterations=min(options.iterations, TRIAL_ITERATIONS))
        model = train_tree(inside, tree, trial, gamma, regularization, threads=threads)
        score = score_of(training, model.decision_values(outside.rows, threads=threads), outside.targets)
        operations = model.multiply_adds(outside.rows) / (
            training.rows.n_columns * linear_functions(training.head)
        )
        found = Trial(
            plan.clusters, plan.levels, plan.landmarks, plan.pseudo, plan.pseudo_count, operations, abs(score)
        )
        tried.append((-score, i, found))
        progress(i + 1, len(plans), "candidates")
    progress(0, None, "clusters")
    for _, i, _ in sorted(tried, key=lambda t: t[:2]):
        _, plan, share = plans[i]
        tree = build_tree(training, plan, threads)
        fitting = _fitting(training, tree, plan, share)
        if fitting is not None:
            return fitting, tree, tuple(c for _, _, c in tried)
    raise NothingFitsError(
        f"`max_operations` {options.max_operations:g}x does not allow a single landmark", "allow more"
    )


def _fitting(
    training: Training, tree: KMeansTree, options: DcpredOptions, share: float
) -> DcpredOptions | None:
    """Return the options with as many landmarks as fit, spending a `share` of multiply-adds on products."""
    assert options.max_operations is not None
    d = max(1, training.rows.n_columns)
    leaves = len(tree.leaf_centers)
    budget = options.max_operations * d * linear_functions(training.head)
    portion = np.bincount(tree.leaf, minlength=leaves) / len(tree.leaf)
    rows = np.bincount(tree.leaf, minlength=leaves)
    active = np.empty(leaves)
    for s in range(leaves):
        targets = training.targets[tree.leaf == s]
        present = (targets > 0).any(axis=0) if training.loss == "squared_hinge" else None
        active[s] = targets.shape[1]
        if present is not None and targets.shape[1] > 1:
            active[s] = present.sum() if present.sum() > 1 else 0
        elif present is not None and len(np.unique(targets > 0)) == 1:
            active[s] = 0
    routing = centers_on_the_way(tree.children) * d

    def operations(landmarks: int) -> tuple[float, int]:
        own = np.where(active > 0, np.minimum(landmarks, np.maximum(1, rows // 2)), 0)
        pseudo = int(share * landmarks * (d + float(portion @ active)) / (1 + float(portion @ active)))
        pseudo = min(pseudo, landmarks * (landmarks + 1) // 2)
        count = own * (d + active) + np.where(active > 0, pseudo, 0) * (1 + active)
        return float(portion @ (routing + count)), pseudo

    # Small leaves cannot use their share and constant ones need none, so other leaves may have more landmarks
    # than the limit divided by d. No leaf has more landmarks than half of the rows of the largest leaf.
    low, high = 0, max(1, int(rows.max()) // 2)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if operations(middle)[0] <= budget else (low, middle - 1)
    if low == 0:
        return None
    pseudo = operations(low)[1]
    if share and not pseudo:
        return None
    return replace(options, landmarks=low, pseudo="poly" if pseudo else "none", pseudo_landmarks=pseudo)
