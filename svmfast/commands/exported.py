"""A model in another language, measured on rows: the file, its figures, the ranges of integers in it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from svmfast import __version__
from svmfast.commands.data_check import IN_MEMORY, DataCheck
from svmfast.commands.export import ExportOptions
from svmfast.commands.given import rows_of, with_scaling_of
from svmfast.commands.run import run_method
from svmfast.display import shown
from svmfast.errors import MemoryLimitError, NegativeAnswerError, OptionError, UnsupportedError
from svmfast.exports.accuracy import Accuracy, Settings, checked_rows, measured
from svmfast.exports.c import table_bytes
from svmfast.exports.computation import Computation, computation_of
from svmfast.exports.fixed import Ranges
from svmfast.exports.fixed_plan import planned
from svmfast.exports.languages import LANGUAGES
from svmfast.figures import Figures, figure
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.model_files import identity_of
from svmfast.formats.ranges import ranges_bytes
from svmfast.methods.compress.report import CompressReport
from svmfast.methods.registry import method
from svmfast.models.base import Model
from svmfast.models.requirements import missing_probability
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import ColumnRanges, Scaling
from svmfast.options import Reading
from svmfast.pages.notebook import Shown
from svmfast.progress import Listener
from svmfast.rows import FloatArray, Rows
from svmfast.values import is_path


@dataclass(frozen=True, kw_only=True)
class ExportReport(Figures):
    """The figures of an exported file; LIBSVM's text, which is the model itself, only has a size."""

    language: str = figure("The language of the file.")
    arithmetic: str | None = figure("The exported arithmetic: float, double or integers.", default=None)
    bytes: int = figure("Size of the file written.")
    table_bytes: int | None = figure(
        "Constant tables and class names of a C file, without its code.", default=None
    )
    accuracy: Accuracy | None = figure("", default=None, spread=True, optional=True)
    test_rows: int | None = figure("Rows in the file's own test.", default=None)
    compressed: CompressReport | None = figure(
        "The report of compress, if the model was compressed for `max_flash`.", default=None, optional=True
    )

    @property
    def _not_measured(self) -> str:
        no_vectors = "" if self.arithmetic == "integers" else "the model has no vectors and "
        return f"nothing, since {no_vectors}no test rows are given"

    def lines(self) -> list[str]:
        """The figures as text, one per line."""
        if self.arithmetic is None:
            return [f"exported     {self.language}"]
        out = [] if self.compressed is None else self.compressed.lines()
        out += [
            f"exported     {self.language}, arithmetic in {self.arithmetic}",
            f"measured     {self._not_measured if self.accuracy is None else self.accuracy.words()}",
        ]
        if self.table_bytes is not None:
            out.append(f"flash        {self.table_bytes:,} bytes of tables, and the code")
        if self.test_rows is not None:
            out.append(f"test         {self.test_rows:,} rows in the file")
        return out


@dataclass(frozen=True, eq=False)
class Export(Shown):
    """The result of :func:`svmfast.export`.

    Attributes
    ----------
    data : bytes
        The file's content.
    report : ExportReport
    ranges : bytes or None
        The range file for svm-scale, if requested.
    """

    data: bytes
    report: ExportReport
    ranges: bytes | None = None

    def lines(self) -> list[str]:
        """The lines of the report."""
        return self.report.lines()

    def html(self) -> list[str]:
        return self.report.html()

    @property
    def text(self) -> str:
        """The content of a text file."""
        return self.data.decode()

    def save(
        self,
        path: str | os.PathLike[str],
        ranges: str | os.PathLike[str] | None = None,
        arduino: str | os.PathLike[str] | None = None,
    ) -> int:
        """Write the file, and the range file, each completely or not at all; return the size of the file.

        C: `arduino` is a folder for a library of the Arduino IDE, with the same file in it.

        Raises
        ------
        OptionError
            The extension of `path` is that of another language.
        """
        from svmfast.exports.arduino import library
        from svmfast.formats.target import reported, write_atomic, write_together

        language_for(path, self.report.language)
        if arduino is not None:
            files = {os.path.join(arduino, name): text for name, text in library(self.text).items()}
            for name in files:
                with reported(name):
                    os.makedirs(os.path.dirname(name), exist_ok=True)
            write_together([(name, text.encode()) for name, text in files.items()])
        if ranges is not None and self.ranges is not None:
            with write_atomic(ranges) as file:
                file.write(self.ranges)
        with write_atomic(path) as file:
            file.write(self.data)
        return file.stored


def language_for(path: str | os.PathLike[str], to: str | None) -> str:
    """The language to write to a file: `to`, else that of its extension, else, without an extension, C."""
    from svmfast.formats.packing import ENDINGS

    name, ending = os.path.splitext(os.fspath(path))
    if ending.lower() in ENDINGS:
        ending = os.path.splitext(name)[1]
    found = next((one.name for one in LANGUAGES.values() if ending.lower() in one.endings), None)
    if to is not None and found not in (None, to):
        raise OptionError(
            f"`to` {to} contradicts the extension of '{shown(os.fspath(path))}'; "
            f"give `to` {found} or another extension"
        )
    if to is None and found is None and ending:
        known = ", ".join(one for language in LANGUAGES.values() for one in language.endings)
        raise OptionError(
            f"the extension of '{shown(os.fspath(path))}' is that of no language; "
            f"give `to`, or one of {known}"
        )
    return to or found or "c"


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
    d, vectors = given.n_features, getattr(given.unscaled, "sv", getattr(given.unscaled, "landmarks", "1"))
    if (needed := 8 * d * len(vectors)) > chosen.memory:
        raise MemoryLimitError(f"a table of {d:,} features", needed, chosen.memory, "allow more memory")
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


#: By how much of its width each range is widened at both ends, for the rows to come.
_MORE = 0.5


def ranges_of(computation: Computation, rows: Rows | None, of: str, bits: int) -> Ranges:
    """Find the ranges of the rows before the model's scaling, or else those of svm-scale in it.

    Rows of whole numbers that the input's type holds are taken as they are, without a unit.
    """
    width, scaling = computation.n_features, computation.scaling
    if rows is None:
        if scaling is None or scaling.ranges is None:
            raise OptionError("the ranges of the features are not known; give `data`, rows that show them")
        if bits == 8:
            raise OptionError("`fixed` 8 takes bytes as they are; give `data`, rows of bytes")
        found = scaling.ranges.minimum, scaling.ranges.maximum
        return _widened(*found, np.dtype(np.int16), whole=False, of="within the ranges of the scaling")
    if not len(rows):
        raise OptionError("`data` has no rows, which would show the ranges of the features")
    seen = Scaling.learned(rows, (-1, 1)).widened(max(width, rows.n_columns)).ranges
    assert seen is not None
    least, largest = seen.minimum[:width], seen.maximum[:width]
    kinds = (np.uint8, np.int8) if bits == 8 else (np.int16,)
    values, kind = rows.values, None
    if (values == np.floor(values)).all():
        fit = (np.iinfo(one) for one in kinds)
        kind = next((one.dtype for one in fit if one.min <= least.min() and largest.max() <= one.max), None)
    if kind is None and bits == 8:
        raise OptionError("`fixed` 8 is for rows of bytes, and `data` has other numbers; use `fixed` 16")
    within = f"within the ranges of {of}"
    return _widened(least, largest, kind or np.dtype(np.int16), whole=kind is not None, of=within)


def _widened(
    least: FloatArray, largest: FloatArray, kind: np.dtype[np.integer], *, whole: bool, of: str
) -> Ranges:
    more = _MORE * (largest - least)
    least, largest = least - more, largest + more
    if whole:
        limits = np.iinfo(kind)
        least = np.maximum(np.floor(least), limits.min)
        largest = np.minimum(np.ceil(largest), limits.max)
    return Ranges(least, largest, kind, whole, of)


_INSTEAD = "export it to c or onnx"


def libsvm_text(model: Model, *, ranges: bool, listener: Listener) -> tuple[bytes, bytes | None]:
    """A model as LIBSVM's text and, with `ranges`, its scaling as a range file for svm-scale.

    Without `ranges` a scaling, which would be lost, is refused.
    """
    inner, scaling = model.unscaled.expansion, model.scaling
    if inner is None:
        behind = model.unscaled.behind_map
        form = behind is not None and behind[1].expansion is not None
        instead = "compress with `libsvm_form`, or " * form + _INSTEAD
        raise UnsupportedError(f"a {model.unscaled.kind} model cannot be written as LIBSVM's text", instead)
    beside = _ranges(scaling, listener) if ranges else None
    if not ranges and scaling is not None and not scaling.is_identity:
        raise OptionError("LIBSVM's format cannot hold the model's scaling; write a range file with `ranges`")
    return libsvm_model_bytes(inner), beside


def _ranges(scaling: Scaling | None, listener: Listener) -> bytes:
    """A scaling as svm-scale's range file."""
    if scaling is None or scaling.is_identity:
        raise OptionError("`ranges`: the model has no scaling")
    found = scaling.ranges
    if found is None:
        if scaling.clip is not None:
            raise UnsupportedError("the model's scaling clips, which svm-scale does not", _INSTEAD)
        if (scaling.factor < 0).any():
            raise UnsupportedError("the model's scaling reverses columns", _INSTEAD)
        listener.note("svm-scale prints six digits and drops columns that its range file does not name")
        with np.errstate(divide="ignore"):
            half = np.where(scaling.factor > 0, 1 / scaling.factor, 0.0)
        found = ColumnRanges(scaling.offset - half, scaling.offset + half)
    return ranges_bytes(found, scaling.target)
