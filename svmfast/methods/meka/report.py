"""The reports of ``meka``: one for a fit, and one for the error of a kernel matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from svmfast.figures import Figures, computed, figure
from svmfast.methods.common.error_statement import labels_line
from svmfast.methods.common.landmarks import LandmarkReport


@dataclass(frozen=True, kw_only=True)
class MekaReport(LandmarkReport):
    """The report of a fit; the task of a conversion is ``exact``."""

    ranks: tuple[int, ...] = figure("Rank of each cluster's block; of exact blocks, their sizes.")
    links: int = figure("Blocks between clusters that are not zero.")
    kernel: str = figure("The kernel's name.")
    bytes: int = figure("Memory of the approximated kernel matrix.", key="kernel_bytes")
    planned_bytes: int = figure("Memory announced for the whole work.")

    def lines(self) -> list[str]:
        line, held = "", self.held_out
        if held:
            line = f"|error| median {held['median_abs_error']:.3g}, 90 % {held['abs_error_90']:.3g}, "
            line += f"99 % {held['abs_error_99']:.3g}"
            if "labels_differing" in held:
                line += f"; {labels_line(held)}"
            if "values_differing_percent" in held:
                line += f"; values differ by {held['values_differing_percent']:.3g}% of their spread"
        ranks, size = f"{min(self.ranks)} to {max(self.ranks)}", self.bytes / 2**20
        return self.text(
            data=f", {self.clusters} clusters",
            kernel=f"{self.kernel}, gamma {self.gamma:.6g}",
            own=[f"blocks       ranks {ranks}, {self.links} links, {size:.1f} MiB"],
            held=line,
        )


@dataclass(frozen=True)
class ExactBlocks(Figures):
    """Exact blocks of small clusters that take no more memory than low-rank blocks; zero elsewhere."""

    clusters: int = figure("Clusters.")
    relative_error: float = figure("Frobenius norm of the error over that of the matrix.")
    seconds: float = figure("Time to build them.", key="build_seconds")
    bytes: int = figure("Their memory.", key="kernel_bytes")


@dataclass(frozen=True)
class ErrorReport(Figures):
    """``||G - Gt||_F / ||G||_F``; see :func:`svmfast.methods.meka.error.kernel_error`."""

    rows: int = figure("Rows of the matrix.")
    features: int = figure("Features: the largest index.")
    sampled_rows: int = figure("Rows that the matrices were compared on.")
    kernel: str = figure("The kernel's name.")
    gamma: float = figure("Gamma of the kernel.")
    clusters: int = figure("Clusters.")
    ranks: tuple[int, ...] = figure("Rank of each cluster's block; of exact blocks, their sizes.")
    links: int = figure("Blocks between clusters that are not zero.")
    smallest_eigenvalue: float | None = figure(
        "Smallest eigenvalue of the approximation; null if it was not computed."
    )
    form: str = figure(
        "low-rank: low-rank blocks and links. exact-blocks: the kernel decays so fast that exact blocks of "
        "smaller clusters are more accurate with the same memory; `relative_error`, `clusters`, `ranks`, "
        "`links` and `kernel_bytes` are then theirs. Always exact-blocks with `block_only`."
    )
    relative_error: float = figure("Frobenius norm of the error over that of the matrix.")
    low_rank_error: float | None = figure(
        "The same of low-rank blocks with links, even if they were not chosen."
    )
    block_diagonal_error: float | None = figure("The same of low-rank blocks without links.")
    exact_blocks: ExactBlocks | None = figure(
        "Exact blocks of smaller clusters at the same memory; null if they were not tried."
    )
    seconds: float = figure("Time to build it, without measuring its error.", key="build_seconds")
    stages: Mapping[str, float] = figure("Seconds of each phase.", key="phase_seconds")
    bytes: int = figure("Memory of the approximated kernel matrix.", key="kernel_bytes")
    planned_bytes: int = figure("Memory announced for the whole work.")

    @computed.figure("What was trained or measured.")
    def task(self) -> str:
        return "error"

    def lines(self) -> list[str]:
        name = "meka" if self.form == "low-rank" else f"exact blocks ({self.clusters})"
        rank = str(max(self.ranks)) if len(set(self.ranks)) == 1 else f"<={max(self.ranks)}"
        lines = [
            f"{self.kernel} kernel, gamma {self.gamma:.6g}; {self.rows:,} rows, compared on "
            f"{self.sampled_rows:,}; {self.clusters} clusters",
            f"{'method':<20} {'rank':>6} {'relative error':>15} {'seconds':>9} {'MiB':>9}",
            f"{name:<20} {rank:>6} {self.relative_error:>15.6f} {self.seconds:>9.2f} "
            f"{self.bytes / 2**20:>9.1f}",
        ]
        if self.low_rank_error is None:
            return lines
        lines.append(f"low-rank blocks without links: {self.block_diagonal_error:.6f}")
        small = self.exact_blocks
        if small is not None and self.form == "low-rank":
            error = f"{small.relative_error:.6f}"
            lines.append(f"exact blocks of {small.clusters} clusters, same memory: {error}")
        elif small is not None:
            lines.append(
                f"low-rank blocks with links: {self.low_rank_error:.6f}; exact blocks of smaller clusters "
                f"are closer at the same memory (to train with them: `block_only` "
                f"`clusters` {small.clusters})"
            )
        return lines
