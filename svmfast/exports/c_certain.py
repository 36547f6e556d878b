"""The C text of NAME_certain: evaluates the bound of svmfast.exports.certain and tests the label with it."""

from __future__ import annotations

import numpy as np

from svmfast.exports.c_text import Tables
from svmfast.exports.certain import EXP_UNITS, Bound
from svmfast.exports.computation import Computation, Polynomials

_SUM = """\
/* A polynomial with coefficients of at least 0, by powers of x. */
$N_INLINE $n_real $n_horner_(const $n_real *coefficient, int degree, $n_real x) {
    $n_real sum = $N_READ(coefficient + degree);
    while (degree-- > 0) sum = sum * x + $N_READ(coefficient + degree);
    return sum;
}

"""


#: Compilers state some of the options that give up IEEE's rules in macros; others are found by what they do.
_STRICT = """\
/* 1 if the compiler keeps the rules of IEEE 754, on which the bound relies: no sum in another order, no
   quotient by a reciprocal, a nan that is a nan. */
$N_INLINE int $n_strict_(void) {
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \\
    defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
    return 0;
#elif defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(__INTEL_COMPILER)
    return 1; /* it defines these macros, whichever options are given */
#else
    volatile $n_real one = %(one)s;
    volatile %(uint)s bits = %(nan)s;
    %(uint)s copy = bits;
    $n_real sum = one + %(large)s, none;
    memcpy(&none, &copy, sizeof none);
    return sum - %(large)s == %(zero)s && none != none && !(none > %(zero)s);
#endif
}

"""


def _strict(tables: Tables) -> str:
    single = tables.dtype == np.float32
    return _STRICT % {
        **{name: tables.real(value) for name, value in (("zero", 0), ("one", 1), ("large", 2.0**100))},
        "uint": "uint32_t" if single else "uint64_t",
        "nan": "UINT32_C(0x7FC00000)" if single else "UINT64_C(0x7FF8000000000000)",
    }


def certain(tables: Tables, computation: Computation, bound: Bound, type_: str) -> str:
    """Return the function that decides whether a row's label is certain."""
    values = computation.values
    assert isinstance(values, Polynomials)
    real, precision = tables.real, bound.precision
    u = precision.unit
    p, many = values.orders.shape[1], len(values.centers) > 1
    top, order = bound.degrees.shape[-1] - 1, bound.rounding.shape[-1] - 1
    slopes = bound.slope.shape[-1]
    name = {
        field: tables.reals(f"bound_{field}", getattr(bound, field))
        for field in ("degrees", "rest", "rounding", "slope", "reach", "shift")
    }
    cell = "cell" if many else "0"
    row = f"(cell * {p} + f)" if many else "f"
    rho = f"{tables.prefix}_minus_rho"
    exponent, of_value, times = [], real(1.01 * u), ""
    if values.gamma:
        gamma, of_value, times = real(values.gamma), f"(phi + {real(2.02 * u)})", "factor * "
        exponent = [
            f"    phi = {gamma} * ({real(1.01)} * terms * {real(u)} * s + ({real(2)} * r + eps) * eps);",
            f"    if (!({gamma} * s < {real(precision.largest_exponent)})"
            f" || !(phi < {real(0.01)})) return 0;",
            f"    phi = {real(1.05)} * (phi + {real(EXP_UNITS * u)});",
            f"    factor = $n_exp_(-{gamma} * s) * ({real(1)} + phi);",
        ]
    lines = [
        f"$N_INLINE int $n_certain_(const $n_real *v, $n_real rest, $n_real terms, {type_} *label) {{",
        f"    $n_real out[{p}], s, r, eps, {'phi, factor, ' if times else ''}square, reach,"
        " size, near_, rough, beyond;",
        f"    int {'cell = $n_cell_(v), ' if many else ''}f, j, sure;",
        *_vote_arrays(computation),
        f"    s = $n_expansions_(v, rest, {cell}, out);",
        "    if (label) *label = $n_answer_(out);",
        "    if (!$n_strict_()) return 0; /* nothing is known of how such code rounds */",
        "    r = $n_sqrt_(s);",
        f"    r += r * ({real(0.51)} * terms * {real(u)}) + {real(precision.tiny)};",
        f"    eps = {real(float(bound.step))} * r + $N_READ({name['shift']} + {cell});",
        *exponent,
        "    r += eps;",
        "    square = r * r;",
        f"    reach = r + $N_READ({name['reach']} + {cell});",
        f"    for (f = 0; f < {p}; ++f) {{",
        f"        const $n_real *more = {name['rest']} + {row} * 5;",
        f"        near_ = {times}($n_horner_({name['rounding']} + {row} * {order + 1}, {order}, reach)",
        f"            + eps * $n_horner_({name['slope']} + {row} * {slopes}, {slopes - 1}, reach));",
        f"        size = (out[f] < {real(0)} ? -out[f] : out[f]);",
        f"        rough = $N_READ({rho} + f);",
        f"        rough = size + (rough < {real(0)} ? -rough : rough);",
        f"        near_ += rough * {of_value};",
        "        beyond = $N_READ(more);",
        f"        for (j = 0; j < {top + 1}; ++j) beyond *= r;",
        "        beyond += $N_READ(more + 1) + $N_READ(more + 2) * square;",
        "        beyond += (rough + near_) * ($N_READ(more + 3) + $N_READ(more + 4) * square);",
        f"        beyond += {times}$n_horner_({name['degrees']} + {row} * {top + 1}, {top}, r);",
        # Not for an infinite value or a nan: near_ contains rough * of_value, which is then one, too.
        f"        sure = size > (near_ + beyond) * {real(precision.slack)};",
        *_count(computation, real(0)),
        "    }",
        *_verdict(computation),
        "}",
    ]
    return _strict(tables) + _SUM + "\n".join(lines) + "\n"


def _classes(computation: Computation) -> int:
    return computation.head.n_classes


def _vote_arrays(computation: Computation) -> list[str]:
    k = _classes(computation)
    return (
        []
        if k == 2
        else [f"    int least[{k}] = {{0}}, most[{k}] = {{0}}, votes[{k}] = {{0}}, one = 0, other = 1;"]
    )


def _count(computation: Computation, zero: str) -> list[str]:
    k = _classes(computation)
    if k == 2:
        return ["        if (!sure) return 0;"]
    return [
        f"        j = out[f] > {zero} ? one : other;",
        "        ++votes[j];",
        "        ++most[j];",
        "        if (sure) ++least[j];",
        "        else ++most[one + other - j];",
        f"        if (++other == {k}) {{",
        "            ++one;",
        "            other = one + 1;",
        "        }",
    ]


def _verdict(computation: Computation) -> list[str]:
    k = _classes(computation)
    if k == 2:
        return ["    return 1;"]
    return [
        "    one = 0;",
        f"    for (j = 1; j < {k}; ++j)",
        "        if (votes[j] > votes[one]) one = j;",
        "    /* No outcome of the uncertain pairs may change the winner; ties go to the first class. */",
        f"    for (j = 0; j < {k}; ++j)",
        "        if (j != one && most[j] > least[one] - (j < one)) return 0;",
        "    return 1;",
    ]
