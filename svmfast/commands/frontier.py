"""Try every method on EXACT, measure all on the same rows, and recommend one.

Three sets of rows are kept apart: those that EXACT was trained on (TRAIN), those that choose a model, and
those that confirm it. The figures of the answers (accuracy, labels that differ, certified rows) are those of
the confirming rows, except in the column 'choosing'. Models are timed and multiply-adds counted on the
choosing rows. With a limit on the answers (`max_diff`, `max_loss`), a model qualifies if its whole 95%
interval on the choosing rows is within the limit and it loses no class. Of the models within 10% of the
fastest one, frontier recommends the one closest to EXACT if the confirming rows show the same, otherwise the
next. With `max_bytes` or `max_operations` alone, it recommends the closest model that fits. Rows without
labels (`unlabelled`, with TEST) suffice for all limits but `max_loss`.

Each candidate is made by a separate svmfast command. Where it helps, frontier itself adds EXACT to it, for
the rows that are not certified or lie near a boundary ('+ exact'). The command of the recommended model is
printed; run again, it writes the same bytes on the same instruction set. DIR holds the models, the report
(report.html, report.json) and 'recommended', a copy of the recommended model, which contains EXACT if it
needs it. Cheap candidates come first, with `max_bytes` after those that are made for it. All methods share
the time limit. Run again, the same command continues where it stopped. Exit status 1: no model that is faster
than EXACT is shown to be within the limits by the choosing and the confirming rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmfast.command import NEGATIVE, Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.options import Bounded, Reading, Seeded, argument, as_reading, divided, option, switch
from svmfast.progress import Listener
from svmfast.threads import thread_count
from svmfast.values import Bytes, Choice, InputFile, OutputFile, Real, Share, Text, is_path

if TYPE_CHECKING:
    from svmfast.commands.frontier_result import FrontierResult

PathLike = str | os.PathLike[str]
#: Default limits: the share of labels that may differ and, for regression, by which the error may grow.
DEFAULT_DIFFERENCE, DEFAULT_LOSS = 0.005, 0.01


def default_folder(exact: str) -> str:
    """The default folder of a run on `exact`."""
    return f"{os.path.basename(exact).removesuffix('.model')}.frontier"


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read and written."""

    exact: str = argument(InputFile("model", repeated=True))
    data: str | None = option(
        None,
        InputFile("data", role="data", repeated=True),
        "The data that EXACT was trained on.",
        metavar="TRAIN",
        required=True,
    )
    test: str | None = option(
        None,
        InputFile("data", repeated=True),
        "Rows that EXACT has not seen; half choose, the others confirm (default: parts of TRAIN).",
        metavar="TEST",
    )
    output: str | None = option(
        None,
        OutputFile(role="folder", after="exact", named=default_folder, folder=True),
        "Folder for models and reports (default: name.frontier).",
        "-o",
        metavar="DIR",
    )


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
        Real(0, above=True),
        "Recommend only models that take at most this multiple of a linear model's multiply-adds (counted).",
    )
    lose_classes: bool = switch(
        "Allow models that lose a class: they recognize less than half of its rows that EXACT recognizes.",
    )
    methods: str | None = option(None, Text(), "Methods to try.", metavar="A,B", shown="all")
    time_limit: float = option(
        600.0,
        Real(0, 1e9, above=True),
        "Limit on the whole run in seconds; the last part is reserved for timing, where each model predicts "
        "several times.",
        metavar="SECONDS",
        shown="600",
    )
    overwrite: bool = switch(
        "If `output` holds a run with other inputs or another version, start over instead of refusing.",
    )


@takes(FrontierOptions, Reading)
def frontier(
    exact: Any,
    data: Any,
    test: Any = None,
    *,
    output: PathLike | None = None,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    document: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    **options: Any,
) -> FrontierResult:
    """Try every method on an exact model, measure the results on the same rows, and recommend one.

    Parameters
    ----------
    exact : path, Model or fitted estimator
        A LIBSVM model.
    data : path, or rows in memory
        The data that `exact` was trained on: a table with a column of labels, as for :func:`svmfast.train`, a
        Dataset, or a pair of rows and labels. What is in memory is written to files in the folder `output`,
        which the printed commands name.
    test : path, or rows in memory, optional
        Rows that `exact` was not trained on: half of them choose the model, the others confirm the choice.
        Default: parts of `data`.
    {options}
    output : path, optional
        Folder for the models and the reports. Default: NAME.frontier in the current folder; of an
        object exact.frontier.
    document : callable, optional
        Converts the figures to the content of report.json.

    Returns
    -------
    FrontierResult

    Raises
    ------
    OptionError
        The options or the folder do not fit the inputs.
    UnsupportedError
        The model cannot be converted, or is no better than chance on the rows.
    """
    from svmfast.commands.frontier_inputs import FrontierArguments, run_request
    from svmfast.commands.frontier_result import write_results
    from svmfast.frontiers.run import FrontierRun

    asked, read = divided(vars(as_reading(reading)) | options, FrontierOptions, Reading)
    given = FrontierArguments(
        exact_path=exact,
        train=data,
        test=test,
        folder=Path(output or default_folder(os.fspath(exact) if is_path(exact) else "exact")),
        options=asked,
        reading=read,
        threads=thread_count(threads),
        listener=listener or Listener(),
    )
    run = FrontierRun(run_request(given), given.listener.progress)
    return write_results(run.run(), run, document)


def run(front: Any, exact: str, data: str, test: str | None, output: str, **options: Any) -> int:
    """Print the recommendation; status 1 if there is none."""
    given = {name: value for name, value in (options | front.reading_given).items() if value is not None}
    with front.listening(single=True) as listener:
        given |= {"threads": front.threads, "listener": listener, "document": front.document}
        result = frontier(exact, data, test, output=output, **given)
    if front.as_json:
        front.show(result.to_dict())
    else:
        front.lines(result.table(), summary=True)
        front.lines(result.lines())
    front.lines([f"svmfast: report and models in {result.folder}"], err=True, summary=True)
    return 0 if result.recommended is not None else NEGATIVE


COMMAND = Verb(
    **listed("frontier"),
    description=__doc__,
    takes=(Files, FrontierOptions),
    run=run,
    reports=("svmfast.frontiers.report:Frontier",),
    quiet="Print only the recommendation, or the report of `as_json`.",
)
