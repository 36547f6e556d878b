"""Class weights as the user gives them, with names of classes or ``balanced``, as weights of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.display import listed, shown
from svmfast.errors import OptionError
from svmfast.methods.method import GivenRows, GivenStream, Method
from svmfast.values import BALANCED


def with_weights_of_labels(
    options: Any, method: Method, inputs: Mapping[str, Any], names: Mapping[float, str] | None
) -> Any:
    """Return the options of a method with its class weights given by labels.

    Parameters
    ----------
    options : object
        `method.options`. ``weights`` may have names of classes in place of labels, or be ``balanced``: the
        weight of a class with m of n rows is then n / (k m), for k classes, as in scikit-learn.
    method : Method
    inputs : mapping
        What was read.
    names : mapping of float to str, or None
        The name of each label, if the labels of the training rows are names.

    Raises
    ------
    OptionError
        There is no class with a name that has a weight.
    """
    weights = getattr(options, "weights", ())
    if weights == BALANCED:
        return replace(options, weights=_balanced(_training_rows(method, inputs)))
    if all(isinstance(label, int) for label, _ in weights):
        return options
    labels = {name: int(label) for label, name in (names or {}).items()}
    for word, _ in weights:
        if isinstance(word, str) and word not in labels:
            data = _training_rows(method, inputs)
            known = listed(list(labels)) if labels else ", ".join(_shown_labels(data))
            have = "the classes are" if labels else "the classes have no names; their labels are"
            raise OptionError(
                f"`weights`: no class of {data.name} is called '{shown(word, 60)}'; {have} {known}"
            )
    found = tuple((labels[label] if isinstance(label, str) else label, weight) for label, weight in weights)
    return replace(options, weights=found)


def _training_rows(method: Method, inputs: Mapping[str, Any]) -> GivenRows | GivenStream:
    found: GivenRows | GivenStream = inputs[next(o.name for o in method.inputs if o.content == "rows")]
    return found


def _counts(data: GivenRows | GivenStream) -> dict[int, int]:
    """Return the number of rows of each label; LIBSVM truncates labels to integers."""
    if isinstance(data, GivenStream):
        values, counts = np.array(data.source.labels.values), np.array(data.source.labels.counts)
    else:
        values, counts = np.unique(np.zeros(0) if data.labels is None else data.labels, return_counts=True)
    found: dict[int, int] = {}
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        found[int(value)] = found.get(int(value), 0) + count
    return found


def _balanced(data: GivenRows | GivenStream) -> tuple[tuple[int, float], ...]:
    counts = _counts(data)
    n, k = sum(counts.values()), len(counts)
    return tuple((label, n / (k * count)) for label, count in sorted(counts.items()))


def _shown_labels(data: GivenRows | GivenStream) -> list[str]:
    return [f"{label}" for label in sorted(_counts(data))[:10]]
