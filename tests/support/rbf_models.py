"""Small models with an RBF kernel: two classes, or a regression."""

import numpy as np

from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows


def rbf_model(sv, coef, gamma, *, first=1, rho=0.0, kind="c_svc"):
    """Return a model with these vectors and coefficients; the `first` vectors are those of class 1."""
    sv = sv if isinstance(sv, Rows) else Rows.from_dense(sv)
    classes = kind == "c_svc"
    head = Head(kind, np.array([1, -1]) if classes else None)
    nr_sv = np.array([first, len(sv) - first]) if classes else None
    return KernelExpansion(head, Kernel("rbf", gamma), sv, np.array([coef], float), np.array([rho]), nr_sv)
