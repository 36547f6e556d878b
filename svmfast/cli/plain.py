"""``svmfast predict`` for LIBSVM's files: one native call, without NumPy and click, which load slowly."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NamedTuple, NoReturn

from svmfast.cli import messages, signals

#: The native call shows no progress: with larger files, the command itself does the job where it would.
MOST_UNSEEN = 8 << 20


def console() -> NoReturn:
    """Run the program as its own process."""
    try:
        if sys.argv[1:2] == ["predict"] and _streams_are_open():
            signals.install()
            # Where standard output cannot be written, the command reports it.
            with contextlib.suppress(OSError):
                status = predict(sys.argv[1:])
                if status is not None:
                    os._exit(status)
        from svmfast.cli import main

        main.console()
    except BaseException as error:
        # Compiled code that is being loaded turns the interrupt into another error.
        status = signals.status_asked_for() or (130 if isinstance(error, KeyboardInterrupt) else None)
        if status is None:
            raise
        os._exit(status)


def _streams_are_open() -> bool:
    try:
        return all(os.fstat(descriptor) for descriptor in range(3)) and sys.stdout is not None
    except OSError:
        return False


def predict(arguments: list[str]) -> int | None:
    """The exit status of a command line, or None where the job is not plain; no output has appeared then.

    Signals must be installed, and the standard streams be open.
    """
    if arguments[:1] != ["predict"] or _shows_progress(arguments) or any("://" in one for one in arguments):
        return None
    from svmfast._core import predict_plain

    try:
        found = _Plain(*predict_plain([os.fsencode(word) for word in arguments[1:]]))
    except KeyboardInterrupt:
        return signals.status_asked_for() or 128 + 2
    except Exception:
        # The job is not plain, or the command meets the same error and reports it. A fault of the native call
        # alone costs only time here; tests/cli/test_plain_predict.py shows it.
        return None
    warnings, remarks = map(_with_flags, _noted(found))
    for text in warnings:
        messages.warning(text)
    messages.raw(found.summary, err=found.output == b"-")
    for text in remarks:
        messages.remark(text, found.quiet)
    return 0


def _shows_progress(arguments: list[str]) -> bool:
    try:
        return (
            "-q" not in arguments
            and os.isatty(2)
            and any(os.path.getsize(word) > MOST_UNSEEN for word in arguments if os.path.isfile(word))
        )
    except OSError:
        return True


def _with_flags(texts: list[str]) -> list[str]:
    if not any("`" in text for text in texts):
        return texts
    from svmfast.cli.flags import with_flags

    return [with_flags(text) for text in texts]


class _Plain(NamedTuple):
    """What the native call gives besides the predictions: `Prediction` of svmfast.hpp."""

    data: bytes
    output: bytes
    quiet: bool
    summary: str
    rows: int
    correct: int
    unknown: int
    differing: int
    largest_column: int
    columns: int
    classes: list[tuple[float, int, int, int]]
    scale_rows: int
    median_norm: float
    least_norm: float
    largest_norm: float


def _noted(found: _Plain) -> tuple[list[str], list[str]]:
    """The warnings and the remarks of the command on this prediction."""
    # Not `from svmfast import`: the package first looks for a function of that name, among all methods.
    import svmfast.prediction_words as words

    warning = words.other_scale(
        found.scale_rows, found.median_norm, found.least_norm, found.largest_norm, scaled=False
    )
    remarks = []
    if found.classes:
        remarks += words.neglected_lines(found.classes, 100 * found.correct / found.rows)
    if found.unknown:
        remarks.append(words.unknown_features(found.unknown, found.rows, found.largest_column, found.columns))
    if found.differing:
        remarks.append(words.not_the_vote(found.differing, found.rows))
    return [] if warning is None else [f"{os.fsdecode(found.data)}: {warning}"], remarks
