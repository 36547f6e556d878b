"""The values of an exported file in NumPy, in its precision: they show how far its rounding moves them.

Terms are added in the order of the C file. Functions such as exp are NumPy's, so single bits may differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.computation import (
    Computation,
    Degree,
    KernelSums,
    degrees,
    stored,
)
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.votes import pairs_of_each

Reals = NDArray[Any]

#: Maximum number of features, kernel values, monomials, or decision values of a block of rows.
_BLOCK = 1 << 21
#: Number of vectors that single precision sums before it adds the partial sum to the total, if a cell has at
#: least `FOLD_FROM` vectors.
FOLD, FOLD_FROM = 32, 64


def folds(values: KernelSums, dtype: np.dtype[Any]) -> bool:
    """Whether sums are taken in parts of :data:`FOLD` vectors."""
    return dtype == np.float32 and int(values.sizes.max(initial=0)) >= FOLD_FROM


def evaluate(computation: Computation, rows: Rows, dtype: Any) -> FloatArray:
    """Compute decision values, ``(n, p)``; columns that the file does not have are left out."""
    values, kind = computation.values, np.dtype(dtype)
    monomials: list[Degree] = []
    if isinstance(values, PolynomialModel):
        monomials = list(degrees(values.centers.shape[1], int(values.orders.max(initial=0))))
        work = len(monomials[-1].last)
    else:
        work = int(values.sizes.max(initial=0))
    functions = computation.head.n_functions
    step = max(1, _BLOCK // max(1, work, computation.n_features, functions))
    out = np.zeros((len(rows), functions))
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), step):
            z, rest = variables(computation, rows[start : start + step], kind)
            cells = nearest(computation, z)
            for cell in np.unique(cells).tolist():
                mine = np.flatnonzero(cells == cell)
                if isinstance(values, PolynomialModel):
                    found = _polynomials(values, monomials, cell, z[mine], rest[mine])
                else:
                    found = _sums(values, cell, z[mine], rest[mine])
                out[start + mine] = found
    return out


def variables(computation: Computation, rows: Rows, kind: np.dtype[Any]) -> tuple[Reals, Reals]:
    """The variables of `rows`, ``(n, d)``, and what the other columns add to a distance, ``(n, 1)``."""
    wide, scaling = stored(rows.to_dense(computation.n_features), kind), computation.scaling
    if scaling is not None:
        wide = (wide - stored(scaling.offset, kind)) * stored(scaling.factor, kind)
        if scaling.clip is not None:
            wide = np.clip(wide, *stored(np.array(scaling.clip), kind))
    if computation.map is not None:
        map_, center = (stored(one, kind) for one in computation.map)
        mapped = np.zeros((len(wide), len(map_)), kind)
        for j, column in enumerate(computation.variables):
            mapped += map_[:, j] * (wide[:, column, None] - center[j])
        return mapped, np.zeros((len(wide), 1), kind)
    others = np.delete(wide, computation.variables, axis=1)
    kernel = "laplacian" if computation.laplacian else "rbf"
    return wide[:, computation.variables], measured_from(kernel, np.zeros((1, others.shape[1]), kind), others)


def nearest(computation: Computation, z: Reals) -> IntArray:
    """Find the cell of each row, ``(n,)``, given its variables."""
    route, node = computation.route, np.zeros(len(z), dtype=np.int64)
    if route is None:
        return node
    centers = stored(route.centers, z.dtype)
    for here, (first, count) in enumerate(zip(route.first_child, route.children, strict=True)):
        mine = np.flatnonzero(node == here)  # breadth first: the numbers of a row's nodes ascend
        if count and len(mine):
            apart = measured_from("rbf", centers[first - 1 : first - 1 + count], z[mine])
            node[mine] = first + apart.argmin(axis=1)
    return route.cell[node]


def measured_from(kernel: str, vectors: Reals, z: Reals) -> Reals:
    """Squared distances, absolute distances or products, ``(n, m)``."""
    s = np.zeros((len(z), len(vectors)), dtype=z.dtype)
    for mine, theirs in zip(z.T[..., None], vectors.T, strict=True):
        if kernel == "rbf":
            s += (mine - theirs) ** 2
        elif kernel == "laplacian":
            s += np.abs(mine - theirs)
        else:
            s += mine * theirs
    return s


def _kernel(values: KernelSums, measured: Reals, gamma: Any) -> Reals:
    if values.kernel in ("rbf", "laplacian"):
        return np.asarray(np.exp(-gamma * measured))
    if values.kernel == "linear":
        return measured
    inner = gamma * measured + measured.dtype.type(values.coef0)
    return np.asarray(np.tanh(inner) if values.kernel == "sigmoid" else inner**values.degree)


def part_of(sizes: IntArray, cell: int) -> slice:
    """The elements of a cell, where the cells have `sizes` elements one after another."""
    end = int(sizes[: cell + 1].sum())
    return slice(end - int(sizes[cell]), end)


def owned_functions(values: KernelSums, cell: int, count: int) -> tuple[list[Any], IntArray]:
    """The functions that the coefficients of each class belong to, and the class of each vector."""
    if values.classes is None:
        return [slice(None)], np.zeros(count, dtype=np.int64)
    functions = [*pairs_of_each(values.classes.shape[1])]
    return functions, np.repeat(np.arange(len(functions)), values.classes[cell])


def _sums(values: KernelSums, cell: int, z: Reals, rest: Reals) -> Reals:
    kind, part = z.dtype, part_of(values.sizes, cell)
    coef, rho = stored(values.coef[:, part], kind), stored(values.rho[cell], kind)
    gamma = kind.type(values.gamma[cell])
    measured = measured_from(values.kernel, stored(values.vectors[part], kind), z)
    if values.kernel in ("rbf", "laplacian"):
        measured += rest
    k = _kernel(values, measured, gamma)
    functions, owner = owned_functions(values, cell, k.shape[1])
    out, open_ = np.zeros((2, len(z), len(rho)), dtype=kind)
    fold = folds(values, kind)
    for i, c in enumerate(owner.tolist()):
        open_[:, functions[c]] += k[:, i, None] * coef[:, i]
        if fold and (i + 1) % FOLD == 0:
            out += open_
            open_[:] = 0
    out += open_
    if values.pseudo is not None:
        out += _pseudo(values, cell, measured, k, gamma)
    return np.asarray(out - rho)


def _pseudo(values: KernelSums, cell: int, measured: Reals, k: Reals, gamma: Any) -> Reals:
    pseudo = values.pseudo
    assert pseudo is not None
    kind, part = k.dtype, part_of(pseudo.sizes, cell)
    coef = stored(pseudo.coef[:, part], kind).T
    if pseudo.kind == "poly":
        first, second = pseudo.pairs[part].T
        terms = k[:, first] * k[:, second]
    else:
        apart = stored(pseudo.distances[part_of(pseudo.sizes * values.sizes, cell)], kind)
        roots, theirs = np.sqrt(measured), apart.reshape(len(coef), k.shape[1])
        r = [np.abs(roots - one).max(axis=1, initial=0) for one in theirs]
        terms = np.exp(-gamma * np.array(r, dtype=kind).reshape(len(theirs), len(k)).T ** 2)
    return np.asarray(terms @ coef)


def _polynomials(values: PolynomialModel, monomials: list[Degree], cell: int, z: Reals, rest: Reals) -> Reals:
    kind = z.dtype
    center = stored(values.centers[cell], kind)
    s = measured_from("rbf", center[None], z) + rest
    w = z - center if values.about == "centre" else z
    powers = [np.ones((len(z), 1), dtype=kind)]
    for degree in monomials[1:]:
        powers.append(powers[-1][:, degree.parent] * w[:, degree.last])
    sums = []
    for start, order in zip(values.starts[cell].tolist(), values.orders[cell].tolist(), strict=True):
        terms = np.hstack(powers[: order + 1])
        sums.append(terms @ stored(values.coefficients[start : start + terms.shape[1]], kind))
    out = np.stack(sums, axis=1)
    if values.gamma:
        out *= np.exp(-kind.type(values.gamma) * s)
    return np.asarray(out - stored(values.rho, kind))
