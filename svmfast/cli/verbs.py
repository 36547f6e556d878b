"""The runs of the commands that are not methods: one call of the API each, and what is printed of its result.

A run takes the command's own options by name; those that all commands share are in the Front.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from svmfast.cli.flags import with_flags
from svmfast.cli.front import NEGATIVE, Front
from svmfast.cli.messages import line, lines, remark, remarks, warning
from svmfast.errors import OptionError

if TYPE_CHECKING:
    from svmfast.api.predictor import Predictor

#: Maximum number of printed remarks on single files; the JSON report has all.
MOST_NOTES = 10


def info(front: Front, file: str, **options: Any) -> None:
    """Describe a file."""
    from svmfast.api.info import info

    front.report(front.call(info, file, **options))


def import_(front: Front, estimator: str, output: str, **options: Any) -> None:
    """Convert an estimator."""
    from svmfast.api.estimators import from_sklearn
    from svmfast.api.info import info
    from svmfast.formats.detect import save_model

    with front.listening() as listener:
        model = from_sklearn(estimator, listener=listener, **options)
    size = save_model(model, output)
    found = info(model)
    if front.as_json:
        front.show({**found.to_dict(), "bytes": size})
    elif not front.quiet:
        front.lines([*found.lines(), f"written      {output}, {size:,} bytes"], err=True)


def scale(front: Front, data: str, output: str, **options: Any) -> None:
    """Scale rows."""
    from svmfast.api.scale import scale

    report = front.call(scale, data, output, **options)
    if front.as_json:
        front.show(report.to_dict())
    front.lines(report.lines(), err=True)


def bound_check(front: Front, data: str, **options: Any) -> int:
    """Check rows against a bound."""
    from svmfast.api.bound_check import bound_check

    report = front.call(bound_check, data, **options)
    front.report(report)
    return NEGATIVE if report.verdict is False else 0


def export(
    front: Front, model: str, output: str, *, to: str | None, single: bool, double: bool, **options: Any
) -> None:
    """Write a model in another language."""
    from svmfast.api.export import export
    from svmfast.api.export_report import language_for

    if single and double:
        raise OptionError("--float and --double exclude each other")
    ranges = options.pop("ranges")
    options |= {
        "precision": "float" if single else "double" if double else None,
        "ranges": ranges is not None,
    }
    made = front.call(export, model, language_for(output, to), **options)
    size = made.save(output, ranges)
    if front.as_json:
        front.show(made.report.to_dict())
    if not front.quiet:
        front.lines([*made.report.lines(), f"written      {output}, {size:,} bytes"], err=True)


def frontier(front: Front, exact: str, data: str, test: str | None, output: str, **options: Any) -> int:
    """Try every method on a model."""
    from svmfast.api.frontier import frontier

    given = {name: value for name, value in (options | front.reading_given).items() if value is not None}
    with front.listening(single=True) as listener:
        result = frontier(
            exact,
            data,
            test,
            output=output,
            threads=front.threads,
            listener=listener,
            document=front.document,
            **given,
        )
    if front.as_json:
        front.show(result.to_dict())
    else:
        front.lines([*([] if front.quiet else result.table()), *result.lines()])
    if not front.quiet:
        line(f"svmfast: report and models in {result.folder}", err=True)
    return 0 if result.recommended is not None else NEGATIVE


def compare(
    front: Front,
    exact: str,
    candidates: tuple[str, ...],
    data: str,
    wide: bool,
    **options: Any,
) -> int:
    """Compare models."""
    if wide and front.as_json:
        raise OptionError("--wide is for tables; --json always has everything")
    from svmfast.api.compare import compare

    result = front.call(compare, (exact, *candidates), data, **options)
    if front.as_json:
        values = result.to_dict()
        of_data = values.pop("data")  # the head of the report has the path
        front.show({"rows": of_data["rows"], "features": of_data["features"], **values})
    else:
        lines([result.title(), *result.lines(wide=wide)])
    for text in result.warnings():
        warning(text)
    worse = result.beyond_the_limit()
    remarks(worse, front.quiet)
    return NEGATIVE if worse else 0


def predict(front: Front, out_dir: str | None, **options: Any) -> int:
    """Predict the rows of a file, or of many."""
    from svmfast._core import keep_freed_memory

    # Otherwise every block's pages are cleared anew, a third of the time of a fast model's predictions. The
    # setting is the whole process's, so only the program makes it.
    keep_freed_memory()
    options["keep"] = options["keep"] or ()
    if out_dir is not None:
        return _predict_many(front, out_dir, **options)
    for one in front.options:
        if one.only_with == "out_dir":
            del options[one.name]
    return _predict_one(front, **options)


def _predict_one(
    front: Front, data: str, model: str, output: str, keep: tuple[str, ...], **options: Any
) -> int:
    from svmfast.api.predictor import Predictor
    from svmfast.formats.target import is_stdout

    to_stdout, reading = is_stdout(output), front.reading
    # A progress bar would mix with predictions on the same terminal.
    with front.listening(silent=to_stdout and sys.stdout.isatty()) as listener:
        predictor = Predictor(model, listener=listener, scale=reading.scale, **options)

        def preamble() -> None:
            if not front.quiet:
                front.lines(predictor.preamble(), err=front.as_json or to_stdout)

        report = predictor.predict_file(
            data,
            output,
            reading=replace(reading, scale=None),
            threads=front.threads,
            keep=keep,
            on_start=preamble,
        )
    if front.as_json:
        front.show(report.to_dict())
    elif not front.quiet:
        # To stdout only if the predictions go elsewhere.
        front.lines(report.lines(), err=to_stdout)
    _remark_on_labels(front, predictor, output)
    remarks(map(with_flags, report.remarks()), front.quiet)
    return 0


def _predict_many(
    front: Front,
    out_dir: str,
    model: str,
    data: tuple[str, ...],
    files_from: str | None,
    suffix: str | None,
    **options: Any,
) -> int:
    from svmfast.api.many import listed, predict_files
    from svmfast.commands.predict import SUFFIX

    ending = SUFFIX if suffix is None else suffix
    files = [*data, *([] if files_from is None else listed(files_from, memory=options["memory"]))]
    if not files:
        raise OptionError("there is no DATA to predict; name files, or a list of them with `files_from`")

    def start(predictor: Predictor) -> None:
        if not front.quiet:
            front.lines(predictor.preamble(), err=True)
        _remark_on_labels(front, predictor, files[0] + ending)

    with front.listening() as listener:
        progress: Any = listener.progress
        report = predict_files(
            model,
            files,
            out_dir,
            suffix=ending,
            reading=front.reading,
            threads=front.threads,
            listener=listener,
            on_failure=lambda result: progress.line(with_flags(result.error or "")),
            on_start=start,
            **options,
        )
    if front.as_json:
        front.show(report.to_dict())
    elif not front.quiet:
        front.lines(report.total.lines())
    notes = [note for one in report.files for note in one.notes or ()]
    remarks(notes[:MOST_NOTES], front.quiet)
    if len(notes) > MOST_NOTES:
        remark(f"and {len(notes) - MOST_NOTES:,} more such remarks", front.quiet)
    remarks(map(with_flags, report.total.remarks()), front.quiet)
    failed = report.number("failed")
    remark(report.sentence(), front.quiet and not failed)
    return 2 if failed else 0


def _remark_on_labels(front: Front, predictor: Predictor, output: str) -> None:
    meaning = predictor.output.meaning_of_labels(output)
    if meaning is not None:
        front.remark(meaning)
