"""The arithmetic of a C file: its own exp, tanh and square root."""

from __future__ import annotations

import math

import numpy as np

from svmfast.exports.c_text import Tables, Words

#: For each precision: the smallest argument of the exponential, log2(e), ln 2 in two parts, degree, bias.
EXP = {
    np.dtype(np.float32): (-87.0, 1.44269504, 0.693145751953125, 1.42860682030941723212e-6, 7, 127),
    np.dtype(np.float64): (
        *(-708.0, 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10),
        *(13, 1023),
    ),
}

EXPONENTIAL = """\
/* exp(t) for t of at most 0; below @least@ it is 0. Relative error below @exp_error@. */
$N_INLINE $n_real $n_exp_($n_real t) {
    $n_real r, sum, scale, n;
    @uint@ bits;
    int whole;
    if (t != t) return t;
    if (!(t >= @least@)) return @0@;
    whole = (int)(t * @log2e@ + @biased_half@);
    n = ($n_real)(@bias@ - whole);
    r = t + n * @high@ + n * @low@;
    sum = @last@;
@exp_steps@
    bits = (@uint@)whole << @shift@;
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}
"""

TANH = """\
$N_INLINE $n_real $n_tanh_($n_real x) {
    $n_real size = x < @0@ ? -x : x, square = x * x, fraction = @19@, e;
    int m;
    if (size < @0.5@) {
        for (m = 17; m > 0; m -= 2) fraction = ($n_real)m + square / fraction;
        return x / fraction;
    }
    e = $n_exp_(@-2@ * size);
    e = (@1@ - e) / (@1@ + e);
    return x < @0@ ? -e : e;
}
"""

ROOT = """\
/* The square root of a number of at least 0. */
$N_INLINE $n_real $n_sqrt_($n_real s) {
    @uint@ bits;
    $n_real y;
    int step;
    if (!(s > @root_least@)) return s != s ? s : @0@;
    if (s > @root_most@) return s;
    memcpy(&bits, &s, sizeof bits);
    bits = (bits >> 1) + @root_start@;
    memcpy(&y, &bits, sizeof y);
    for (step = 0; step < @root_steps@; ++step) y = @0.5@ * (y + s / y);
    return y;
}
"""


def arithmetic_words(tables: Tables) -> Words:
    """The numbers of these functions in this precision."""
    single, real = tables.dtype == np.float32, tables.real
    least, log2e, high, low, degree, bias = EXP[tables.dtype]
    terms = [real(1 / math.factorial(m)) for m in range(degree, -1, -1)]
    return {
        "single": single,
        "double": not single,
        "type": "float" if single else "double",
        "uint": "uint32_t" if single else "uint64_t",
        "least": real(least),
        "log2e": real(log2e),
        "high": real(high),
        "low": real(low),
        "bias": bias,
        "biased_half": real(bias + 0.5),
        "shift": 23 if single else 52,
        "exp_error": "4 * 2^-24" if single else "4 * 2^-53",
        "last": terms[0],
        "exp_steps": "\n".join(f"    sum = sum * r + {term};" for term in terms[1:]),
        "root_least": real(1e-37 if single else 1e-300),
        "root_most": real(3e38 if single else 1.7e308),
        "root_start": "UINT32_C(0x1FC00000)" if single else "UINT64_C(0x1FF8000000000000)",
        "root_steps": 4 if single else 5,
        "nan": "UINT32_C(0x7FC00000)" if single else "UINT64_C(0x7FF8000000000000)",
        "large": real(2.0**100),
    }
