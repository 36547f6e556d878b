"""The reports of ``meka``: one for a fit, and one for the error of a kernel matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from svmfast.methods.common.error_statement import labels_line
from svmfast.methods.common.landmark_report import LandmarkReport


@dataclass(frozen=True, kw_only=True)
class MekaReport(LandmarkReport):
    """The result of a fit.

    Attributes
    ----------
    task : str
        ``ridge``, ``svc`` or ``exact``.
    ranks : tuple of int
        Rank of each cluster; for exact blocks, their sizes.
    links : int
        Number of nonzero blocks between clusters.
    kernel : str
    bytes : int
        Memory of the approximation.
    planned_bytes : int
        Memory that was planned for the whole run.
    held_out : mapping or None
        For a conversion, on held-out rows: quantiles of |difference of decision values|, the number and share
        of labels that differ, and if there are probabilities, ``probability_mean`` and ``probability_max`` of
        |difference of probabilities|.
    """

    ranks: tuple[int, ...]
    links: int
    kernel: str
    bytes: int
    planned_bytes: int

    def lines(self) -> list[str]:
        """Return the report as text."""
        ranks = f"{min(self.ranks)} to {max(self.ranks)}"
        return [
            *self.score_lines(),
            f"data         {self.rows:,} rows, {self.features:,} features, {self.clusters} clusters",
            f"kernel       {self.kernel}, gamma {self.gamma:.6g}{self.regularization_text()}",
            f"blocks       ranks {ranks}, {self.links} links, {self.bytes / 2**20:.1f} MiB",
            self.training_line(),
            *self._held_out_lines(),
            *self.closing_lines(),
        ]

    def _held_out_lines(self) -> list[str]:
        held = self.held_out
        if not held:
            return []
        line = (
            f"held out     |error| median {held['q50']:.3g}, 90 % {held['q90']:.3g}, 99 % {held['q99']:.3g}"
        )
        if "labels_differing" in held:
            line += f"; {labels_line(held)}"
        if "values_differing_percent" in held:
            line += f"; values differ by {held['values_differing_percent']:.3g}% of their spread"
        return [line]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = super().to_dict()
        values["kernel_bytes"] = values.pop("bytes")
        return values


@dataclass(frozen=True)
class BaselineError:
    """The error of a baseline that takes as much memory as the approximation."""

    name: str
    rank: int
    relative_error: float
    seconds: float
    bytes: int


@dataclass(frozen=True)
class ExactBlocks:
    """Exact blocks of small clusters that take no more memory than low-rank blocks; zero elsewhere."""

    clusters: int
    relative_error: float
    seconds: float
    bytes: int


@dataclass(frozen=True)
class ErrorReport:
    """``||G - Gt||_F / ||G||_F``; see :func:`svmfast.methods.meka.error.kernel_error`.

    Attributes
    ----------
    form : str
        ``low-rank``: low-rank blocks and links. ``exact-blocks``: the kernel decays so fast that exact blocks
        of smaller clusters are more accurate with the same memory; `relative_error`, `clusters`, `ranks`,
        `links` and `bytes` are then theirs. Always ``exact-blocks`` with `block_only`.
    low_rank_error : float or None
        Error of low-rank blocks and links, even if they were not chosen.
    block_diagonal_error : float
        Error of low-rank blocks without links.
    exact_blocks : ExactBlocks or None
        None if they were not tried.
    seconds : float
        Time for building the approximation, without measuring its error.
    """

    rows: int
    features: int
    sampled_rows: int
    kernel: str
    gamma: float
    clusters: int
    ranks: tuple[int, ...]
    links: int
    smallest_eigenvalue: float | None
    form: str
    relative_error: float
    low_rank_error: float | None
    block_diagonal_error: float
    exact_blocks: ExactBlocks | None
    seconds: float
    stages: Mapping[str, float]
    bytes: int
    planned_bytes: int
    baselines: tuple[BaselineError, ...]

    def lines(self) -> list[str]:
        """Return the report as text."""
        first, last = min(self.ranks), max(self.ranks)
        name = "meka" if self.form == "low-rank" else f"exact blocks ({self.clusters})"
        rank = str(last) if first == last else f"<={last}"
        table: list[tuple[str, str, float, float, float]] = [
            (name, rank, self.relative_error, self.seconds, self.bytes)
        ]
        table += [(b.name, str(b.rank), b.relative_error, b.seconds, b.bytes) for b in self.baselines]
        return [
            f"{self.kernel} kernel, gamma {self.gamma:.6g}; {self.rows:,} rows, compared on "
            f"{self.sampled_rows:,}; {self.clusters} clusters",
            f"{'method':<20} {'rank':>6} {'relative error':>15} {'seconds':>9} {'MiB':>9}",
            *(
                f"{what:<20} {of_rank:>6} {error:>15.6f} {seconds:>9.2f} {size / 2**20:>9.1f}"
                for what, of_rank, error, seconds, size in table
            ),
            *self._other_forms(),
        ]

    def _other_forms(self) -> list[str]:
        """Return the lines about the approximations that were not chosen."""
        if self.low_rank_error is None:
            return []
        lines = [f"low-rank blocks without links: {self.block_diagonal_error:.6f}"]
        small = self.exact_blocks
        if small is not None and self.form == "low-rank":
            lines.append(
                f"exact blocks of {small.clusters} clusters, same memory: {small.relative_error:.6f}"
            )
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
        blocks = values["exact_blocks"]
        for one in (values, *values["baselines"], *([] if blocks is None else [blocks])):
            one["build_seconds"], one["kernel_bytes"] = one.pop("seconds"), one.pop("bytes")
        values["phase_seconds"] = values.pop("stages")
        return {"task": "error", **values}
