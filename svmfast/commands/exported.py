"""A model in another language, measured on rows."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from svmfast import __version__
from svmfast.commands.data_check import IN_MEMORY, DataCheck
from svmfast.commands.export import ExportOptions
from svmfast.commands.export_report import Export, ExportReport
from svmfast.commands.fixed_ranges import ranges_of
from svmfast.commands.given import rows_of, with_scaling_of
from svmfast.commands.libsvm_text import libsvm_text
from svmfast.commands.run import run_method
from svmfast.errors import NegativeAnswerError, UnsupportedError
from svmfast.exports.accuracy import Settings, checked_rows, measured
from svmfast.exports.c import table_bytes
from svmfast.exports.computation import computation_of
from svmfast.exports.fixed_plan import planned
from svmfast.exports.languages import LANGUAGES
from svmfast.formats.model_files import identity_of
from svmfast.methods.registry import method
from svmfast.models.base import Model
from svmfast.models.requirements import missing_probability
from svmfast.models.scaled import with_scaling
from svmfast.options import Reading
from svmfast.progress import Listener
from svmfast.rows import Rows
from svmfast.values import is_path


def exported(
    given: Model,
    to: str,
    chosen: ExportOptions,
    reading: Reading,
    cores: int,
    listener: Listener,
    *,
    ranges: bool,
) -> Export:
    """The model in another language, with the scaling of `reading` if it has none of its own."""
    # The exported model contains the scaling and accepts raw rows, so it is measured on raw rows.
    scale = with_scaling_of(reading, [("the model", given)], memory=chosen.memory).scale
    if given.scaling is None:
        given = with_scaling(given, scale)
    if chosen.probability:
        _check_probability(given)
    if to == "libsvm":
        text, beside = libsvm_text(given, ranges=ranges, listener=listener)
        _note_lacks(to, given, chosen, listener)
        return Export(text, ExportReport(language=to, bytes=len(text)), beside)
    compressed: Any = None
    limit = chosen.max_flash
    compresses = chosen.data is not None and chosen.fixed is None
    if limit is not None and compresses and (size := table_bytes(given)) > limit:
        listener.note(f"the tables take {size:,} bytes, more than `max_flash`: the model is compressed")
        options = {"max_flash": limit, "metric": "auto", "memory": chosen.memory}
        inputs, read = {"model": given, "data": chosen.data}, {**vars(reading), "scale": None}
        made = run_method(method("compress"), inputs, options, reading=read, threads=cores, listener=listener)
        if made.model is None:
            raise NegativeAnswerError(f"{made.refusal}; {made.advice}")
        given, compressed = made.model, made.report
    check = DataCheck(given, replace(reading, scale=None), listener)
    rows, of = _rows(chosen.test, check, cores, chosen.memory)
    computation, language = computation_of(given), LANGUAGES[to].module()
    arithmetic = chosen.precision or ("float" if to == "c" else "double")
    dtype, evaluate = np.dtype(np.float32 if arithmetic == "float" else np.float64), language.evaluate
    plan, found = None, None
    if chosen.fixed is not None:
        shown = _rows(chosen.data, check, cores, chosen.memory)
        plan = planned(computation, ranges_of(computation, *shown, chosen.fixed))
        arithmetic, dtype, evaluate = "integers", plan.inputs.ranges.kind, plan.evaluate
        if rows is not None and (outside := plan.outside(rows)):
            what = "a value beyond the ranges, which is limited to them"
            listener.note(f"{outside:,} of {len(rows):,} {of}: {what}")
    if plan is None or rows is not None:
        found = measured(given, computation, evaluate, dtype, rows, of, cores)
    checked = None
    if rows is not None and to == "c":
        first = rows[: chosen.test_rows]
        checked = checked_rows(given, computation, evaluate, first, dtype, plan)
        if not len(checked.values):  # C has no empty tables
            checked = None
            listener.note("the file has no test, since rounding may give every row of it another label")
    # The provenance never includes a time or a host.
    known = {name: text for name, text in given.provenance.items() if text}
    origin = {"exported by": f"svmfast {__version__}", "model": identity_of(given), **known}
    names = () if given.scaling is None else given.scaling.feature_names or ()
    names = names if len(names) == computation.n_features else ()  # of all features, or none
    settings = Settings(
        chosen.prefix, dtype, origin, found, checked, names, chosen.probability, chosen.opset, plan
    )
    content, flash = language.write(computation, settings)
    if limit is not None and flash > limit:
        raise NegativeAnswerError(
            f"the tables take {flash:,} bytes, more than `max_flash` {limit:,}; "
            "give `data`, rows on which to compress the exact model, or approximate it"
        )
    report = ExportReport(
        language=to,
        arithmetic=arithmetic,
        bytes=len(content),
        table_bytes=flash,
        accuracy=found,
        test_rows=None if checked is None else len(checked.values),
        compressed=compressed,
    )
    _note_lacks(to, given, chosen, listener)
    return Export(content, report)


def _check_probability(model: Model) -> None:
    """Raise UnsupportedError for a model without probabilities of classes."""
    missing = missing_probability(model)
    if missing is not None or model.head.is_regression:
        what = "a regression model has no probabilities of classes" if missing is None else missing.what
        raise UnsupportedError(what, "export without `probability`")


def _note_lacks(to: str, model: Model, options: ExportOptions, listener: Listener) -> None:
    """Note what of the model the file lacks."""
    head, scaling = model.head, model.scaling
    if to != "libsvm":
        if scaling is not None and scaling.column_names != scaling.feature_names:
            listener.note("the file takes the model's features, in which categories are 1 or 0, not columns")
        if scaling is not None and scaling.missing is not None:
            listener.note("the model replaces missing values, but the exported file does not")
        if head.has_probability and not head.is_regression and not options.probability:
            listener.note(f"the model has probabilities, but the {to} file does not; `probability` adds them")
    elif scaling is not None:
        if scaling.feature_names is not None:
            listener.note("LIBSVM's format cannot hold the names of the features")
        if scaling.class_names is not None and head.labels is not None:
            pairs = zip(head.labels.tolist(), scaling.class_names, strict=True)
            meaning = ", ".join(f"{label} is '{name}'" for label, name in pairs)
            listener.note(f"labels stand for classes: {meaning}")


def _rows(given: Any, check: DataCheck, threads: int, memory: int) -> tuple[Rows | None, str]:
    """The rows on which an export is measured, and a name for them."""
    if given is None:
        return None, ""
    path = os.fspath(given) if is_path(given) else getattr(given, "path", None)
    of = f"rows of {os.path.basename(path)}" if path else "rows"
    model = check.model
    assert model is not None
    # The model names the columns of tables; their labels may be anything, since the model's are compared.
    names = None if model.scaling is None else model.scaling.only_names()
    named = replace(check, reading=replace(check.reading, scale=names))
    if is_path(given):
        from svmfast.formats.data import stream_data

        with stream_data(path, named.reading, threads=threads, labels=False) as stream:
            dataset = stream.read_whole(memory)
        named.columns(dataset.path, dataset.columns)
        check.width(str(path), dataset.rows, None if getattr(names, "encoding", None) else dataset.columns)
        check.scale(str(path), dataset.rows)
        return dataset.rows, of
    array = replace(check, model=model.unscaled, reading=replace(check.reading, scale=model.scaling)).array
    see = partial(named.columns, IN_MEMORY, in_memory=True)
    return rows_of(given, reading=named.reading, see=see, see_array=array), of
