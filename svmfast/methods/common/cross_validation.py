"""Cross-validation over a grid of parameters: folds, scores, and the report of a run that only scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmfast.errors import OptionError
from svmfast.figures import Figures, computed, figure
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.methods.common.problem import HeadScore, Problem, warn_of_absent
from svmfast.methods.method import GivenRows, Setting
from svmfast.models.base import Model
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.score import Quality


@dataclass(frozen=True)
class CrossValidation(Figures):
    """The quality of one pair of parameters, where each row's model was trained without its fold."""

    quality: Quality = figure("The figures of the rows left out.", spread=True)
    gamma: float = figure("Gamma of the kernel.")
    regularization: float = figure("C, or lambda of ridge regression.")

    @computed.figure("Percent of right labels, or root mean square error.")
    def score(self) -> float:
        return self.quality.main


def cross_validate(
    problem: Problem, options: Any, setting: Setting, fitted: Callable[[Problem], Iterable[Model]]
) -> tuple[CrossValidation, ...]:
    """Score each pair of gamma and C or lambda; `fitted` makes their models for some of the rows."""
    fold = fold_numbers(problem.rows, options.folds, options.seed)
    pairs = list(itertools.product(options.gamma, options.regularizations(problem.hinge)))
    scores = [HeadScore(problem.head) for _ in pairs]
    done, steps = 0, options.folds * len(pairs)
    setting.progress(0, steps, "cross validation")
    for f in range(options.folds):
        outside = problem.only(fold == f)
        for score, model in zip(scores, fitted(problem.only(fold != f)), strict=True):
            score.add(model.decision_values(outside.rows, threads=setting.threads), outside.truth)
            done += 1
            setting.progress(done, steps, "cross validation")
    return tuple(CrossValidation(score.quality, *pair) for pair, score in zip(pairs, scores, strict=True))


def check_folds(hinge: bool, rows: int, options: Any) -> None:
    """Raise OptionError for a grid of several pairs without `folds`, and for more folds than rows."""
    folds = options.folds
    if len(options.gamma) * len(options.regularizations(hinge)) > 1 and not folds:
        raise OptionError("several values of `gamma`, `C` or `lambda_` need `folds` for the choice")
    if folds and folds > rows:
        raise OptionError(f"`folds` is {folds}; there are {rows} rows")


def fold_numbers(rows: Rows, folds: int, seed: int) -> IntArray:
    """Draw the fold of every row, from 0, at random; copies of a row are in the same fold."""
    group, first = groups_of(row_keys(rows))
    if len(first) < folds:
        raise OptionError(f"`folds` is {folds}; there are {len(first)} distinct rows")
    drawn: IntArray = np.random.default_rng([seed, 7]).permutation(len(first)) % folds
    return drawn[group]


def best_of(scores: Sequence[CrossValidation], weights: Sequence[tuple[int, float]]) -> CrossValidation:
    """The pair with the smallest error or the highest accuracy, in which rows count by their class's weight.

    Of equal ones that of the smallest C or lambda, then gamma. `weights` are pairs of label and weight.
    """
    of_label = dict(weights)

    def merit(one: CrossValidation) -> float:
        if one.quality.accuracy is None:
            return -float(one.score)
        if not of_label or not one.quality.classes:
            return float(one.score)
        return sum(of_label.get(int(part.label), 1.0) * part.correct for part in one.quality.classes)

    return max(scores, key=lambda one: (merit(one), -one.regularization, -one.gamma))


def best_pair(
    problem: Problem, options: Any, asked: Any, scores: Sequence[CrossValidation]
) -> tuple[float, float, Any]:
    """The gamma and the C or lambda with the best score, and the options that make their model alone.

    Without scores there is one pair, and `asked`, the options before defaults were filled in, stay.
    """
    if not scores:
        return options.gamma[0], options.regularizations(problem.hinge)[0], asked
    best = best_of(scores, options.weights)
    own = {"C" if problem.hinge else "lambda_": (best.regularization,)}
    return best.gamma, best.regularization, replace(asked, gamma=(best.gamma,), folds=None, **own)


def score_lines(scores: Sequence[CrossValidation], name: str) -> list[str]:
    """A line for each pair; `name` is that of the regularization."""
    return [
        f"cross        gamma {one.gamma:.6g}, {name} {one.regularization:.6g}: {one.quality.line()}"
        for one in scores
    ]


def choice_lines(scores: Sequence[CrossValidation], best: CrossValidation, name: str) -> list[str]:
    """The lines of all pairs and, of several, the best one: its own score chose it."""
    chosen = f"best         gamma {best.gamma:.6g}, {name} {best.regularization:.6g}"
    more = [f"{chosen}: chosen by these scores, so expect a worse one on new rows"] if len(scores) > 1 else []
    return [*score_lines(scores, name), *more]


@dataclass(frozen=True)
class FoldScore(Figures):
    """The quality of predictions in which each row's model was trained without its fold."""

    rows: int = figure("Rows that were trained and measured on.")
    folds: int = figure("Folds of the cross-validation.")
    quality: Quality = figure("", spread=True)

    def lines(self) -> list[str]:
        """svm-train's last lines."""
        found = self.quality
        if found.accuracy is not None:
            return [f"Cross Validation Accuracy = {found.accuracy:g}%"]
        return [
            f"Cross Validation Mean squared error = {found.mse:g}",
            f"Cross Validation Squared correlation coefficient = {found.scc:g}",
        ]


@dataclass(frozen=True)
class GridScores(Figures):
    """The report of a run that scores every pair of parameters and makes no model."""

    rows: int = figure("Rows that were trained and measured on.")
    folds: int = figure("Folds of the cross-validation.")
    cross_validation: tuple[CrossValidation, ...] = figure(
        "For every pair of parameters: gamma, regularization, score (percent of right labels, or root mean "
        "square error), and all figures of the rows left out."
    )

    #: (label, weight): a row counts by the weight of its class.
    weights: tuple[tuple[int, float], ...] = ()
    #: The name of the regularization.
    name: str = "C"

    @computed.figure(
        "The best of them, with the same keys. Its score chose it: expect a worse one on new rows."
    )
    def best(self) -> CrossValidation:
        return best_of(self.cross_validation, self.weights)

    @property
    def training(self) -> Quality:
        """The figures of the best pair, in place of those of a model."""
        best: CrossValidation = self.best
        return best.quality

    def lines(self) -> list[str]:
        last = FoldScore(self.rows, self.folds, self.training).lines()
        return [*choice_lines(self.cross_validation, self.best, self.name), *last]


def checked_labels(data: GivenRows, options: Any, setting: Setting, missing: str) -> FloatArray:
    """Take the labels, or raise the error `missing`; warn of class weights that apply to no row."""
    if data.labels is None:
        raise OptionError(missing)
    warn_of_absent(options.weights, data.labels, data.name, setting)
    return np.asarray(data.labels)
