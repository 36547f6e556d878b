"""Runs of methods: inputs are read, options checked, the method is called, one result comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from svmfast.methods.method import Method, Setting
from svmfast.options import Reading, made
from svmfast.progress import Progress, silent
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.api.result import Result
    from svmfast.models.base import Model


@dataclass
class Listener:
    """Who hears of a run while it goes on; everything is kept for the result as well.

    Attributes
    ----------
    progress : Progress
    on_note, on_warning : callable
        Take one sentence.
    """

    progress: Progress = silent
    on_note: Callable[[str], None] = lambda text: None
    on_warning: Callable[[str], None] = lambda text: None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Take in a remark."""
        self.notes.append(text)
        self.on_note(text)

    def warn(self, text: str) -> None:
        """Take in a warning."""
        self.warnings.append(text)
        self.on_warning(text)


def run_method(
    method: Method,
    inputs: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    labels: ArrayLike | None = None,
    reading: Mapping[str, Any] | None = None,
    threads: int | None = None,
    listener: Listener | None = None,
    stored_size: Callable[[Model], int] | None = None,
    writes: bool = True,
) -> Result:
    """Run a method.

    Parameters
    ----------
    method : Method
    inputs : mapping
        By name: paths, models, arrays.
    options, reading : mapping
        Fields of ``method.options`` and of :class:`svmfast.options.Reading`.
    labels : (n,) array_like, optional
        Of rows that come without.
    threads : int, optional
        Default: the cores this process may use. The result is the same for every number.
    listener : Listener, optional
    stored_size : callable, optional
        Returns the size of a model's file; by default of the unpacked one.
    writes : bool
        Whether a model is wanted; a run may else only score.

    Returns
    -------
    Result

    Raises
    ------
    SvmfastError
    """
    from svmfast.api.inputs import opened_inputs
    from svmfast.api.result import Result
    from svmfast.formats.detect import model_bytes

    begin = time.perf_counter()
    chosen: Any = made(method.options, options)
    how = made(Reading, reading or {})
    check = getattr(chosen, "check", None)
    if check is not None:
        given = {
            name
            for name, one in inputs.items()
            if one is not None and not (isinstance(one, tuple) and not one)
        }
        check(given | {"output"} if writes else given)
    heard = listener or Listener()
    setting = Setting(
        threads=thread_count(threads),
        progress=heard.progress,
        note=heard.note,
        warn=heard.warn,
        stored_size=stored_size or (lambda model: len(model_bytes(model))),
        writes=writes,
    )
    with opened_inputs(method, inputs, labels, chosen, how, setting) as opened:
        outcome = method.runner()(opened, chosen, setting)
    seconds = time.perf_counter() - begin
    return Result(
        method.name,
        outcome.model,
        outcome.report,
        outcome.refusal,
        tuple(heard.warnings),
        tuple(heard.notes),
        seconds,
    )
