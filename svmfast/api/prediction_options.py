"""The options of a prediction: ``svmfast predict``, :func:`svmfast.predict`, :class:`svmfast.Predictor`.

The command line is made from this class. The two Python signatures are written out for editors;
tests/contract/test_prediction_options.py compares them with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from svmfast.options import MemoryOfModels, option
from svmfast.values import Choice, ModelFile, OnOff, Real, Switch


@dataclass(frozen=True, kw_only=True)
class PredictionOptions(MemoryOfModels):
    """Options of a prediction."""

    probability: bool = option(
        False,
        OnOff(),
        "1: print probabilities, if the model has them; the label is then the most probable one.",
        "-b",
    )
    decision_values: bool = option(False, Switch(), "Add the decision values, in LIBSVM's pair order.")
    bound: bool = option(False, Switch(), "Add a column: 'inside' or 'outside' the model's validity bound.")
    certify: bool = option(
        False,
        Switch(),
        "Add two columns, and a first line with their names: whether the label is provably the exact "
        "model's (regression: the value within `tolerance` of it), and a bound on the error of the decision "
        "values (for a LIBSVM model, on their rounding error).",
    )
    exact: Any = option(  # noqa: RUF009
        None,
        ModelFile(),
        "The exact model that was approximated; it answers the rows that are not certified.",
    )
    fallback: bool | None = option(
        None,
        Switch(),
        "Use the exact model embedded in MODEL in the same way (default: if there is one).",
        "--fallback/--no-fallback",
    )
    tolerance: float | None = option(
        None,
        Real(0),
        "A row is certified only if its error bound is at most this; regression needs it for `exact`. Values "
        "of a LIBSVM regression model may have this error, which is faster (default: no error).",
        metavar="ERROR",
    )
    assume_error: float | None = option(
        None,
        Real(0),
        "With `exact`: use ERROR as the error bound of MODEL's values, instead of its certificate if it has "
        "one. Statistical, not proven; compress and dcpred report such quantiles.",
        metavar="ERROR",
    )
    precision: Literal["auto", "double"] = option(
        "auto",
        Choice("auto", "double"),
        "auto: compute a label in single precision if its error bound proves the label. double: never. The "
        "output is the same.",
    )
    names: bool | None = option(
        None,
        Switch(),
        "Write the names of the classes in place of their labels, or never (default: in tables, if the model "
        "has names).",
        "--names/--no-names",
    )
