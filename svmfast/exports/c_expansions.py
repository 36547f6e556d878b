"""The C text that finds a row's cell and evaluates its polynomials."""

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
    centers = tables.negated("centers", found.centers)
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
            "$N_INLINE int $n_cell_(const $n_real *v) {\n"
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
    count = tables.integers("children", children)
    start = tables.integers("first_child", np.where(children > 0, first, np.cumsum(children == 0) - 1))
    return (
        "/* From the root to the nearest child, the first of equals, until a leaf is reached: its cell. */\n"
        "$N_INLINE int $n_cell_(const $n_real *v) {\n"
        f"    $n_real s, least = {tables.real(0)};\n"
        "    int j, node = 0, child, nearest, children;\n"
        f"    while ((children = {count.as_int('node')}) > 0) {{\n"
        f"        const $n_real *center = {centers} + ({start.as_offset('node')} - 1) * {d};\n"
        "        nearest = 0;\n"
        f"        for (child = 0; child < children; ++child) {{\n{_deeper(step)}"
        "            if (child == 0 || s < least) {\n"
        "                least = s;\n                nearest = child;\n            }\n        }\n"
        f"        node = {start.as_int('node')} + nearest;\n    }}\n"
        f"    return {start.as_int('node')};\n}}\n"
    )


def _deeper(text: str, by: int = 1) -> str:
    return "".join("    " * by + line for line in text.splitlines(keepends=True))


def polynomials(tables: Tables, computation: Computation) -> str:
    """Return the functions that evaluate a cell's polynomials."""
    values = computation.values
    assert isinstance(values, Polynomials)
    real, d, p = tables.real, len(computation.variables), computation.head.n_functions
    order = int(values.orders.max(initial=0))
    coefficients, rho = tables.reals("coefficients", values.coefficients), tables.negated("rho", values.rho)
    polynomial = _polynomial(tables, values, coefficients)
    measured = bool(values.gamma) or values.centered or values.certificate is not None
    center = _center_table(tables, computation) if measured else ""
    text = _nested(tables, d, order) if order else ""
    lines = [
        "/* The values of one cell; returns the squared distance from its center. */",
        "$N_INLINE $n_real $n_expansions_(const $n_real *v, $n_real rest, int cell, $n_real *out) {",
        *_declarations(tables, values, d, center),
        *_unused(values, center, order),
        *(_distance(values, d) if center else []),
    ]
    if values.gamma:
        lines.append(f"    factor = $n_exp_(-{real(values.gamma)} * s);")
    factor = "factor * " if values.gamma else ""
    lines += [
        f"    for (f = 0; f < {p}; ++f) out[f] = {factor}{polynomial} + $N_READ({rho} + f);",
        "    return s;",
        "}",
    ]
    return text + "\n".join(declared_first(lines)) + "\n"


def _polynomial(tables: Tables, values: Polynomials, coefficients: str) -> str:
    """Return the expression of polynomial f of a cell at the point w, from the table of coefficients."""
    cells, p = values.orders.shape
    order, counts = int(values.orders.max(initial=0)), values.counts()
    if (values.orders == order).all():
        first = f" + (size_t)(cell * {p} + f) * {int(counts.flat[0])}" if cells * p > 1 else ""
        own = str(order)
    else:
        starts = np.concatenate([[0], np.cumsum(counts.ravel())])[:-1]
        first = f" + {tables.integers('starts', starts).as_offset(f'(cell * {p} + f)')}"
        own = tables.integers("orders", values.orders).as_int(f"(cell * {p} + f)")
    return f"$n_polynomial_(w, {own}, {coefficients}{first})" if order else f"$N_READ({coefficients}{first})"


def _nested(tables: Tables, d: int, order: int) -> str:
    """Return the function that evaluates a polynomial of up to `order`, at least 1, in `d` variables."""
    places = [math.comb(d + m - 1, m) for m in range(order)]
    begin = tables.integers("degree_starts", np.concatenate([[0], np.cumsum(places)])).as_int("m")
    return _NESTED % {"d": d, "order": order, "levels": order + 1, "begin": begin}


def _declarations(tables: Tables, values: Polynomials, d: int, center: str) -> list[str]:
    """Return the declarations; `center` is the table of centers, empty if no distance is needed."""
    zero = tables.real(0)
    if center:
        at = f" + cell * {d}" if len(values.centers) > 1 else ""
        lines = [
            f"    const $n_real *center = {center}{at};",
            f"    $n_real s = {zero}, difference;",
            "    int j;",
        ]
    else:
        lines = [f"    $n_real s = {zero};"]
    lines.append("    int f;")
    if values.gamma:
        lines.append("    $n_real factor;")
    lines.append(f"    $n_real w[{d}];" if values.centered else "    const $n_real *w = v;")
    return lines


def _unused(values: Polynomials, center: str, order: int) -> list[str]:
    """Return a statement for each name that is not used otherwise, so that compilers do not warn."""
    unused = {"cell": len(values.centers) == 1, "w": not order, "rest": not center}
    return [f"    (void){name};" for name, is_unused in unused.items() if is_unused]


def _distance(values: Polynomials, d: int) -> list[str]:
    """Return the statements that compute the squared distance from the center and store the differences."""
    return [
        f"    for (j = 0; j < {d}; ++j) {{",
        "        difference = v[j] + $N_READ(center + j);",
        "        s += difference * difference;",
        *(["        w[j] = difference;"] if values.centered else []),
        "    }",
        "    s += rest;",
    ]


def _center_table(tables: Tables, computation: Computation) -> str:
    """Return the name of the table of centers, which is added unless the route has already added it."""
    name = f"{tables.prefix}_minus_centers"
    values = computation.values
    assert isinstance(values, Polynomials)
    return name if computation.route is not None else tables.negated("centers", values.centers)


_NESTED = """\
/* A polynomial in %(d)d variables: coefficients by degree, within a degree by sorted index tuples. */
$N_INLINE $n_real $n_polynomial_(const $n_real *w, int order, const $n_real *coefficient) {
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
