"""What was lost and what was gained: models beside the exact one, on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.evaluation.linear import linear_multiply_adds, linear_seconds
from svmfast.evaluation.score import Score, percent
from svmfast.evaluation.timing import Timing, measure
from svmfast.models.answer import Answer, answer
from svmfast.models.base import BoundedModel, CountedModel, Model
from svmfast.models.certified import bounds_its_error, certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True)
class Entrant:
    """A model that takes part, with what is known of its file.

    Attributes
    ----------
    path : str
        How to call it in the report.
    model : Model
    n_bytes : int or None
        Size of its file.
    load_seconds : float or None
    sha256 : str or None
        Hash of its file.
    source : str or None
        What its file says it was made from, ``sha256:...``.
    """

    path: str
    model: Model
    n_bytes: int | None = None
    load_seconds: float | None = None
    sha256: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Row:
    """One model's line in a comparison; None where a figure has no meaning.

    Attributes
    ----------
    path, kind : str
    accuracy : float or None
        Percent of right labels; None for regression.
    mse, scc : float or None
        Mean squared error and squared correlation; None unless regression.
    labels_differing : int or None
        Rows whose label is not the exact model's; None for regression.
    mean_abs_error, max_abs_error : float or None
        |difference of decision values| from the exact model's, over all rows and decision functions; None
        where one has a value for each class and the other one for each pair, or another order of labels.
    inside_bound_percent : float or None
        Rows inside the model's validity bound; None for a model that has none.
    n_bytes : int or None
    load_seconds, parse_seconds : float or None
        Reading the model, and the data (the same for all).
    predict_seconds : float
        Median of the repeats, from parsed rows to labels, without parsing.
    predict_seconds_range : (float, float)
        Fastest and slowest repeat.
    speedup : float
        The exact model's `predict_seconds` over this one's.
    linear_cost : float
        `predict_seconds` over that of a linear model on the same rows.
    multiply_adds, linear_cost_counted : float or None
        Counted for a dense row, and over the linear model's; None where a kind does not count them.
    certified_percent : float or None
        Rows whose label is provably the exact model's; None for a model without a certificate, and for
        regression, whose certificate is an error bar.
    violations : int or None
        Rows that break the certificate: some decision value farther from the exact one than its bound.
    labels_differing_with_fallback : int or None
    predict_seconds_with_fallback, speedup_with_fallback, accuracy_with_fallback : float or None
        With the exact model answering the rows that are not certified, or of which a cascade is not sure.
    values_differing_percent : float or None
        Regression: root mean square difference from the exact model's values, over their standard deviation.
    """

    path: str
    kind: str
    accuracy: float | None
    mse: float | None
    scc: float | None
    labels_differing: int | None
    labels_differing_percent: float | None
    mean_abs_error: float | None
    max_abs_error: float | None
    inside_bound_percent: float | None
    n_bytes: int | None
    load_seconds: float | None
    parse_seconds: float | None
    predict_seconds: float
    predict_seconds_range: tuple[float, float]
    speedup: float
    linear_cost: float
    multiply_adds: float | None
    linear_cost_counted: float | None
    certified_percent: float | None = None
    violations: int | None = None
    labels_differing_with_fallback: int | None = None
    predict_seconds_with_fallback: float | None = None
    speedup_with_fallback: float | None = None
    accuracy_with_fallback: float | None = None
    values_differing_percent: float | None = None


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
    models : tuple of Row
    """

    data_path: str | None
    rows: int
    features: int
    threads: int
    linear_seconds: float
    models: tuple[Row, ...]

    def __str__(self) -> str:
        """Return the table of ``svmfast compare``."""
        from svmfast.evaluation.report import as_text

        return as_text(self)


def compare(
    entrants: Sequence[Entrant],
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
    entrants : sequence of Entrant
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
    ground = Ground(entrants[0], rows, targets, threads=threads, repeats=repeats)
    for other in entrants[1:]:
        ground.check(other)
    lines: list[Row] = []
    for done, entrant in enumerate(entrants):
        progress(done, len(entrants), "models")
        lines.append(ground.row(entrant, parse_seconds=parse_seconds))
    progress(len(entrants), len(entrants), "models")
    return Comparison(data_path, len(rows), rows.n_columns, threads, ground.linear_seconds, tuple(lines))


class Ground:
    """The exact model and the rows on which others are measured, one after the other.

    Attributes
    ----------
    exact : Entrant
    linear_seconds : float
        What a linear model takes on the rows.
    exact_seconds : float
        What the exact model takes; known once a row was asked for.
    """

    def __init__(
        self,
        exact: Entrant,
        rows: Rows,
        targets: FloatArray,
        *,
        threads: int = 1,
        repeats: int = 5,
        limit_seconds: float = 20.0,
    ) -> None:
        self.exact, self._rows, self._targets = exact, rows, targets
        self._threads, self._repeats, self._limit = threads, repeats, limit_seconds
        self._unit = linear_multiply_adds(exact.model.head, rows)
        self._reference: Answer | None = None
        self.exact_seconds = math.nan
        self.linear_seconds = self._time_linear()

    def check(self, other: Entrant) -> None:
        """Raise UnsupportedError where `other` does not answer the exact model's question."""
        _same_question(self.exact, other)

    def _time(self, model: Model) -> tuple[Answer, Timing]:
        call = _prediction(model, self._rows, self._threads)
        return measure(call, repeats=self._repeats, limit_seconds=self._limit)

    def _time_linear(self) -> float:
        head = self.exact.model.head
        return linear_seconds(head, self._rows, threads=self._threads, repeats=self._repeats).seconds

    def row(self, entrant: Entrant, *, parse_seconds: float | None = None) -> Row:
        """Measure a model; the exact one is measured before any other."""
        if self._reference is None and entrant is not self.exact:
            self.row(self.exact)
        rows, model, exact = self._rows, entrant.model, self.exact.model
        said, timing = self._time(model)
        if self._reference is None:
            self._reference, self.exact_seconds = said, timing.seconds
        reference = self._reference
        score = Score()
        regression = model.head.is_regression
        score.add(said.predicted, self._targets, regression=regression)
        differing = None if regression else int(np.count_nonzero(said.predicted != reference.predicted))
        mean_error: float | None = None
        max_error: float | None = None
        if model.head.same_functions(exact.head):
            mean_error, max_error = _errors(said.decisions, reference.decisions)
        counted = model.multiply_adds(rows) if isinstance(model, CountedModel) else None
        line = Row(
            path=entrant.path,
            kind=model.kind,
            accuracy=None if regression else score.accuracy,
            mse=score.mean_squared_error if regression else None,
            scc=score.squared_correlation if regression else None,
            labels_differing=differing,
            labels_differing_percent=None if differing is None else percent(differing, len(rows)),
            mean_abs_error=mean_error,
            max_abs_error=max_error,
            inside_bound_percent=_inside_percent(model, rows),
            n_bytes=entrant.n_bytes,
            load_seconds=entrant.load_seconds,
            parse_seconds=parse_seconds,
            predict_seconds=timing.seconds,
            predict_seconds_range=(timing.fastest, timing.slowest),
            speedup=self.exact_seconds / timing.seconds,
            linear_cost=timing.seconds / self.linear_seconds,
            multiply_adds=counted,
            linear_cost_counted=None if counted is None or not self._unit else counted / self._unit,
            values_differing_percent=_spread_percent(said, reference) if regression else None,
            **self._certificate(entrant, reference),
        )
        if line.predict_seconds_with_fallback is None:
            return line
        ratio = self.exact_seconds / line.predict_seconds_with_fallback
        return replace(line, speedup_with_fallback=ratio)

    def _certificate(self, entrant: Entrant, reference: Answer) -> dict[str, Any]:
        """Return the certificate's figures, against the model that the candidate was made from.

        A certificate says nothing of another exact model: where the hashes are known they must agree.
        """
        model, sha256 = entrant.model, self.exact.sha256
        if sha256 is not None and entrant.source is not None and entrant.source != f"sha256:{sha256}":
            return {}
        if not bounds_its_error(model):
            return {}
        rows, threads = self._rows, self._threads
        found: dict[str, Any] = {}
        if model.proven:
            decisions, bounds = model.certified_values(rows, threads=threads)
            broken = (np.abs(decisions - reference.decisions) > bounds).any(axis=1)
            found["violations"] = int(np.count_nonzero(broken))
            if not model.head.is_regression:
                certified = certified_rows(model.head, decisions, bounds)
                found["certified_percent"] = percent(int(np.count_nonzero(certified)), len(rows))
        exact = model.embedded_exact or self.exact.model  # predict falls back on its own, too
        if model.head.is_regression or not isinstance(exact, KernelExpansion):
            return found
        said, timing = measure(
            lambda: answer(model, rows, exact=exact, exact_values=False, threads=threads),
            repeats=self._repeats,
            limit_seconds=self._limit,
        )
        return found | {
            "labels_differing_with_fallback": int(np.count_nonzero(said.predicted != reference.predicted)),
            "accuracy_with_fallback": percent(
                int(np.count_nonzero(said.predicted == self._targets)), len(rows)
            ),
            "predict_seconds_with_fallback": timing.seconds,
        }


def _prediction(model: Model, rows: Rows, threads: int) -> Callable[[], Answer]:
    return lambda: answer(model, rows, threads=threads)


def _errors(decisions: FloatArray, exact: FloatArray) -> tuple[float, float]:
    if not decisions.size:
        return 0.0, 0.0
    difference = np.abs(decisions - exact)
    return float(difference.mean()), float(difference.max())


def _spread_percent(said: Answer, reference: Answer) -> float:
    spread = float(reference.predicted.std())
    error = math.sqrt(float(np.mean((said.predicted - reference.predicted) ** 2)))
    return error / spread * 100 if spread else (0.0 if error == 0 else math.inf)


def _inside_percent(model: Model, rows: Rows) -> float | None:
    if not isinstance(model, BoundedModel):
        return None
    return percent(int(np.count_nonzero(model.inside_bound(rows))), len(rows))


def _same_question(exact: Entrant, other: Entrant) -> None:
    a, b = exact.model.head, other.model.head
    kinds = [_question(head.is_classifier, head.is_regression) for head in (a, b)]
    if kinds[0] != kinds[1]:
        raise UnsupportedError(
            f"{other.path} is a {kinds[1]} model, {exact.path} a {kinds[0]} model",
            "compare models that answer the same question",
        )
    if a.labels is None or b.labels is None:
        return
    # Models trained on the rows in another order have their labels in another order.
    if sorted(a.labels.tolist()) != sorted(b.labels.tolist()):
        raise UnsupportedError(
            f"{other.path} has the labels {_listed(b.labels)}, {exact.path} {_listed(a.labels)}",
            "compare models of the same labels",
        )


def _question(classifier: bool, regression: bool) -> str:
    return "classification" if classifier else "regression" if regression else "one-class"


def _listed(labels: np.ndarray) -> str:
    shown = " ".join(str(int(label)) for label in labels[:8])
    return f"{shown} ..." if len(labels) > 8 else shown
