"""The exact model behind a candidate that has no certificate: what ``svmfast cascade`` makes of the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svmfast.cli.cascade import MOST_ROWS
from svmfast.cli.units import Share
from svmfast.display import shell_line

if TYPE_CHECKING:
    from svmfast.methods.cascade import CascadeReport
    from svmfast.models.base import Model
    from svmfast.models.cascade import CascadeModel
    from svmfast.models.expansion import KernelExpansion
    from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True)
class Joined:
    """A candidate and the exact model in one; percents are of the rows on which all are measured."""

    model: CascadeModel
    report: CascadeReport
    accuracy: float
    differing_percent: float
    n_bytes: int


class Joiner:
    """Joins candidates with the exact model under one promise.

    Parameters
    ----------
    exact : KernelExpansion
    sha256 : str
        Of its file.
    rows : Rows of n rows
        On which all are measured.
    labels : (n,) float64
        True ones.
    max_percent : float
        Rows that may differ.
    threads : int
    """

    def __init__(
        self,
        exact: KernelExpansion,
        sha256: str,
        rows: Rows,
        labels: FloatArray,
        max_percent: float,
        threads: int,
    ) -> None:
        from svmfast.models.answer import answer

        self._exact, self._source, self._rows, self._labels = exact, f"sha256:{sha256}", rows, labels
        self._promise, self._threads = f"{max_percent:.15g}%", threads
        self._exact_labels = answer(exact, rows, threads=threads).predicted

    def join(self, fast: Model) -> Joined | None:
        """Return `fast` with the exact model behind it; None where that gains nothing.

        Raises
        ------
        OptionError
            The rows cannot show that so few differ, whatever the model.
        UnsupportedError
            The models do not answer the same question.
        """
        import numpy as np

        from svmfast.evaluation.score import percent
        from svmfast.formats.detect import model_bytes
        from svmfast.methods.cascade import join
        from svmfast.models.answer import answer

        rows, n = self._rows, len(self._rows)
        model, report = join(
            fast,
            self._exact,
            rows,
            max_diff=Share().convert(self._promise, None, None),  # what the command line makes of it
            labels=self._exact_labels,
            source=self._source,
            threads=self._threads,
        )
        if not report.cheaper or not report.error:
            return None
        said = answer(model, rows, exact=self._exact, threads=self._threads).predicted
        return Joined(
            model,
            report,
            percent(int(np.count_nonzero(said == self._labels)), n),
            percent(int(np.count_nonzero(said != self._exact_labels)), n),
            len(model_bytes(model)),
        )

    def command(self, fast: str, exact: str, test: str, reading: Sequence[str], out: str) -> str:
        """Return the line that joins the files."""
        words = ["svmfast", "cascade", fast, exact, "--data", test, *reading, "--max-diff", self._promise]
        if len(self._rows) > MOST_ROWS:
            words += ["--rows", str(len(self._rows))]
        return shell_line([*words, "-o", out])
