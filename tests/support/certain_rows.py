"""Rows where the answers of an exported file change."""

import export_twin as twin
import numpy as np
from certain_twin import certain

from svmfast.exports.certain import bound_of
from svmfast.rows import as_rows


def where_it_changes(rule, rows, most):
    """Pairs of rows next to each other; the rule holds for the first and not for the second."""
    holds = rule(rows)
    many = min(int(holds.sum()), int((~holds).sum()), most)
    assert many
    inside, outside = rows[holds][:many], rows[~holds][:many]
    half = rows.dtype.type(0.5)
    for _ in range(np.finfo(rows.dtype).nmant + 8):
        middle = half * inside + half * outside
        same = rule(middle)[:, None]
        inside, outside = np.where(same, middle, inside), np.where(same, outside, middle)
    return inside, outside


def near_the_boundary(file, rows):
    label = file.answers(rows)[0]
    return np.vstack(where_it_changes(lambda at: file.answers(at) == label, rows, 30))


def rows_of(exact, file, rng, n):
    vectors = exact.sv.to_dense(file.features)
    spread = vectors.std(axis=0) + 0.01
    out = vectors[rng.integers(len(vectors), size=n)] + rng.normal(size=(n, file.features)) * spread
    return np.asarray(out.astype(file.dtype))


def check_the_same_rows_are_certain(computation, file, rows):
    bound = bound_of(computation, file.dtype)

    def rule(at):
        found = twin.values(computation, as_rows(at.astype(np.float64)), file.dtype)
        return certain(computation, bound, *found)

    inside, outside = where_it_changes(rule, np.vstack([near_the_boundary(file, rows), rows]), 40)
    assert file.certain(inside).all()
    assert not file.certain(outside).any()
