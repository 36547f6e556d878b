"""What was lost and what was gained: models beside the exact one, on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from svmfast.errors import UnsupportedError
from svmfast.evaluation.benchmark import Benchmark, ComparedModel, ModelResult
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows

__all__ = ["Comparison", "ComparedModel", "Benchmark", "ModelResult", "compare"]


@dataclass(frozen=True)
class Comparison:
    """Models on the same rows; the exact model comes first.

    Attributes
    ----------
    data_path : str or None
    rows, features : int
    threads : int
    linear_seconds : float
        What a linear model takes on these rows.
    models : tuple of ModelResult
    """

    data_path: str | None
    rows: int
    features: int
    threads: int
    linear_seconds: float
    models: tuple[ModelResult, ...]

    def __str__(self) -> str:
        """Return the table of ``svmfast compare``."""
        from svmfast.evaluation.report import as_text

        return as_text(self)


def compare(
    entrants: Sequence[ComparedModel],
    rows: Rows,
    targets: FloatArray,
    *,
    threads: int = 1,
    repeats: int = 5,
    data_path: str | None = None,
    parse_seconds: float | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Compare models on the same rows.

    Parameters
    ----------
    entrants : sequence of ComparedModel
        The exact model first; all must answer with the same labels.
    rows : Rows of n > 0 rows
    targets : (n,) float64
        True labels or values.
    threads : int
        For prediction.
    repeats : int
        Timed predictions of each model.

    Raises
    ------
    UnsupportedError
        Models that do not answer the same question, or no rows.
    """
    if not len(rows):
        raise UnsupportedError("there are no rows to compare on", "give a data file with rows")
    ground = Benchmark(entrants[0], rows, targets, threads=threads, repeats=repeats)
    for other in entrants[1:]:
        ground.check(other)
    lines: list[ModelResult] = []
    for done, entrant in enumerate(entrants):
        progress(done, len(entrants), "models")
        lines.append(ground.row(entrant, parse_seconds=parse_seconds))
    progress(len(entrants), len(entrants), "models")
    return Comparison(data_path, len(rows), rows.n_columns, threads, ground.linear_seconds, tuple(lines))
