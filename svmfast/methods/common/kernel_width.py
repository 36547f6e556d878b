"""The default width of a kernel."""

from __future__ import annotations

from svmfast.errors import OptionError
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion


def kernel_width(columns: int, exact: Model | None, kind: str) -> float:
    """Return gamma of a kernel: that of the model to convert, or LIBSVM's default 1/(number of features)."""
    exact = None if exact is None else exact.expansion
    if exact is None:
        return 1.0 / max(1, columns)
    if exact.kernel.kind != kind:
        raise OptionError(
            f"the exact model's kernel is {exact.kernel.kind}; give the new kernel's width, `gamma`"
        )
    return exact.kernel.gamma


def widths_to_try(exact: KernelExpansion) -> dict[str, tuple[float, ...]]:
    """Return the option `gamma` of a candidate for ``frontier``; empty if the exact model's gamma is used."""
    if exact.kernel.kind == "rbf":
        return {}
    return {"gamma": (float(f"{1.0 / max(1, exact.n_features):.6g}"),)}
