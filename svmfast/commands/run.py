"""Runs of methods: check the options, read the inputs, call the method and return one result."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from svmfast.class_scores import with_names
from svmfast.commands.method_inputs import opened_inputs
from svmfast.commands.training import with_balanced_weights
from svmfast.errors import OptionError, UnsupportedError
from svmfast.evaluation.timing import times_as_fast
from svmfast.formats.checkpoint import Checkpoint
from svmfast.formats.model_files import model_bytes
from svmfast.formats.packing import packing_of
from svmfast.formats.ranges import map_bytes
from svmfast.formats.target import stored_size, write_together
from svmfast.methods.method import Method, Outcome, Report, Setting, imported
from svmfast.models.base import Model
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling
from svmfast.options import Reading, made
from svmfast.pages.notebook import Shown
from svmfast.progress import Listener
from svmfast.threads import thread_count

_SCALED = (
    "`libsvm_form` has no place for a scaling; export the model to libsvm with `ranges`, and scale the data"
)
_NO_MAP = "the model has no map, so that none is written, and takes rows as they are"
_NAMES_LOST = "LIBSVM's format has no place for names, which are lost"
_NAMES_KEPT = "the model keeps names, for which LIBSVM's format has no place; export to libsvm drops them"


@dataclass(frozen=True, eq=False)
class Result(Shown):
    """A model and its report; unpack them with ``model, report = result``.

    Attributes
    ----------
    method : str
        The name of the corresponding command.
    model : Model or None
        None if the run only computed scores, or if no model met the request (see `refusal`).
    report : object
        The figures, with ``lines()`` and ``to_dict()``.
    refusal : str or None
        Why there is no model.
    advice : str or None
        With `refusal`: what may help.
    warnings, notes : tuple of str
        The warnings and remarks that the command prints during the run.
    seconds : float
    class_names : mapping or None
        The name of each label, if the classes have names.
    libsvm_form : bool
        Whether :meth:`save` writes LIBSVM's text and a map.
    """

    method: str
    model: Model | None
    report: Report
    refusal: str | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    advice: str | None = None
    class_names: Mapping[float, str] | None = None
    libsvm_form: bool = False

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.report))

    def heading(self) -> str:
        return f"svmfast {self.method}: {self.model!r}"

    def lines(self) -> list[str]:
        """The lines of the report."""
        return self.report.lines()

    def html(self) -> list[str]:
        return self.report.html()

    def figures(self) -> dict[str, Any]:
        """The report's figures, with the names of the classes."""
        found: dict[str, Any] = with_names(self.report.to_dict(), self.class_names)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The report's figures as plain types, under the names of ``--json``."""
        return {
            "command": self.method,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            **self.figures(),
        }

    def save(self, path: str | os.PathLike[str], map: str | None = None) -> int:
        """Write the model; return the size of the file.

        With `libsvm_form` its map, if it has one, goes to the file `map` (by default `path` with .map added),
        and the size is that of both files; either both appear or none.

        Raises
        ------
        UnsupportedError
            There is no model.
        """
        if self.model is None:
            raise UnsupportedError("there is no model to save", self.refusal or "the run only scored")
        return write_together(_files(self.model, os.fspath(path), map, form=self.libsvm_form))


def _files(model: Model, path: str, map: str | None = None, *, form: bool) -> list[tuple[str, bytes]]:
    """The files of a model: its own or, in LIBSVM's form without names, that of its map and LIBSVM's text."""
    if not form:
        return [(path, model_bytes(model))]
    if model.unscaled.behind_map is None:
        return [(path, model_bytes(model.unscaled))]
    linear, inner = model.unscaled.behind_map
    return [(map or f"{path}.map", map_bytes(linear)), (path, model_bytes(inner))]


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
    raced: bool = True,
) -> Result:
    """Run a method on `inputs` (paths, models or arrays) with fields of its options and of Reading.

    `labels` are those of rows without labels. `output` is where the model will be written: sizes refer to a
    file of this name, which may be compressed. `writes` says whether a model is wanted and not only scores
    (default: unless `options` ask only for these), `raced` whether a result may be refused because it is
    slower than the exact model.
    """
    begin = time.perf_counter()
    chosen, row_format, writes = _checked(method, inputs, options, reading or {}, writes)
    listener = listener or Listener()
    #: The scaling that goes before the method's models, known once the rows are read.
    scaling: Scaling | None = None
    form: bool = getattr(chosen, "libsvm_form", False)
    folder: str | None = getattr(chosen, "checkpoint", None)

    setting = Setting(
        threads=thread_count(threads),
        progress=listener.progress,
        note=listener.note,
        warn=listener.warn,
        stored_size=lambda model: sum(
            stored_size(*one)
            for one in _files(with_scaling(model, scaling), os.fspath(output or ""), form=form)
        ),
        table_size=lambda model: imported("svmfast.exports.c:table_bytes")(with_scaling(model, scaling)),
        compressed=packing_of(os.fspath(output or "")) is not None,
        log=listener.log,
        writes=writes,
        race=times_as_fast if raced else None,
        checkpoint=None if folder is None else partial(Checkpoint, folder),
        names_of_labels=lambda: None if scaling is None else scaling.names_of_labels,
    )
    with opened_inputs(method, inputs, labels, chosen, row_format, setting) as opened:
        scaling = opened.scaling
        if form and scaling is not None and not scaling.is_identity:
            raise OptionError(_SCALED)
        chosen = with_balanced_weights(chosen, method, opened)
        outcome: Outcome = imported(method.run)(opened, chosen, setting)
    if outcome.learned is not None:
        scaling = outcome.learned if scaling is None else scaling.with_map(outcome.learned)
    model = None if outcome.model is None else with_scaling(outcome.model, scaling)
    libsvms = outcome.model is not None and outcome.model.expansion is not None
    if form and libsvms:
        listener.note(_NO_MAP)
    named = scaling is not None and scaling.is_identity  # a scaling that only has names
    if named and outcome.model is not None and (form or (libsvms and output is not None)):
        listener.note(_NAMES_LOST if form else _NAMES_KEPT)
    return Result(
        method.name,
        model,
        outcome.report,
        outcome.refusal,
        (*listener.warnings, *outcome.warnings),
        tuple(listener.notes),
        time.perf_counter() - begin,
        outcome.advice,
        setting.names_of_labels() if model is None else model.names_of_labels,
        form,
    )


def _checked(
    method: Method,
    inputs: Mapping[str, Any],
    options: Mapping[str, Any],
    reading: Mapping[str, Any],
    writes: bool | None,
) -> tuple[Any, Reading, bool]:
    """The options of the method and of rows, and whether a model is wanted; nothing is read yet."""
    chosen: Any = made(method.options, options)
    row_format = made(Reading, reading)
    if row_format.scale is not None and getattr(chosen, "scale_to", None):
        raise OptionError("`scale` and `scale_to` exclude each other")
    if writes is None:
        writes = not method.only_scores(vars(chosen))
    if hasattr(chosen, "check"):
        there = {
            name for name, one in inputs.items() if not (one is None or (isinstance(one, tuple) and not one))
        }
        more = {"output": writes, "unlabelled": row_format.unlabelled}
        chosen.check(there | {name for name, given in more.items() if given})
    return chosen, row_format, writes
