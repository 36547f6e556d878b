"""Kernel values in 50 digits, from their definitions.

mpmath's numbers are slow, and most of the work is in sums over features. These are exact: doubles are whole
numbers times a power of two, and Python adds and multiplies whole numbers of any length.
"""

import mpmath
import numpy as np

mpmath.mp.dps = 50
mpf = mpmath.mpf
#: The bits of a double's fraction.
_BITS = 53


def exactly(values):
    """Return doubles as mpmath's numbers."""
    return [mpf(float(value)) for value in values]


def whole_numbers(values):
    """Return whole numbers `n`, of any length, and the exponent `e` for which `values` are ``n * 2**e``."""
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(fractions, _BITS).astype(np.int64)
    least = int(exponents[whole != 0].min(initial=0))
    return np.left_shift(whole.astype(object), np.maximum(exponents - least, 0).astype(object)), least - _BITS


def kernel_values(kernel, vectors, z):
    """Return the kernel values of the rows of `vectors` (n, d) with `z` (d,)."""
    rows, exponent = whole_numbers(np.vstack([vectors, z]))
    x, own = rows[:-1], rows[-1]
    power = exponent
    if kernel.kind == "laplacian":
        sums = np.abs(x - own).sum(axis=1)
    else:
        sums = ((x - own) ** 2 if kernel.kind == "rbf" else x * own).sum(axis=1)
        power *= 2
    found = [mpmath.ldexp(mpf(int(total)), power) for total in sums]
    gamma, coef0 = mpf(kernel.gamma), mpf(kernel.coef0)
    if kernel.kind == "linear":
        return found
    if kernel.kind == "polynomial":
        return [(gamma * dot + coef0) ** kernel.degree for dot in found]
    if kernel.kind == "sigmoid":
        return [mpmath.tanh(gamma * dot + coef0) for dot in found]
    return [mpmath.exp(-gamma * distance) for distance in found]
