"""Measures models in comparison with an exact model on the same rows: one result per model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.evaluation.result import ModelResult
from svmfast.evaluation.subject import ComparedModel, Given, Subject
from svmfast.evaluation.timing import timed
from svmfast.figures import measure
from svmfast.models.head import Head
from svmfast.models.scaling import Scaling
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows

#: Short calls are repeated up to this many seconds per sample.
LONGEST_SAMPLE = 0.2
#: Seconds of timing for each call, at most.
LIMIT_SECONDS = 20.0


def measured(
    models: Sequence[ComparedModel],
    rows: Rows,
    targets: FloatArray,
    *,
    scaling: Scaling | None = None,
    threads: int = 1,
    repeats: int = 7,
    progress: Progress = silent,
) -> tuple[ModelResult, ...]:
    """Measure models on the same rows, the exact one first, in at most `repeats` timed predictions of each.

    UnsupportedError if they do not answer the same question, or if there are no rows. The rows still need the
    `scaling`; the models take scaled rows.
    """
    if not len(rows):
        raise UnsupportedError("there are no rows for a comparison", "give a data file with rows")
    for other in models[1:]:
        check_same_question(models[0], other)
    timed_rows = rows if scaling is None else scaling.apply(rows[: scaling.timed_rows])
    given = Given(rows, timed_rows, targets, scaling, threads)
    subjects: list[Subject] = []
    found = []
    for done, one in enumerate(models):
        progress(done, len(models), "models")
        subjects.append(Subject(one, given, subjects[0] if subjects else None))
        found.append(measure(ModelResult, subjects[-1]))
        if done:
            del subjects[-1].answer  # that for many rows is large
    progress(len(models), len(models), "models")
    times = timed(
        {str(i): one.call for i, one in enumerate(subjects)},
        {str(i): one.seconds for i, one in enumerate(subjects)},
        longest=LONGEST_SAMPLE,
        limit_seconds=LIMIT_SECONDS * len(subjects),
        rounds=repeats,
        progress=progress,
    )
    whole = len(rows) / len(timed_rows)
    return tuple(
        ModelResult(**values, speed=times.speeds[str(i)], predict_seconds=whole * times.seconds[str(i)])
        for i, values in enumerate(found)
    )


def check_same_question(exact: ComparedModel, other: ComparedModel) -> None:
    """Raise UnsupportedError if `other` does not answer the same question as `exact`."""

    def question(head: Head) -> str:
        return "classification" if head.is_classifier else "regression" if head.is_regression else "one-class"

    def listed(labels: np.ndarray) -> str:
        return " ".join(str(int(label)) for label in labels[:8]) + " ..." * (len(labels) > 8)

    a, b = exact.model.head, other.model.head
    if question(a) != question(b):
        raise UnsupportedError(
            f"{other.path} is a {question(b)} model, {exact.path} a {question(a)} model",
            "compare models that answer the same question",
        )
    # The order of labels depends on the order of the training rows.
    if a.labels is not None and b.labels is not None and sorted(a.labels) != sorted(b.labels):
        raise UnsupportedError(
            f"{other.path} has the labels {listed(b.labels)}, {exact.path} {listed(a.labels)}",
            "compare models with the same labels",
        )
