"""Scale the features of DATA to [LOWER, UPPER], as svm-scale does: same options, same bytes.

The smallest value of a feature becomes LOWER, the largest UPPER; a feature with a single value is left out.
Values are printed with six digits. DATA is a file, read twice, in bounded memory; with `restore` once, so
that rows from a pipe are scaled as they arrive.

A model needs the same scaling when it predicts: `scale` RANGES stores the ranges in the model (approximate,
compress, train and the others), so that prediction needs no second file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from svmfast.command import QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.errors import OptionError
from svmfast.options import Bounded, Reading, argument, as_reading, made, option
from svmfast.progress import Listener
from svmfast.threads import thread_count
from svmfast.values import InputFile, OutputFile, Pair, Real, is_path

if TYPE_CHECKING:
    from svmfast.commands.scaled_text import ScaleReport


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read and written."""

    data: str = argument(InputFile("data"))
    output: str = option("-", OutputFile(role="scaled"), "File for the scaled rows.", "-o", metavar="OUT")


@dataclass(frozen=True, kw_only=True)
class ScaleOptions(Bounded):
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
        "Read the ranges and limits from this file instead of computing them from DATA. With a map (compress "
        "`libsvm_form`), rows are mapped instead, and not rounded.",
        "-r",
        metavar="RANGES",
    )


@takes(ScaleOptions)
def scale(
    data: Any,
    output: str | os.PathLike[str] = "-",
    *,
    reading: Reading | None = None,
    threads: int | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> ScaleReport:
    """Scale the columns of data as svm-scale does, with the same bytes as output, in bounded memory.

    Parameters
    ----------
    data : path, or rows in memory
        A pair of rows and labels, too. Without `restore` the data are read twice: those of a pipe are
        refused, and those in memory kept in a temporary file.
    output : path
        ``-`` stands for standard output, and as data for standard input.
    {options}

    Returns
    -------
    ScaleReport
        Its `scaling` can be passed to ``svmfast.approximate(..., scale=)`` and the other methods.

    Raises
    ------
    OptionError, DataFormatError, MemoryLimitError
    """
    from svmfast.commands.scaled_text import scaled
    from svmfast.formats.answers import check_text

    asked = made(ScaleOptions, options)
    limits = {"`lower` is {:g} and `upper` {:g}": (asked.lower, asked.upper)}
    limits |= {} if asked.labels is None else {"`labels` are {:g} and {:g}": asked.labels}
    for words, (low, high) in limits.items():
        if not low < high:
            raise OptionError(f"{words.format(low, high)}; expected the lower one first")
    if asked.save is not None and asked.restore is not None:
        raise OptionError("`save` and `restore` exclude each other")
    reading, listener = as_reading(reading), listener or Listener()
    if asked.labels is not None and reading.unlabelled:
        raise OptionError("`labels` and `unlabelled` exclude each other")
    check_text(output, "scaled rows")
    cores = thread_count(threads)
    if is_path(data):
        return scaled(os.fspath(data), output, asked, reading, cores, listener)
    from svmfast.commands.given_files import data_file

    with TemporaryDirectory(prefix="svmfast-") as folder:
        place = data_file(data, Path(folder), "data", reading)
        return scaled(place, output, asked, reading, cores, listener)


def run(front: Any, data: str, output: str, **options: Any) -> None:
    """Scale rows; the warnings of svm-scale go to stderr."""
    report = front.call(scale, data, output, **options)
    if front.as_json:
        front.show(report.to_dict())
    front.lines(report.lines(), err=True)


COMMAND = Verb(
    **listed("scale"),
    description=__doc__,
    takes=(Files, ScaleOptions),
    run=run,
    reports=("svmfast.commands.scaled_text:ScaleReport",),
    quiet=QUIET_BUT_REPORT,
    without=("scale",),
)
