"""``svmfast compare``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.command import QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.options import MemoryOfModels, argument, option
from svmfast.values import InputFile, Share, Switch, Whole


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read, and how the comparison is printed."""

    exact: str = argument(InputFile("model", repeated=True))
    candidates: tuple[str, ...] = argument(
        InputFile("model", repeated=True), many=True, metavar="CANDIDATE..."
    )
    data: str | None = option(
        None,
        InputFile("data"),
        "Data that the models have not seen; without labels (`unlabelled`) no accuracy is reported.",
        metavar="TEST",
        required=True,
    )
    wide: bool = option(
        False,
        Switch(),
        "Print all figures, one per line, and each class's recall.",
    )


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


COMMAND = Verb(
    **listed("compare"),
    description="""
        Compare each CANDIDATE model with the EXACT one on the rows of TEST.

        Every figure refers to what predict answers with that file: a CANDIDATE that contains an exact model
        (cascade, `embed_exact`) is measured with its fallback.

        The table shows accuracy; balanced accuracy, the mean recall of the classes; labels that differ from
        EXACT's; the speed-up over EXACT in svmfast's exact engine, without parsing; file size; rows whose
        label is proven to be EXACT's. For regression it shows MSE, SCC, and how much the values differ from
        EXACT's: the root mean square difference in percent of their spread (standard deviation). With
        `max_diff` it also shows the upper 95% confidence bound of the share of labels that differ in all rows
        like these.

        '~' marks a speed-up whose 95% interval is wider than a tenth. Where
        other programs make wall-clock times vary, speed-ups are of processor time, and the title says so.
        `wide` and `as_json` show the rest (docs/compare.md).
        """,
    takes=(Files, CompareOptions),
    quiet=QUIET_BUT_REPORT,
)
