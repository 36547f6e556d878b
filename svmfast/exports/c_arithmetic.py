"""The arithmetic of a C file: access to tables, its own exp, tanh and square root, and the answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.c_text import Tables
from svmfast.exports.twin import EXP
from svmfast.models.head import Head

#: Macros that declare functions, and place and read tables; a program may define them before including the
#: file.
HOOKS = """\
/* The specifiers of every function. */
#ifndef $N_INLINE
#ifdef __GNUC__
#define $N_INLINE static inline __attribute__((unused))
#else
#define $N_INLINE static inline
#endif
#endif
/* Tables lie in flash. Where that must be declared, as on AVR, define these before this file is included. */
#ifndef $N_TABLE
#ifdef __AVR__
#include <avr/pgmspace.h>
#define $N_TABLE PROGMEM
#define $N_READ(place) pgm_read_float(place)
#define $N_READ_8(place) pgm_read_byte(place)
#define $N_READ_16(place) pgm_read_word(place)
#define $N_READ_32(place) pgm_read_dword(place)
#else
#define $N_TABLE
#define $N_READ(place) (*(place))
#define $N_READ_8(place) (*(place))
#define $N_READ_16(place) (*(place))
#define $N_READ_32(place) (*(place))
#endif
#endif
"""

_EXP = """\
/* exp(t) for t of at most 0; below %(least)s it is 0. Relative error below %(error)s. */
$N_INLINE $n_real $n_exp_($n_real t) {
#ifdef $N_LIBM
    return t < %(least)s ? %(zero)s : %(exp)s(t);
#else
    $n_real r, sum, scale, n;
    %(uint)s bits;
    int whole;
    if (t != t) return t;
    if (!(t >= %(least)s)) return %(zero)s;
    whole = (int)(t * %(log2e)s + %(biased_half)s);
    n = ($n_real)(%(bias)s - whole);
    r = t + n * %(high)s + n * %(low)s;
    sum = %(last)s;
%(steps)s
    bits = (%(uint)s)whole << %(shift)s;
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
#endif
}
"""

#: The number of vectors that are processed together.
TOGETHER = """\
/* Vectors are worked on four at a time, which is faster on large processors, or one by one, which is smaller.
   The bits are the same. */
#ifndef $N_TOGETHER
#if UINTPTR_MAX > 0xFFFFFFFFu && !defined(__OPTIMIZE_SIZE__)
#define $N_TOGETHER 4
#else
#define $N_TOGETHER 1
#endif
#endif
"""

_EXPS = """\
$N_INLINE void $n_exps_($n_real *t, int many) {
    int n;
#if $N_TOGETHER == 4 && !defined($N_LIBM)
    if (many == 4 && t[0] >= %(least)s && t[1] >= %(least)s && t[2] >= %(least)s && t[3] >= %(least)s) {
        /* $n_exp_ of each; their steps alternate, so that none waits for another. */
        $n_real r0, r1, r2, r3, sum0, sum1, sum2, sum3, scale;
        %(uint)s bits;
        int whole0, whole1, whole2, whole3;
%(begin)s
#define $N_STEP_(term) \\
    sum0 = sum0 * r0 + term, sum1 = sum1 * r1 + term, sum2 = sum2 * r2 + term, sum3 = sum3 * r3 + term
%(steps)s
#undef $N_STEP_
%(end)s
        return;
    }
#endif
    for (n = 0; n < many; ++n) t[n] = $n_exp_(t[n]);
}
"""

_ROOT = """\
/* The square root of a number of at least 0. */
$N_INLINE $n_real $n_sqrt_($n_real s) {
#ifdef $N_LIBM
    return %(sqrt)s(s);
#else
    %(uint)s bits;
    $n_real y;
    int step;
    if (!(s > %(least)s)) return s != s ? s : %(zero)s;
    if (s > %(most)s) return s;
    memcpy(&bits, &s, sizeof bits);
    bits = (bits >> 1) + %(start)s;
    memcpy(&y, &bits, sizeof y);
    for (step = 0; step < %(steps)s; ++step) y = %(half)s * (y + s / y);
    return y;
#endif
}
"""

_TANH = """\
$N_INLINE $n_real $n_tanh_($n_real x) {
#ifdef $N_LIBM
    return %(tanh)s(x);
#else
    $n_real size = x < %(zero)s ? -x : x, square = x * x, fraction = %(nineteen)s, e;
    int m;
    if (size < %(half)s) {
        for (m = 17; m > 0; m -= 2) fraction = ($n_real)m + square / fraction;
        return x / fraction;
    }
    e = $n_exp_(%(minus_two)s * size);
    e = (%(one)s - e) / (%(one)s + e);
    return x < %(zero)s ? -e : e;
#endif
}
"""


def _four_exponentials(tables: Tables, words: dict[str, str]) -> str:
    """Return the function for four exponentials at a time, with the same operations as for one."""
    degree = EXP[tables.dtype][4]
    terms = [tables.real(1 / math.factorial(m)) for m in range(degree - 1, -1, -1)]

    def each(line: str) -> str:
        return "\n".join(f"        {line.replace('@', str(n))}" for n in range(4))

    begin = [
        f"whole@ = (int)(t[@] * {words['log2e']} + {words['biased_half']});",
        f"r@ = ($n_real)({words['bias']} - whole@);",
        f"r@ = t[@] + r@ * {words['high']} + r@ * {words['low']};",
        f"sum@ = {words['last']};",
    ]
    end = [
        f"bits = ({words['uint']})whole@ << {words['shift']};\n        memcpy(&scale, &bits, sizeof scale);\n"
        "        t[@] = sum@ * scale;",
    ]
    return _EXPS % {
        **words,
        "begin": "\n".join(map(each, begin)),
        "steps": "\n".join(f"        $N_STEP_({term});" for term in terms),
        "end": "\n".join(map(each, end)),
    }


def arithmetic(tables: Tables, *, exp: bool, exps: bool, root: bool, tanh: bool) -> str:
    """Return the file's own mathematical functions, which call the C library if $N_LIBM is defined.

    With `exps`, the exponential of several numbers at once is included.
    """
    single = tables.dtype == np.float32
    real = tables.real
    least, log2e, high, low, degree, bias = EXP[tables.dtype]
    steps = "\n".join(
        f"    sum = sum * r + {real(1 / math.factorial(m))};" for m in range(degree - 1, -1, -1)
    )
    words = {
        **{name: real(value) for name, value in (("zero", 0), ("half", 0.5), ("one", 1), ("nineteen", 19))},
        "minus_two": real(-2),
        "least": real(least),
        "log2e": real(log2e),
        "high": real(high),
        "low": real(low),
        "last": real(1 / math.factorial(degree)),
        "steps": steps,
        "uint": "uint32_t" if single else "uint64_t",
        "bias": str(bias),
        "biased_half": real(bias + 0.5),
        "shift": "23" if single else "52",
        "error": "4 * 2^-24" if single else "4 * 2^-53",
        "exp": "expf" if single else "exp",
        "sqrt": "sqrtf" if single else "sqrt",
        "tanh": "tanhf" if single else "tanh",
    }
    out = []
    if exp or tanh:
        out.append(_EXP % words)
    if exps:
        out.append(_four_exponentials(tables, words))
    if tanh:
        out.append(_TANH % words)
    if root:
        words |= {
            "least": real(1e-37 if single else 1e-300),
            "most": real(3e38 if single else 1.7e308),
            "start": "UINT32_C(0x1FC00000)" if single else "UINT64_C(0x1FF8000000000000)",
            "steps": "4" if single else "5",
        }
        out.append(_ROOT % words)
    return "\n".join(out)


def label_type(head: Head) -> str:
    """Return the smallest type that holds every label."""
    largest = int(np.abs(_labels(head)).max())
    return "int" if largest < 1 << 15 else "int32_t" if largest < 1 << 31 else "int64_t"


def _labels(head: Head) -> NDArray[Any]:
    return np.array([1, -1]) if head.labels is None else head.labels


def answer(tables: Tables, head: Head) -> tuple[str, str]:
    """Return the function that maps decision values to the answer, and the type of the answer."""
    zero = tables.real(0)
    if head.is_regression:
        return "", "$n_real"
    labels, type_ = _labels(head), label_type(head)
    start = (
        f"/* LIBSVM's answer to decision values. */\n$N_INLINE {type_} $n_answer_(const $n_real *values) {{\n"
    )
    suffix = "" if type_ == "int" else "INT32_C" if type_ == "int32_t" else "INT64_C"
    words = [f"{suffix}({label})" if suffix else str(label) for label in labels.tolist()]
    k = len(labels)
    if k == 1:
        return f"{start}    (void)values;\n    return {words[0]};\n}}\n", type_
    if k == 2 and not head.one_vs_rest:
        return f"{start}    return values[0] > {zero} ? {words[0]} : {words[1]};\n}}\n", type_
    if int(labels.min()) < 0 or type_ == "int64_t":
        listed = f"    static const {type_} labels[{k}] = {{{', '.join(words)}}};\n"
        label = "labels[best]"
    else:
        listed, label = "", f"({type_}){tables.integers('labels', labels).read('best')}"
    if head.one_vs_rest:
        body = (
            "    int i, best = 0;\n"
            f"    for (i = 1; i < {k}; ++i)\n        if (values[i] > values[best]) best = i;\n"
        )
    else:
        # Compilers clear bytes inline, but call memset for larger types.
        body = (
            f"    {'uint8_t' if k <= 256 else 'int'} votes[{k}] = {{0}};\n    int i, j, best = 0;\n"
            f"    for (i = 0; i < {k}; ++i)\n        for (j = i + 1; j < {k}; ++j, ++values)\n"
            f"            ++votes[*values > {zero} ? i : j];\n"
            f"    for (i = 1; i < {k}; ++i)\n        if (votes[i] > votes[best]) best = i;\n"
        )
    return f"{start}{listed}{body}    return {label};\n}}\n", type_
