"""The C text of sums over vectors, pseudo landmarks included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmfast.exports.c_text import Tables, Whole, declared_first
from svmfast.exports.computation import Computation, KernelSums
from svmfast.exports.twin import FOLD, folds

#: From a number to its text.
Real = Callable[[float], str]


def kernel_sums(tables: Tables, computation: Computation) -> str:
    """Return the function that sums over a cell's vectors."""
    values = computation.values
    assert isinstance(values, KernelSums)
    real, d = tables.real, len(computation.variables)
    cells, m = len(values.sizes), len(values.vectors)
    p, width = computation.head.n_functions, len(values.coef)
    vectors = _Vectors(tables, values, cells)
    coef = tables.reals("coefficients", values.coef.T if m else np.zeros(1))
    rho = tables.reals("rho", values.rho)
    gamma = real(values.gamma[0])
    lines = [
        "/* The values of one cell, from its vectors. */",
        "static inline void $n_sums_(const $n_real *v, $n_real rest, int cell, $n_real *out) {",
    ]
    start = [f"    const $n_real *coefficient = {coef}{vectors.offset(width)};"]
    if cells > 1:
        if (values.gamma != values.gamma[0]).any():
            gamma = f"$N_READ({tables.reals('gamma', values.gamma)} + cell)"
        start.append(f"    const $n_real *rho = {rho} + cell * {p};")
        start.append(f"    int i, j, f, size = {vectors.size.at('cell')};")
    else:
        start += [f"    const $n_real *rho = {rho};", f"    int i, j, f, size = {m};"]
    lines += start + vectors.begin
    if values.kernel in ("rbf", "laplacian"):
        lines.append(f"    $n_real s, difference, gamma = {gamma};")
    elif values.kernel == "linear":
        lines.append("    $n_real s;")
    else:
        lines.append(f"    $n_real s, gamma = {gamma};")
    pseudo = values.pseudo if values.pseudo is not None and len(values.pseudo.coef.T) else None
    most = max(1, int(values.sizes.max(initial=0)))
    if pseudo is not None:
        lines.append(f"    $n_real known[{most}];")
    fold = folds(values, tables.dtype)
    target = "part" if fold else "out"
    if fold:
        lines.append(f"    $n_real part[{p}];")
    if values.kernel in ("linear", "polynomial", "sigmoid"):
        lines.append("    (void)rest;")
    if cells == 1:
        lines.append("    (void)cell;")
    lines.append(f"    for (f = 0; f < {p}; ++f) {'part[f] = out[f]' if fold else 'out[f]'} = {real(0)};")
    if values.classes is not None:
        lines.append("    int own, left, class_ = -1;")
        counts = tables.whole("class_sizes", values.classes)
        place = f"cell * {values.classes.shape[1]} + class_" if cells > 1 else "class_"
        lines.append("    left = 0;")
        advance = [
            "        while (left == 0) {",
            "            ++class_;",
            f"            left = {counts.at(f'({place})')};",
            "        }",
            "        --left;",
        ]
    else:
        advance = []
    lines += ["    for (i = 0; i < size; ++i) {", *advance, f"        s = {real(0)};"]
    lines += vectors.step(values.kernel, d, real)
    if pseudo is not None and pseudo.kind == "triangle":
        lines.append("        known[i] = $n_sqrt_(s);")
    if values.kernel != "linear":
        lines.append(f"        s = {_kernel(values, real)};")
    if values.kernel == "polynomial":
        lines += _power(values.degree, real)
    if pseudo is not None and pseudo.kind == "poly":
        lines.append("        known[i] = s;")
    if values.classes is None:
        lines += [
            f"        for (f = 0; f < {width}; ++f) {target}[f] += $N_READ(coefficient + f) * s;",
            f"        coefficient += {width};",
        ]
    else:
        k = values.classes.shape[1]
        lines += [
            "        /* The pairs of its class with the classes before it, then with those behind it. */",
            "        own = class_ - 1;",
            f"        for (f = 0; f < class_; ++f, own += {k} - 1 - f)",
            f"            {target}[own] += $N_READ(coefficient + f) * s;",
            f"        own = class_ * (2 * {k} - class_ - 1) / 2 - class_;",
            f"        for (; f < {width}; ++f) {target}[own + f] += $N_READ(coefficient + f) * s;",
            f"        coefficient += {width};",
        ]
    if fold:
        empty = f"for (f = 0; f < {p}; ++f) {{"
        lines += [
            f"        if ((i + 1) % {FOLD} == 0) {{ /* sums of few terms round less */",
            f"            {empty}",
            "                out[f] += part[f];",
            f"                part[f] = {real(0)};",
            "            }",
            "        }",
        ]
    lines.append("    }")
    if fold:
        lines.append(f"    for (f = 0; f < {p}; ++f) out[f] += part[f];")
    if pseudo is not None:
        lines += _pseudo(tables, values, cells, p)
    lines += [f"    for (f = 0; f < {p}; ++f) out[f] -= $N_READ(rho + f);", "}"]
    return "\n".join(declared_first(lines)) + "\n"


def _kernel(values: KernelSums, real: Real) -> str:
    return {
        "rbf": "$n_exp_(-gamma * (s + rest))",
        "laplacian": "$n_exp_(-gamma * (s + rest))",
        "polynomial": f"gamma * s + {real(values.coef0)}",
        "sigmoid": f"$n_tanh_(gamma * s + {real(values.coef0)})",
    }[values.kernel]


def _power(degree: int, real: Real) -> list[str]:
    return [
        "        {",
        f"            $n_real base = s, power = {real(1)};",
        f"            for (j = {degree}; j > 0; j /= 2) {{",
        "                if (j % 2) power *= base;",
        "                base *= base;",
        "            }",
        "            s = power;",
        "        }",
    ]


class _Vectors:
    """The vectors' tables: dense, or sparse where that is smaller; both give the same sums."""

    def __init__(self, tables: Tables, values: KernelSums, cells: int) -> None:
        m, d = values.vectors.shape
        stored = values.vectors != 0
        per = stored.sum(axis=1)
        index_bytes = 1 if d <= 256 else 2 if d <= 65536 else 4
        count_bytes = 1 if int(per.max(initial=0)) < 256 else 2
        real = tables.dtype.itemsize
        self.sparse = bool(per.sum() * (real + index_bytes) + count_bytes * m < real * m * d)
        self.size: Whole
        self.d = d
        self.cells = cells
        starts = np.concatenate([[0], np.cumsum(values.sizes)])[:-1]
        if cells > 1:
            self.size = tables.whole("sizes", values.sizes)
            self.first = tables.whole("starts", starts)
        if not self.sparse:
            name = tables.reals("vectors", values.vectors if m else np.zeros(1))
            self.begin = [f"    const $n_real *value = {name}{self.offset(d)};"]
            return
        row, column = np.nonzero(stored)
        name = tables.reals("vector_values", values.vectors[row, column])
        index = tables.whole("vector_columns", column)
        count = tables.whole("vector_counts", per)
        self.index, self.count = index, count
        ends = np.concatenate([[0], np.cumsum(per)])
        if cells > 1:
            first = tables.whole("entry_starts", ends[starts])
            at, of = f" + {first.wide('cell')}", f" + {self.first.wide('cell')}"
        else:
            at = of = ""
        self.begin = [
            f"    const $n_real *value = {name}{at};",
            f"    const uint{index.bits}_t *column = {index.name}{at};",
            f"    const uint{count.bits}_t *entries = {count.name}{of};",
            "    int left_of_vector;",
        ]

    def offset(self, width: int) -> str:
        """Return the expression that advances a pointer to a cell's first row in a table of this width."""
        return f" + {self.first.wide('cell')} * {width}" if self.cells > 1 else ""

    def step(self, kernel: str, d: int, real: Real) -> list[str]:
        """Return the loop that makes s of v and the next vector."""
        apart = kernel in ("rbf", "laplacian")
        size = {
            "rbf": "s += difference * difference;",
            "laplacian": f"s += difference < {real(0)} ? -difference : difference;",
        }
        if not self.sparse:
            if not apart:
                return [f"        for (j = 0; j < {d}; ++j, ++value) s += v[j] * $N_READ(value);"]
            return [
                f"        for (j = 0; j < {d}; ++j, ++value) {{",
                "            difference = v[j] - $N_READ(value);",
                f"            {size[kernel]}",
                "        }",
            ]
        macros = "$N"
        entries = f"        left_of_vector = (int){macros}_READ_{self.count.bits}(entries + i);"
        read = f"(int){macros}_READ_{self.index.bits}(column)"
        if not apart:
            return [
                entries,
                "        for (; left_of_vector > 0; --left_of_vector, ++column, ++value)",
                f"            s += v[{read}] * $N_READ(value);",
            ]
        return [
            entries,
            f"        for (j = 0; j < {d}; ++j) {{",
            "            difference = v[j];",
            f"            if (left_of_vector > 0 && {read} == j) {{",
            "                difference -= $N_READ(value);",
            "                --left_of_vector;",
            "                ++column;",
            "                ++value;",
            "            }",
            f"            {size[kernel]}",
            "        }",
        ]


def _pseudo(tables: Tables, values: KernelSums, cells: int, p: int) -> list[str]:
    pseudo = values.pseudo
    assert pseudo is not None
    coef = tables.reals("pseudo_coefficients", pseudo.coef.T)
    start, at = f"int q, pseudo_size = {len(pseudo.coef.T)};", ""
    if cells > 1:
        size = tables.whole("pseudo_sizes", pseudo.sizes)
        ends = np.concatenate([[0], np.cumsum(pseudo.sizes)])
        first = tables.whole("pseudo_starts", ends[:-1])
        start, at = f"int q, pseudo_size = {size.at('cell')};", f" + {first.wide('cell')}"
    lines = [f"    const $n_real *more = {coef}{at and f'{at} * {p}'};", f"    {start}"]
    add = [
        f"        for (f = 0; f < {p}; ++f) out[f] += $N_READ(more + f) * s;",
        f"        more += {p};",
    ]
    if pseudo.kind == "poly":
        one = tables.whole("pseudo_first", pseudo.pairs[:, 0])
        other = tables.whole("pseudo_second", pseudo.pairs[:, 1])
        read = [f"(int)$N_READ_{table.bits}({table.name}{at} + q)" for table in (one, other)]
        return [
            *lines,
            "    for (q = 0; q < pseudo_size; ++q) {",
            f"        s = known[{read[0]}] * known[{read[1]}];",
            *add,
            "    }",
        ]
    name = tables.reals("pseudo_distances", pseudo.distances)
    at = ""
    if cells > 1:
        ends = np.concatenate([[0], np.cumsum(pseudo.sizes * values.sizes)])
        at = f" + {tables.whole('pseudo_distance_starts', ends[:-1]).wide('cell')}"
    zero = tables.real(0)
    return [
        *lines,
        f"    const $n_real *apart = {name}{at};",
        "    for (q = 0; q < pseudo_size; ++q) {",
        f"        s = {zero};",
        "        for (i = 0; i < size; ++i, ++apart) {",
        "            difference = known[i] - $N_READ(apart);",
        f"            if (difference < {zero}) difference = -difference;",
        "            if (difference > s) s = difference;",
        "        }",
        "        s = $n_exp_(-gamma * (s * s));",
        *add,
        "    }",
    ]
