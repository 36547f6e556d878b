"""Options of ``frontier``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.options import Bounded, Seeded, option
from svmfast.values import Bytes, Choice, Duration, Multiple, Share, Switch, Text

#: Percent of the labels that may differ where no limit of any kind is asked for, and by which the error of a
#: regression may grow.
DEFAULT_DIFFERENCE, DEFAULT_LOSS = 0.5, 1.0


@dataclass(frozen=True, kw_only=True)
class FrontierOptions(Seeded, Bounded):
    """Options of ``frontier``; shares are percentages."""

    max_diff: float | None = option(
        None,
        Share(zero=True, whole=True, percent=True),
        "Recommend only what differs from EXACT on at most this share of the rows (regression: root mean "
        "square difference over the spread).",
        shown=f"{DEFAULT_DIFFERENCE}% of the labels, unless another limit is given",
    )
    max_loss: float | None = option(
        None,
        Share(zero=True, whole=True, percent=True),
        "Recommend only what loses at most so many percentage points of accuracy (regression: whose mean "
        "squared error is at most this share larger).",
        shown=f"{DEFAULT_LOSS:g}% for regression, unless another limit is given",
    )
    metric: str = option(
        "accuracy",
        Choice("accuracy", "balanced-accuracy"),
        "What `max_loss` limits; balanced accuracy is the mean recall of the classes, and sees rare ones.",
    )
    max_bytes: int | None = option(None, Bytes(), "Recommend only files this small.", metavar="32k")
    max_operations: float | None = option(
        None,
        Multiple(),
        "Recommend only what takes at most so many times a linear model's multiply-adds (counted).",
        metavar="20x",
    )
    methods: str | None = option(None, Text(), "Which methods to try.", metavar="A,B", shown="all")
    time_limit: float = option(
        600.0,
        Duration(),
        "For all of it; the last part is kept for timing, when each model predicts several times.",
        shown="10m",
    )
    overwrite: bool = option(
        False,
        Switch(),
        "Where `output` holds a run on other inputs, or of another version, begin again instead of refusing.",
    )
