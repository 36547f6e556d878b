"""The options of predict, compare, bound-check and export, declared once.

The command line and the Python signatures and docstrings (:mod:`svmfast.api.declared`) are made from these
classes, as the options of methods and of frontier are from theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from svmfast.exports.languages import DEVICES
from svmfast.options import MemoryOfModels, option
from svmfast.values import Bytes, Choice, ModelFile, OnOff, Real, Share, Switch, Text, Whole

if TYPE_CHECKING:
    from svmfast.models.requirements import Columns


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(MemoryOfModels):
    """Options of a prediction of rows in memory."""

    probability: bool = option(
        False,
        OnOff(),
        "1: compute probabilities, if the model has them; the label is then the most probable one.",
        "-b",
    )
    bound: bool = option(False, Switch(), "Add a column: 'inside' or 'outside' the model's validity bound.")
    certify: bool = option(
        False,
        Switch(),
        "Add two columns, and a first line with their names: whether the label is provably the exact "
        "model's (regression: the value within `tolerance` of it), and a bound on the error of the decision "
        "values (for a LIBSVM model, on their rounding error).",
    )
    exact: Any = option(
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


@dataclass(frozen=True, kw_only=True)
class PredictionOptions(AnswerOptions):
    """Options of a prediction: also what a file contains; an Answer has it anyway."""

    decision_values: bool = option(
        False,
        Switch(),
        "Add the decision values, in LIBSVM's pair order. An Answer in Python always has them.",
    )
    names: bool | None = option(
        None,
        Switch(),
        "Write the names of the classes in place of their labels, or never (default: in tables, if the model "
        "has names).",
        "--names/--no-names",
    )

    @property
    def columns(self) -> Columns:
        """What is asked of every answer."""
        from svmfast.models.requirements import Columns

        return Columns(self.probability, self.decision_values, self.bound, self.certify)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(MemoryOfModels):
    """Options of ``compare``."""

    max_diff: float | None = option(
        None,
        Share(zero=True, whole=True),
        "Limit on the share of a candidate's labels that differ from those of the exact model on the rows of "
        "the comparison, for example 0.5% (regression: on the root mean square difference relative to the "
        "spread of the values). A larger share is named, and the command exits with status 1. The measured "
        "share is compared, not the 95% bound.",
    )
    repeats: int = option(
        7,
        Whole(1),
        "Time each model at most this often, all in turn; medians are reported. With fewer than 6 a "
        "speed-up has no interval.",
    )


@dataclass(frozen=True, kw_only=True)
class BoundCheckOptions(MemoryOfModels):
    """Options of ``bound-check``."""

    model: Any = option(
        None, ModelFile(), "Check whether the rows of DATA are inside the bound of this model."
    )
    gamma: float | None = option(
        None, Real(0, above=True), "Without `model`: check the rows against each other for this kernel width."
    )
    order: int | None = option(
        None,
        Whole(0, 16),
        "Order of the expansion to check; an approximated model is checked with its own orders.",
        metavar="K",
        shown="2",
    )
    center: Literal["auto", "origin", "mean"] | None = option(
        None,
        Choice("auto", "origin", "mean"),
        "Center of the expansion of an exact model: the origin (as in the paper), the mean, or (auto) the "
        "better of the two.",
        shown="auto",
    )
    require_certified: float | None = option(
        None,
        Share(zero=True, whole=True),
        "Decide instead by whether at least this share of the labels (regression: values) is certified, for "
        "example 99%.",
    )
    tolerance: float | None = option(
        None,
        Real(0),
        "A row is certified only if its error bound is at most this; regression needs it.",
        metavar="ERROR",
    )


@dataclass(frozen=True, kw_only=True)
class ExportOptions(MemoryOfModels):
    """Options of ``export``."""

    test_rows: int = option(
        200, Whole(1), "C: number of the rows `test` that go into the file, for its own test."
    )
    prefix: str = option(
        "model", Text(), "C: prefix of all names in the file, of letters, digits and '_'.", metavar="NAME"
    )
    probability: bool = option(
        False,
        OnOff(),
        "onnx: 1 adds an output with the probabilities of svm-predict -b 1; the label is still the vote's.",
        "-b",
    )
    max_flash: int | None = option(
        None,
        Bytes(),
        "C: limit on the bytes of constant tables, names of classes included, for example 32k; with `device` "
        "of tables and code. A LIBSVM model that needs more is approximated or compressed with `data`, "
        "whichever differs less. Exit status 1: no model is this small.",
    )
    device: str | None = option(
        None,
        Choice(*DEVICES),
        "C: report the code's bytes on this device, and count them in `max_flash`. "
        + "; ".join(f"{name}: {one.summary}" for name, one in DEVICES.items())
        + ".",
    )
