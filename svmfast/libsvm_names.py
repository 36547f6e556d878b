"""LIBSVM's words for types and kernels, each at the place of its number; imports nothing, for options."""

from __future__ import annotations

SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
