"""Conversion of an exact model by a fit to its decision values or labels on unlabelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.common.equal_rows import row_keys
from svmfast.methods.common.execution import Execution
from svmfast.methods.common.hold_out import rows_aside
from svmfast.methods.common.kernel_width import kernel_width
from svmfast.methods.common.refit_probabilities import probabilities_after
from svmfast.methods.common.stopwatch import Stopwatch
from svmfast.methods.dcpred.fit import fit_tree, reported_pairs
from svmfast.methods.dcpred.held_out import as_held_out, held_out
from svmfast.methods.dcpred.options import DcpredOptions
from svmfast.methods.dcpred.pairs import affordable, check_pairs, fit_pairs
from svmfast.methods.dcpred.report import DcpredReport
from svmfast.methods.dcpred.tree_training import ExactVectors, Training
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows


def fit_exact(
    rows: Rows,
    exact: Model,
    options: DcpredOptions,
    *,
    threads: int = 1,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> tuple[RoutedModel, DcpredReport]:
    """Convert a model of any svm_type, on rows that need no labels.

    Parameters
    ----------
    rows : Rows
        n rows like those to be predicted. A LIBSVM model's support vectors are added.
    exact : Model
    options : DcpredOptions
        One `gamma`. `fit` values fits the exact decision values of all functions with one `lambda_`, and
        keeps the exact head with its probabilities (LIBSVM's coupling of the pairs, with the same probA and
        probB). labels fits the exact model's labels with one `C` and one function per class, without
        probabilities. auto means labels for three or more classes, whose many pairs would have to share each
        leaf's landmarks, and otherwise values. pairs fits the values in one cluster, where each landmark is
        only used for the pairs of its class.

    Raises
    ------
    OptionError, UnsupportedError, MemoryLimitError
    """
    gamma = None if options.gamma is not None else kernel_width(rows.n_columns, exact, "rbf")
    options = options.resolved(len(rows), gamma, converts=True)
    head = exact.head
    fit = what_is_fitted(head, options.fit)
    _check(options, head, fit)
    how = Execution(threads, provenance or {}, progress)
    progress(0, None, "exact model on the rows")
    if fit == "pairs":
        return _fit_pairs(rows, exact, options, how)
    keys = row_keys(rows)
    aside = rows_aside(keys, None, (options.seed, 13), copies_agree=True)
    inside = rows.take(aside.fitted)
    vectors, trained_on = None, False
    if isinstance(exact, KernelExpansion) and exact.kernel.kind == "rbf":
        inside, vectors, trained_on = _with_vectors(inside, exact, keys, {keys[i] for i in aside.held})
    values = exact.decision_values(inside, threads=threads)
    if fit == "values":
        training = Training(inside, values, head, "squares", vectors)
    else:
        training = _labelled(inside, head, values, vectors)
    model, report = fit_tree(fit, training, options, how)
    progress(0, None, "error on held-out rows")
    found = held_out(exact, model, rows, aside, values_fitted=fit == "values", threads=threads)
    if found is not None and trained_on:
        found["trained_on"] = 1.0
    return model, replace(report, held_out=found, probabilities=probabilities_after(head, model.head))


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
) -> tuple[Rows, ExactVectors, bool]:
    """Add the support vectors to the rows.

    Parameters
    ----------
    inside : Rows
        Rows to fit.
    exact : KernelExpansion
    keys : list of bytes
        Hashes of all rows.
    aside : set of bytes
        Hashes of the held-out rows.

    Returns
    -------
    rows : Rows
    vectors : ExactVectors
    trained_on : bool
        Whether most of the support vectors are among the rows.
    """
    width = max(inside.n_columns, exact.sv.n_columns)
    sv = exact.sv.renumbered(exact.sv.indices, width)
    vectors = row_keys(sv)
    trained_on = 2 * len(set(vectors) & set(keys)) > len(vectors)
    # Support vectors are often rows of the data; those that equal held-out rows are not added.
    new = np.array([i for i, key in enumerate(vectors) if key not in aside], dtype=np.int64)
    sv = sv.take(new)
    found = ExactVectors(sv, (exact.sv_coef[:, new] ** 2).sum(axis=0))
    return Rows.concatenate([inside.renumbered(inside.indices, width), sv]), found, trained_on


def _fit_pairs(
    rows: Rows, exact: Model, options: DcpredOptions, how: Execution
) -> tuple[RoutedModel, DcpredReport]:
    training = _labelled(rows, exact.head, exact.decision_values(rows, threads=how.threads), None)
    seconds = Stopwatch()
    options = affordable(exact, rows, options)
    made, statement = fit_pairs(exact, rows, options, threads=how.threads, progress=how.progress)
    seconds.lap("landmarks")
    model, report = reported_pairs(training, made, options, None, how, seconds)
    found = None if statement is None else as_held_out(statement)
    return model, replace(report, held_out=found, probabilities=probabilities_after(exact.head, model.head))


def _labelled(rows: Rows, exact: Head, values: FloatArray, vectors: ExactVectors | None) -> Training:
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
    return Training(rows, targets, head, "squared_hinge", vectors)
