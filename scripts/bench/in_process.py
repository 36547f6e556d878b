"""Measure predictions in one process against scikit-learn-intelex, beyond labels of the Gaussian kernel.

    python scripts/bench/in_process.py [--repeats 7] [--threads 2] [--readme docs/benchmarks.md]

Sigmoid and polynomial kernels, 2,000 dense features, regression without and with a tolerance,
probabilities, and one-class models, for which scikit-learn-intelex has nothing of its own: there
scikit-learn is the other side. Rows and models are made up. Both libraries train on the same rows with the
same options; svmfast predicts with the model of scikit-learn. All sides take the same array and predict in
turn, each time for at least 50 milliseconds. `--readme` puts the table between the markers
``<!-- in-process -->`` and ``<!-- /in-process -->``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measuring import in_turn, machine, place
from pages import put_into

import svmfast
from svmfast.rows import FloatArray


@dataclass(frozen=True)
class Work:
    """An estimator of sklearn.svm with its options; made-up rows for training and prediction, features."""

    name: str
    estimator: str
    options: dict[str, Any]
    train: int = 6000
    rows: int = 10_000
    features: int = 12
    tolerances: tuple[float | None, ...] = (None,)
    probability: bool = field(default=False)


WORK = (
    Work("sigmoid", "SVC", {"kernel": "sigmoid", "gamma": 0.02, "coef0": -0.5}),
    Work("polynomial, degree 2", "SVC", {"kernel": "poly", "gamma": 0.1, "coef0": 1.0, "degree": 2}),
    Work("polynomial, degree 3", "SVC", {"kernel": "poly", "gamma": 0.05, "coef0": 1.0, "degree": 3}),
    Work("2,000 dense features", "SVC", {"gamma": 5e-4, "C": 10.0}, 2500, 3000, 2000),
    Work("one-class", "OneClassSVM", {"gamma": 0.2, "nu": 0.1}),
    Work("SVR", "SVR", {"gamma": 0.1, "C": 10.0, "epsilon": 0.05}, tolerances=(None, 1e-3)),
    Work("SVR", "SVR", {"gamma": 0.02, "C": 10.0, "epsilon": 0.05}, 5000, 4000, 50, (None, 1e-3)),
    Work("NuSVR", "NuSVR", {"gamma": 0.1, "C": 10.0, "nu": 0.5}, tolerances=(None, 1e-3)),
    Work("probabilities", "SVC", {"gamma": 0.1, "C": 10.0}, 3000, probability=True),
)


def made_up(work: Work) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows for training, their labels or values, and rows to predict."""
    rng = np.random.default_rng(work.features)
    x = rng.normal(size=(work.train + work.rows, work.features))
    some = x @ rng.normal(size=work.features) / np.sqrt(work.features)
    value = np.sin(2 * some) + 0.5 * x[:, 0] * x[:, 1] + rng.normal(0, 0.3, len(x))
    kind = work.estimator
    y = value if "SVR" in kind else np.where(value > 0, 1.0, -1.0)
    return x[: work.train], y[: work.train], x[work.train :]


def repeated(call: Callable[[], Any]) -> Callable[[], float]:
    """Return an action that calls for at least 50 milliseconds and gives the seconds of a call."""

    def action() -> float:
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < 0.05 or not count:
            call()
            count += 1
        return passed / count

    return action


def measure(work: Work, options: argparse.Namespace) -> list[str]:
    """Return a line of the table for each tolerance."""
    import sklearn.svm

    x, y, rows = made_up(work)
    more = {"probability": True} if work.probability else {}
    own = getattr(sklearn.svm, work.estimator)(**work.options, **more).fit(x, y)
    other = own
    if work.estimator != "OneClassSVM":
        import sklearnex.svm

        other = getattr(sklearnex.svm, work.estimator)(**work.options, **more).fit(x, y)
    theirs = other.predict_proba if work.probability else other.predict
    model = svmfast.from_sklearn(own)
    lines = []
    for tolerance in work.tolerances:
        ours = svmfast.Predictor(model, probability=work.probability, tolerance=tolerance)
        answer = ours.answer(rows, threads=options.threads)
        found = own.predict(rows)
        if "SVR" in work.estimator:
            off = f"{np.abs(answer.predicted - found).max():.1g}, {np.abs(theirs(rows) - found).max():.1g}"
        elif work.probability:
            voted = answer.voted if answer.voted is not None else answer.predicted
            off = f"{int((voted != found).sum())}, {int((other.predict(rows) != found).sum())}"
        else:
            off = f"{int((answer.predicted != found).sum())}, {int((theirs(rows) != found).sum())}"
        calls = {
            "ours": repeated(lambda ours=ours: ours.answer(rows, threads=options.threads)),
            "theirs": repeated(lambda: theirs(rows)),
        }
        seconds = in_turn(calls, options.repeats).seconds
        mine, other_time = (statistics.median(seconds[name]) for name in ("ours", "theirs"))
        name = work.name + ("" if tolerance is None else f", `--tolerance {tolerance:g}`")
        lines.append(
            f"| {name} | {len(rows):,} | {work.features:,} | {len(own.support_):,} | {mine * 1e3:.1f} ms | "
            f"{other_time / mine:.1f}x | {off} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", help="measure only work whose name contains this")
    parser.add_argument("--readme", type=Path, help="replace the table in this file")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))
    warnings.simplefilter("ignore")
    lines = [
        "| model | rows | features | SVs | svmfast | over scikit-learn-intelex | off, ours and theirs |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for work in WORK:
        if options.only is None or options.only in work.name:
            lines += measure(work, options)
    found = machine(options.threads)
    lines += ["", f"Measured on {place(found, 'scikit-learn', 'scikit-learn-intelex')}; medians, in turn."]
    if options.readme:
        put_into(options.readme, lines, "in-process")


if __name__ == "__main__":
    main()
