"""The C text that turns decision values into the answer or probabilities, and that proves a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.c_text import Tables, Words
from svmfast.exports.certain import EXP_UNITS, Bound
from svmfast.exports.computation import Computation
from svmfast.models.head import DENSITY_MARKS, Head
from svmfast.models.polynomial import PolynomialModel

ANSWER = """\
/* LIBSVM's answer to decision values. */
$N_INLINE @label_type@ $n_answer_(const @value@ *values) {
?sign:    return values[0] > @0@ ? @first_label@ : @second_label@;
?listed:    static const @label_type@ labels[@k@] = {@all_labels@};
?largest:    int i, best = 0;
?largest:    for (i = 1; i < @k@; ++i) {
?largest:        if (values[i] > values[best]) { best = i; }
?largest:    }
?votes:    @vote_type@ votes[@k@] = {0};
?votes:    int i, j, best = 0;
?votes:    for (i = 0; i < @k@; ++i) {
?votes:        for (j = i + 1; j < @k@; ++j) {
?votes:            ++votes[(*values > @0@) ? i : j];
?votes:            ++values;
?votes:        }
?votes:    }
?votes:    for (i = 1; i < @k@; ++i) {
?votes:        if (votes[i] > votes[best]) { best = i; }
?votes:    }
?best:    return @best@;
}
"""

#: The end of the loop over values, of which each is `sure` or not, and of the function.
VOTES = """\
?!votes:        if (sure == 0) { return 0; }
?votes:        j = (out[f] > @0@) ? one : other;
?votes:        ++votes[j];
?votes:        ++most[j];
?votes:        if (sure != 0) { ++least[j]; } else { ++most[one + other - j]; }
?votes:        ++other;
?votes:        if (other == @k@) {
?votes:            ++one;
?votes:            other = one + 1;
?votes:        }
    }
?votes:    one = 0;
?votes:    for (j = 1; j < @k@; ++j) {
?votes:        if (votes[j] > votes[one]) { one = j; }
?votes:    }
?votes:    /* No outcome of the uncertain pairs may change the winner; ties go to the first class. */
?votes:    for (j = 0; j < @k@; ++j) {
?votes:        if ((j != one) && (most[j] > (least[one] - ((j < one) ? 1 : 0)))) { return 0; }
?votes:    }
    return 1;
}
"""

#: Compilers state some of the options that give up IEEE's rules in macros; others are found by what they do.
CERTAIN = (
    """\
/* 1 if the compiler keeps the rules of IEEE 754, on which the bound relies: no sum in another order, no
   quotient by a reciprocal, a nan that is a nan. */
$N_INLINE int $n_strict_(void) {
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \\
    defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
    return 0;
#elif defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(__INTEL_COMPILER)
    return 1; /* it defines these macros, whichever options are given */
#else
    volatile $n_real one = @1@;
    volatile @uint@ bits = @nan@;
    @uint@ copy = bits;
    $n_real sum = one + @large@, none;
    memcpy(&none, &copy, sizeof none);
    return sum - @large@ == @0@ && none != none && !(none > @0@);
#endif
}

/* A polynomial with coefficients of at least 0, by powers of x. */
$N_INLINE $n_real $n_horner_(const $n_real *coefficient, int degree, $n_real x) {
    $n_real sum = $N_READ(coefficient + degree);
    while (degree-- > 0) sum = sum * x + $N_READ(coefficient + degree);
    return sum;
}

$N_INLINE int $n_certain_(const $n_real *v, $n_real rest, @label_type@ *label) {
?gamma:    $n_real out[@p@], s, r, eps, phi, factor, square, reach, size, near_, rough, beyond;
?!gamma:    $n_real out[@p@], s, r, eps, square, reach, size, near_, rough, beyond;
?many_cells:    int cell = $n_cell_(v), f, j, sure;
?!many_cells:    int f, j, sure;
?votes:    int least[@k@] = {0}, most[@k@] = {0}, votes[@k@] = {0}, one = 0, other = 1;
    s = $n_expansions_(v, rest, @at@, out);
    if (label) *label = $n_answer_(out);
    if (!$n_strict_()) return 0; /* nothing is known of how such code rounds */
    r = $n_sqrt_(s);
    r += r * (@0.51@ * @terms@ * @u@) + @tiny@;
    eps = @step@ * r + $N_READ(@shift_table@ + @at@);
?gamma:    phi = @gamma@ * (@1.01@ * @terms@ * @u@ * s + (@2@ * r + eps) * eps);
?gamma:    if (!(@gamma@ * s < @largest_exponent@) || !(phi < @0.01@)) return 0;
?gamma:    phi = @1.05@ * (phi + @exp_units@);
?gamma:    factor = $n_exp_(-@gamma@ * s) * (@1@ + phi);
    r += eps;
    square = r * r;
    reach = r + $N_READ(@reach_table@ + @at@);
    for (f = 0; f < @p@; ++f) {
        const $n_real *more = @rest_table@ + @row@ * 5;
        near_ = @times@($n_horner_(@rounding_table@ + @row@ * @rounding_wide@, @rounding_order@, reach)
            + eps * $n_horner_(@slope_table@ + @row@ * @slope_wide@, @slope_order@, reach));
        size = (out[f] < @0@ ? -out[f] : out[f]);
        rough = $N_READ(@rho@ + f);
        rough = size + (rough < @0@ ? -rough : rough);
        near_ += rough * @of_value@;
        beyond = $N_READ(more);
        for (j = 0; j < @degrees_wide@; ++j) beyond *= r;
        beyond += $N_READ(more + 1) + $N_READ(more + 2) * square;
        beyond += (rough + near_) * ($N_READ(more + 3) + $N_READ(more + 4) * square);
        beyond += @times@$n_horner_(@degrees_table@ + @row@ * @degrees_wide@, @degrees_order@, r);
        sure = size > (near_ + beyond) * @slack@;
"""
    + VOTES
)

CLASS_NAMES = """\
/* The name of the class that a label stands for; NULL of any other number. */
$N_INLINE const char *$n_class_name(@label_type@ label) {
    switch (label) {
@cases@    default: return NULL;
    }
}
"""


def label_type(head: Head) -> str:
    """The smallest type that holds every label."""
    largest = int(np.abs(labels_of(head)).max())
    return "int" if largest < 1 << 15 else "int32_t" if largest < 1 << 31 else "int64_t"


def labels_of(head: Head) -> NDArray[Any]:
    return np.array([1, -1]) if head.labels is None else head.labels


def label_text(value: int, type_: str) -> str:
    return str(value) if type_ == "int" else f"{type_[:-2].upper()}_C({value})"


def answer_words(tables: Tables, head: Head) -> Words:
    """The labels, and the rule that finds them: a vote, the largest value, or the sign of the only one."""
    if head.is_regression:
        return {"label_type": "$n_real", "answer": False, "votes": False}
    labels, type_ = labels_of(head), label_type(head)
    texts, k = [label_text(label, type_) for label in labels.tolist()], len(labels)
    best = k > 2
    listed = best and (int(labels.min()) < 0 or type_ == "int64_t")
    label = "labels[best]"
    if best and not listed:
        label = tables.integers("labels", labels).at("best", type_)
    return {
        "label_type": type_,
        "answer": True,
        "k": k,
        "sign": k == 2,
        "largest": head.one_vs_rest,
        "votes": best and not head.one_vs_rest,
        # Compilers clear bytes inline, but call memset for larger types.
        "vote_type": "uint8_t" if k <= 256 else "int",
        "first_label": texts[0],
        "second_label": texts[-1],
        "listed": listed,
        "all_labels": ", ".join(texts),
        "best": best and label,
    }


def certain_words(tables: Tables, computation: Computation, bound: Bound) -> Words:
    """The numbers of the bound of svmfast.exports.certain."""
    values = computation.values
    assert isinstance(values, PolynomialModel)
    real, precision = tables.real, bound.precision
    (cells, p), u = values.orders.shape, precision.unit
    words: Words = {
        "at": "cell" if cells > 1 else "0",
        "row": f"(cell * {p} + f)" if cells > 1 else "f",
        "u": real(u),
        "terms": real(computation.n_features + 8),
        "tiny": real(precision.tiny),
        "step": real(float(bound.step)),
        "largest_exponent": real(precision.largest_exponent),
        "exp_units": real(EXP_UNITS * u),
        "of_value": f"(phi + {real(2.02 * u)})" if values.gamma else real(1.01 * u),
        "slack": real(precision.slack),
    }
    for name in ("degrees", "rest", "rounding", "slope", "reach", "shift"):
        table = getattr(bound, name)
        words[f"{name}_table"] = tables.reals(f"bound_{name}", table)
        words[f"{name}_wide"], words[f"{name}_order"] = table.shape[-1], table.shape[-1] - 1
    return words


def class_name_words(tables: Tables, computation: Computation) -> Words:
    """The cases of the function that maps labels to class names, if the model has names."""
    names, labels = computation.class_names or (), labels_of(computation.head)
    pairs = zip(labels.tolist(), names, strict=bool(names))
    text = (f"    case {label}: return {tables.string(name)};\n" for label, name in pairs)
    return {"cases": "".join(text)}


#: Sigmoids of pairs and their coupling, or density bins: the operations of ``svm_predict_probability``, in
#: the same order.
PROBABILITY = """\
?sigmoids:/* The probability of a pair's first class. */
?sigmoids:$N_INLINE $n_real $n_pair_($n_real value, int pair) {
?sigmoids:    $n_real t = value * $N_READ(@prob_a@ + pair) + $N_READ(@prob_b@ + pair);
?sigmoids:    $n_real e = $n_exp_(t < @0@ ? t : -t), p = (t < @0@ ? @1@ : e) / (@1@ + e);
?sigmoids:    return p < @1e-7@ ? @1e-7@ : p > @0.9999999@ ? @0.9999999@ : p;
?sigmoids:}
?sigmoids:
/* The probabilities of svm-predict -b 1 into out[@k@], @in_order@. Returns its label. */
$N_INLINE @label_type@ $n_probability(const $n_real *x, $n_real *out) {
    $n_real values[@p@];
?coupled:    $n_real q[@k@][@k@], qp[@k@], total, error, by, grown;
?coupled:    int i, j, pair = 0, sweep, best = 0;
?density:    int i;
    $n_decision(x, values);
?density:    out[0] = values[0] > $N_READ(@marks@ + @last_mark@) ? @0.999@ : @0@;
?density:    for (i = @last_mark@; i > 0; --i)
?density:        if (values[0] < $N_READ(@marks@ + i)) out[0] = ($n_real)i / @bins@;
?density:    if (values[0] < $N_READ(@marks@)) out[0] = @0.001@;
?pair:    out[0] = $n_pair_(values[0], 0);
?!coupled:    out[1] = @1@ - out[0];
?density:    return $n_answer_(values);
?pair:    return out[0] >= out[1] ? @first_label@ : @second_label@;
?coupled:    for (i = 0; i < @k@; ++i) {
?coupled:        out[i] = @1@ / @n_classes@;
?coupled:        q[i][i] = @0@;
?coupled:    }
?coupled:    for (i = 0; i < @k@; ++i)
?coupled:        for (j = i + 1; j < @k@; ++j, ++pair) {
?coupled:            by = $n_pair_(values[pair], pair);
?coupled:            grown = @1@ - by;
?coupled:            q[i][i] += grown * grown;
?coupled:            q[j][j] += by * by;
?coupled:            q[i][j] = -by * grown;
?coupled:            q[j][i] = q[i][j];
?coupled:        }
?coupled:    for (sweep = 0; sweep < @sweeps@; ++sweep) {
?coupled:        total = @0@;
?coupled:        for (i = 0; i < @k@; ++i) {
?coupled:            qp[i] = @0@;
?coupled:            for (j = 0; j < @k@; ++j) qp[i] += q[i][j] * out[j];
?coupled:            total += out[i] * qp[i];
?coupled:        }
?coupled:        error = @0@;
?coupled:        for (i = 0; i < @k@; ++i) {
?coupled:            by = qp[i] < total ? total - qp[i] : qp[i] - total;
?coupled:            if (by > error) error = by;
?coupled:        }
?coupled:        if (error < @0.005@ / @n_classes@) break;
?coupled:        for (i = 0; i < @k@; ++i) {
?coupled:            by = (total - qp[i]) / q[i][i];
?coupled:            grown = @1@ + by;
?coupled:            out[i] += by;
?coupled:            total = (total + by * (by * q[i][i] + @2@ * qp[i])) / grown / grown;
?coupled:            for (j = 0; j < @k@; ++j) {
?coupled:                qp[j] = (qp[j] + by * q[i][j]) / grown;
?coupled:                out[j] /= grown;
?coupled:            }
?coupled:        }
?coupled:    }
?coupled:    for (i = 1; i < @k@; ++i)
?coupled:        if (out[i] > out[best]) best = i;
?coupled:    return @best@;
}
"""


def probability_words(tables: Tables, head: Head) -> Words:
    """The tables of a model with probabilities."""
    density = head.density_marks is not None
    words: Words = {
        "sigmoids": not density,
        "density": density,
        "pair": not density and head.n_classes == 2,
        "coupled": head.n_classes > 2,
        "in_order": "normal and outlier" if density else "in the order of LIBSVM's labels",
        "n_classes": tables.real(head.n_classes),
        "sweeps": max(100, head.n_classes),
        "bins": tables.real(DENSITY_MARKS),
        "last_mark": DENSITY_MARKS - 1,
    }
    if head.density_marks is not None:
        return words | {"marks": tables.reals("density_marks", head.density_marks)}
    assert head.prob_a is not None
    assert head.prob_b is not None
    return words | {
        "prob_a": tables.reals("prob_a", head.prob_a),
        "prob_b": tables.reals("prob_b", head.prob_b),
    }
