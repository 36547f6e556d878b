"""scikit-learn's LinearSVC, where the bias counts in the norm as it does in our linear models."""

from __future__ import annotations

from typing import Any

from sklearn.svm import LinearSVC

from svmfast.rows import FloatArray


def linear_svc(labels: Any, x: FloatArray, y: FloatArray, test: FloatArray, **more: Any) -> FloatArray:
    """Fit x and y; return the decision values of `test`, in the order of a model's `labels`."""
    weights = more.pop("weights", None)
    theirs = LinearSVC(dual=False, tol=1e-8, max_iter=100_000, **more).fit(x, y, sample_weight=weights)
    values, order = theirs.decision_function(test), theirs.classes_.tolist()
    if values.ndim == 1:
        return values[:, None] * (1 if labels[0] == order[1] else -1)
    return values[:, [order.index(label) for label in labels]]
