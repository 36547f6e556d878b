"""Conversion of an exact model by a fit to its decision values or labels on unlabelled rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.hold_out import rows_aside
from svmfast.methods.common.problem import Problem
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.common.stopwatch import Stopwatch
from svmfast.methods.dcpred.fit import fit_tree, reported_pairs
from svmfast.methods.dcpred.held_out import as_held_out, held_out
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.dcpred.pairs import affordable, check_pairs, fit_pairs
from svmfast.methods.dcpred.report import DcpredReport
from svmfast.methods.given import ALONE, Setting
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.rows import FloatArray, Rows


def fit_exact(
    rows: Rows, exact: Model, options: DcpredOptions, setting: Setting = ALONE, source: str | None = None
) -> tuple[RoutedModel, DcpredReport]:
    """Convert a model of any svm_type, on rows like those to be predicted, which need no labels.

    A LIBSVM model's support vectors are added to the rows. `fit` values fits the exact decision values of all
    functions with one `lambda_`, and keeps the exact head with its probabilities (LIBSVM's coupling of the
    pairs, with the same probA and probB). labels fits the exact model's labels with one `C` and one function
    per class, without probabilities. auto means labels for three or more classes, whose many pairs would have
    to share each leaf's landmarks, and otherwise values. pairs fits the values in one cluster, where each
    landmark is only used for the pairs of its class.
    """
    options = options.resolved(rows, exact)
    fit = what_is_fitted(exact.head, options.fit)
    _check(options, exact.head, fit)
    setting.progress(0, None, "exact model on the rows")
    if fit == "pairs":
        model, report, found = _fit_pairs(rows, exact, options, setting, source)
    else:
        keys = row_keys(rows)
        aside = rows_aside(keys, None, (options.seed, 13), copies_agree=True)
        inside, vectors, trained_on = rows.take(aside.fitted), None, False
        if isinstance(exact, KernelExpansion) and exact.kernel.kind == "rbf":
            inside, vectors, trained_on = _with_vectors(inside, exact, keys, {keys[i] for i in aside.held})
        values = exact.decision_values(inside, threads=setting.threads)
        if fit == "values":
            problem = Problem(inside, values, exact.head, "squares")
        else:
            problem = _labelled(inside, exact.head, values)
        model, report = fit_tree(fit, replace(problem, vectors=vectors), options, setting, source)
        setting.progress(0, None, "error on held-out rows")
        found = held_out(exact, model, rows, aside, values_fitted=fit == "values", threads=setting.threads)
        if found is not None and trained_on:
            found["trained_on"] = 1.0
    return model, replace(report, held_out=found, probabilities=probabilities_after(exact.head, model.head))


def what_is_fitted(head: Head, fit: str) -> str:
    """Return `fit`, with ``auto`` replaced by its meaning for a model with this head."""
    if fit != "auto":
        return fit
    return "labels" if head.is_classifier and head.n_classes > 2 else "values"


def _check(options: DcpredOptions, head: Head, fit: str) -> None:
    if len(options.gamma) * len(options.C) * len(options.lambda_) != 1 or options.folds:
        raise OptionError(
            "`exact` takes one `gamma` and one `C` or `lambda_`, and no cross-validation (`folds`)"
        )
    if not head.n_functions:
        raise UnsupportedError(
            "the model has a single class and no decision function", "it needs no conversion"
        )
    if fit in ("labels", "pairs") and not head.is_classifier:
        raise OptionError(f"`fit` {fit} is for classifiers; this is a {head.svm_type} model")
    if fit == "pairs":
        check_pairs(options)


def _with_vectors(
    inside: Rows, exact: KernelExpansion, keys: list[bytes], aside: set[bytes]
) -> tuple[Rows, tuple[Rows, FloatArray], bool]:
    """Add the support vectors to the rows to fit.

    `keys` are the hashes of all rows, `aside` those of the held-out ones. Return the rows, the added vectors
    with their squared coefficients, and whether most of the support vectors are among the rows.
    """
    width = max(inside.n_columns, exact.sv.n_columns)
    sv = exact.sv.renumbered(exact.sv.indices, width)
    vectors = row_keys(sv)
    trained_on = 2 * len(set(vectors) & set(keys)) > len(vectors)
    # Support vectors are often rows of the data; those that equal held-out rows are not added.
    new = np.array([i for i, key in enumerate(vectors) if key not in aside], dtype=np.int64)
    sv = sv.take(new)
    squares = (exact.sv_coef[:, new] ** 2).sum(axis=0)
    return Rows.concatenate([inside.renumbered(inside.indices, width), sv]), (sv, squares), trained_on


def _fit_pairs(
    rows: Rows, exact: Model, options: DcpredOptions, setting: Setting, source: str | None
) -> tuple[RoutedModel, DcpredReport, dict[str, float] | None]:
    problem = _labelled(rows, exact.head, exact.decision_values(rows, threads=setting.threads))
    seconds = Stopwatch()
    options = affordable(exact, rows, options)
    made, statement = fit_pairs(exact, rows, options, setting)
    seconds.lap("landmarks")
    found = None if statement is None else as_held_out(statement)
    return (*reported_pairs(problem, made, options, None, setting, seconds, source), found)


def _labelled(rows: Rows, exact: Head, values: FloatArray) -> Problem:
    """Return the problem whose targets are the exact model's labels, with its order of classes."""
    assert exact.labels is not None
    labels = exact.predict(values)
    targets = np.where(labels[:, None] == exact.labels, 1.0, -1.0)
    if (targets > 0).any(axis=0).sum() == 1:
        raise UnsupportedError("the exact model gives all rows one label", "use rows of several classes")
    # The svm_type is kept, since a fallback requires that both models have the same one.
    head = Head(exact.svm_type, exact.labels, one_vs_rest=len(exact.labels) > 2)
    if not head.one_vs_rest:
        targets = np.ascontiguousarray(targets[:, :1])
    return Problem(rows, targets, head, "squared_hinge")
