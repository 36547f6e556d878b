"""The choice of the center of a single expansion, by the leading term of the bound or by the error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from svmfast.methods.approximate.expander import Expander
from svmfast.methods.approximate.residual import residual_tail, squared_norms_about
from svmfast.rows import FloatArray

# Support vectors for which the bound is computed: enough for a choice, at a fraction of the certificate's
# cost.
SAMPLE = 2000
#: exp() of larger numbers overflows.
_LARGEST_POWER = 709.0
#: The most features for which the full bound is computed; its matrices then take 128 MiB each.
_WIDEST_LEADING = 4096


def better_center(
    expander: Expander, names: Sequence[str], order: int, errors: Mapping[str, float], certify: bool
) -> str:
    """Return the center of `names` with the smallest bound or, without a certificate, the smallest error."""
    if len(names) == 1:
        return names[0]
    if certify:
        return min(names, key=lambda name: leading_term(expander, expander.center(name), order))
    return min(names, key=lambda name: errors[name])


def leading_term(expander: Expander, center: FloatArray, order: int) -> float:
    """Return the bound's first term at the distance of the mean support vector, over all functions."""
    terms, gamma = expander.terms, expander.model.kernel.gamma
    worst = 0.0
    for p in range(terms.n_functions):
        step = max(1, -(-len(terms.beta[p]) // SAMPLE))
        points, beta = terms.points[terms.support[p][::step]], terms.beta[p][::step]
        s = float(squared_norms_about(points, center).mean()) if len(points) else 0.0
        # For a mere choice, no (features, features) matrix is made if there are many features.
        wide = points.shape[1] > _WIDEST_LEADING
        tail = residual_tail(
            points, beta, gamma, center, order, top=order + 1, by_row_norms=wide, threads=expander.threads
        )
        lead = float(tail.degrees[order + 1])
        if lead > 0 and s > 0:  # in logarithms, because the power alone may overflow
            power = math.log(lead) + (order + 1) / 2 * math.log(s) - gamma * s
            worst = max(worst, math.exp(power) if power < _LARGEST_POWER else math.inf)
    return worst
