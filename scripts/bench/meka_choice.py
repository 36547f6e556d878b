"""Cross-validation of meka over a grid of parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.methods.meka import MekaOptions
from svmfast.methods.meka.fit import fit
from svmfast.methods.method import Setting
from svmfast.rows import Rows


def scores_of_folds(
    rows: Rows,
    labels: np.ndarray,
    options: MekaOptions,
    gammas: Sequence[float],
    regularizations: Sequence[float],
    setting: Setting,
    folds: int = 3,
) -> list[dict[str, float]]:
    """The accuracy in percent (svc), or minus the RMSE, of every pair of gamma and C or lambda."""
    name = "C" if options.task == "svc" else "lambda_"
    fold = np.random.default_rng([options.seed, 7]).permutation(len(rows)) % folds
    found = []
    for gamma, regularization in itertools.product(gammas, regularizations):
        predicted = np.empty(len(rows))
        changes: dict[str, Any] = {"gamma": gamma, name: regularization}
        for f in range(folds):
            inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
            model, _ = fit(rows.take(inside), labels[inside], replace(options, **changes), setting)
            predicted[outside] = model.head.predict(model.decision_values(rows.take(outside)))
        score = 100 * np.mean(predicted == labels)
        if options.task != "svc":
            score = -np.sqrt(np.mean((predicted - labels) ** 2))
        found.append({"gamma": gamma, "regularization": regularization, "score": float(score)})
    return found
