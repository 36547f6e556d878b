"""``svmfast scale``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.command import QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.options import MemoryOfModels, argument, option
from svmfast.values import InputFile, OutputFile, Pair, Real


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read and written."""

    data: str = argument(InputFile("data"))
    output: str = option("-", OutputFile(role="scaled"), "File for the scaled rows.", "-o", metavar="OUT")


@dataclass(frozen=True, kw_only=True)
class ScaleOptions(MemoryOfModels):
    """Options of ``scale``: svm-scale's."""

    lower: float = option(-1.0, Real(), "Lower limit.", "-l", metavar="LOWER")
    upper: float = option(1.0, Real(), "Upper limit.", "-u", metavar="UPPER")
    labels: tuple[float, float] | None = option(None, Pair(), "Also scale the labels, to these limits.", "-y")
    save: str | None = option(
        None,
        OutputFile(role="ranges"),
        "Write the ranges of the features to this file.",
        "-s",
        metavar="RANGES",
    )
    restore: str | None = option(
        None,
        InputFile(role="ranges"),
        "Read the ranges and limits from this file instead of computing them from DATA.",
        "-r",
        metavar="RANGES",
    )


COMMAND = Verb(
    **listed("scale"),
    description="""
        Scale the features of DATA to [LOWER, UPPER], as svm-scale does: same options, same bytes.

        The smallest value of a feature becomes LOWER, the largest UPPER; a feature with a single value is
        left out. Values are printed with six digits. DATA is a file, read twice, in bounded memory; with
        `restore` once, so that rows from a pipe are scaled as they arrive.

        A model needs the same scaling when it predicts: `scale` RANGES stores the ranges in the model
        (approximate, compress, train and the others), so that prediction needs no second file.
        """,
    takes=(Files, ScaleOptions),
    quiet=QUIET_BUT_REPORT,
    without=("scale",),
)
