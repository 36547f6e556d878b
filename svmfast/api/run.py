"""Runs of methods: check the options, read the inputs, call the method and return one result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
    """Run a method on `inputs` (paths, models or arrays) with fields of its options and of Reading.

    `labels` are those of rows without labels. `output` is where the model will be written: sizes refer to a
    file of this name, which may be compressed. `writes` says whether a model is wanted and not only scores
    (default: unless `options` ask only for these), `timed` whether prediction times are measured. `size` is
    what `max_bytes` limits, by default the size of the model's file.
    """
    from svmfast.api.inputs import opened_inputs
    from svmfast.api.result import Result
    from svmfast.api.training import with_weights_of_labels

    begin = time.perf_counter()
    chosen: Any = made(method.options, options)
    row_format = made(Reading, reading or {})
    if writes is None:
        writes = not method.only_scores(vars(chosen))
    more = {"output": writes, "unlabelled": row_format.unlabelled, "checkpoint": checkpoint is not None}
    _check(chosen, inputs, {name for name, there in more.items() if there})
    listener, front = listener or Listener(), _Scaling(output)
    setting = _setting(listener, front, thread_count(threads), size or front.stored_size, timed=timed)
    if checkpoint is not None:
        from svmfast.formats.checkpoint import CheckpointFile

        setting = replace(setting, checkpoint=CheckpointFile(os.fspath(checkpoint)))
    setting = replace(setting, writes=writes)
    with opened_inputs(method, inputs, labels, chosen, row_format, setting) as opened:
        front.scaling = opened.scaling
        chosen = with_weights_of_labels(chosen, method, opened, front.names_of_labels)
        outcome = method.runner()(opened, chosen, setting)
    model = None if outcome.model is None else front.before(outcome.model)
    if output is not None and outcome.model is not None and outcome.model.expansion is not None:
        _note_format(model, os.fspath(output), listener)
    return Result(
        method.name,
        model,
        outcome.report,
        outcome.refusal,
        (*listener.warnings, *outcome.warnings),
        tuple(listener.notes),
        time.perf_counter() - begin,
        outcome.fallback_error,
        outcome.advice,
    )


@dataclass(eq=False)
class _Scaling:
    """The scaling that a run's rows get, known once they are read, and that goes before its models."""

    output: str | os.PathLike[str] | None
    scaling: Scaling | None = None

    def before(self, model: Model) -> Model:
        """The model for rows as they are read."""
        from svmfast.models.scaled import with_scaling

        return with_scaling(model, self.scaling)

    @property
    def names_of_labels(self) -> Mapping[float, str] | None:
        return None if self.scaling is None else self.scaling.names_of_labels

    def stored_size(self, model: Model) -> int:
        """The size of the file of a model."""
        from svmfast.formats.detect import model_bytes
        from svmfast.formats.target import stored_size

        return stored_size(self.output or "", model_bytes(model))


def _setting(
    listener: Listener, front: _Scaling, threads: int, size: Callable[[Model], int], *, timed: bool
) -> Setting:
    from svmfast.evaluation.timing import times_as_fast

    return Setting(
        threads=threads,
        progress=listener.progress,
        note=listener.note,
        warn=listener.warn,
        stored_size=lambda model: size(front.before(model)),
        prediction_time=lambda model, rows: _prediction_time(model, rows, threads) if timed else None,
        log=listener.log,
        status=listener.on_status,
        should_stop=listener.should_stop,
        race=times_as_fast,
        names_of_labels=lambda: front.names_of_labels,
    )


def _check(options: Any, inputs: Mapping[str, Any], more: set[str]) -> None:
    """Check options that need or exclude inputs; `more` names the other things that are given."""
    check = getattr(options, "check", None)
    if check is not None:
        absent = {name for name, one in inputs.items() if one is None or (isinstance(one, tuple) and not one)}
        check((set(inputs) - absent) | more)


def _note_format(model: Any, output: str, listener: Listener) -> None:
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
