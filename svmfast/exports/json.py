"""The JSON export: the description of a model's computation, for programs in any language."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from svmfast.exports.accuracy import Printed, Settings
from svmfast.exports.computation import Computation, KernelSums, Polynomials
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows

#: Version of the schema: it increases if a key changes its name or meaning, not if one is added.
VERSION = 1


def print_json(computation: Computation, settings: Settings) -> Printed:
    """Return the document of docs/export.schema.json."""
    scaling, route = computation.scaling, computation.route
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
            "clip": None if scaling.clip is None else list(scaling.clip),
            "drops_others": scaling.drops_others,
        },
        "variables": _list(computation.variables),
        "route": None
        if route is None
        else {"children": _list(route.children), "centers": _list(route.centers)},
        "values": _values(computation.values),
        "answer": _answer(computation.head, computation.class_names),
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return Printed(text.encode() + b"\n")


def own_values(computation: Computation, rows: Rows, dtype: Any) -> tuple[FloatArray, int | None]:
    """Return the values of the description itself, in double precision."""
    from svmfast.exports.twin import values

    return values(computation, rows, dtype)[0], None


def _list(array: Any) -> Any:
    return None if array is None else np.asarray(array).tolist()


def _values(values: KernelSums | Polynomials) -> dict[str, Any]:
    if isinstance(values, Polynomials):
        certificate = values.certificate
        return {
            "form": "polynomials",
            "gamma": values.gamma,
            "centered": values.centered,
            "centers": _list(values.centers),
            "orders": _list(values.orders),
            "coefficients": _list(values.coefficients),
            "rho": _list(values.rho),
            "certificate": None
            if certificate is None
            else {"degrees": _list(certificate.degrees), "rest": _list(certificate.rest)},
        }
    pseudo = values.pseudo
    return {
        "form": "kernel_sums",
        "kernel": values.kernel,
        "gamma": _list(values.gamma),
        "coef0": values.coef0,
        "degree": values.degree,
        "vectors": _list(values.vectors),
        "sizes": _list(values.sizes),
        "coefficients": _list(values.coef),
        "class_sizes": _list(values.classes),
        "rho": _list(values.rho),
        "pseudo_landmarks": None
        if pseudo is None
        else {
            "kind": pseudo.kind,
            "sizes": _list(pseudo.sizes),
            "coefficients": _list(pseudo.coef),
            "pairs": _list(pseudo.pairs),
            "distances": _list(pseudo.distances),
        },
    }


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
