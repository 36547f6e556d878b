"""Compare each CANDIDATE model with the EXACT one on the rows of TEST.

Every figure refers to what predict answers with that file: a CANDIDATE that contains an exact model (cascade,
`embed_exact`) is measured with its fallback.

The table shows accuracy; balanced accuracy, the mean recall of the classes; labels that differ from EXACT's;
the speed-up over EXACT in svmfast's exact engine, without parsing; file size; rows whose label is proven to
be EXACT's. For regression it shows MSE, SCC, and how much the values differ from EXACT's: the root mean
square difference in percent of their spread (standard deviation). With `max_diff` it also shows the upper 95%
confidence bound of the share of labels that differ in all rows like these.

'~' marks a speed-up whose 95% interval is wider than a tenth. Where other programs make wall-clock times
vary, speed-ups are of processor time, and the title says so. `wide` and `as_json` show the rest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from svmfast.command import NEGATIVE, QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.errors import OptionError
from svmfast.options import Bounded, Reading, argument, as_reading, made, option, switch
from svmfast.progress import Listener
from svmfast.threads import thread_count
from svmfast.values import InputFile, Share, Whole, is_path

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from svmfast.evaluation.comparison import Comparison
    from svmfast.evaluation.subject import ComparedModel
    from svmfast.rows import FloatArray, Rows


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
    wide: bool = switch(
        "Print all figures, one per line, and each class's recall.",
    )


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Bounded):
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


@takes(CompareOptions)
def compare(
    models: Mapping[str, Any] | Sequence[Any],
    data: Any,
    labels: ArrayLike | None = None,
    *,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Comparison:
    """Compare models with the exact model, which comes first, on the same rows.

    Parameters
    ----------
    models : mapping of name to model, or sequence of models
        Models, paths, or fitted estimators, the exact model first.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset, table in memory or path
    labels : (n,) array_like, optional
        True labels or values; a Dataset has its own, and a table may have a column of them. Without
        them no accuracy or error is reported.
    {options}

    Returns
    -------
    Comparison

    Raises
    ------
    UnsupportedError
        The models differ in labels or type, or there are no rows.
    OptionError
        There are no models, or the numbers of labels and rows differ.
    """
    from svmfast.commands.data_check import IN_MEMORY, DataCheck
    from svmfast.commands.given import data_of, named_models, with_scaling_of
    from svmfast.evaluation.benchmark import measured
    from svmfast.evaluation.comparison import Comparison
    from svmfast.formats.data import read_data
    from svmfast.formats.dataset import naming_file

    asked = made(CompareOptions, options)
    listener, cores = listener or Listener(), thread_count(threads)
    named = named_models(models)
    if not named:
        raise OptionError("there is no model to compare")
    compared = [_compared(name, one, asked.memory, listener) for name, one in named]
    carriers = [(one.path, one.model) for one in compared]
    reading = with_scaling_of(as_reading(reading), carriers, memory=asked.memory)
    if reading.scale is not None:
        compared = [_behind_scaling(one) for one in compared]
    checks = [DataCheck(one.model, reading, listener) for one in compared]
    path = os.fspath(data) if is_path(data) else getattr(data, "path", None) or None
    how = reading
    if is_path(data):
        data = read_data(data, reading.as_read, threads=cores, memory=asked.memory)
        how = Reading(scale=reading.scale)
    columns: list[Sequence[str]] = []
    see: dict[str, Any] = {"see": columns.append, "see_array": checks[0].array}
    rows, labels = data_of(data, reading=how, **see, labels=labels, labelled=True)
    targets = _targets(labels, rows, reading)
    scaling = reading.scale
    name = path or IN_MEMORY
    features = columns[0] if columns else None
    checks[0].columns(name, features)
    checks[0].scale(name, rows)
    for check in checks:
        check.width(name, rows, features)
    labels_of, names = compared[0].model.head.labels, None
    if scaling is not None:
        names = scaling.for_labels(None if labels_of is None else labels_of.tolist()).names_of_labels
    with naming_file(path) if path else nullcontext():
        found = measured(
            compared,
            rows,
            targets,
            scaling=scaling,
            threads=cores,
            repeats=asked.repeats,
            progress=listener.progress,
        )
    width = rows.n_columns if scaling is None else scaling.width(rows)
    return Comparison(path, len(rows), width, cores, found, names, asked.max_diff)


def _compared(name: str, given: Any, memory: int, listener: Listener) -> ComparedModel:
    from svmfast.commands.given import model_of
    from svmfast.evaluation.subject import ComparedModel

    model, opened = model_of(given, "the model", listener.note, memory)
    if opened is None:
        return ComparedModel(name, model)
    source = model.provenance.get("source")
    return ComparedModel(name, model, opened.n_bytes, opened.identity.removeprefix("sha256:"), source)


def _behind_scaling(one: ComparedModel) -> ComparedModel:
    """The model for scaled rows; all models are compared on rows scaled the same way."""
    from svmfast.formats.model_files import identity_of

    if one.model.scaling is None:
        return one
    inner = one.model.unscaled
    source = inner.provenance.get("source")
    return replace(one, model=inner, sha256=identity_of(inner).removeprefix("sha256:"), source=source)


def _targets(labels: ArrayLike | None, rows: Rows, reading: Reading) -> FloatArray:
    """The scaled labels; NaN if there are none."""
    import numpy as np

    from svmfast.commands.given import checked_labels

    if labels is None:
        return np.full(len(rows), np.nan)
    found = checked_labels(rows, labels, reading.class_names)
    return found if reading.scale is None else reading.scale.apply_labels(found)


def run(front: Any, exact: str, candidates: tuple[str, ...], data: str, wide: bool, **options: Any) -> int:
    """Print the comparison; status 1 if a candidate differs more than allowed."""
    if wide and front.as_json:
        raise OptionError("`wide` is for tables; `as_json` always has everything")
    result = front.call(compare, (exact, *candidates), data, **options)
    if front.as_json:
        front.show(result.to_dict())
    else:
        front.lines([result.heading(), *result.lines(wide=wide)])
    for text in result.warnings():
        front.warn(text)
    worse = result.beyond_the_limit()
    front.remarks(worse)
    return NEGATIVE if worse else 0


COMMAND = Verb(
    **listed("compare"),
    description=__doc__,
    takes=(Files, CompareOptions),
    run=run,
    reports=("svmfast.evaluation.comparison:Comparison",),
    quiet=QUIET_BUT_REPORT,
)
