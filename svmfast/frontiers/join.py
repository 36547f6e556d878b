"""Joins the exact model with a candidate that has no certificate, as ``svmfast cascade`` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from svmfast.display import shell_line
from svmfast.methods.cascade.options import MOST_ROWS, CascadeOptions
from svmfast.values import Share

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.models.cascade import CascadeModel
    from svmfast.models.expansion import KernelExpansion
    from svmfast.rows import FloatArray, Rows


class Joiner:
    """Joins candidates with the exact model under one limit.

    Parameters
    ----------
    exact : KernelExpansion
    sha256 : str
        Hash of its file.
    rows : Rows
        The n choosing rows.
    exact_labels : (n,) float64
        The exact model's labels of `rows`.
    max_percent : float
        Share of the rows whose label may differ, in percent.
    seed, threads : int
    """

    def __init__(
        self,
        exact: KernelExpansion,
        sha256: str,
        rows: Rows,
        exact_labels: FloatArray,
        max_percent: float,
        *,
        seed: int,
        threads: int,
    ) -> None:
        self.max_percent = max_percent
        self._exact, self._source, self._rows, self._labels = exact, f"sha256:{sha256}", rows, exact_labels
        self._limit, self._seed, self._threads = f"{max_percent:.15g}%", seed, threads

    def join(self, fast: Model) -> CascadeModel | None:
        """Return `fast` with the exact model as fallback; None if that is not faster.

        Raises
        ------
        OptionError
            There are too few rows to show that any model meets the limit.
        UnsupportedError
            The models do not answer the same question.
        """
        from svmfast.methods.cascade.join import join

        model, report = join(
            fast,
            self._exact,
            self._rows,
            # The limit is parsed as the command parses it.
            CascadeOptions(max_diff=Share().of_text(self._limit), seed=self._seed),
            labels=self._labels,
            source=self._source,
            threads=self._threads,
        )
        return model if report.cheaper and report.error else None

    def command(self, fast: str, exact: str, choosing: str, out: str) -> str:
        """Return the command line that joins the files."""
        words: Sequence[str] = ("svmfast", "cascade", fast, exact, "--data", choosing)
        words = (*words, "--max-diff", self._limit, "--seed", str(self._seed))
        if len(self._rows) > MOST_ROWS:
            words = (*words, "--rows", str(len(self._rows)))
        return shell_line([*words, "-o", out])
