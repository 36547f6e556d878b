"""The C text of a cell's values: sums over vectors, or polynomials."""

from __future__ import annotations

import math

import numpy as np

from svmfast.exports.c_text import Tables, Words
from svmfast.exports.computation import Computation, KernelSums, starts_of
from svmfast.exports.reference import FOLD, folds
from svmfast.models.polynomial import PolynomialModel

#: Adds the terms of one vector to the functions of its class, or to all.
TERMS = """\
?classes:        while (left == 0) {
?classes:            ++class_;
?classes:            left = @class_size@;
?classes:        }
?classes:        --left;
?classes:        /* The pairs of its class with the classes before it, then with those after it. */
?classes:        own = class_ - 1;
?classes:        for (f = 0; f < class_; ++f) {
?classes:            @target@[own] += @term@;
?classes:            own += @k@ - 2 - f;
?classes:        }
?classes:        own = ((class_ * ((2 * @k@) - class_ - 1)) / 2) - class_;
?classes:        for (; f < @wide@; ++f) { @target@[own + f] += @term@; }
?!classes:        for (f = 0; f < @wide@; ++f) { @target@[f] += @term@; }
"""

SUMS = (
    """\
/* The values of one cell, from its vectors. */
$N_INLINE void $n_sums_(const $n_real *v, $n_real rest, int cell, $n_real *out) {
    const $n_real *coefficient = @coefficients@;
    const $n_real *rho = @rho@;
    $n_real s;
    int i, @j@f, size = @size@;
    const $n_real *value = @vectors@;
?sparse:    const uint@column_bits@_t *column = @columns@;
?sparse:    const uint@entry_bits@_t *entries = @entries@;
?sparse:    int left_of_vector;
?apart:    $n_real difference;
?!linear:    $n_real gamma = @gamma@;
?polynomial:    $n_real base;
?pseudo:    $n_real known[@most@];
?fold:    $n_real part[@p@];
?classes:    int own, left, class_ = -1;
?pseudo:    const $n_real *more = @more@;
?pseudo:    int q, pseudo_size = @pseudo_size@;
?triangle:    const $n_real *apart = @distances@;
?!apart:    (void)rest;
?!many_cells:    (void)cell;
    for (f = 0; f < @p@; ++f) @begin@ = @0@;
?classes:    left = 0;
    for (i = 0; i < size; ++i) {
        s = @0@;
?sparse:        left_of_vector = (int)$N_READ_@entry_bits@(entries + i);
?sparse !apart:        for (; left_of_vector > 0; --left_of_vector, ++column, ++value)
?sparse !apart:            s += v[(int)$N_READ_@column_bits@(column)] * $N_READ(value);
?!sparse !apart:        for (j = 0; j < @d@; ++j, ++value) s += v[j] * $N_READ(value);
?!sparse apart:        for (j = 0; j < @d@; ++j, ++value) {
?!sparse apart:            difference = v[j] + $N_READ(value);
?sparse apart:        for (j = 0; j < @d@; ++j) {
?sparse apart:            difference = v[j];
?sparse apart:            if (left_of_vector > 0 && (int)$N_READ_@column_bits@(column) == j) {
?sparse apart:                difference += $N_READ(value);
?sparse apart:                --left_of_vector;
?sparse apart:                ++column;
?sparse apart:                ++value;
?sparse apart:            }
?apart:            s += @length@;
?apart:        }
?triangle:        known[i] = $n_sqrt_(s);
?apart:        s = $n_exp_(-gamma * (s + rest));
?sigmoid:        s = $n_tanh_(gamma * s + @coef0@);
?polynomial:        base = gamma * s + @coef0@;
?polynomial:        s = @1@;
?polynomial:        for (j = @degree@; j > 0; j /= 2) {
?polynomial:            if (j % 2) s *= base;
?polynomial:            base *= base;
?polynomial:        }
?products:        known[i] = s;
"""
    + TERMS
    + """\
        coefficient += @wide@;
?fold:        if ((i + 1) % @fold@ == 0) { /* sums of few terms round less */
?fold:            for (f = 0; f < @p@; ++f) {
?fold:                out[f] += part[f];
?fold:                part[f] = @0@;
?fold:            }
?fold:        }
    }
?fold:    for (f = 0; f < @p@; ++f) out[f] += part[f];
?pseudo:    for (q = 0; q < pseudo_size; ++q) {
?products:        s = known[@first@] * known[@second@];
?triangle:        s = @0@;
?triangle:        for (i = 0; i < size; ++i, ++apart) {
?triangle:            difference = known[i] - $N_READ(apart);
?triangle:            if (difference < @0@) difference = -difference;
?triangle:            if (difference > s) s = difference;
?triangle:        }
?triangle:        s = $n_exp_(-gamma * (s * s));
?pseudo:        for (f = 0; f < @p@; ++f) out[f] += $N_READ(more + f) * s;
?pseudo:        more += @p@;
?pseudo:    }
    for (f = 0; f < @p@; ++f) out[f] += $N_READ(rho + f);
}
"""
)

POLYNOMIAL = """\
/* A polynomial in @d@ variables: coefficients by degree, within a degree by sorted index tuples. */
$N_INLINE $n_real $n_polynomial_(const $n_real *w, int order, const $n_real *coefficient) {
    const $n_real *next[@levels@];
    $n_real sum[@levels@];
    int at[@levels@], m, level = 1, j;
    for (m = 0; m <= order; ++m) next[m] = coefficient + @degree_start@;
    sum[0] = $N_READ(next[0]);
    if (order == 0) return sum[0];
    at[1] = 0;
    for (;;) {
        if (level == order) { /* the last index: a run of coefficients */
            $n_real run = sum[level - 1];
            const $n_real *c = next[order];
            for (j = at[level]; j < @d@; ++j, ++c) run += w[j] * $N_READ(c);
            next[order] = c;
            sum[level - 1] = run;
        } else if (at[level] < @d@) { /* one level deeper, from the same index on */
            sum[level] = $N_READ(next[level]);
            ++next[level];
            at[level + 1] = at[level];
            ++level;
            continue;
        }
        --level;
        if (level == 0) return sum[0];
        sum[level - 1] += w[at[level]] * sum[level];
        ++at[level];
    }
}
"""

EXPANSIONS = """\
/* The values of one cell; returns the squared distance from its center. */
$N_INLINE $n_real $n_expansions_(const $n_real *v, $n_real rest, int cell, $n_real *out) {
?center:    const $n_real *center = @center@;
?center:    $n_real s = @0@, difference;
?center:    int j;
?!center:    $n_real s = @0@;
    int f;
?gamma:    $n_real factor;
?centered:    $n_real w[@d@];
?!centered:    const $n_real *w = v;
?!many_cells:    (void)cell;
?!order:    (void)w;
?!center:    (void)rest;
?center:    for (j = 0; j < @d@; ++j) {
?center:        difference = v[j] + $N_READ(center + j);
?center:        s += difference * difference;
?centered:        w[j] = difference;
?center:    }
?center:    s += rest;
?gamma:    factor = $n_exp_(-@gamma@ * s);
    for (f = 0; f < @p@; ++f) out[f] = @times@@polynomial@ + $N_READ(@rho@ + f);
    return s;
}
"""

VALUES = """\
$N_INLINE void $n_values_(const $n_real *v, $n_real rest, $n_real *out) {
?sums:    $n_sums_(v, rest, @cell@, out);
?!sums:    (void)$n_expansions_(v, rest, @cell@, out);
}
"""


def _vectors(tables: Tables, values: KernelSums) -> Words:
    """The tables of vectors: dense, or sparse if that is smaller; both give the same sums.

    In double precision, which is for larger machines, sparse ones must be half as large, because their loops
    are slower. For kernels of differences, the tables have the vectors with reversed signs.
    """
    (m, d), cells = values.vectors.shape, len(values.sizes)
    stored = values.vectors != 0
    per = stored.sum(axis=1)
    index_bytes = 1 if d <= 256 else 2 if d <= 65536 else 4
    count_bytes = 1 if int(per.max(initial=0)) < 256 else 2
    real = tables.dtype.itemsize
    share = 1.0 if real == 4 else 0.5
    sparse = bool(per.sum() * (real + index_bytes) + count_bytes * m < share * real * m * d)
    apart = values.kernel in ("rbf", "laplacian")
    add = tables.negated if apart else tables.reals
    words: Words = {
        "sparse": sparse,
        "apart": apart,
        "many_cells": cells > 1,
        "size": tables.per_cell("sizes", values.sizes, cells),
        "start": tables.starts("starts", values.sizes, cells),
    }
    if not sparse:
        at = words["start"] and f"{words['start']} * {d}"
        name = add("vectors", values.vectors if m else np.zeros(1))
        return words | {"vectors": f"{name}{at}"}
    row, column = np.nonzero(stored)
    name = add("vector_values", values.vectors[row, column])
    index, entries = tables.integers("vector_columns", column), tables.integers("vector_counts", per)
    ends = np.concatenate([[0], np.cumsum(per)])
    in_cell = np.diff(ends[np.concatenate([starts_of(values.sizes), [m]])])
    at = tables.starts("entry_starts", in_cell, cells)
    return words | {
        "vectors": f"{name}{at}",
        "columns": f"{index.name}{at}",
        "column_bits": index.bits,
        "entries": f"{entries.name}{words['start']}",
        "entry_bits": entries.bits,
    }


def _sums(tables: Tables, values: KernelSums, p: int) -> Words:
    """The words of sums over vectors, in the order of their tables in the file."""
    words = _vectors(tables, values)
    real, wide, cells, kernel = tables.real, len(values.coef), len(values.sizes), values.kernel
    coef = tables.reals("coefficients", values.coef.T if len(values.vectors) else np.zeros(1))
    start, fold = words["start"], folds(values, tables.dtype)
    rho, gamma = tables.negated("rho", values.rho), real(values.gamma[0])
    if cells > 1 and (values.gamma != values.gamma[0]).any():
        gamma = f"$N_READ({tables.reals('gamma', values.gamma)} + cell)"
    words |= {
        "coefficients": coef + (start and f"{start} * {wide}"),
        "wide": wide,
        "rho": rho + (f" + cell * {p}" if cells > 1 else ""),
        "gamma": gamma,
        "coef0": real(values.coef0),
        "degree": values.degree,
        "length": "difference * difference"
        if kernel == "rbf"
        else f"difference < {real(0)} ? -difference : difference",
        **{name: kernel == name for name in ("linear", "polynomial", "sigmoid")},
        "j": "j, " if not words["sparse"] or words["apart"] or kernel == "polynomial" else "",
        "most": max(1, int(values.sizes.max(initial=0))),
        "fold": FOLD if fold else 0,
        "begin": "part[f] = out[f]" if fold else "out[f]",
        "target": "part" if fold else "out",
        "term": "$N_READ(coefficient + f) * s",
    }
    return words | class_words(tables, values) | _pseudo(tables, values, p)


def class_words(tables: Tables, values: KernelSums) -> Words:
    """The sizes of the classes, if the vectors of each have coefficients of their own."""
    if values.classes is None:
        return {"classes": False}
    (cells, k), sizes = values.classes.shape, tables.integers("class_sizes", values.classes)
    place = f"cell * {k} + class_" if cells > 1 else "class_"
    return {"classes": True, "class_size": sizes.at(f"({place})"), "k": k}


def _pseudo(tables: Tables, values: KernelSums, p: int) -> Words:
    pseudo, cells = values.pseudo, len(values.sizes)
    if pseudo is None or not pseudo.coef.size:
        return {"pseudo": False, "triangle": False, "products": False}
    more = tables.reals("pseudo_coefficients", pseudo.coef.T)
    size = tables.per_cell("pseudo_sizes", pseudo.sizes, cells)
    at = tables.starts("pseudo_starts", pseudo.sizes, cells)
    triangle = pseudo.kind == "triangle"
    words: Words = {
        "pseudo": True,
        "triangle": triangle,
        "products": not triangle,
        "more": more + (at and f"{at} * {p}"),
        "pseudo_size": size,
    }
    if triangle:
        distances = tables.reals("pseudo_distances", pseudo.distances)
        start = tables.starts("pseudo_distance_starts", pseudo.sizes * values.sizes, cells)
        return words | {"distances": distances + start}
    for side, name in enumerate(("first", "second")):
        table = tables.integers(f"pseudo_{name}", pseudo.pairs[:, side])
        words[name] = table.at(f"{at.removeprefix(' + ')}{at and ' + '}q")
    return words


def _expansions(tables: Tables, computation: Computation, values: PolynomialModel) -> Words:
    (cells, p), d, centered = values.orders.shape, len(computation.variables), values.about == "centre"
    order = int(values.orders.max(initial=0))
    coefficients, rho = tables.reals("coefficients", values.coefficients), tables.negated("rho", values.rho)
    if (values.orders == order).all():
        first = f" + (size_t)(cell * {p} + f) * {values.counts()[0]}" if cells * p > 1 else ""
        own = str(order)
    else:
        starts = tables.integers("starts", values.starts)
        first = f" + {starts.at(f'(cell * {p} + f)', 'size_t')}"
        own = tables.integers("orders", values.orders).at(f"(cell * {p} + f)")
    at = f"{coefficients}{first}"
    words = {
        "order": order,
        "levels": order + 1,
        "centered": centered,
        "many_cells": cells > 1,
        "gamma": tables.real(values.gamma) if values.gamma else "",
        "times": "factor * " if values.gamma else "",
        "rho": rho,
        "polynomial": f"$n_polynomial_(w, {own}, {at})" if order else f"$N_READ({at})",
        "center": "",
    }
    if values.gamma or centered or values.has_error_bound:
        # The route has added the table.
        named = computation.route is not None
        name = f"{tables.prefix}_minus_centers" if named else tables.negated("centers", values.centers)
        words["center"] = name + (f" + cell * {d}" if cells > 1 else "")
    if order:
        places = np.cumsum([0] + [math.comb(d + m - 1, m) for m in range(order)])
        words["degree_start"] = tables.integers("degree_starts", places).at("m")
    return words


def value_words(tables: Tables, computation: Computation) -> Words:
    """The words of the functions that compute a cell's values."""
    values = computation.values
    if isinstance(values, KernelSums):
        return {"sums": True, "order": 0} | _sums(tables, values, computation.head.n_functions)
    none = dict.fromkeys(("sums", "sigmoid", "triangle"), False)
    return none | _expansions(tables, computation, values)
