"""The C text of a model in integer arithmetic: everything but the answer and the entries.

Signed numbers are shifted by their size, so that nothing depends on how a compiler shifts negative ones.
"""

from __future__ import annotations

import math

import numpy as np

from svmfast.exports.c_answer import VOTES
from svmfast.exports.c_text import Tables, Words
from svmfast.exports.c_values import TERMS, class_words
from svmfast.exports.computation import KernelSums
from svmfast.exports.fixed import EXP, Fixed
from svmfast.exports.fixed_plan import Thresholds

#: A loop in assembler for AVR, whose library takes longer for a product than this for a term.
_STEPS = (
    "clr %[z]; 1: ld %A[a], X+; ld %B[a], X+; lpm %A[b], Z+; lpm %B[b], Z+",
    "muls %B[a], %B[b]; add %C[s], r0; adc %D[s], r1; mul %A[a], %A[b]; add %A[s], r0",
    "adc %B[s], r1; adc %C[s], %[z]; adc %D[s], %[z]; mulsu %B[a], %A[b]; sbc %D[s], %[z]",
    "add %B[s], r0; adc %C[s], r1; adc %D[s], %[z]; mulsu %B[b], %A[a]; sbc %D[s], %[z]",
    "add %B[s], r0; adc %C[s], r1; adc %D[s], %[z]; sbiw %[n], 1; brne 1b; clr r1",
)
AVR_LOOP = (
    """\
/* sum += *v++ * *c++, n times, with v in memory and c in flash. */
#define $N_MULTIPLY_ADD(sum, v, c, n) do { int16_t a_, b_; uint8_t zero_; __asm__ volatile( \\
"""
    + "".join(f'    "{line}; " \\\n'.replace("; ", "\\n") for line in _STEPS)
    + """\
    : [s] "+r"(sum), "+x"(v), "+z"(c), [n] "+w"(n), [a] "=&a"(a_), [b] "=&a"(b_), [z] "=&r"(zero_) \\
    : : "r0", "memory"); } while (0)"""
)

QUANTIZE = """\
/* The integer of the value y of feature j. Beyond the range it is one more than the largest, or one less than
   the least, and a nan is below. It computes in float; predicting does not. */
$N_INLINE $n_input $n_quantize(float y, int j) {
    const float t = (y - $N_READ(@offset@ + j)) * $N_READ(@scale@ + j);
    const int32_t low = (int32_t)@low@ - 1, high = (int32_t)@high@ + 1;
    if (!(t > (float)low)) { return ($n_input)low; }
    if (t >= (float)high) { return ($n_input)high; }
    return ($n_input)(t < 0.0f ? t - 0.5f : t + 0.5f);
}
"""

ROW = """\
/* The variables of a row, and the sum of their squares. A value beyond its range counts as the end of it. */
$N_INLINE uint32_t $n_variables_(const $n_input *x, int16_t *v, int *outside) {
    uint32_t s = 0U;
?every:    int j;
?!every:    int j, next = 0;
    for (j = 0; j < @width@; ++j) {
        const int16_t low = @low@, high = @high@;
        int16_t z = (int16_t)x[j];
?factor:        int32_t square;
?whole:        int32_t above;
?whole:        uint32_t u;
        if (z < low) {
            z = low;
            *outside = 1;
        } else if (z > high) {
            z = high;
            *outside = 1;
        } else {
            /* inside */
        }
?whole:        above = (int32_t)z - low;
?whole:        u = @bias@ + ((uint32_t)above * @multiplier@);
?whole:        z = (int16_t)((int32_t)(u >> 16) - 32768);
?factor:        square = (int32_t)z * z;
?factor:        s += (uint32_t)square;
?every:        v[j] = z;
?!every:        if ((next < @d@) && (@next_variable@ == j)) {
?!every:            v[next] = z;
?!every:            ++next;
?!every:        }
    }
    return s;
}
"""

POWER = """\
/* 2^16 (1 - 2^-f) for the fraction f of s / 2^@exponent@. */
$N_INLINE uint16_t $n_part_(uint32_t s) {
    const uint16_t f = (uint16_t)((s >> @fraction@) & 0xFFFFU);
    uint16_t p = (uint16_t)(@e2@U - (((uint32_t)@e3@U * f) >> 16));
    p = (uint16_t)(@e1@U - (((uint32_t)p * f) >> 16));
    p = (uint16_t)(@e0@U - (((uint32_t)p * f) >> 16));
    return (uint16_t)((((uint32_t)p * f) + 32768U) >> 16);
}
"""

OVER = """\
/* a / 2^bits, rounded to zero. */
$N_INLINE int32_t $n_over_(int32_t a, unsigned int bits) {
    int32_t size = (a < 0) ? -a : a;
    const uint32_t shifted = (uint32_t)size >> bits;
    size = (int32_t)shifted;
    return (a < 0) ? -size : size;
}
"""

POLYNOMIAL = """\
/* sum + v[0] c[0] + ... + v[n - 1] c[n - 1] for n of at least 1. */
$N_LOOP int32_t $n_run_(int32_t sum, const int16_t *v, const int16_t *c, int n) {
#ifdef $N_MULTIPLY_ADD
    $N_MULTIPLY_ADD(sum, v, c, n);
#else
    for (; n > 0; --n) {
        sum += (int32_t)*v * (int16_t)$N_READ_16(c);
        ++v;
        ++c;
    }
#endif
    return sum;
}

?deep:/* a / 2^16, rounded down. */
?deep:$N_INLINE int16_t $n_high_(int32_t a) {
?deep:    return (int16_t)(uint16_t)((uint32_t)a >> 16);
?deep:}
?deep:
?deep:/* t x / 2^@cut@, within 2. */
?deep:$N_INLINE int32_t $n_cut_(int32_t t, int16_t x) {
?deep:    const uint16_t low = (uint16_t)((uint32_t)t & 0xFFFFU);
?deep:    int32_t product = (int32_t)x * $n_high_(t);
?deep:    product += $n_high_((int32_t)x * (int32_t)low);
?deep !drop:    return product;
?deep drop:    return $n_over_(product, @drop@U);
?deep:}
?deep:
/* A polynomial in @d@ variables: a sum of degree m, times a variable, is a part of one of degree m - 1.
   No sum leaves 32 bits, whatever the row. */
$N_INLINE int32_t $n_polynomial_(const int16_t *v, int f) {
    const int32_t *lower = @lower@ + (f * @lower_count@);
    const int16_t *c = @top@ + (f * @top_count@);
?!deep:    return $n_run_((int32_t)$N_READ_32(lower), v, c, @d@);
?deep !deeper:    int32_t sum = (int32_t)$N_READ_32(lower);
?deep !deeper:    int n;
?deep !deeper:    for (n = @d@; n > 0; --n) {
?deep !deeper:        ++lower;
?deep !deeper:        sum += $n_cut_($n_run_((int32_t)$N_READ_32(lower), v, c, n), *v);
?deep !deeper:        ++v;
?deep !deeper:        c = &c[n];
?deep !deeper:    }
?deep !deeper:    return sum;
?deeper:    const int32_t *next[@order@];
?deeper:    int32_t sum[@order@];
?deeper:    int at[@order@], level = 0, m;
?deeper:    for (m = 0; m < @order@; ++m) { next[m] = lower + @degree_start@; }
?deeper:    sum[0] = (int32_t)$N_READ_32(next[0]);
?deeper:    at[0] = 0;
?deeper:    for (;;) {
?deeper:        if (level == @last@) { /* the last index: a run of coefficients */
?deeper:            sum[level] = $n_run_(sum[level], v + at[level], c, @d@ - at[level]);
?deeper:            c += @d@ - at[level];
?deeper:        } else if (at[level] < @d@) { /* one level deeper, from the same index on */
?deeper:            sum[level + 1] = (int32_t)$N_READ_32(next[level + 1]);
?deeper:            ++next[level + 1];
?deeper:            at[level + 1] = at[level];
?deeper:            ++level;
?deeper:            continue;
?deeper:        } else {
?deeper:            /* all variables are done */
?deeper:        }
?deeper:        if (level == 0) { return sum[0]; }
?deeper:        --level;
?deeper:        sum[level] += $n_cut_(sum[level + 1], v[at[level]]);
?deeper:        ++at[level];
?deeper:    }
}
"""

VALUES = """\
$N_INLINE void $n_values_(const int16_t *v, uint32_t s, int32_t *out) {
    int f;
?factor:    const uint32_t part = $n_part_(s);
?factor large:    const uint32_t whole = s >> @exponent@;
?!factor:    (void)s;
    for (f = 0; f < @p@; ++f) {
        int32_t value = $n_polynomial_(v, f);
?factor:        uint32_t size = (value < 0) ? (uint32_t)(-value) : (uint32_t)value;
?factor:        size -= ((size >> 16) * part) + (((size & 0xFFFFU) * part) >> 16);
?factor large:        size = (whole > 31U) ? 0U : (size >> whole);
?factor:        value = (value < 0) ? -(int32_t)size : (int32_t)size;
        out[f] = value - @rho@;
    }
}
"""

SUMS = (
    """\
$N_INLINE void $n_values_(const int16_t *v, uint32_t s, int32_t *out) {
    const int16_t *coefficient = @coefficients@, *value = @vectors@;
    int i, j, f;
?classes:    int own, left = 0, class_ = -1;
    (void)s;
    for (f = 0; f < @p@; ++f) { out[f] = -@rho@; }
    for (i = 0; i < @size@; ++i) {
        uint32_t sum = 0U, whole;
        int32_t kernel;
        for (j = 0; j < @d@; ++j) {
            const int16_t apart = (int16_t)(v[j] - (int16_t)$N_READ_16(value));
            const int32_t square = (int32_t)apart * apart;
            sum += (uint32_t)square;
            ++value;
        }
        whole = @whole_power@;
        sum = 65536U - $n_part_(sum);
        sum = (whole > 17U) ? 0U : ((sum + (((uint32_t)1 << whole) >> 1)) >> whole);
        kernel = (int32_t)sum;
"""
    + TERMS
    + """\
        coefficient += @wide@;
    }
}
"""
)

CERTAIN = (
    """\
$N_INLINE int $n_certain_(const int16_t *v, uint32_t s, int outside, @label_type@ *label) {
    int32_t out[@p@];
?many:    uint32_t t = s >> @threshold_shift@, part = 0U; /* parts of each power of two */
    int f, j, sure;
?votes:    int least[@k@] = {0}, most[@k@] = {0}, votes[@k@] = {0}, one = 0, other = 1;
?many:    for (; t >= @twice@U; t >>= 1) { part += @step@U; }
?many:    part += t;
    $n_values_(v, s, out);
    if (label != NULL) { *label = $n_answer_(out); }
    if (outside != 0) { return 0; }
?!votes:    (void)j;
    for (f = 0; f < @p@; ++f) {
        const int32_t threshold = @threshold@, size = (out[f] < 0) ? -out[f] : out[f];
        sure = 0;
        if (size > threshold) { sure = 1; }
"""
    + VOTES
)

#: The functions in the order of the file, with the word that says whether a file has it.
FUNCTIONS = (
    (QUANTIZE, "quantized"),
    (ROW, "fixed"),
    (POWER, "factor"),
    (OVER, "over"),
    (POLYNOMIAL, "order"),
    (VALUES, "order"),
    (SUMS, "sums"),
)


def fixed_words(tables: Tables, plan: Fixed, proven: Thresholds | None) -> Words:
    """All words of these functions; the tables come in this order."""
    inputs, computation, k = plan.inputs, plan.computation, plan.exponent
    kind, whole = inputs.ranges.kind.name, inputs.ranges.whole
    every = len(computation.variables) == computation.n_features
    words: Words = {
        "fixed": True,
        "avr_loop": AVR_LOOP,
        "input": "$n_input",
        "input_type": f"{kind}_t",
        "input_bits": 8 * inputs.ranges.kind.itemsize,
        "value": "int32_t",
        "unit": np.format_float_scientific(plan.unit, trim="0"),
        "whole": whole,
        "quantized": not whole,
        "every": every,
        "factor": k is not None,
        "exponent": k,
        "fraction": (k or 16) - 16,
        "large": k is not None and k < 32,
        **{f"e{i}": number for i, number in enumerate(EXP)},
        "low": tables.whole("low", inputs.low, np.int16).at("j"),
        "high": tables.whole("high", inputs.high, np.int16).at("j"),
        "drop": plan.drop,
        "over": plan.drop > 0,
    }
    if not whole:
        words["offset"] = tables.floats("offsets", inputs.offset)
        words["scale"] = tables.floats("scales", inputs.scale)
    else:
        words["bias"] = tables.whole("bias", inputs.bias % 2**32, np.uint32).at("j")
        words["multiplier"] = tables.whole("multipliers", inputs.multiplier % 2**32, np.uint32).at("j")
    if not every:
        words["next_variable"] = tables.integers("variables", computation.variables).at("next")
    words |= _sums(tables, plan) if isinstance(computation.values, KernelSums) else _polynomial(tables, plan)
    words["rho"] = tables.whole("rho", plan.rho, np.int32).at("f")
    if proven is not None:
        parts = proven.of.shape[1]
        at = f"f * {parts} + (int)part" if parts > 1 else "f"
        words["threshold"] = tables.whole("thresholds", proven.of, np.int32).at(at)
        words |= {"many": parts > 1, "threshold_shift": proven.shift}
        words |= {"step": proven.step, "twice": 2 * proven.step}
    return words


def _polynomial(tables: Tables, plan: Fixed) -> Words:
    d, order = len(plan.computation.variables), plan.order
    starts = np.cumsum([0] + [math.comb(d + m - 1, m) for m in range(order - 1)])
    return {
        "order": order,
        "sums": False,
        "last": order - 1,
        "deep": order > 1,
        "deeper": order > 2,
        "cut": 16 + plan.drop,
        "lower": tables.whole("lower", plan.lower, np.int32).name,
        "top": tables.whole("coefficients", plan.top, np.int16).name,
        "lower_count": plan.lower.shape[1],
        "top_count": plan.top.shape[1],
        "degree_start": tables.integers("degree_starts", starts).at("m") if order > 2 else "",
    }


def _sums(tables: Tables, plan: Fixed) -> Words:
    values = plan.computation.values
    assert isinstance(values, KernelSums)
    term = "(int32_t)(int16_t)$N_READ_16(coefficient + f) * kernel"
    words: Words = {
        "order": 0,
        "sums": True,
        "vectors": tables.whole("vectors", plan.vectors, np.int16).name,
        "coefficients": tables.whole("coefficients", plan.coef.T, np.int16).name,
        "size": len(values.vectors),
        "wide": len(plan.coef),
        "target": "out",
        "term": f"$n_over_({term}, {plan.drop}U)" if plan.drop else term,
        "whole_power": f"sum >> {plan.exponent}" if (plan.exponent or 0) < 32 else "0U",
    }
    return words | class_words(tables, values)
