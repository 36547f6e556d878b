"""The choice of leaves, landmarks and pseudo landmarks within a limit on the multiply-adds of a prediction.

The unit is that of the papers: the multiply-adds of a linear model on the same rows, with one weight vector
per class.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmfast.errors import NothingFitsError
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.methods.common.landmarks import linear_functions
from svmfast.methods.common.problem import Problem
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.report import Trial
from svmfast.methods.dcpred.tree import KMeansTree, build_tree, present_classes, train_tree
from svmfast.methods.method import ALONE, Setting
from svmfast.models.routed import centers_on_the_way
from svmfast.progress import counting
from svmfast.rows import FloatArray
from svmfast.solvers.intervals import largest

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

#: A candidate: its tree, the options that fit it, and the share of pseudo landmarks.
_Plan = tuple[KMeansTree, DcpredOptions, float]


def choose(
    problem: Problem,
    options: DcpredOptions,
    gamma: float,
    regularization: float,
    setting: Setting = ALONE,
) -> tuple[DcpredOptions, KMeansTree, tuple[Trial, ...]]:
    """Try candidates on some of the rows; the best one's options, its tree of all rows, and all trials."""
    threads, linear = setting.threads, problem.rows.n_columns * linear_functions(problem.head)
    inside, outside = _divided(problem, options.seed)
    setting.progress(0, None, "clusters")
    plans = _plans(inside, len(problem.rows), options, threads)

    def tried(plan: _Plan) -> tuple[float, Trial]:
        tree, shape, _ = plan
        trial = replace(shape, iterations=min(options.iterations, TRIAL_ITERATIONS))
        model = train_tree(inside, tree, trial, gamma, regularization, Setting(threads))
        score = _score(problem, model.decision_values(outside.rows, threads=threads), outside.targets)
        operations = model.multiply_adds(outside.rows) / linear
        size = (shape.clusters, shape.levels, shape.landmarks, shape.pseudo, shape.pseudo_count)
        return score, Trial(*size, operations, abs(score))

    scored = list(map(counting(tried, setting.progress, len(plans), "candidates"), plans))
    setting.progress(0, None, "clusters")
    for i in sorted(range(len(plans)), key=lambda i: -scored[i][0]):
        _, shape, share = plans[i]
        tree = build_tree(problem.rows, shape, threads)
        fitting = _fitting(problem, tree, shape, share)
        if fitting is not None:
            return fitting, tree, tuple(trial for _, trial in scored)
    raise NothingFitsError(
        f"`max_operations` {options.max_operations:g}x does not allow a single landmark", "allow more"
    )


def _divided(problem: Problem, seed: int) -> tuple[Problem, Problem]:
    """Draw rows on which trials are trained, and others on which they are scored."""
    group, first = groups_of(row_keys(problem.rows))
    place = np.argsort(np.random.default_rng([seed, 11]).permutation(len(first)))[group]
    order = np.argsort(place, kind="stable")  # copies of a row in turn
    scored = int(np.count_nonzero(place < min(SCORE_ROWS, max(1, len(first) // 5)))) % len(order)
    inside = problem.only(np.sort(order[scored : scored + TRIAL_ROWS]))
    return inside, problem.only(np.sort(order[: scored or None][:SCORE_ROWS]))


def _plans(inside: Problem, rows: int, options: DcpredOptions, threads: int) -> list[_Plan]:
    plans: list[_Plan] = []
    for leaves, levels in TREES:
        if leaves > 1 and rows < leaves * LEAST_LEAF_ROWS:
            break
        shape = replace(options, clusters=leaves, levels=levels)
        tree = build_tree(inside.rows, shape, threads)
        for share in PSEUDO_SHARES:
            fitting = _fitting(inside, tree, shape, share)
            if fitting is not None and fitting not in [p for _, p, _ in plans]:
                plans.append((tree, fitting, share))
    return plans


def _score(problem: Problem, decisions: FloatArray, truth: FloatArray) -> float:
    """Score by the percentage of correct labels, or the negative RMSE; higher is better."""
    if not problem.hinge:
        return -float(np.sqrt(np.mean((decisions - truth) ** 2)))
    if truth.shape[1] == 1:
        return float(np.mean((decisions > 0) == (truth > 0)) * 100)
    return float(np.mean(decisions.argmax(axis=1) == truth.argmax(axis=1)) * 100)


def _fitting(
    problem: Problem, tree: KMeansTree, options: DcpredOptions, share: float
) -> DcpredOptions | None:
    """Take as many landmarks as fit, spending a `share` of multiply-adds on products; None if none fit."""
    assert options.max_operations is not None
    d, leaves = max(1, problem.rows.n_columns), len(tree.leaf_centers)
    budget = options.max_operations * d * linear_functions(problem.head)
    rows = np.bincount(tree.leaf, minlength=leaves)
    portion = rows / len(tree.leaf)
    # The functions of each leaf that are not constant.
    active = np.full(leaves, float(problem.targets.shape[1]))
    for s in range(leaves) if problem.hinge else ():
        present = len(present_classes(problem.targets[tree.leaf == s]))
        active[s] = 0 if present < 2 else min(present, active[s])
    routing = centers_on_the_way(tree.children) * d

    def operations(landmarks: int) -> tuple[float, int]:
        own = np.where(active > 0, np.minimum(landmarks, np.maximum(1, rows // 2)), 0)
        pseudo = int(share * landmarks * (d + float(portion @ active)) / (1 + float(portion @ active)))
        pseudo = min(pseudo, landmarks * (landmarks + 1) // 2)
        count = own * (d + active) + np.where(active > 0, pseudo, 0) * (1 + active)
        return float(portion @ (routing + count)), pseudo

    # Small leaves cannot use their share and constant ones need none, so other leaves may have more landmarks
    # than the limit divided by d. No leaf has more landmarks than half of the rows of the largest leaf.
    most = max(1, int(rows.max()) // 2)
    landmarks = largest(lambda count: operations(count)[0] <= budget, 0, most)
    pseudo = operations(landmarks)[1]
    if landmarks == 0 or (share and not pseudo):
        return None
    kind = "poly" if pseudo else "none"
    return replace(options, landmarks=landmarks, pseudo=kind, pseudo_landmarks=pseudo)
