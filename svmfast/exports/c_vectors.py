"""The C text of sums over vectors, including pseudo landmarks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.c_text import IntegerTable, Tables, declared_first
from svmfast.exports.computation import Computation, KernelSums
from svmfast.exports.twin import FOLD, folds
from svmfast.models.pseudo import PseudoLandmarks

#: Maps a number to its C text.
Real = Callable[[float], str]


def kernel_sums(tables: Tables, computation: Computation) -> str:
    """Return the function that sums over a cell's vectors."""
    values = computation.values
    assert isinstance(values, KernelSums)
    cells, p = len(values.sizes), computation.head.n_functions
    vectors = _Vectors(tables, values, cells)
    pseudo = values.pseudo if values.pseudo is not None and len(values.pseudo.coef.T) else None
    fold = folds(values, tables.dtype)
    lines = [
        "/* The values of one cell, from its vectors. */",
        "$N_INLINE void $n_sums_(const $n_real *v, $n_real rest, int cell, $n_real *out) {",
        *_declarations(tables, values, vectors, p),
    ]
    if pseudo is not None:
        lines.append(f"    $n_real known[{max(1, int(values.sizes.max(initial=0)))}];")
    if fold:
        lines.append(f"    $n_real part[{p}];")
    if not vectors.apart:
        lines.append("    (void)rest;")
    if cells == 1:
        lines.append("    (void)cell;")
    zero = tables.real(0)
    lines.append(f"    for (f = 0; f < {p}; ++f) {'part[f] = out[f]' if fold else 'out[f]'} = {zero};")
    lines += _loop(tables, values, vectors, pseudo, p if fold else None)
    if fold:
        lines.append(f"    for (f = 0; f < {p}; ++f) out[f] += part[f];")
    if pseudo is not None:
        lines += _pseudo(tables, values, cells, p)
    lines += [f"    for (f = 0; f < {p}; ++f) out[f] += $N_READ(rho + f);", "}"]
    return "\n".join(declared_first(lines)) + "\n"


def _declarations(tables: Tables, values: KernelSums, vectors: _Vectors, p: int) -> list[str]:
    """Return the declarations of a cell's tables and numbers."""
    real, cells, m, width = tables.real, len(values.sizes), len(values.vectors), len(values.coef)
    coef = tables.reals("coefficients", values.coef.T if m else np.zeros(1))
    rho = tables.negated("rho", values.rho)
    gamma = real(values.gamma[0])
    lines = [
        f"    const $n_real *coefficient = {coef}{vectors.offset(width)};",
        "    $n_real s[$N_TOGETHER];",
    ]
    j = "j, " if not vectors.sparse or vectors.apart or values.kernel == "polynomial" else ""
    if cells > 1:
        if (values.gamma != values.gamma[0]).any():
            gamma = f"$N_READ({tables.reals('gamma', values.gamma)} + cell)"
        lines.append(f"    const $n_real *rho = {rho} + cell * {p};")
        lines.append(f"    int i, {j}n, f, many, size = {vectors.size.as_int('cell')};")
    else:
        lines.append(f"    const $n_real *rho = {rho};")
        lines.append(f"    int i, {j}n, f, many, size = {m};")
    lines += vectors.begin
    if values.kernel != "linear":
        lines.append(f"    $n_real gamma = {gamma};")
    return lines


def _loop(
    tables: Tables, values: KernelSums, vectors: _Vectors, pseudo: PseudoLandmarks | None, folded: int | None
) -> list[str]:
    """Return the loop over the vectors; `folded`: the number of functions whose partial sums are folded."""
    lines, advance = [], []
    if values.classes is not None:
        lines = ["    int own, left, class_ = -1;", "    left = 0;"]
        advance = _next_class(tables, values.classes)
    lines += [
        "    for (i = 0; i < size; i += many) {",
        "        many = size - i < $N_TOGETHER ? 1 : $N_TOGETHER;",
        *vectors.four(tables.real),
        "        for (n = 0; n < many; ++n) {",
        *vectors.one(tables.real),
        "        }",
        *_kernel(values, tables.real, pseudo),
        "        for (n = 0; n < many; ++n) {",
        *advance,
        *_add(values, "out" if folded is None else "part", len(values.coef)),
    ]
    if folded is not None:
        lines += [
            f"            if ((i + n + 1) % {FOLD} == 0) {{ /* sums of few terms round less */",
            f"                for (f = 0; f < {folded}; ++f) {{",
            "                    out[f] += part[f];",
            f"                    part[f] = {tables.real(0)};",
            "                }",
            "            }",
        ]
    return [*lines, "        }", "    }"]


def _next_class(tables: Tables, classes: NDArray[np.int64]) -> list[str]:
    """Return the statements that find the class of the next vector."""
    counts = tables.integers("class_sizes", classes)
    place = f"cell * {classes.shape[1]} + class_" if len(classes) > 1 else "class_"
    return [
        "            while (left == 0) {",
        "                ++class_;",
        f"                left = {counts.as_int(f'({place})')};",
        "            }",
        "            --left;",
    ]


def _add(values: KernelSums, target: str, width: int) -> list[str]:
    """Return the statements that add a vector's kernel value times its coefficients."""
    if values.classes is None:
        return [
            f"            for (f = 0; f < {width}; ++f) {target}[f] += $N_READ(coefficient + f) * s[n];",
            f"            coefficient += {width};",
        ]
    k = values.classes.shape[1]
    return [
        "            /* The pairs of its class with the classes before it, then with those after it. */",
        "            own = class_ - 1;",
        f"            for (f = 0; f < class_; ++f, own += {k} - 1 - f)",
        f"                {target}[own] += $N_READ(coefficient + f) * s[n];",
        f"            own = class_ * (2 * {k} - class_ - 1) / 2 - class_;",
        f"            for (; f < {width}; ++f) {target}[own + f] += $N_READ(coefficient + f) * s[n];",
        f"            coefficient += {width};",
    ]


def _kernel(values: KernelSums, real: Real, pseudo: PseudoLandmarks | None) -> list[str]:
    """Return the statements that turn the results of :class:`_Vectors` into kernel values."""
    each = "        for (n = 0; n < many; ++n) "
    if values.kernel == "linear":
        return []
    if values.kernel in ("rbf", "laplacian"):
        out = ["        $n_exps_(s, many);"]
    elif values.kernel == "sigmoid":
        out = [f"{each}s[n] = $n_tanh_(gamma * s[n] + {real(values.coef0)});"]
    else:
        out = [
            f"{each}{{",
            f"            $n_real base = gamma * s[n] + {real(values.coef0)}, power = {real(1)};",
            f"            for (j = {values.degree}; j > 0; j /= 2) {{",
            "                if (j % 2) power *= base;",
            "                base *= base;",
            "            }",
            "            s[n] = power;",
            "        }",
        ]
    return [*out, f"{each}known[i + n] = s[n];"] if pseudo and pseudo.kind == "poly" else out


class _Vectors:
    """The tables of vectors: dense, or sparse if that is smaller; both give the same sums.

    In double precision, which is for larger machines, the tables are sparse only if this halves their size,
    because sparse loops are slower. For kernels of differences, the tables have the vectors with reversed
    signs.
    """

    def __init__(self, tables: Tables, values: KernelSums, cells: int) -> None:
        m, d = values.vectors.shape
        stored = values.vectors != 0
        per = stored.sum(axis=1)
        index_bytes = 1 if d <= 256 else 2 if d <= 65536 else 4
        count_bytes = 1 if int(per.max(initial=0)) < 256 else 2
        real = tables.dtype.itemsize
        share = 1.0 if real == 4 else 0.5
        self.sparse = bool(per.sum() * (real + index_bytes) + count_bytes * m < share * real * m * d)
        self.apart = values.kernel in ("rbf", "laplacian")
        self.kernel = values.kernel
        pseudo = values.pseudo
        self.keeps_roots = pseudo is not None and pseudo.kind == "triangle" and len(pseudo.coef.T) > 0
        self.size: IntegerTable
        self.d = d
        self.cells = cells
        add = tables.negated if self.apart else tables.reals
        starts = np.concatenate([[0], np.cumsum(values.sizes)])[:-1]
        if cells > 1:
            self.size = tables.integers("sizes", values.sizes)
            self.first = tables.integers("starts", starts)
        if not self.sparse:
            name = add("vectors", values.vectors if m else np.zeros(1))
            self.begin = [f"    const $n_real *value = {name}{self.offset(d)};"]
            if self.apart:
                self.begin.append("    $n_real difference;")
            return
        row, column = np.nonzero(stored)
        name = add("vector_values", values.vectors[row, column])
        index = tables.integers("vector_columns", column)
        count = tables.integers("vector_counts", per)
        self.index, self.count = index, count
        ends = np.concatenate([[0], np.cumsum(per)])
        if cells > 1:
            first = tables.integers("entry_starts", ends[starts])
            at, of = f" + {first.as_offset('cell')}", f" + {self.first.as_offset('cell')}"
        else:
            at = of = ""
        self.begin = [
            f"    const $n_real *value = {name}{at};",
            f"    const uint{index.bits}_t *column = {index.name}{at};",
            f"    const uint{count.bits}_t *entries = {count.name}{of};",
            "    int left_of_vector;",
        ]
        if self.apart:
            self.begin.append("    $n_real difference;")

    def offset(self, width: int) -> str:
        """Return the expression that advances a pointer to a cell's first row in a table of this width."""
        return f" + {self.first.as_offset('cell')} * {width}" if self.cells > 1 else ""

    def _finished(self, n: str, s: str) -> list[str]:
        """Return the statements that store a product, or a distance times -gamma, in s[n]."""
        if not self.apart:
            return [] if s == f"s[{n}]" else [f"            s[{n}] = {s};"]
        place = "i + n" if n == "n" else f"i + {n}"
        out = [f"            known[{place}] = $n_sqrt_({s});"] if self.keeps_roots else []
        return [*out, f"            s[{n}] = -gamma * ({s} + rest);"]

    def one(self, real: Real) -> list[str]:
        """Return the statements that compute s[n] from v and the next vector."""
        return [*self._one(real), *self._finished("n", "s[n]")]

    def _one(self, real: Real) -> list[str]:
        d, zero = self.d, real(0)
        start = f"            s[n] = {zero};"
        read = "" if not self.sparse else f"(int)$N_READ_{self.index.bits}(column)"
        if not self.sparse:
            if not self.apart:
                return [
                    start,
                    f"            for (j = 0; j < {d}; ++j, ++value) s[n] += v[j] * $N_READ(value);",
                ]
            return [
                start,
                f"            for (j = 0; j < {d}; ++j, ++value) {{",
                "                difference = v[j] + $N_READ(value);",
                f"                s[n] += {self._size(zero)};",
                "            }",
            ]
        entries = f"            left_of_vector = (int)$N_READ_{self.count.bits}(entries + i + n);"
        if not self.apart:
            return [
                start,
                entries,
                "            for (; left_of_vector > 0; --left_of_vector, ++column, ++value)",
                f"                s[n] += v[{read}] * $N_READ(value);",
            ]
        return [
            start,
            entries,
            f"            for (j = 0; j < {d}; ++j) {{",
            "                difference = v[j];",
            f"                if (left_of_vector > 0 && {read} == j) {{",
            "                    difference += $N_READ(value);",
            "                    --left_of_vector;",
            "                    ++column;",
            "                    ++value;",
            "                }",
            f"                s[n] += {self._size(zero)};",
            "            }",
        ]

    def four(self, real: Real) -> list[str]:
        """Return the statements that compute s[0] to s[3] together from v and the next four dense vectors."""
        if self.sparse:
            return []
        d = self.d
        out = [
            "#if $N_TOGETHER == 4",
            "        if (many == 4) {",
            f"            $n_real {', '.join(f's{n} = {real(0)}' for n in range(4))};",
            f"            for (j = 0; j < {d}; ++j, ++value) {{",
        ]
        for n in range(4):
            place = f"value + {n * d}" if n else "value"
            if self.apart:
                out.append(f"                difference = v[j] + $N_READ({place});")
                out.append(f"                s{n} += {self._size(real(0))};")
            else:
                out.append(f"                s{n} += v[j] * $N_READ({place});")
        return [
            *out,
            "            }",
            f"            value += {3 * d};",
            *(line for n in range(4) for line in self._finished(str(n), f"s{n}")),
            "        } else",
            "#endif",
        ]

    def _size(self, zero: str) -> str:
        """Return the expression for what a difference adds to a distance."""
        if self.kernel == "rbf":
            return "difference * difference"
        return f"difference < {zero} ? -difference : difference"


def _pseudo(tables: Tables, values: KernelSums, cells: int, p: int) -> list[str]:
    pseudo = values.pseudo
    assert pseudo is not None
    coef = tables.reals("pseudo_coefficients", pseudo.coef.T)
    start, at = f"int q, pseudo_size = {len(pseudo.coef.T)};", ""
    if cells > 1:
        size = tables.integers("pseudo_sizes", pseudo.sizes)
        ends = np.concatenate([[0], np.cumsum(pseudo.sizes)])
        first = tables.integers("pseudo_starts", ends[:-1])
        start, at = f"int q, pseudo_size = {size.as_int('cell')};", f" + {first.as_offset('cell')}"
    lines = [f"    const $n_real *more = {coef}{at and f'{at} * {p}'};", f"    {start}"]
    add = [
        f"        for (f = 0; f < {p}; ++f) out[f] += $N_READ(more + f) * s[0];",
        f"        more += {p};",
    ]
    if pseudo.kind == "poly":
        one = tables.integers("pseudo_first", pseudo.pairs[:, 0])
        other = tables.integers("pseudo_second", pseudo.pairs[:, 1])
        read = [f"(int)$N_READ_{table.bits}({table.name}{at} + q)" for table in (one, other)]
        return [
            *lines,
            "    for (q = 0; q < pseudo_size; ++q) {",
            f"        s[0] = known[{read[0]}] * known[{read[1]}];",
            *add,
            "    }",
        ]
    name = tables.reals("pseudo_distances", pseudo.distances)
    at = ""
    if cells > 1:
        ends = np.concatenate([[0], np.cumsum(pseudo.sizes * values.sizes)])
        at = f" + {tables.integers('pseudo_distance_starts', ends[:-1]).as_offset('cell')}"
    zero = tables.real(0)
    return [
        *lines,
        f"    const $n_real *apart = {name}{at};",
        "    for (q = 0; q < pseudo_size; ++q) {",
        f"        s[0] = {zero};",
        "        for (i = 0; i < size; ++i, ++apart) {",
        "            difference = known[i] - $N_READ(apart);",
        f"            if (difference < {zero}) difference = -difference;",
        "            if (difference > s[0]) s[0] = difference;",
        "        }",
        "        s[0] = $n_exp_(-gamma * (s[0] * s[0]));",
        *add,
        "    }",
    ]
