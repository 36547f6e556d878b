"""``export`` from Python: return a model in another language, with figures."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from svmfast import __version__
from svmfast.api.export_report import Export, ExportReport
from svmfast.api.fit import IN_MEMORY, Fit
from svmfast.api.functions import takes
from svmfast.api.given import is_path, model_of, read_names, rows_of, with_scaling_of
from svmfast.commands.export import ExportOptions
from svmfast.errors import OptionError, UnsupportedError
from svmfast.exports.languages import LANGUAGES, Language
from svmfast.formats.detect import identity_of
from svmfast.models.scaled import with_scaling
from svmfast.options import Reading, made
from svmfast.progress import Listener
from svmfast.rows import Rows
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.exports.computation import Computation
    from svmfast.models.base import Model

#: A valid prefix.
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: Features that a language may lack, for messages.
_WORDS = {
    "prefix": "a prefix",
    "precision": "a choice of precision",
    "feature_names": "feature names",
    "max_flash": "a flash limit",
    "device": "a device",
    "ranges": "a range file",
    "probability": "probabilities",
}
#: Largest number of rows of a file on which an export is measured.
MOST_ROWS = 100_000


@takes(ExportOptions)
def export(
    model: Model | str | os.PathLike[str],
    to: str = "c",
    *,
    precision: Literal["float", "double"] | None = None,
    test: Any = None,
    feature_names: Sequence[str] | str | os.PathLike[str] = (),
    data: Any = None,
    ranges: bool = False,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Export:
    """Convert a model to another language (docs/export.md). The `scale` of `reading` becomes part of it.

    Parameters
    ----------
    model : Model or path
        A model of any kind except a cascade, with any kernel except precomputed.
    to : str
        The language, a key of :data:`svmfast.exports.languages.LANGUAGES`.
    {options}
    precision : {"float", "double"}, optional
        Precision of the exported arithmetic. Default: float for C, double for all others.
    test : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or path, optional
        Rows on which the exported arithmetic is compared with the model's (default: vectors of the model).
        Their labels are not used. C: the file contains the first `test_rows` of them and a test. At most
        100,000 rows of a file are read.
    feature_names : sequence of str, or path
        A name for each feature; a file has one name per line. Default: the model's own names, if it has
        them. LIBSVM's text with names that are given here is wrapped in an svmfast file, which finds the
        columns of tables by these names.
    data : rows, as for `test`
    ranges : bool
        LIBSVM's text: also return the model's scaling as a range file for svm-scale.

    Returns
    -------
    Export
        ``data``, ``text``, ``report``, ``ranges``, ``save(path)``.

    Raises
    ------
    UnsupportedError
        The model cannot be written in this language.
    OptionError
        The language is unknown or does not support an option.
    NegativeAnswerError
        No model fits into `max_flash`.
    """
    chosen = made(ExportOptions, options)
    if to not in LANGUAGES:
        raise OptionError(f"`to` '{to}' is not a language; expected one of {', '.join(LANGUAGES)}")
    language = LANGUAGES[to]
    names = read_names(feature_names) if is_path(feature_names) else tuple(map(str, feature_names))  # type: ignore[arg-type]
    _check_options(language, chosen, precision, names=bool(names), ranges=ranges)
    listener, cores, reading = listener or Listener(), thread_count(threads), reading or Reading()
    given, _ = model_of(model, "the model", listener.note, chosen.memory)
    if data is not None and chosen.max_flash is None:
        raise OptionError("`data` is only used with `max_flash`")
    if reading.unlabelled and test is None and data is None:
        raise OptionError("`unlabelled` is only used with `test` or `data`")
    # The exported model contains the scaling and accepts raw rows, so it is measured on raw rows.
    scale = with_scaling_of(reading, [("the model", given)], memory=chosen.memory).scale
    if given.scaling is None:
        given = with_scaling(given, scale)
    if scale is not None and scale.missing is not None:
        listener.note("the model replaces missing values, but the exported file does not")
    fit = Fit(given, replace(reading, scale=None), listener)
    if not language.computes:
        return _text(given, names, ranges, language.name, test, fit, cores)
    dtype = np.dtype(np.float32 if (precision or language.precision) == "float" else np.float64)
    if chosen.probability:
        _check_probability(given)
    limit, made_by = None, ""
    if chosen.max_flash is not None:
        from svmfast.api.flash import Limit, fitting

        limit = Limit(chosen.max_flash, dtype, chosen.device)
        fitted, made_by = fitting(given, limit, _rows(data, fit, cores)[0], cores, listener)
        fit = replace(fit, model=fitted)
    found = _computed(given, fit, made_by, language, dtype, names, chosen, test, cores)
    if limit is not None:
        assert found.report.table_bytes is not None
        limit.check(found.report.table_bytes + (found.report.code_bytes or 0))
    _note_probability(language, chosen, given, listener)
    return found


def _check_probability(model: Model) -> None:
    """Raise UnsupportedError for a model without probabilities of classes."""
    from svmfast.models.requirements import missing_probability

    missing = missing_probability(model)
    if missing is not None or model.head.is_regression:
        what = "a regression model has no probabilities of classes" if missing is None else missing.what
        raise UnsupportedError(what, "export without `probability`")


def _note_probability(language: Language, options: ExportOptions, model: Model, listener: Listener) -> None:
    """Note that the file lacks the model's probabilities; JSON has their parameters."""
    head = model.head
    has = head.has_probability and not head.is_regression
    if options.probability or not has or language.name == "json":
        return
    how = "`probability` adds them" if "probability" in language.abilities else "ONNX can have them"
    listener.note(f"the model has probabilities, but the {language.name} file does not; {how}")


def _text(
    model: Model, names: Sequence[str], ranges: bool, to: str, test: Any, fit: Fit, threads: int
) -> Export:
    """Export a model as LIBSVM's text."""
    from svmfast.api.libsvm_text import accuracy_of_text, libsvm_text
    from svmfast.exports.accuracy import Printed

    text, beside = libsvm_text(model, names, ranges=ranges, listener=fit.heard)
    accuracy, inner = accuracy_of_text(model, *_rows(test, fit, threads), threads), model.unscaled
    work = inner.multiply_adds(Rows.empty(inner.n_features))
    return Export(text, ExportReport.of(to, "double", Printed(text), accuracy, work), beside)


def _computed(
    reference: Model,
    fit: Fit,
    made_by: str,
    language: Language,
    dtype: np.dtype[Any],
    names: tuple[str, ...],
    options: ExportOptions,
    test: Any,
    threads: int,
) -> Export:
    """Export the model of `fit`, whose arithmetic is compared with that of `reference` on the rows `test`."""
    from svmfast.exports import accuracy
    from svmfast.exports.computation import computation_of
    from svmfast.exports.languages import code_bytes

    model = fit.model
    assert model is not None
    computation = computation_of(model)
    width, own = computation.n_features, None if model.scaling is None else model.scaling.feature_names
    if own is not None and len(own) == width:
        names = names or own
    if names and len(names) != width:
        raise OptionError(f"{len(names)} feature names for {width} features")
    _check_range(computation, dtype)
    rows, of = _rows(test, fit, threads)
    evaluate = language.module().evaluate
    exported = lambda rows: evaluate(computation, rows, dtype)  # noqa: E731
    found = accuracy.measured(reference, computation, exported, rows, of, threads)
    checked = None
    if rows is not None and "test" in language.abilities:
        first = rows[: options.test_rows]
        checked = accuracy.checked_rows(
            reference, computation, exported, first, found.largest_difference, dtype
        )
    # The provenance never includes a time or a host.
    known = {name: text for name, text in model.provenance.items() if text}
    origin = {"exported by": f"svmfast {__version__}", "model": identity_of(model), **known}
    if made_by:
        origin |= {"made by": made_by, "from": identity_of(reference)}
    printed = language.module().write(
        computation,
        accuracy.Settings(options.prefix, dtype, origin, found, checked, names, options.probability),
    )
    report = ExportReport.of(
        language.name,
        "float" if dtype == np.float32 else "double",
        printed,
        found,
        computation.multiply_adds(),
        method=made_by or None,
        code=None if options.device is None else code_bytes(computation, options.device),
        test_rows=None if checked is None else len(checked.values),
    )
    return Export(printed.data, report)


def _check_options(
    language: Language, options: ExportOptions, precision: str | None, *, names: bool, ranges: bool
) -> None:
    """Refuse options that the language does not support or that are out of range."""
    if precision not in (None, "float", "double"):
        raise OptionError(f"`precision` is float or double, not '{precision}'")
    asked = {
        "prefix": options.prefix != "model",
        "precision": precision not in (None, language.precision),
        "feature_names": names,
        "max_flash": options.max_flash is not None,
        "device": options.device is not None,
        "ranges": ranges,
        "probability": options.probability,
    }
    for ability, given in asked.items():
        if given and ability not in language.abilities:
            raise OptionError(f"`to` {language.name} does not support {_WORDS[ability]}")
    if not _IDENTIFIER.fullmatch(options.prefix):
        raise OptionError(
            f"`prefix` '{options.prefix}' cannot begin a name; give a letter, then letters, digits, '_'"
        )
    if options.device is not None and precision == "double":
        raise OptionError("`device` counts the code of single precision; leave out `double`")


def _rows(given: Any, fit: Fit, threads: int) -> tuple[Rows | None, str]:
    """The rows on which an export is measured, or that a smaller model is fitted to, and a name for them."""
    if given is None:
        return None, ""
    path = os.fspath(given) if is_path(given) else getattr(given, "path", None)
    of = f"rows of {os.path.basename(path)}" if path else "rows"
    model, listener = fit.model, fit.heard
    assert model is not None
    # The model names the columns of tables; their labels may be anything, since the model's are compared.
    names = None if model.scaling is None else model.scaling.only_names()
    named = replace(fit, reading=replace(fit.reading, scale=names))
    if not is_path(given):
        array = replace(fit, model=model.unscaled, reading=replace(fit.reading, scale=model.scaling)).array
        see = partial(named.columns, IN_MEMORY, in_memory=True)
        return rows_of(given, reading=named.reading, see=see, see_array=array), of
    from svmfast.formats.data import read_through

    blocks: list[Rows] = []
    columns = None
    for block in read_through(path, named.reading, threads, listener.progress, labels=False):
        if not blocks:
            columns = block.columns
            named.columns(block.path, columns)
        blocks.append(block.rows)
        if sum(map(len, blocks)) > MOST_ROWS:
            listener.note(f"{path}: the first {MOST_ROWS:,} rows are used")
            break
    rows = Rows.concatenate(blocks)[:MOST_ROWS]
    fit.width(str(path), rows, columns)
    fit.scale(str(path), rows)
    return rows, of


def _check_range(computation: Computation, dtype: np.dtype[Any]) -> None:
    """Raise OptionError for numbers that the precision cannot represent."""
    from svmfast.exports.computation import KernelSums

    values = computation.values
    parts = [values.rho]
    if isinstance(values, KernelSums):
        parts += [values.vectors, values.coef, values.gamma, np.array([values.coef0])]
    else:
        parts += [values.centers, values.coefficients, np.array([values.gamma])]
    largest = max(float(np.abs(part).max(initial=0.0)) for part in parts)
    if largest > float(np.finfo(dtype).max):
        raise OptionError(
            f"a number of the model, {largest:.3g}, is too large for single precision; use `double`"
        )
