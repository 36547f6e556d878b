"""Cross-validation over a grid of parameters: folds, scores, and the report of a run that only scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.methods.common.class_weights import warn_of_absent
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.methods.common.head_score import HeadScore, remark_on_classes
from svmfast.methods.common.problem import Problem
from svmfast.methods.given import GivenRows, Outcome, Setting
from svmfast.models.base import Model
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality


@dataclass(frozen=True)
class CrossValidation:
    """The quality of one pair of parameters, where each row's model was trained without its fold."""

    gamma: float
    #: C, or lambda of ridge regression.
    regularization: float
    quality: Quality

    @property
    def score(self) -> float:
        """The score by which a pair is chosen: the percentage of correct labels, or RMSE."""
        return self.quality.main

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        own = {"gamma": self.gamma, "regularization": self.regularization, "score": self.score}
        return {**own, **self.quality.as_dict()}


def cross_validate(
    problem: Problem, options: Any, setting: Setting, fitted: Callable[[Problem], Iterable[Model]]
) -> tuple[CrossValidation, ...]:
    """Score each pair of gamma and C or lambda; `fitted` returns their models for some of the rows."""
    fold = fold_numbers(problem.rows, options.folds, options.seed)
    pairs = list(itertools.product(options.gamma, options.regularizations(problem.loss)))
    scores = [HeadScore(problem.head) for _ in pairs]
    done, steps = 0, options.folds * len(pairs)
    setting.progress(0, steps, "cross validation")
    for f in range(options.folds):
        outside = problem.only(fold == f)
        for score, model in zip(scores, fitted(problem.only(fold != f)), strict=True):
            score.add(model.decision_values(outside.rows, threads=setting.threads), outside.truth)
            done += 1
            setting.progress(done, steps, "cross validation")
    return tuple(CrossValidation(*pair, score.quality) for pair, score in zip(pairs, scores, strict=True))


def check_folds(folds: int | None, grid: int, rows: int) -> None:
    """Raise OptionError for a grid of several pairs without `folds`, and for more folds than rows."""
    if grid > 1 and not folds:
        raise OptionError("several values of `gamma`, `C` or `lambda_` need `folds` for the choice")
    if folds and folds > rows:
        raise OptionError(f"`folds` is {folds}; there are {rows} rows")


def fold_numbers(rows: Rows, folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of every row, from 0, drawn at random; copies of a row are in the same fold."""
    group, first = groups_of(row_keys(rows))
    if len(first) < folds:
        raise OptionError(f"`folds` is {folds}; there are {len(first)} distinct rows")
    drawn: NDArray[np.int64] = np.random.default_rng([seed, 7]).permutation(len(first)) % folds
    return drawn[group]


def best_of(scores: Sequence[CrossValidation], *, classes: bool) -> CrossValidation:
    """Return the best score: the largest accuracy for `classes`, otherwise the smallest RMSE."""
    return (max if classes else min)(scores, key=lambda one: one.score)


def score_lines(scores: Sequence[CrossValidation], *, classes: bool) -> list[str]:
    """Return a line for each pair of parameters."""
    name = "C" if classes else "lambda"
    return [
        f"cross        gamma {one.gamma:.6g}, {name} {one.regularization:.6g}: {one.quality.line()}"
        for one in scores
    ]


@dataclass(frozen=True)
class ScoresReport:
    """The report of a run that scores a grid and makes no model; `task` is ``svc`` or ``ridge``."""

    task: str
    folds: int
    cross_validation: tuple[CrossValidation, ...]

    @property
    def best(self) -> CrossValidation:
        """The best pair of parameters."""
        return best_of(self.cross_validation, classes=self.task == "svc")

    def lines(self) -> list[str]:
        """Return the report as text; the last line is svm-train's."""
        classes = self.task == "svc"
        last = f"Accuracy = {self.best.score:g}%" if classes else f"RMSE = {self.best.score:g}"
        return [*score_lines(self.cross_validation, classes=classes), f"Cross Validation {last}"]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        return {
            "task": self.task,
            "folds": self.folds,
            "cross_validation": [one.to_dict() for one in self.cross_validation],
            "best": self.best.to_dict(),
        }


def trained(
    data: GivenRows,
    options: Any,
    setting: Setting,
    missing: str,
    scores: Callable[[Rows, FloatArray, Any, Setting], tuple[CrossValidation, ...]],
    fits: Mapping[str, Callable[[Rows, FloatArray, Any, Setting], tuple[Model, Any]]],
) -> Outcome:
    """Return the model of a task of `fits`, or where no model is wanted the scores of `options.folds`.

    `missing` is the error of rows without labels.
    """
    if data.labels is None:
        raise OptionError(missing)
    labels = np.asarray(data.labels)
    warn_of_absent(options.weights, labels, data.name, setting)
    if not setting.writes:
        found = ScoresReport(options.task, options.folds, scores(data.rows, labels, options, setting))
        remark_on_classes(found.best.quality, setting)
        return Outcome(None, found)
    model, report = fits[options.task](data.rows, labels, options, setting)
    remark_on_classes(report.training, setting)
    return Outcome(model, replace(report, prediction=setting.prediction_time(model, data.rows)))
