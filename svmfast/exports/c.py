"""The C export: one self-contained C99 header of tables and loops, which also compiles as C++."""

from __future__ import annotations

import numpy as np

from svmfast.display import count
from svmfast.exports import c_arithmetic, c_expansions, c_vectors
from svmfast.exports.c_certain import certain
from svmfast.exports.c_test import self_test
from svmfast.exports.c_text import Tables, commented, filled, token
from svmfast.exports.certain import SPARE, Bound, bound_of
from svmfast.exports.computation import Affine, Computation, KernelSums, Polynomials
from svmfast.exports.settings import Printed, Settings, sentence
from svmfast.exports.twin import folds

ENDING = ".h"
PRECISIONS = (np.float32, np.float64)


def print_c(computation: Computation, settings: Settings) -> Printed:
    """Return the header file."""
    tables = Tables(settings.prefix, settings.dtype)
    bound = bound_of(computation, settings.dtype)
    body = _Body(tables, computation, bound)
    code = body.text()
    stack = body.stack_bytes()
    flash = tables.n_bytes
    test = "" if settings.test is None else self_test(settings, computation, body.type)
    include = "#ifdef $N_LIBM\n#include <math.h>\n#endif\n"
    macros = [
        f"#define $N_FEATURES {computation.n_features}",
        f"#define $N_FUNCTIONS {computation.head.n_functions}",
        f"#define $N_TABLE_BYTES {flash}",
    ]
    if bound is not None:
        macros.append("#define $N_HAS_CERTAIN 1")
    real = "float" if settings.dtype == np.float32 else "double"
    parts = [
        _comment(computation, settings, tables, flash, stack, bound),
        "#ifndef $N_H\n#define $N_H\n\n#include <float.h>\n#include <stddef.h>\n#include <stdint.h>\n"
        "#include <string.h>\n" + include,
        _FORMATS[real],
        "\n".join(macros) + "\n" + _names(settings),
        c_arithmetic.HOOKS,
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        f"typedef {real} $n_real;\n",
        "\n".join(tables.texts),
        code,
        test,
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    text = filled("\n".join(part for part in parts if part), settings.prefix)
    return Printed(text.encode(), flash, stack)


#: Refuses compilers and options whose numbers are not those of IEEE 754. A preprocessor sees no type of a
#: constant, so that a size states it.
_FORMATS = {
    "float": """\
#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MAX_EXP != 128
#error "this file needs a float of 32 bits as in IEEE 754"
#endif
""",
    "double": """\
#if FLT_RADIX != 2 || DBL_MANT_DIG != 53 || DBL_MAX_EXP != 1024
#error "this file needs a double of 64 bits as in IEEE 754; elsewhere export single precision"
#endif
/* -fsingle-precision-constant would shorten the numbers below: leave it out, or export single precision. */
typedef char $n_needs_no_single_precision_constant_[sizeof(0.1) == sizeof(double) ? 1 : -1];
""",
}


class _Body:
    """The functions of a file; printing them fills its tables."""

    def __init__(self, tables: Tables, computation: Computation, bound: Bound | None) -> None:
        self.tables, self.computation, self.bound = tables, computation, bound
        self.type = "int"

    def text(self) -> str:
        """Return all functions, each after those that it calls."""
        computation, tables, values = self.computation, self.tables, self.computation.values
        if not computation.head.n_functions:
            return self._constant()
        kernel = getattr(values, "kernel", "rbf")
        pseudo = getattr(values, "pseudo", None)
        exp = kernel in ("rbf", "laplacian") and not (isinstance(values, Polynomials) and not values.gamma)
        parts = [
            c_arithmetic.TOGETHER if isinstance(values, KernelSums) else "",
            c_arithmetic.arithmetic(
                tables,
                exp=exp,
                exps=exp and isinstance(values, KernelSums),
                root=self.bound is not None or (pseudo is not None and pseudo.kind == "triangle"),
                tanh=kernel == "sigmoid",
            ),
            c_expansions.route(tables, computation),
        ]
        if isinstance(values, KernelSums):
            parts.append(c_vectors.kernel_sums(tables, computation))
            call = "$n_sums_(v, rest, {cell}, out);"
        else:
            parts.append(c_expansions.polynomials(tables, computation))
            call = "(void)$n_expansions_(v, rest, {cell}, out);"
        cell = "0" if computation.route is None else "$n_cell_(v)"
        parts.append(
            "$N_INLINE void $n_values_(const $n_real *v, $n_real rest, $n_real *out) {\n"
            f"    {call.format(cell=cell)}\n}}\n"
        )
        answer, self.type = c_arithmetic.answer(tables, computation.head)
        parts.append(answer)
        if self.bound is not None:
            parts.append(certain(tables, computation, self.bound, self.type))
        parts += [_class_names(tables, computation, self.type), self._variables(), *self._entries()]
        return "\n".join(part for part in parts if part)

    def _constant(self) -> str:
        """Return the functions of a model with a single class."""
        answer, self.type = c_arithmetic.answer(self.tables, self.computation.head)
        answer += _class_names(self.tables, self.computation, self.type)
        return answer + (
            f"\n{_DECISION}$N_INLINE void $n_decision(const $n_real *x, $n_real *out) {{\n"
            "    (void)x;\n    (void)out;\n}\n"
            f"\n{_PREDICT}$N_INLINE {self.type} $n_predict(const $n_real *x) {{\n"
            "    return $n_answer_(x);\n}\n"
            f"\n{_PAIRS}$N_INLINE {self.type} $n_predict_pairs(const int *index, const $n_real *value, "
            "int n) {\n    (void)index;\n    (void)n;\n    return $n_answer_(value);\n}\n"
        )

    def _variables(self) -> str:
        """Return the functions that compute a row's variables and its other columns' share of a distance."""
        computation, zero = self.computation, self.tables.real(0)
        d, width, scaling = len(computation.variables), computation.n_features, computation.scaling
        laplacian = getattr(computation.values, "kernel", "rbf") == "laplacian"
        add = f"rest += {{0}} < {zero} ? -{{0}} : {{0}};" if laplacian else "rest += {0} * {0};"
        out = "" if scaling is None else self._scaling(scaling)
        if not computation.all_variables:
            if len(computation.variables) == width:
                is_next, count = "", ""
            else:
                table = self.tables.integers("variables", computation.variables)
                out = self.tables.texts.pop() + "\n" + out
                is_next, count = f"if (next < {d} && {table.as_int('next')} == j) ", ", next = 0"
            value = "x[j]" if scaling is None else "$n_scaled_(x[j], j)"
            keep = f"{is_next}v[next++] = z;\n        else {add.format('z')}\n" if is_next else "v[j] = z;\n"
            out += (
                "/* The variables of a row; returns what its other columns add to distances. */\n"
                "$N_INLINE $n_real $n_variables_(const $n_real *x, $n_real *v) {\n"
                f"    $n_real rest = {zero}, z;\n    int j{count};\n"
                f"    for (j = 0; j < {width}; ++j) {{\n        z = {value};\n        {keep}"
                "    }\n    return rest;\n}\n\n"
            )
        unknown = "(void)rest;" if scaling is not None and scaling.drops_others else add.format("value[i]")
        return out + (
            "/* A dense row of pairs; returns what the columns beyond it add to distances. */\n"
            "$N_INLINE $n_real $n_scatter_(const int *index, const $n_real *value, int n, $n_real *x) {\n"
            f"    $n_real rest = {zero};\n    int i;\n"
            f"    for (i = 0; i < {width}; ++i) x[i] = {zero};\n"
            "    for (i = 0; i < n; ++i) {\n"
            f"        if (index[i] >= 1 && index[i] <= {width}) x[index[i] - 1] = value[i];\n"
            f"        else {unknown}\n"
            "    }\n    return rest;\n}\n"
        )

    def _scaling(self, scaling: Affine) -> str:
        """Return the function that scales a column."""
        real = self.tables.real
        offset = self.tables.negated("offsets", scaling.offset)
        listed = self.tables.texts.pop()
        factor = self.tables.reals("factors", scaling.factor)
        listed += self.tables.texts.pop()
        clip = ""
        if scaling.clip is not None:
            low, high = (real(end) for end in scaling.clip)
            clip = f"    if (z < {low}) z = {low};\n    if (z > {high}) z = {high};\n"
        return (
            f"{listed}\n/* The scaling that the model's rows went through. */\n"
            "$N_INLINE $n_real $n_scaled_($n_real x, int j) {\n"
            f"    $n_real z = (x + $N_READ({offset} + j)) * $N_READ({factor} + j);\n"
            f"{clip}    return z;\n}}\n\n"
        )

    def _entries(self) -> list[str]:
        """Return the functions that programs call, for dense rows and for pairs."""
        computation = self.computation
        d, p, width = len(computation.variables), computation.head.n_functions, computation.n_features
        zero, real = self.tables.real(0), self.tables.real
        if computation.all_variables:
            local, v, rest = "", "x", zero
            scattered = f"    $n_real v[{d}], rest = $n_scatter_(index, value, n, v);\n"
        else:
            local, v, rest = f"    $n_real v[{d}], rest = $n_variables_(x, v);\n", "v", "rest"
            scattered = (
                f"    $n_real x[{width}], v[{d}];\n"
                "    $n_real rest = $n_scatter_(index, value, n, x) + $n_variables_(x, v);\n"
            )
        forms = [
            ("", "const $n_real *x", "x", local, v, rest, real(width + 8)),
            (
                "_pairs",
                "const int *index, const $n_real *value, int n",
                "index, value, n",
                scattered,
                "v",
                "rest",
                f"($n_real)(n + {width + 8})",
            ),
        ]
        out = []
        for ending, taken, given, first, at, other, terms in forms:
            pairs = _PAIRS if ending else ""
            out.append(
                f"{pairs or _DECISION}$N_INLINE void $n_decision{ending}({taken}, $n_real *out) {{\n"
                f"{first}    $n_values_({at}, {other}, out);\n}}\n"
            )
            if computation.head.is_regression:
                out.append(
                    f"$N_INLINE $n_real $n_value{ending}({taken}) {{\n    $n_real out[{p}];\n"
                    f"    $n_decision{ending}({given}, out);\n    return out[0];\n}}\n"
                )
            else:
                out.append(
                    f"{'' if ending else _PREDICT}$N_INLINE {self.type} $n_predict{ending}({taken}) {{\n"
                    f"    $n_real out[{p}];\n    $n_decision{ending}({given}, out);\n"
                    "    return $n_answer_(out);\n}\n"
                )
            if self.bound is not None:
                limit = (
                    f"    if (n > {d + SPARE}) {{\n        if (label) *label = $n_predict_pairs({given});\n"
                    "        return 0;\n    }\n"
                    if ending
                    else ""
                )
                comment = "" if ending else _CERTAIN
                out.append(
                    f"{comment}$N_INLINE int $n_certain{ending}({taken}, {self.type} *label) {{\n"
                    f"{first}{limit}    return $n_certain_({at}, {other}, {terms}, label);\n}}\n"
                )
        return out

    def stack_bytes(self) -> int:
        """Return the bytes of all arrays on the stack while a label is computed."""
        computation, values = self.computation, self.computation.values
        real, d, p = self.tables.dtype.itemsize, len(computation.variables), computation.head.n_functions
        total = real * p + (0 if computation.all_variables else real * d)
        if isinstance(values, Polynomials):
            levels = int(values.orders.max(initial=0)) + 1
            total += (real * d if values.centered else 0) + levels * (real + 8)
        else:
            total += real * p if folds(values, self.tables.dtype) else 0
            if values.pseudo is not None:
                total += real * int(values.sizes.max(initial=0))
        if computation.head.n_classes > 2 and not computation.head.one_vs_rest:
            total += 4 * computation.head.n_classes * (3 if self.bound is not None else 1)
        return total


_DECISION = (
    "/* Decision values of a dense row x[$N_FEATURES], in LIBSVM's order, into out[$N_FUNCTIONS]. */\n"
)
_PREDICT = "/* The label of a dense row. */\n"
_PAIRS = (
    "/* The same of a row given as n pairs: indices from 1, each once, as in LIBSVM's files. Features that\n"
    "   the model does not know count in its distances. */\n"
)
_CERTAIN = (
    "/* 1 only if the label of this file, also stored in *label unless that is NULL, is provably the one\n"
    "   that the exact model gives to x and to every row that rounds to x. 0: nothing is known. */\n"
)


def _class_names(tables: Tables, computation: Computation, type_: str) -> str:
    """Return the function that maps labels to class names, or nothing if the model has no names."""
    names, labels = computation.class_names, computation.head.labels
    if names is None or labels is None:
        return ""
    cases = zip(labels.tolist(), names, strict=True)
    return (
        "/* The name of the class that a label stands for; NULL of any other number. */\n"
        f"$N_INLINE const char *$n_class_name({type_} label) {{\n    switch (label) {{\n"
        + "".join(
            f"    case {label}: return {tables.string('class_names', name)};\n" for label, name in cases
        )
        + "    default: return NULL;\n    }\n}\n"
    )


def _names(settings: Settings) -> str:
    """Return constants named after the features, whose values are the features' positions."""
    if not settings.feature_names:
        return ""
    import re

    used: set[str] = set()
    lines = []
    for number, name in enumerate(settings.feature_names):
        word = re.sub(r"\W", "_", name, flags=re.ASCII).upper() or "FEATURE"
        while word in used:
            word += f"_{number}"
        used.add(word)
        lines.append(f"#define $N_X_{token('name', word)} {number}")
    return "\n".join(lines) + "\n"


def _comment(
    computation: Computation,
    settings: Settings,
    tables: Tables,
    flash: int,
    stack: int,
    bound: Bound | None,
) -> str:
    prefix = settings.prefix
    comment = [f"{prefix}{ENDING}: {description(computation)}.", ""]
    comment += [f"{name}: {value}" for name, value in settings.origin.items()]
    comment += ["", sentence(settings.accuracy, settings.dtype) + "."]
    comment.append(
        f"Tables: {flash:,} bytes. Stack: about {stack:,} bytes of arrays. Multiply-adds of a row: "
        f"{computation.multiply_adds():,.0f}."
    )
    parts = ", ".join(f"{name} {size:,}" for name, size in tables.sizes.items())
    comment.append(f"Bytes of each table: {parts or 'none'}.")
    called = f"{prefix}_value(x)" if computation.head.is_regression else f"{prefix}_predict(x)"
    comment += ["", f"Call {called}; {prefix}_decision(x, out) gives the decision values."]
    if computation.class_names is not None:
        comment.append(f"{prefix}_class_name(label) returns the name of the class that a label stands for.")
    if bound is not None:
        comment.append(
            f"{prefix}_certain(x, &label) returns whether the label is provably the exact model's."
        )
    comment.append(
        f"Define {prefix.upper()}_LIBM to use the C library's functions in place of the ones below"
        + (f", {prefix.upper()}_TEST to get the test." if settings.test is not None else ".")
    )
    return commented(comment)


def description(computation: Computation) -> str:
    """Describe a computation in a few words."""
    values, head = computation.values, computation.head
    if isinstance(values, Polynomials):
        cells = len(values.centers)
        what = f"expansion of order {int(values.orders.max(initial=0))}"
        what += f" in {cells:,} cells" if cells > 1 else ""
    else:
        what = f"{values.kernel} kernel, {count(len(values.vectors), 'vector')}"
        what += f" in {len(values.sizes):,} cells" if len(values.sizes) > 1 else ""
    classes = (
        f"{head.n_classes} class{'' if head.n_classes == 1 else 'es'}"
        if head.labels is not None
        else head.svm_type
    )
    return f"{classes}, {count(computation.n_features, 'feature')}, {what}"
