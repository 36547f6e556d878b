"""Probability parameters for a model whose decision values changed slightly: kept, refitted or dropped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.platt import laplace_scale


def probabilities_after(exact: Head, made: Head) -> str:
    """What happened to the probabilities: ``none`` (there were none), kept, refitted or dropped."""
    if not exact.has_probability:
        return "none"
    if not made.has_probability:
        return "dropped"
    pairs = ((getattr(exact, name), getattr(made, name)) for name in ("prob_a", "prob_b", "density_marks"))
    same = all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
    return "kept" if same else "refitted"


def probability_error(head: Head, ours: FloatArray, theirs: FloatArray) -> dict[str, float]:
    """How much the probabilities of both models, by the same `head`, differ: mean and largest, if any."""
    if head.is_regression or not head.has_probability:
        return {}
    difference = np.abs(head.probabilities(ours) - head.probabilities(theirs))
    return {"probability_mean": float(difference.mean()), "probability_max": float(difference.max())}


def refit_probabilities(
    exact: KernelExpansion,
    compressed: KernelExpansion,
    labelled: tuple[Rows, FloatArray] | None,
    *,
    threads: int,
    notes: list[str],
) -> tuple[Head, str]:
    """Fit probA and probB (regression: sigma; one-class: density marks) to the compressed model.

    `compressed` still has the exact model's head. One-class models need rows, but no labels. `notes` receives
    remarks for the user. With the head comes ``none``, ``refitted`` or ``kept``.
    """
    head = exact.head
    if not head.has_probability:
        return head, "none"
    if labelled is not None:
        rows, labels = labelled
        decisions = compressed.decision_values(rows, threads=threads)
        if head.svm_type == "one_class":
            new = _matched_marks(exact.decision_values(rows, threads=threads)[:, 0], decisions[:, 0], head)
            return replace(head, density_marks=new), "refitted"
        if head.is_regression:
            if len(np.unique(labels)) > 1:
                return replace(head, prob_a=np.array([laplace_scale(labels - decisions[:, 0])])), "refitted"
        else:
            fitted = _sigmoids(head, decisions, labels)
            if fitted is not None:
                notes.append(
                    "probA and probB were refitted on the labels of `data`; "
                    "if the model was trained on these rows, its probabilities are overconfident"
                )
                return replace(head, prob_a=fitted[0], prob_b=fitted[1]), "refitted"
    notes.append(
        "the exact model's probability parameters were kept: decision values have changed slightly; "
        "labelled rows in `data` refit them"
    )
    return head, "kept"


def _sigmoids(head: Head, decisions: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """A and B of Platt's sigmoid for each pair; None if a label is unknown or a class has no row."""
    assert head.labels is not None
    known = head.labels.astype(np.float64)
    if not np.isin(labels, known).all() or len(np.unique(labels)) < len(known):
        return None
    a, b = [], []
    for p, (i, j) in enumerate(zip(*np.triu_indices(len(known), 1), strict=True)):
        mine = (labels == known[i]) | (labels == known[j])
        pair = fit_sigmoid(decisions[mine, p], labels[mine] == known[i])
        a.append(pair[0])
        b.append(pair[1])
    return np.array(a), np.array(b)


def fit_sigmoid(decisions: FloatArray, positive: np.ndarray) -> tuple[float, float]:
    """Fit A, B of P(positive | f) = 1 / (1 + exp(A f + B)) by regularized maximum likelihood.

    Platt's targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2); Newton's method with a line search on the convex
    problem (Lin, Lin and Weng, A note on Platt's probabilistic outputs, Machine Learning 68, 2007).
    """
    n_pos = int(np.count_nonzero(positive))
    n_neg = len(positive) - n_pos
    goal = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))

    def loss(a: float, b: float) -> float:
        t = a * decisions + b
        return float(np.sum(np.logaddexp(0, t) - (1 - goal) * t))

    a, b = 0.0, float(np.log((n_neg + 1) / (n_pos + 1)))
    value = loss(a, b)
    for _ in range(100):
        t = a * decisions + b
        p = 1 / (1 + np.exp(np.clip(t, -700, 700)))
        error = goal - p
        gradient = np.array([np.sum(decisions * error), np.sum(error)])
        if np.abs(gradient).max() < 1e-5:
            break
        curve = p * (1 - p)
        cross = float(np.sum(decisions * curve))
        hessian = np.array([[np.sum(decisions * decisions * curve), cross], [cross, np.sum(curve)]])
        hessian[np.diag_indices(2)] += 1e-12
        step = -np.linalg.solve(hessian, gradient)
        size, slope = 1.0, float(gradient @ step)
        while size >= 1e-10:
            tried = loss(a + size * step[0], b + size * step[1])
            if tried < value + 1e-4 * size * slope:
                a, b, value = a + size * float(step[0]), b + size * float(step[1]), tried
                break
            size /= 2
        else:
            break
    return a, b


def _matched_marks(exact: FloatArray, decisions: FloatArray, head: Head) -> FloatArray:
    """Move each density mark so that the same share of rows lies below it as below the exact model's."""
    assert head.density_marks is not None
    ordered, new = np.sort(exact), np.sort(decisions)
    share = np.interp(head.density_marks, ordered, np.linspace(0, 1, len(ordered)))
    moved: FloatArray = np.interp(share, np.linspace(0, 1, len(new)), new)
    # A mark stays on its side of zero, where the label changes.
    return np.where(np.sign(moved) == np.sign(head.density_marks), moved, head.density_marks)
