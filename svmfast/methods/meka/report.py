"""The reports of ``meka``: one for a fit, and one for the error of a kernel matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from svmfast.methods.common.error_statement import labels_line
from svmfast.methods.common.landmark_report import LandmarkReport


@dataclass(frozen=True, kw_only=True)
class MekaReport(LandmarkReport):
    """The result of a fit; `task` is ``ridge``, ``svc`` or ``exact``.

    Of a conversion, `held_out` has quantiles of |difference of decision values| and the number and share of
    labels that differ or, of regression, how much the values differ; and if there are probabilities, the mean
    and the maximum of their |difference|.
    """

    #: Of each cluster; for exact blocks, their sizes.
    ranks: tuple[int, ...]
    #: Number of nonzero blocks between clusters.
    links: int
    kernel: str
    #: Memory of the approximation, and what was planned for the whole run.
    bytes: int
    planned_bytes: int

    def lines(self) -> list[str]:
        """Return the report as text."""
        line, held = "", self.held_out
        if held:
            line = f"|error| median {held['q50']:.3g}, 90 % {held['q90']:.3g}, 99 % {held['q99']:.3g}"
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

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = super().to_dict()
        values["kernel_bytes"] = values.pop("bytes")
        return values


@dataclass(frozen=True)
class ExactBlocks:
    """Exact blocks of small clusters that take no more memory than low-rank blocks; zero elsewhere."""

    clusters: int
    relative_error: float
    seconds: float
    bytes: int


@dataclass(frozen=True)
class ErrorReport:
    """``||G - Gt||_F / ||G||_F``; see :func:`svmfast.methods.meka.error.kernel_error`."""

    rows: int
    features: int
    sampled_rows: int
    kernel: str
    gamma: float
    clusters: int
    ranks: tuple[int, ...]
    links: int
    smallest_eigenvalue: float | None
    #: ``low-rank``: low-rank blocks and links. ``exact-blocks``: the kernel decays so fast that exact blocks
    #: of smaller clusters are more accurate with the same memory; `relative_error`, `clusters`, `ranks`,
    #: `links` and `bytes` are then theirs. Always ``exact-blocks`` with `block_only`.
    form: str
    relative_error: float
    #: Of low-rank blocks and links, even if they were not chosen; and of low-rank blocks without links.
    low_rank_error: float | None
    block_diagonal_error: float | None
    #: None if they were not tried.
    exact_blocks: ExactBlocks | None
    #: For building the approximation, without measuring its error.
    seconds: float
    stages: Mapping[str, float]
    bytes: int
    planned_bytes: int

    def lines(self) -> list[str]:
        """Return the report as text, with a table of one line."""
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

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = asdict(self)
        for one in (values, values["exact_blocks"]):
            if one is not None:
                one["build_seconds"], one["kernel_bytes"] = one.pop("seconds"), one.pop("bytes")
        values["phase_seconds"] = values.pop("stages")
        return {"task": "error", **values}
