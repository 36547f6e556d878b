"""The comparison of models with the exact one, on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from svmfast.errors import UnsupportedError
from svmfast.evaluation.benchmark import Benchmark
from svmfast.evaluation.model_result import ComparedModel, ModelResult
from svmfast.models.scaling import Scaling
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows

__all__ = ["ComparisonData", "ComparedModel", "Benchmark", "ModelResult", "compare"]


@dataclass(frozen=True)
class ComparisonData:
    """The results of models on the same rows; the exact model comes first.

    Attributes
    ----------
    data_path : str or None
    rows, features : int
    threads : int
    linear_seconds : float
        Prediction time of a linear model on these rows.
    models : tuple of ModelResult
    class_names : mapping of float to str, or None
        The name of each label, if the classes have names.
    max_diff : float or None
        Limit on the share of labels that differ; regression: on `values_differing_percent`.
    """

    data_path: str | None
    rows: int
    features: int
    threads: int
    linear_seconds: float
    models: tuple[ModelResult, ...]
    class_names: Mapping[float, str] | None = None
    max_diff: float | None = None


def compare(
    models: Sequence[ComparedModel],
    rows: Rows,
    targets: FloatArray,
    *,
    scaling: Scaling | None = None,
    threads: int = 1,
    repeats: int = 7,
    data_path: str | None = None,
    parse_seconds: float | None = None,
    progress: Progress = silent,
) -> ComparisonData:
    """Compare models on the same rows.

    Parameters
    ----------
    models : sequence of ComparedModel
        The exact model first; all must have the same labels.
    rows : Rows
        n > 0 rows.
    targets : (n,) float64
        True labels or values.
    scaling : Scaling, optional
        The scaling that the rows still need; the models take scaled rows.
    threads : int
        Threads for prediction.
    repeats : int
        The most timed predictions of each model.

    Raises
    ------
    UnsupportedError
        The models do not answer the same question, or there are no rows.
    """
    if not len(rows):
        raise UnsupportedError("there are no rows for a comparison", "give a data file with rows")
    benchmark = Benchmark(models[0], rows, targets, scaling=scaling, threads=threads, repeats=repeats)
    for other in models[1:]:
        benchmark.check(other)
    found = benchmark.results(models[1:], parse_seconds=parse_seconds, progress=progress)
    return ComparisonData(data_path, len(rows), benchmark.columns, threads, benchmark.linear_seconds, found)
