"""Calibration: rescaling the terms of each degree to approach the exact values of given rows."""

from __future__ import annotations

import numpy as np

from svmfast.errors import OptionError
from svmfast.methods.approximate.expander import Expander
from svmfast.rows import FloatArray, Rows


def calibration(
    expander: Expander, center: FloatArray, order: int, rows: Rows
) -> tuple[FloatArray, FloatArray]:
    """Return factors of the degrees and new rho, fitted by least squares to the exact values of `rows`.

    Parameters
    ----------
    expander : Expander
    center : (d,) float64
    order : int
    rows : Rows

    Returns
    -------
    scales : (p, order + 1) float64
    rho : (p,) float64
    """
    if not len(rows):
        raise OptionError("no rows to calibrate on")
    model, threads = expander.model, expander.threads
    values = model.decision_values(rows, threads=threads)
    values = values + model.rho
    p, k = expander.terms.n_functions, order
    columns = np.empty((k + 1, len(rows), p))
    for m in range(k + 1):
        only = np.zeros((p, k + 1))
        only[:, m] = 1
        part, _ = expander.expanded(center, order, only)
        columns[m] = part.decision_values(rows, threads=threads) + model.rho
    scales, rho = np.ones((p, k + 1)), model.rho.copy()
    for q in range(p):
        correction = _correction(columns[:, :, q].T, values[:, q])
        scales[q] += correction[:-1]
        rho[q] -= correction[-1]
    return scales, rho


def _correction(columns: FloatArray, values: FloatArray) -> FloatArray:
    """Return the least-squares changes of the columns' factors from 1, and the constant to add to their sum.

    Degrees that contribute almost nothing on these rows are left unchanged.
    """
    design = np.concatenate([columns, np.ones((len(columns), 1))], axis=1)
    size = np.sqrt((design * design).mean(axis=0))
    shows = size > 1e-6 * size.max()
    left = values - columns.sum(axis=1)
    found = np.linalg.lstsq(design[:, shows] / size[shows], left, rcond=1e-8)[0]
    correction = np.zeros(design.shape[1])
    correction[shows] = found / size[shows]
    return correction
