"""Options of ``frontier``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.options import Bounded, Seeded, option
from svmfast.values import Bytes, Choice, Duration, Multiple, Share, Switch, Text

#: Default limits: the share of labels that may differ and, for regression, by which the error may grow.
DEFAULT_DIFFERENCE, DEFAULT_LOSS = 0.005, 0.01


@dataclass(frozen=True, kw_only=True)
class FrontierOptions(Seeded, Bounded):
    """Options of ``frontier``."""

    max_diff: float | None = option(
        None,
        Share(zero=True, whole=True),
        "Recommend only models that differ from EXACT on at most this share of the rows (regression: root "
        "mean square difference relative to the spread of the values). 0%: only models with a proof that no "
        "label differs; others are not tried.",
        shown=f"{DEFAULT_DIFFERENCE:.1%} of the labels, unless another limit is given",
    )
    max_loss: float | None = option(
        None,
        Share(zero=True, whole=True),
        "Recommend only models that lose at most this many percentage points of accuracy (regression: whose "
        "mean squared error grows by at most this share).",
        shown=f"{DEFAULT_LOSS:.0%} for regression, unless another limit is given",
    )
    metric: str = option(
        "accuracy",
        Choice("accuracy", "balanced-accuracy"),
        "The score that `max_loss` limits. Balanced accuracy is the mean recall of the classes, which does "
        "not hide rare ones. With only `max_bytes` or `max_operations`, it also chooses the model.",
    )
    max_bytes: int | None = option(
        None, Bytes(), "Recommend only models whose files are at most this large.", metavar="32k"
    )
    max_operations: float | None = option(
        None,
        Multiple(),
        "Recommend only models that take at most this multiple of a linear model's multiply-adds (counted).",
        metavar="20x",
    )
    lose_classes: bool = option(
        False,
        Switch(),
        "Allow models that lose a class: they recognize less than half of its rows that EXACT recognizes.",
    )
    methods: str | None = option(None, Text(), "Methods to try.", metavar="A,B", shown="all")
    time_limit: float = option(
        600.0,
        Duration(),
        "Limit on the whole run; the last part is reserved for timing, where each model predicts several "
        "times.",
        shown="10m",
    )
    overwrite: bool = option(
        False,
        Switch(),
        "If `output` holds a run with other inputs or another version, start over instead of refusing.",
    )
