"""The report of ``approximate``: the error on held-out rows, the model, and its range of validity."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.display import count
from svmfast.figures import Figures, figure
from svmfast.methods.approximate.measuring import Measured
from svmfast.methods.common.error_statement import probability_lines


@dataclass(frozen=True, kw_only=True)
class NoExpansion(Figures):
    """The report if every expansion was passed over: there is none to describe."""

    refusal: str | None = figure("Why nothing is written without `force`; null where the result can be used.")
    advice: str | None = figure("What may help then; else null.")

    def lines(self) -> list[str]:
        return []  # the command states the refusal and the advice


@dataclass(frozen=True, kw_only=True)
class ApproximationReport(Measured, NoExpansion):
    svm_type: str = figure("LIBSVM's name of the type.")
    kernel: str = figure("The kernel's name.")
    features: int = figure("Features in use.")
    n_sv: int = figure("Support vectors of the exact model.", key="support_vectors_exact")
    functions: int = figure("Decision functions.")
    cells: int = figure("Cells of the expansion.")
    order: int = figure("Degree of the polynomials.")
    exact: bool = figure(
        "The kernel is a polynomial itself: nothing was truncated.", key="exact_conversion", default=False
    )
    center: str = figure(
        "`mean` or `origin`; `origin` for exact conversions, `cells` if there are several cells.",
        default="origin",
    )
    gamma: float = figure("Gamma of the kernel.")
    gamma_max_paper: float = figure(
        "Largest gamma for which the validity bound holds, about the origin, for rows no "
        "farther out than the support vectors."
    )
    gamma_max_centered: float = figure("The same, about the mean.")
    coefficients: int = figure("Numbers that the model stores.", key="numbers")
    numbers_before: int = figure("Numbers that the exact model stores.", key="numbers_exact")
    operations: float = figure(
        "Counted multiply-adds of a prediction of a dense row, on average over the measured rows.",
        key="multiply_adds",
    )
    operations_before: float = figure("The same for the exact model.", key="multiply_adds_exact")
    seconds: float = 0.0
    bytes_exact: int | None = figure(
        "Size of the exact model's file, compressed if it is; null for a model that is no file.", default=None
    )
    probabilities: str = figure(
        "Whether the exact model's probabilities were kept: kept, or none (it had none).", default="none"
    )

    def lines(self) -> list[str]:
        vectors = f"{self.n_sv:,} support vectors, {count(self.features, 'feature')}"
        functions = count(self.functions, "decision function")
        lines = [
            self._difference_line(),
            *self.kept.lines(),
            f"model        {self.svm_type}, {self.kernel} kernel, {vectors}, {functions}",
        ]
        if self.exact:
            lines.append(f"expansion    order {self.order}, exact: this kernel is a polynomial")
        else:
            lines += self._expansion_lines()
        if self.certified_percent is not None:
            proven = "have a label that is provably the exact model's (svmfast predict `certify`)"
            if self.tolerance is not None:
                proven = (
                    f"have a value that is provably within {self.tolerance:.4g} of the exact model's "
                    "(svmfast predict `certify` `tolerance`)"
                )
            lines.append(f"certified    {self.certified_percent:.2f}% of them {proven}")
        if self.speedup is not None:
            lines.append(f"raced        {self.speedup:.2f} times as fast as the exact model")
        if self.speedup_with_fallback is not None:
            how = "predict `exact`" if self.tolerance is None else "predict `exact` `tolerance`"
            lines.append(
                f"raced        {self.speedup_with_fallback:.2f} times as fast as the exact model, which "
                f"answers the rows that are not certified ({how})"
            )
        lines.append(f"numbers      {self.numbers_before:,} -> {self.coefficients:,}")
        counts = f"{self.operations_before:,.0f} -> {self.operations:,.0f}"
        lines.append(f"operations   {counts} multiply-adds per row (counted)")
        return lines + probability_lines(self.probabilities)

    def _difference_line(self) -> str:
        if not self.measured_rows:
            return "labels       not compared: the model has no support vectors"
        words = self.difference("held-out rows of `data`")
        if self.labels_differing is None:
            return f"values       {words.removeprefix('values ')}"
        alone = self.labels_differing_without_fallback
        return f"labels       {words}" + ("" if alone is None else f"; {alone:,} without the embedded model")

    def _expansion_lines(self) -> list[str]:
        where = f"about the {self.center}" if self.cells == 1 else f"about {self.cells:,} centers"
        gamma = f"gamma        {self.gamma:.6g}"
        if self.cells == 1:
            gamma += (
                f"; the validity bound of order {self.order} holds below {self.gamma_max_paper:.6g} (about "
                f"the origin), {self.gamma_max_centered:.6g} (about the mean), for rows no farther out than "
                "the support vectors"
            )
        return [f"expansion    order {self.order} {where}", gamma]
