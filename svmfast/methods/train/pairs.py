"""LIBSVM's two-class problems, solved in parallel and combined as in svm_train.

svm_train solves the pairs of several classes one after the other, and its OpenMP threads synchronize at every
kernel column. The pairs share nothing but the rows, so each can be solved as a separate problem.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from svmfast.methods.train.libsvm import Problem, Solution
from svmfast.rows import FloatArray, Rows
from svmfast.threads import map_in_threads


def solve_pairs(
    rows: Rows, labels: FloatArray, parameters: Mapping[str, float], *, first_index: int = 1, threads: int = 1
) -> Solution:
    """Return the solution that svm_train finds for three or more classes, bit for bit.

    `parameters` are those of :class:`Problem`, for C-SVC without probabilities. Pairs that are solved at the
    same time share the cache.
    """
    labels = np.trunc(labels)  # as in LIBSVM, if the caller permits such labels
    known, appears = np.unique(labels, return_index=True)
    known = known[np.argsort(appears)]  # in order of appearance, as in svm_group_classes
    k = len(known)
    members = [np.flatnonzero(labels == label) for label in known]
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    # The size of the cache changes LIBSVM's time, but not its result.
    parameters = {**parameters, "cache_size": parameters["cache_size"] / max(1, min(threads, len(pairs)))}

    def solve(pair: tuple[int, int]) -> tuple[FloatArray, float]:
        """Return the coefficients of all rows of both classes, in that order, and rho."""
        i, j = pair
        chosen = np.concatenate([members[i], members[j]])
        signs = np.repeat([1.0, 2.0], [len(members[i]), len(members[j])])
        found = Problem(rows.take(chosen), signs, parameters, (), first_index).train()
        coef = np.where(signs == 1, 0.0, -0.0)  # alpha times +1 or -1; files show the sign
        coef[found.sv_indices] = found.sv_coef[0]
        return coef, float(found.rho[0])

    solved = map_in_threads(solve, pairs, threads)
    # Indexed by class, row of coefficients, and row of the class.
    dense = [np.zeros((k - 1, len(part))) for part in members]
    for (i, j), (coef, _) in zip(pairs, solved, strict=True):
        dense[i][j - 1], dense[j][i] = coef[: len(members[i])], coef[len(members[i]) :]
    used = [np.flatnonzero(part.any(axis=0)) for part in dense]
    return Solution(
        sv_indices=np.concatenate([m[u] for m, u in zip(members, used, strict=True)]),
        sv_coef=np.hstack([part[:, u] for part, u in zip(dense, used, strict=True)]),
        rho=np.array([rho for _, rho in solved]),
        label=known.astype(np.int64),
        nr_sv=np.array([len(u) for u in used], dtype=np.int64),
    )
