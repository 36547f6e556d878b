"""The C text of LIBSVM's probability estimates: sigmoids of pairs and their coupling, or density bins.

The operations are those of ``svm_predict_probability``, in the same order.
"""

from __future__ import annotations

from svmfast.exports.c_text import Tables, Words
from svmfast.models.head import DENSITY_MARKS, Head

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
