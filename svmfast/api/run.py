"""Runs of methods: check the options, read the inputs, call the method and return one result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from svmfast.api.listener import Listener
from svmfast.methods.method import Method, PredictionTime, Setting
from svmfast.options import Reading, made
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.api.result import Result
    from svmfast.models.base import Model
    from svmfast.models.scaling import Scaling
    from svmfast.rows import Rows

#: Largest number of rows on which the prediction time is measured.
_TIMED_ROWS = 100_000


def run_method(
    method: Method,
    inputs: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    labels: ArrayLike | None = None,
    reading: Mapping[str, Any] | None = None,
    threads: int | None = None,
    listener: Listener | None = None,
    output: str | os.PathLike[str] | None = None,
    writes: bool | None = None,
    timed: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    size: Callable[[Model], int] | None = None,
) -> Result:
    """Run a method.

    Parameters
    ----------
    method : Method
    inputs : mapping
        Paths, models or arrays, by name.
    options, reading : mapping
        Fields of ``method.options`` and of :class:`svmfast.options.Reading`.
    labels : (n,) array_like, optional
        Labels for rows without labels.
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The result does not
        depend on it.
    listener : Listener, optional
    output : path, optional
        Where the model will be written. Sizes refer to a file of this name, which may be compressed.
    writes : bool, optional
        Whether a model is wanted, rather than only scores (default: unless `options` ask for scores only).
    timed : bool
        Whether methods that report a prediction time should measure it.
    checkpoint : path, optional
        Where a method with checkpoints saves its state.
    size : callable, optional
        Returns the size that `max_bytes` limits; by default that of the model's file.

    Returns
    -------
    Result

    Raises
    ------
    SvmfastError
    """
    from svmfast.api.class_weights import with_weights_of_labels
    from svmfast.api.inputs import opened_inputs
    from svmfast.api.result import Result
    from svmfast.evaluation.timing import times_as_fast
    from svmfast.formats.checkpoint import CheckpointFile
    from svmfast.formats.detect import model_bytes
    from svmfast.formats.target import stored_size
    from svmfast.models.scaled import with_scaling

    begin = time.perf_counter()
    chosen: Any = made(method.options, options)
    row_format = made(Reading, reading or {})
    if writes is None:
        writes = not method.only_scores(vars(chosen))
    more = {"output": writes, "unlabelled": row_format.unlabelled, "checkpoint": checkpoint is not None}
    _check(chosen, inputs, {name for name, there in more.items() if there})
    scaling: Scaling | None = None

    measured = size or (lambda model: stored_size(output or "", model_bytes(model)))

    def in_front(model: Model) -> Model:
        return with_scaling(model, scaling)

    listener = listener or Listener()
    cores = thread_count(threads)
    setting = Setting(
        threads=cores,
        progress=listener.progress,
        note=listener.note,
        warn=listener.warn,
        stored_size=lambda model: measured(in_front(model)),
        prediction_time=lambda model, rows: _prediction_time(model, rows, cores) if timed else None,
        log=listener.log,
        status=listener.on_status,
        checkpoint=None if checkpoint is None else CheckpointFile(os.fspath(checkpoint)),
        should_stop=listener.should_stop,
        writes=writes,
        race=times_as_fast,
        names_of_labels=lambda: None if scaling is None else scaling.names_of_labels,
    )
    with opened_inputs(method, inputs, labels, chosen, row_format, setting) as opened:
        scaling = opened.scaling
        names = None if scaling is None else scaling.names_of_labels
        chosen = with_weights_of_labels(chosen, method, opened, names)
        outcome = method.runner()(opened, chosen, setting)
    if output is not None and outcome.model is not None and outcome.model.expansion is not None:
        _note_format(in_front(outcome.model), os.fspath(output), listener)
    seconds = time.perf_counter() - begin
    return Result(
        method.name,
        None if outcome.model is None else in_front(outcome.model),
        outcome.report,
        outcome.refusal,
        (*listener.warnings, *outcome.warnings),
        tuple(listener.notes),
        seconds,
        outcome.fallback_error,
        outcome.advice,
    )


def _check(options: Any, inputs: Mapping[str, Any], more: set[str]) -> None:
    """Check options that need or exclude inputs; `more` names the other things that are given."""
    check = getattr(options, "check", None)
    if check is not None:
        absent = {name for name, one in inputs.items() if one is None or (isinstance(one, tuple) and not one)}
        check((set(inputs) - absent) | more)


def _note_format(model: Model, output: str, listener: Listener) -> None:
    """Note that a model is not in LIBSVM's format only because that has no place for names."""
    from svmfast.api.libsvm_text import command_for_text

    scaling = model.scaling
    if scaling is None or not scaling.is_identity:
        return
    features, classes = scaling.feature_names is not None, scaling.class_names is not None
    of = " and ".join(["features"] * features + ["classes"] * classes)
    command = command_for_text(model, "MODEL" if output == "-" else output)
    listener.note(
        f"the model keeps the names of its {of}, for which LIBSVM's format has no place; "
        f"without them: {command}"
    )


def _prediction_time(model: Model, rows: Rows, threads: int) -> PredictionTime:
    """Measure the prediction time of a model and of a linear one."""
    from svmfast.evaluation.linear import linear_seconds
    from svmfast.evaluation.timing import measure

    rows = rows[: min(len(rows), _TIMED_ROWS)]
    call = lambda: model.head.predict(model.decision_values(rows, threads=threads))  # noqa: E731
    ours = measure(call, limit_seconds=5)[1]
    linear = linear_seconds(model.head, rows, threads=threads)
    return PredictionTime(ours.seconds, linear.seconds, len(rows))
