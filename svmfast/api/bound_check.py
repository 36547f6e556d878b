"""``bound-check`` from Python: for which gamma is an expansion accurate on data?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svmfast.api.fit import Fit
from svmfast.api.functions import takes
from svmfast.api.given import is_path, model_of, rows_of, with_scaling_of
from svmfast.commands.bound_check import BoundCheckOptions
from svmfast.errors import OptionError
from svmfast.evaluation import bound_check as checks
from svmfast.evaluation.bound_check import BoundCheck
from svmfast.evaluation.scale import ScaleCheck
from svmfast.options import Reading, made
from svmfast.progress import Listener
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.rows import Rows


@takes(BoundCheckOptions)
def bound_check(
    data: Any,
    *,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> BoundCheck:
    """Check for which gamma RBF models can be approximated, or whether rows are inside the bound.

    Parameters
    ----------
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or path
        A file is read block by block, in bounded memory.
    {options}

    Returns
    -------
    BoundCheck
        ``report.verdict``, ``report.paper.gamma_max``, ``report.centered.gamma_max``, ``report.inside()``,
        ``report.certified_percent``.

    Raises
    ------
    OptionError
        Two options exclude each other, or one needs another.
    UnsupportedError
        No validity bound is known for the model.
    """
    chosen = made(BoundCheckOptions, options)
    model, gamma, order, memory = chosen.model, chosen.gamma, chosen.order, chosen.memory
    if model is not None and gamma is not None:
        raise OptionError("`model` and `gamma` exclude each other: a model has its own gamma")
    for option in ("require_certified", "tolerance"):
        if getattr(chosen, option) is not None and model is None:
            raise OptionError(f"`{option}` needs `model`")
    listener, reading, cores = listener or Listener(), reading or Reading(), thread_count(threads)
    asked: dict[str, Any] = {
        "center": chosen.center or "auto",
        "require_certified": chosen.require_certified,
        "tolerance": chosen.tolerance,
    }
    asked["data"] = os.fspath(data) if is_path(data) else getattr(data, "path", None) or "the data"
    if model is None:
        reading = with_scaling_of(reading, [], memory=memory)
        report = _check_data(data, gamma, 2 if order is None else order, reading, cores, listener)
        return replace(report, **asked)
    name = os.fspath(model) if is_path(model) else "the model"
    judged, _ = model_of(model, "the model", listener.note, memory)
    reading = with_scaling_of(reading, [(name, judged)], memory=memory)
    judged = judged.unscaled
    _check_combination(judged, name, chosen)
    blocks = _fitting(data, Fit(judged, reading, listener), str(asked["data"]), cores, listener)
    report = checks.check_model(blocks, judged, order=order, tolerance=chosen.tolerance, threads=cores)
    return replace(report, **asked, model=name)


def _check_combination(model: Model, name: str, options: BoundCheckOptions) -> None:
    required = options.require_certified
    for option in ("center", "order"):
        if model.expansion is None and getattr(options, option) is not None:
            raise OptionError(f"`{option}` is for exact models: an approximated model has its own")
    for option in ("require_certified", "tolerance"):
        if not model.certifies and getattr(options, option) is not None:
            raise OptionError(f"`{option}`: the model has no certificate")
    if required is not None and options.tolerance is None and model.head.is_regression:
        raise OptionError(
            "values are certified within a tolerance; give `tolerance`, the largest error to accept"
        )


def _check_data(
    data: Any, gamma: float | None, order: int, reading: Reading, threads: int, listener: Listener
) -> BoundCheck:
    if not is_path(data):
        rows = rows_of(data, reading=reading)
        return checks.check_data(lambda: _parts(rows, reading), gamma, order=order)
    from svmfast.formats.data import check_replayable, read_through

    path = os.fspath(data)
    check_replayable(path)

    def blocks() -> Iterable[Rows]:
        return (block.rows for block in read_through(path, reading, threads, listener.progress))

    return checks.check_data(blocks, gamma, order=order)


def _parts(rows: Rows, reading: Reading) -> Iterable[Rows]:
    """The rows of an array, scaled in blocks."""
    return [rows] if reading.scale is None else reading.scale.parts(rows)


def _fitting(data: Any, fit: Fit, name: str, threads: int, listener: Listener) -> Iterator[Rows]:
    """Yield the rows of data; the scale of the first ones is compared with the model's."""
    reading, model = fit.reading, fit.model
    assert model is not None
    blocks: Iterable[tuple[Rows, Sequence[str] | None]]
    if is_path(data):
        from svmfast.formats.data import read_through

        found = read_through(os.fspath(data), reading, threads, listener.progress)
        blocks = ((block.rows, block.columns) for block in found)
    else:
        seen: list[Sequence[str]] = []
        rows = rows_of(data, reading=reading, see=seen.append, see_array=fit.array)
        blocks = ((part, seen[0] if seen else None) for part in _parts(rows, reading))
    scale = ScaleCheck(model, scaled=reading.scale is not None)
    for number, (rows, columns) in enumerate(blocks):
        if not number:
            fit.columns(name, columns)
            fit.width(name, rows, columns)
        scale.add(rows)
        yield rows
    verdict = scale.verdict()
    if verdict is not None:
        listener.warn(f"{name}: {verdict}")
