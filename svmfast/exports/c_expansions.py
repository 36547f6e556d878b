"""The C text of routes to cells, and of polynomials."""

from __future__ import annotations

import math

import numpy as np

from svmfast.exports.c_text import Tables, declared_first
from svmfast.exports.computation import Computation, Polynomials


def route(tables: Tables, computation: Computation) -> str:
    """Return the function that finds a row's cell."""
    found = computation.route
    if found is None:
        return ""
    d = len(computation.variables)
    centers = tables.minus("centers", found.centers)
    step = (
        f"        s = {tables.real(0)};\n"
        f"        for (j = 0; j < {d}; ++j) {{\n"
        "            $n_real difference = v[j] + $N_READ(center);\n"
        "            ++center;\n"
        "            s += difference * difference;\n"
        "        }\n"
    )
    if found.is_flat:
        return (
            "/* The cell whose center is nearest; the first of equals. */\n"
            "static inline int $n_cell_(const $n_real *v) {\n"
            f"    const $n_real *center = {centers};\n"
            f"    $n_real s, least = {tables.real(0)};\n"
            "    int j, cell, nearest = 0;\n"
            f"    for (cell = 0; cell < {len(found.centers)}; ++cell) {{\n{step}"
            "        if (cell == 0 || s < least) {\n"
            "            least = s;\n            nearest = cell;\n        }\n    }\n"
            "    return nearest;\n}\n"
        )
    children = found.children
    first = 1 + np.concatenate([[0], np.cumsum(children)[:-1]])
    count = tables.whole("children", children)
    start = tables.whole("first_child", np.where(children > 0, first, np.cumsum(children == 0) - 1))
    return (
        "/* From the root to the nearest child, the first of equals, until a leaf is reached: its cell. */\n"
        "static inline int $n_cell_(const $n_real *v) {\n"
        f"    $n_real s, least = {tables.real(0)};\n"
        "    int j, node = 0, child, nearest, children;\n"
        f"    while ((children = {count.at('node')}) > 0) {{\n"
        f"        const $n_real *center = {centers} + ({start.wide('node')} - 1) * {d};\n"
        "        nearest = 0;\n"
        f"        for (child = 0; child < children; ++child) {{\n{_deeper(step)}"
        "            if (child == 0 || s < least) {\n"
        "                least = s;\n                nearest = child;\n            }\n        }\n"
        f"        node = {start.at('node')} + nearest;\n    }}\n"
        f"    return {start.at('node')};\n}}\n"
    )


def _deeper(text: str, by: int = 1) -> str:
    return "".join("    " * by + line for line in text.splitlines(keepends=True))


def polynomials(tables: Tables, computation: Computation) -> str:
    """Return the functions that evaluate a cell's polynomials."""
    values = computation.values
    assert isinstance(values, Polynomials)
    real, d, p = tables.real, len(computation.variables), computation.head.n_functions
    cells, order = len(values.centers), int(values.orders.max(initial=0))
    coefficients = tables.reals("coefficients", values.coefficients)
    rho = tables.minus("rho", values.rho)
    counts = values.counts()
    same = (values.orders == order).all()
    if same:
        per = int(counts.flat[0])
        first = f" + (size_t)(cell * {p} + f) * {per}" if cells * p > 1 else ""
        own = str(order)
    else:
        starts = np.concatenate([[0], np.cumsum(counts.ravel())])[:-1]
        first = f" + {tables.whole('starts', starts).wide(f'(cell * {p} + f)')}"
        own = tables.whole("orders", values.orders).at(f"(cell * {p} + f)")
    measured = bool(values.gamma) or values.centered or values.certificate is not None
    center = _center_table(tables, computation) if measured else ""
    text = _NESTED if order else ""
    places = [math.comb(d + m - 1, m) for m in range(max(order, 1))]
    text = (
        text
        % {
            "d": d,
            "order": order,
            "levels": order + 1,
            "begin": tables.whole("degree_starts", np.concatenate([[0], np.cumsum(places)])).at("m")
            if order
            else "",
        }
        if order
        else ""
    )
    sum_ = f"$n_polynomial_(w, {own}, {coefficients}{first})" if order else f"$N_READ({coefficients}{first})"
    lines = [
        "/* The values of one cell; returns the squared distance from its center. */",
        "static inline $n_real $n_expansions_(const $n_real *v, $n_real rest, int cell, $n_real *out) {",
    ]
    if center:
        at = f" + cell * {d}" if cells > 1 else ""
        lines += [
            f"    const $n_real *center = {center}{at};",
            f"    $n_real s = {real(0)}, difference;",
            "    int j;",
        ]
    else:
        lines.append(f"    $n_real s = {real(0)};")
    lines.append("    int f;")
    if values.gamma:
        lines.append("    $n_real factor;")
    if values.centered:
        lines.append(f"    $n_real w[{d}];")
    else:
        lines.append("    const $n_real *w = v;")
    if cells == 1:
        lines.append("    (void)cell;")
    if not order:
        lines.append("    (void)w;")
    if center:
        lines += [
            f"    for (j = 0; j < {d}; ++j) {{",
            "        difference = v[j] + $N_READ(center + j);",
            "        s += difference * difference;",
            *(["        w[j] = difference;"] if values.centered else []),
            "    }",
            "    s += rest;",
        ]
    else:
        lines.append("    (void)rest;")
    if values.gamma:
        lines.append(f"    factor = $n_exp_(-{real(values.gamma)} * s);")
    factor = "factor * " if values.gamma else ""
    lines += [
        f"    for (f = 0; f < {p}; ++f) out[f] = {factor}{sum_} + $N_READ({rho} + f);",
        "    return s;",
        "}",
    ]
    return text + "\n".join(declared_first(lines)) + "\n"


def _center_table(tables: Tables, computation: Computation) -> str:
    """Return the table of the centers, which the route may already have made."""
    name = f"{tables.prefix}_minus_centers"
    values = computation.values
    assert isinstance(values, Polynomials)
    return name if computation.route is not None else tables.minus("centers", values.centers)


_NESTED = """\
/* A polynomial in %(d)d variables: coefficients by degree, within a degree by sorted index tuples. */
static inline $n_real $n_polynomial_(const $n_real *w, int order, const $n_real *coefficient) {
    const $n_real *next[%(levels)d];
    $n_real sum[%(levels)d];
    int at[%(levels)d], m, level = 1, j;
    for (m = 0; m <= order; ++m) next[m] = coefficient + %(begin)s;
    sum[0] = $N_READ(next[0]);
    if (order == 0) return sum[0];
    at[1] = 0;
    for (;;) {
        if (level == order) { /* the last index: a run of coefficients */
            $n_real run = sum[level - 1];
            const $n_real *c = next[order];
            for (j = at[level]; j < %(d)d; ++j, ++c) run += w[j] * $N_READ(c);
            next[order] = c;
            sum[level - 1] = run;
        } else if (at[level] < %(d)d) { /* one level deeper, from the same index on */
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
