"""Cross-validation over a grid of costs and kernel widths, on the folds that svm-train draws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from svmfast.errors import OptionError
from svmfast.methods.common.cross_validation import CrossValidation, GridScores
from svmfast.methods.method import Setting
from svmfast.methods.train import TrainOptions
from svmfast.methods.train.libsvm import Fold, libsvm_folds
from svmfast.methods.train.training import cross_validate, train
from svmfast.models.scaling import Scaling
from svmfast.progress import counting
from svmfast.rows import FloatArray, Rows
from svmfast.score import quality
from svmfast.threads import map_in_threads

#: Bytes of a stored number in LIBSVM's memory and in ours.
_NODE_BYTES = 28


def score_grid(rows: Rows, labels: FloatArray, options: TrainOptions, setting: Setting) -> GridScores:
    """Score each pair of C and gamma as ``svm-train -v`` does; folds and pairs run side by side.

    What LIBSVM draws at random during training (probabilities), and what only its own prediction takes
    (precomputed kernels), is left to its own cross-validation, a pair at a time.
    """
    assert options.folds is not None
    n = min(options.folds, len(rows))
    if n < 2:
        raise OptionError("cross validation (`folds`) needs at least 2 rows")
    if n < options.folds:  # LIBSVM's words
        instead = "Will use # folds = # data instead (i.e., leave-one-out cross validation)"
        setting.warn(f"# folds ({options.folds}) > # data ({n}). {instead}")
    # The default width is that of all rows, also in a fold.
    gammas = [gamma or 1 / max(1, rows.n_columns - options.precomputed) for gamma in options.gammas]
    pairs = [replace(options, C=cost, gamma=gamma) for cost in options.costs for gamma in gammas]
    own = options.probability or options.precomputed
    if own and options.scale_to is not None:
        raise OptionError("cross validation with `scale_to` has no `probability`")
    if own:

        def whole(pair: TrainOptions) -> FloatArray:
            return cross_validate(rows, labels, n, pair)

        score = counting(whole, setting.progress, len(pairs), _STEP)
        found = [score(pair) for pair in pairs]
    else:
        folds = libsvm_folds(labels, n, stratified=options.is_classifier)
        most = max(1, options.memory // max(1, _NODE_BYTES * rows.nnz))
        found = _side_by_side(
            rows, labels, pairs, folds, replace(setting, threads=min(setting.threads, most))
        )
    regression = options.svm_type in ("epsilon_svr", "nu_svr")
    scores = (
        CrossValidation(quality(predicted, labels, regression=regression), pair.gammas[0], pair.costs[0])
        for pair, predicted in zip(pairs, found, strict=True)
    )
    return GridScores(len(rows), n, tuple(scores), options.weights)


_STEP = "cross validation"


def _side_by_side(
    rows: Rows, labels: FloatArray, pairs: Sequence[TrainOptions], folds: Sequence[Fold], setting: Setting
) -> list[FloatArray]:
    """The predictions of each pair for all rows; every job is one training."""
    jobs = list(itertools.product(range(len(pairs)), folds))
    threads = max(1, min(setting.threads, len(jobs)))

    def work(job: tuple[int, Fold]) -> FloatArray:
        pair, fold = pairs[job[0]], job[1]
        # The size of the cache changes LIBSVM's time, but not its result.
        pair = replace(pair, cache_size=pair.cache_size / threads)
        inside, outside = rows.take(fold.inside), rows.take(fold.outside)
        if pair.scale_to is not None:
            scaling = Scaling.learned(inside, pair.scale_to, pair.memory)
            inside, outside = (scaling.apply(part, memory=pair.memory) for part in (inside, outside))
        model = train(inside, labels[fold.inside], pair)
        return model.decision_values(outside)[:, 0] if model.head.is_regression else model.labels(outside)

    found = [np.empty(len(rows)) for _ in pairs]
    predicted = map_in_threads(counting(work, setting.progress, len(jobs), _STEP), jobs, threads)
    for (number, fold), values in zip(jobs, predicted, strict=True):
        found[number][fold.outside] = values
    return found
