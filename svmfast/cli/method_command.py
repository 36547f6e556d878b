"""The run of every method's command: one call of the API, then the report."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from svmfast.cli.flags import with_flags
from svmfast.cli.front import Front
from svmfast.cli.messages import raw
from svmfast.command import LAST, NEGATIVE
from svmfast.errors import OptionError
from svmfast.methods.method import NOTHING_WRITTEN, Method
from svmfast.options import options_of

if TYPE_CHECKING:
    from svmfast.commands.run import Result


def run(front: Front, output: str | None, **given: Any) -> int:
    """Run the method, write its model and print its report.

    Where a model is made without a name, `output` already is the default one (``cli/files``).
    """
    from svmfast.commands.run import run_method

    method, begin = front.command, time.perf_counter()
    assert isinstance(method, Method)
    last, map = given.pop(LAST, None), given.pop("map", None)
    if output is not None and last is not None:
        raise OptionError("the model has two names: `output` and the last argument; give one of them")
    output = output or last
    logs = method.stands_in_for_svm_train
    with front.listening(silent=logs) as listener:
        if logs and not front.quiet:
            listener.log = lambda text: raw(text, err=front.as_json or output == "-")
        result = run_method(
            method,
            {one.name: given[one.name] for one in method.inputs},
            {one.name: given[one.name] for one in options_of(method.options)},
            reading=front.reading_given,
            threads=front.threads,
            listener=listener,
            output=output,
            writes=output is not None,
        )
    size = None
    if result.model is not None and output is not None:
        size = result.save(output, map)
        old = map or f"{output}.map"
        if result.libsvm_form and result.model.unscaled.behind_map is None and os.path.exists(old):
            front.warn(f"{old} is not of this model, which has no map")
    for text in result.warnings[len(listener.warnings) :]:
        front.warn(text)
    _print(front, result, output, size, time.perf_counter() - begin, prints=not (front.quiet or logs))
    if result.refusal is None:
        return 0
    front.remarks(f"{result.refusal}{NOTHING_WRITTEN}", always=True)
    front.remarks(result.advice, always=True)
    return NEGATIVE


def _print(
    front: Front, result: Result, output: str | None, size: int | None, seconds: float, *, prints: bool
) -> None:
    """Print the report of a run and, if a file was written, its `size` in bytes.

    `prints`: whether to print the report of a run that writes a model as text. The report of a run that only
    scores is always printed.
    """
    before: int | None = getattr(result.report, "bytes_exact", None)
    scored = output is None
    if front.as_json:
        figures: dict[str, Any] = {} if scored else {"bytes": size}
        for key, value in result.figures().items():
            figures[key] = with_flags(value) if isinstance(value, str) else value
        front.show(figures, written=size is not None)
    if (scored and not front.as_json) or (not scored and prints):
        front.lines(result.report.lines(), err=not scored)
    if size is not None and prints:
        factor = ""
        if before is not None:
            smaller = size < before
            factor = f" ({before / size:.1f}x smaller)" if smaller else f" ({size / before:.1f}x LARGER)"
        front.lines([f"written      {output}, {size:,} bytes{factor}, {seconds:.1f} s"], err=True)
    if size is not None and before is not None and size >= before:
        front.remarks(f"the file grew from {before:,} to {size:,} bytes")
