"""The settings of an export, and how far the exported file is from its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmfast.display import count
from svmfast.exports.computation import Computation
from svmfast.exports.fixed import Fixed
from svmfast.figures import Figures, figure
from svmfast.models.base import Model
from svmfast.rows import FloatArray, Rows, as_rows

#: Number of the model's own vectors to measure on if no rows are given.
OWN_ROWS = 200
#: Compilers round differently: the file's self-test leaves out rows with a value nearer to 0 than so many
#: times the largest rounding error, and allows values to differ by so many times the measured difference.
_LENIENCE = 8.0

#: Maps a computation, rows and a precision to the exported file's values, ``(n, p)`` float64.
Evaluate = Callable[[Computation, Rows, Any], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Accuracy(Figures):
    """The exported arithmetic compared with the model's own, on the same rows."""

    rows: int = figure(
        "Rows on which the exported arithmetic was compared with the model's.", key="measured_rows"
    )
    of: str = figure("The origin of those rows, in words.", key="measured_on")
    labels_differing: int | None = figure("Rows whose label differs from the model's; null for regression.")
    max_abs_error: float = figure("Largest difference of a decision value from the model's.")
    max_abs_value: float = figure("Largest absolute decision value.")

    def words(self) -> str:
        """Describe how close the exported arithmetic is to the model's."""
        apart = f"values differ by at most {self.max_abs_error:.2g} (largest: {self.max_abs_value:.3g})"
        number = self.labels_differing
        if number is not None:
            differ = "differs" if number == 1 else "differ"
            apart = f"{count(number, 'label')} {differ} from the model's, {apart}"
        return f"{self.rows:,} {self.of}: {apart}"


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """The rows in an exported file for its self-test, with the model's answers."""

    #: (n, n_features)
    values: FloatArray
    #: (n,) labels; for regression, values, which may differ by `tolerance`.
    expected: FloatArray
    tolerance: float = 0.0
    #: Number of rows that are left out because the file's label may not be the model's.
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings that every language receives with the computation."""

    #: The start of every name; a valid identifier.
    prefix: str
    dtype: np.dtype[Any]
    #: The origin of the model, as the file states it.
    origin: Mapping[str, str]
    #: None if there were no rows to measure on.
    accuracy: Accuracy | None = None
    test: CheckedRows | None = None
    #: The names of all features, or empty.
    feature_names: tuple[str, ...] = ()
    #: Whether the file computes probabilities.
    probability: bool = False
    #: Of ONNX's operators; None is the usual version.
    opset: int | None = None
    #: The integers of a file that has no other arithmetic.
    fixed: Fixed | None = None

    def measured(self) -> str:
        """Describe the precision of the file and its accuracy."""
        precision = "single precision" if self.dtype == np.float32 else "double precision"
        if self.fixed is not None:
            of = self.fixed.inputs.ranges
            precision = f"integers, {'whole numbers' if of.whole else 'inputs'} of {of.kind.name} {of.of}"
        on = "not measured" if self.accuracy is None else f"on {self.accuracy.words()}"
        return f"{precision}, {on}"


def measured(
    model: Model,
    computation: Computation,
    evaluate: Evaluate,
    dtype: Any,
    rows: Rows | None,
    of: str,
    threads: int,
) -> Accuracy | None:
    """Compare exported values and labels with the model's own, on `rows` or else on vectors of the model.

    Return None without any. The vectors are scaled, so they are compared behind the scaling.
    """
    if rows is None:
        model, computation = model.unscaled, replace(computation, scaling=None)
        rows, of = own_rows(model), "of the model's own vectors"
        if model.behind_map is not None:
            of = "rows that the map takes to the model's own vectors"
        if rows is None:
            return None
    head = computation.head
    wanted, got = model.decision_values(rows, threads=threads), evaluate(computation, rows, dtype)
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(np.abs(got - wanted), nan=np.inf)
    return Accuracy(
        rows=len(rows),
        of=of,
        labels_differing=None
        if head.is_regression
        else int(np.count_nonzero(head.predict(got) != head.predict(wanted))),
        max_abs_error=float(apart.max(initial=0.0)),
        max_abs_value=float(np.abs(wanted).max(initial=0.0)),
    )


def own_rows(model: Model) -> Rows | None:
    """Take vectors of the model or of the exact model in it, evenly spread; None if it has none.

    For a model behind a map, they are the smallest rows that the map takes to such vectors.
    """
    exact, (map, inner) = model.expansion or model.embedded_exact, model.behind_map or (None, model)
    vectors = inner.vectors if exact is None else exact.sv
    if vectors is None or not len(vectors):
        return None
    some = vectors.take(np.unique(np.linspace(0, len(vectors) - 1, OWN_ROWS).astype(np.int64)))
    if map is None:
        return some
    table = np.zeros((len(some), len(map)))
    back = np.linalg.pinv(map.matrix.astype(np.float64)).T
    table[:, map.features] = some.to_dense(len(map.matrix)) @ back + map.center
    return as_rows(table)


def checked_rows(
    model: Model,
    computation: Computation,
    evaluate: Evaluate,
    rows: Rows,
    dtype: Any,
    plan: Fixed | None = None,
) -> CheckedRows:
    """The rows of an exported file's self-test, without features that the model does not have."""
    head, table = computation.head, rows.to_dense(computation.n_features)
    rows = as_rows(table)
    wanted, got = model.decision_values(rows), evaluate(computation, rows, dtype)
    expected, rounding = model.head.predict(wanted), float(np.abs(got - wanted).max(initial=0.0))
    if plan is not None:
        table = plan.inputs.variables(rows)[0].astype(np.float64)
    if head.is_regression and plan is not None:
        found, expected = np.rint(got[:, 0] / plan.unit), np.rint(wanted[:, 0] / plan.unit)
        return CheckedRows(table, expected, float(np.abs(found - expected).max(initial=0.0)))
    if head.is_regression:
        least = 8 * float(np.finfo(dtype).eps) * float(np.abs(expected).max(initial=0.0))
        return CheckedRows(table, expected, max(_LENIENCE * rounding, least))
    same = head.predict(got) == expected
    if plan is None:
        margin = np.abs(wanted).min(axis=1)
        if head.one_vs_rest:
            margin = np.diff(np.sort(wanted, axis=1)[:, -2:])[:, 0] / 2
        same &= margin >= _LENIENCE * rounding
    return CheckedRows(table[same], expected[same], left_out=int(np.count_nonzero(~same)))
