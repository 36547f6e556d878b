"""The JSON export: the description of a model's computation, for programs in any language."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from svmfast.exports import twin
from svmfast.exports.accuracy import Printed, Settings
from svmfast.exports.computation import Computation, Polynomials
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows

#: Version of the schema: it increases if a key changes its name or meaning, not if one is added.
VERSION = 1


def write(computation: Computation, settings: Settings) -> Printed:
    """Write the document of docs/export.schema.json."""
    scaling = computation.scaling
    form = "polynomials" if isinstance(computation.values, Polynomials) else "kernel_sums"
    document = {
        "svmfast_export": VERSION,
        "origin": dict(settings.origin),
        "features": computation.n_features,
        "feature_names": list(settings.feature_names) or None,
        "scaling": None
        if scaling is None
        else {
            "offset": _list(scaling.offset),
            "factor": _list(scaling.factor),
            "clip": scaling.clip,
            "drops_others": computation.drops_others,
        },
        "variables": _list(computation.variables),
        "route": _described(computation.route),
        "values": {"form": form, **_described(computation.values)},
        "answer": _answer(computation.head, computation.class_names),
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return Printed(text.encode() + b"\n")


def evaluate(computation: Computation, rows: Rows, dtype: Any) -> tuple[FloatArray, None]:
    """Compute the values of the description itself, in double precision."""
    return twin.values(computation, rows, dtype)[0], None


def _list(array: Any) -> Any:
    return None if array is None else np.asarray(array).tolist()


#: The names of fields in the document, where they differ.
_NAMES = {"coef": "coefficients", "classes": "class_sizes", "pseudo": "pseudo_landmarks"}


def _described(part: Any) -> Any:
    """A part of the description by the names of its fields, or the numbers of an array."""
    if not is_dataclass(part):
        return _list(part) if isinstance(part, np.ndarray) else part
    return {_NAMES.get(one.name, one.name): _described(getattr(part, one.name)) for one in fields(part)}


def _answer(head: Head, names: tuple[str, ...] | None) -> dict[str, Any]:
    if head.is_regression:
        rule = "value"
    elif head.labels is None or head.n_classes == 2:
        rule = "sign"
    else:
        rule = "largest" if head.one_vs_rest else "votes"
    return {
        "svm_type": head.svm_type,
        "rule": rule,
        "functions": head.n_functions,
        "labels": _list(head.labels) if head.labels is not None else None if rule == "value" else [1, -1],
        "class_names": None if names is None else list(names),
        "prob_a": _list(head.prob_a),
        "prob_b": _list(head.prob_b),
        "density_marks": _list(head.density_marks),
    }
