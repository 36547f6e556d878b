"""scikit-learn and scikit-learn-intelex, set up to predict with a given LIBSVM model; used by speed.py."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from svmfast.models.expansion import KernelExpansion
from svmfast.rows import Rows

Predict = Callable[[], np.ndarray]
NAMES = {"polynomial": "poly"}


def by_ascending_label(
    model: KernelExpansion,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, order of the support vectors, sv_coef, rho and nr_sv with classes in ascending order.

    scikit-learn's copy of LIBSVM sorts the labels; a pair whose classes are swapped changes sign.
    """
    labels, sizes = model.head.labels, model.nr_sv
    assert labels is not None
    assert sizes is not None
    order = np.argsort(labels)
    k, starts = len(labels), np.concatenate(([0], np.cumsum(sizes)))
    position = {}
    for i in range(k):
        for j in range(i + 1, k):
            position[i, j] = len(position)
    rho, blocks = [], [np.zeros((k - 1, sizes[c])) for c in order]
    for new_i in range(k):
        for new_j in range(new_i + 1, k):
            a, b = order[new_i], order[new_j]
            i, j, sign = (a, b, 1.0) if a < b else (b, a, -1.0)
            rho.append(sign * model.rho[position[i, j]])
            coefficients = {
                i: model.sv_coef[j - 1, starts[i] : starts[i + 1]],
                j: model.sv_coef[i, starts[j] : starts[j + 1]],
            }
            blocks[new_i][new_j - 1] = sign * coefficients[a]
            blocks[new_j][new_i] = sign * coefficients[b]
    rows = np.concatenate([np.arange(starts[c], starts[c + 1]) for c in order])
    return labels[order], rows, np.hstack(blocks), np.array(rho), sizes[order]


def _form(rows: Rows, width: int, sparse: bool) -> Any:
    from scipy.sparse import csr_matrix

    if not sparse:
        return rows.to_dense(width)
    return csr_matrix((rows.values, rows.indices, rows.indptr.astype(np.int32)), shape=(len(rows), width))


def scikit_learn(model: KernelExpansion, rows: Rows, sparse: bool) -> Predict:
    """SVC.predict of scikit-learn, with the fitted numbers replaced by the model's."""
    from scipy.sparse import csr_matrix
    from sklearn.svm import SVC

    labels, order, coefficients, rho, sizes = by_ascending_label(model)
    width = max(rows.n_columns, model.n_features)
    svc = SVC(
        kernel=NAMES.get(model.kernel.kind, model.kernel.kind),
        gamma=model.kernel.gamma,
        coef0=model.kernel.coef0,
        degree=model.kernel.degree,
    )
    # Any fit with the right labels and width; its numbers are then replaced.
    start = Rows.from_dense(np.vstack([np.eye(1, width, c % width) * (c + 1) for c in range(len(labels))]))
    svc.fit(_form(start, width, sparse), labels)
    svc.support_vectors_ = _form(model.sv.take(order), width, sparse)
    svc.support_ = np.arange(len(order), dtype=np.int32)
    svc._n_support = sizes.astype(np.int32)
    dual: Any = coefficients
    if sparse:  # scikit-learn reads the stored values as if no zeros were left out
        n = coefficients.shape[1]
        every = np.tile(np.arange(n, dtype=np.int32), len(coefficients))
        dual = csr_matrix((coefficients.ravel(), every, np.arange(len(coefficients) + 1, dtype=np.int32) * n))
    svc._dual_coef_, svc._intercept_ = dual, -rho
    binary = len(labels) == 2
    svc.dual_coef_, svc.intercept_ = (-dual, rho) if binary else (dual, -rho)
    svc.shape_fit_ = (len(order), width)
    test = _form(rows, width, sparse)
    return lambda: svc.predict(test)


def scikit_learn_intelex(
    model: KernelExpansion,
    rows: Rows,
    sparse: bool,
    training: Callable[[], tuple[Rows, np.ndarray]],
    cost: float,
) -> Predict:
    """SVC.predict of scikit-learn-intelex: the model's numbers, or its own fit for 3 or more classes.

    oneDAL cannot make a multiclass model from given numbers.
    """
    from sklearnex.svm import SVC

    width = max(rows.n_columns, model.n_features)
    svc = SVC(kernel="rbf", gamma=model.kernel.gamma, C=cost)
    assert model.head.labels is not None
    if len(model.head.labels) == 2:
        labels, order, coefficients, rho, _ = by_ascending_label(model)
        start = np.zeros((4, width))
        start[:, 0] = (0, 1, 3, 4)
        svc.fit(_form(Rows.from_dense(start), width, sparse), labels[[0, 0, 1, 1]])
        svc._onedal_estimator._create_model(_form(model.sv.take(order), width, sparse), -coefficients, rho)
    else:
        train_rows, train_labels = training()
        width = max(width, train_rows.n_columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svc.fit(_form(train_rows, width, sparse), train_labels)
    test = _form(rows, width, sparse)
    return lambda: svc.predict(test)
