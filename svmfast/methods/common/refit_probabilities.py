"""Probability parameters for a model whose decision values changed slightly: kept, refitted or dropped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.platt import fit_sigmoid, laplace_scale


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
    """Fit the probabilities of `compressed`, which has the exact head, and say what became of them.

    One-class models need rows, but no labels. `notes` receives remarks.
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


def _matched_marks(exact: FloatArray, decisions: FloatArray, head: Head) -> FloatArray:
    """Move each density mark so that the same share of rows lies below it as below the exact model's."""
    assert head.density_marks is not None
    ordered, new = np.sort(exact), np.sort(decisions)
    share = np.interp(head.density_marks, ordered, np.linspace(0, 1, len(ordered)))
    moved: FloatArray = np.interp(share, np.linspace(0, 1, len(new)), new)
    # A mark stays on its side of zero, where the label changes.
    return np.where(np.sign(moved) == np.sign(head.density_marks), moved, head.density_marks)
