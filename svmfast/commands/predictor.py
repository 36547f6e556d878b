"""Prediction for rows in memory and for files: models that are open, and options that are checked."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from svmfast.commands.data_check import IN_MEMORY, ColumnOrder, DataCheck
from svmfast.commands.functions import takes
from svmfast.commands.given import rows_of
from svmfast.commands.opened_models import opened_models
from svmfast.commands.predict import PredictionOptions
from svmfast.errors import EmptyDataError, OptionError
from svmfast.formats._arrow import pyarrow
from svmfast.formats.answers import OutputColumns
from svmfast.models.answer import Answer, answered
from svmfast.models.requirements import require
from svmfast.models.scaled import with_scaling
from svmfast.options import Reading, as_reading, made
from svmfast.progress import Listener
from svmfast.rows import BoolArray, Rows
from svmfast.threads import prefetch, thread_count

if TYPE_CHECKING:
    from svmfast.evaluation.prediction_report import PredictionReport
    from svmfast.formats.dataset import Dataset, RowStream
    from svmfast.models.base import Model

#: Largest number of values held besides the data: it bounds the memory for many classes and short rows.
CELLS = 1 << 20


@takes(PredictionOptions)
class Predictor:
    """A model with prediction options, which are checked before the first row.

    Parameters
    ----------
    model : Model, fitted estimator or path
        A model of any kind.
    {options}
    scale : Scaling or path, optional
        Scale every row first. The path is that of svm-scale's range file or of a model with a scaling. The
        scaling of `model` or `exact` is applied automatically.

    Attributes
    ----------
    model : Model
        The model for scaled rows; with `probability`, the exact model, if there is one.
    scaling : Scaling or None
        The scaling that is applied to rows first.
    column_order : ColumnOrder
        The columns that tables must have if the model does not name its features: those of the first one.
    exact : KernelExpansion or None
        The model that answers rows that are not certified.
    output : OutputColumns
        What the predictor's outputs contain besides labels.
    class_names : dict of float to str, or None
        The name of each label, if the model has names; the source of :attr:`Answer.names`.

    Raises
    ------
    UnsupportedError, OptionError, MemoryLimitError
        As from :func:`svmfast.predict`.
    """

    def __init__(
        self,
        model: Any,
        *,
        listener: Listener | None = None,
        scale: Any = None,
        **options: Any,
    ) -> None:
        asked = made(PredictionOptions, options)
        self.column_order = ColumnOrder()
        self.listener = listener or Listener()
        opened = opened_models(model, asked, scale, self.listener.note)
        self.model, self.exact, self.scaling = opened
        self._reading = Reading(scale=self.scaling)
        self._options = replace(asked, exact=None)  # it is open, and would be pickled twice
        self.class_names = None if self.scaling is None else self.scaling.names_of_labels
        nulls = asked.on_null == "keep"
        self.output = OutputColumns(self.model.head, self.class_names, asked.names, asked.columns, nulls)
        self._check_options()
        require(self.model, asked.columns, exact=self.exact, tolerance=asked.tolerance)
        #: The model for rows as read.
        self._whole = with_scaling(self.model, self.scaling)

    def _check_options(self) -> None:
        """Raise OptionError for options that these models do not support, or that need each other."""
        head, tolerance = self.model.head, self._options.tolerance
        if self.exact is not None and head.is_regression and tolerance is None:
            instead = "leave out `exact`"
            if self.model.has_error_bound and self.model.embedded_exact is self.exact:
                instead = "`no_fallback`"
            raise OptionError(
                "values are certified within a tolerance: the exact model answers the rows whose error bound "
                f"exceeds `tolerance`; give it, or {instead} to predict with the approximation alone"
            )
        with_values = self._options.decision_values
        if with_values and self.exact is not None and not self.exact.head.same_functions(head):
            raise OptionError(
                "`decision_values`: `model` and `exact` have values for different classes or pairs of "
                "classes; leave one of the options out"
            )
        rounds = head.is_regression and self.model.unscaled.expansion is not None
        if tolerance is not None and not self._options.certify and self.exact is None and not rounds:
            raise OptionError("`tolerance` needs `certify`, `exact` or a LIBSVM regression model")

    def answer(self, data: Any, *, reading: Reading | None = None, threads: int | None = None) -> Answer:
        """The answer for rows in memory, which are scaled first if the model has a scaling.

        Parameters
        ----------
        data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or DataFrame
            As for :func:`svmfast.predict`; a one-dimensional array is a single row. Rows are fastest: the
            label of a single row takes tens of microseconds, as an array or a list some more, as a
            DataFrame milliseconds (docs/python.md). The values of an array are in the order of
            `feature_names`.
        reading : Reading, optional
            Names the columns of a table, and says how missing values are read.
        threads : int, optional
            Default: the cores this process may use, at most ``OMP_NUM_THREADS``.
        """
        if isinstance(data, Rows):
            rows = data
        else:
            how = self._how(reading)
            check = self._data_check(how)
            rows = rows_of(data, reading=how, see=partial(self.see, reading=how), see_array=check.array)
        return self._answer(self._whole, rows, threads)

    def answer_file(
        self,
        data: str | os.PathLike[str],
        *,
        reading: Reading | None = None,
        threads: int | None = None,
    ) -> Answer:
        """The answer for all rows of a file, read into memory."""
        from svmfast.formats.data import read_data
        from svmfast.formats.dataset import naming_file

        names = None if self.scaling is None else self.scaling.only_names()
        how = replace(self._how(reading), scale=names)
        dataset = read_data(data, how, threads=thread_count(threads))
        check = self._data_check(how)
        check.columns(dataset.path, dataset.columns)
        check.width(dataset.path, dataset.rows, dataset.columns)
        with naming_file(dataset.path):
            return self._answer(self._whole, dataset.rows, threads)

    def _how(self, reading: Reading | None) -> Reading:
        """The reading of rows, with the scaling of the predictor."""
        if reading is None:
            return self._reading
        if as_reading(reading).scale is not None:
            raise OptionError("`scale` is a property of the Predictor; give it when that is made")
        return replace(reading, scale=self.scaling)

    def _data_check(self, reading: Reading) -> DataCheck:
        return DataCheck(self.model, reading, self.listener, self.column_order)

    def see(self, columns: Sequence[str], reading: Reading | None = None) -> None:
        """Judge the columns of a DataFrame that are features, their order and how many, before its rows."""
        check = self._data_check(reading or self._reading)
        check.columns(IN_MEMORY, columns, in_memory=True)
        check.width(IN_MEMORY, Rows.empty(len(columns)), columns)

    def _answer(self, model: Model, rows: Rows, threads: int | None) -> Answer:
        """The answer of the model for scaled rows, or of the same with its scaling for rows as read."""
        asked = self._options
        cores = thread_count(threads)
        found = answered(model, rows, asked.columns, self.exact, asked.tolerance, cores)
        if self.scaling is None or self.class_names is None:
            return found
        return replace(found, class_names=self.class_names, boolean_classes=self.scaling.boolean_classes)

    def report(self, *, labelled: bool) -> PredictionReport:
        """The report of a prediction that has not begun."""
        from svmfast.evaluation.prediction_report import PredictionReport

        return PredictionReport(
            self.model,
            self._options.columns,
            labelled=labelled,
            falls_back=self.exact is not None,
            class_names=self.class_names,
        )

    def preamble(self) -> list[str]:
        """The lines that svm-predict prints before it predicts."""
        head = self.model.head
        if not self._options.probability:
            if head.has_probability:
                return ["Model supports probability estimates, but disabled in prediction."]
        elif head.is_regression and head.prob_a is not None:
            return [
                "Prob. model for test data: target value = predicted value + z,",
                f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={head.prob_a[0]:g}",
            ]
        return []

    def predict_file(
        self,
        data: str | os.PathLike[str],
        output: str | os.PathLike[str] = "-",
        *,
        reading: Reading | None = None,
        threads: int | None = None,
        keep: Sequence[str] = (),
        on_start: Callable[[], None] = lambda: None,
    ) -> PredictionReport:
        """Predict the rows of a file into another, in bounded memory.

        Rows are predicted while the input is still being read. The output appears complete or not at all. It
        is svm-predict's text, or a table if its name ends in .parquet, .arrow, .feather, .csv, .tsv or
        .jsonl. If the model has names of classes, a table contains them, and text only with `names`.

        Parameters
        ----------
        data, output : path
            ``-`` stands for standard input and standard output.
        reading : Reading, optional
            The format of the rows; they are scaled like all rows of the predictor.
        threads : int, optional
            Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The output does not
            depend on it.
        keep : sequence of str
            Columns of a table that are copied to the output, which must be a table too.
        on_start : callable
            Called when the first rows have been predicted, before the output is opened.

        Returns
        -------
        PredictionReport

        Raises
        ------
        DataFormatError
            The file cannot be read; the output is unchanged.
        """
        reading, cores = self._how(reading), thread_count(threads)
        self.output.check(os.fspath(output), keep)
        with _opened(data, reading, cores, keep, self._options.on_null != "refuse") as stream:
            return self._predict(stream, os.fspath(output), reading, cores, keep, on_start)

    def _predict(
        self,
        stream: RowStream,
        output: str,
        reading: Reading,
        threads: int,
        keep: Sequence[str],
        on_start: Callable[[], None],
    ) -> PredictionReport:
        """Predict the rows of a stream that applies the predictor's scaling."""
        from svmfast.evaluation.scale_check import ScaleCheck
        from svmfast.formats.target import write_atomic

        check = self._data_check(reading)
        columns = getattr(stream, "columns", None)
        if columns is not None:
            check.columns(stream.path, columns.features)
        report = self.report(labelled=not reading.unlabelled)
        scale_check = ScaleCheck(self.model, scaled=reading.scale is not None)

        def checked() -> Iterator[Dataset]:
            try:
                for block in prefetch(stream):
                    if not report.rows and not report.rows_without_feature:
                        check.width(stream.path, block.rows, block.columns)
                    scale_check.add(block.rows if block.missing is None else block.rows.take(~block.missing))
                    yield block
            except EmptyDataError:
                nothing = stream.nothing(keep)
                if nothing.columns is not None:
                    check.width(stream.path, nothing.rows, nothing.columns)
                report.notes.append(f"{stream.path}: there are no rows")
                yield nothing

        answers = self._answers(checked(), report, threads)
        # The first block is read and predicted before the output is opened.
        begun = next(answers)
        on_start()
        with write_atomic(output) as out:
            writer = self.output.writer(out, output)
            for found, kept, missing in chain([begun], answers):
                writer.write(found, kept, missing)
                self.listener.progress(stream.bytes_read, stream.bytes_total, "predict")
            writer.finish()
        report.notes += [f"{stream.path}: {note}" for note in stream.notes.messages()]
        verdict = scale_check.verdict()
        if verdict is not None:
            self.listener.warn(f"{stream.path}: {verdict}")
        return report

    def __getstate__(self) -> dict[str, Any]:
        # A listener of this process cannot be called from another one.
        return {name: value for name, value in self.__dict__.items() if name != "listener"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, listener=Listener())

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the model's features, if it has any, by which columns of tables are found."""
        return None if self.scaling is None else self.scaling.feature_names

    def _answers(
        self, blocks: Iterable[Dataset], report: PredictionReport, threads: int
    ) -> Iterator[tuple[Answer, Any, BoolArray | None]]:
        """Yield the answers for the rows of each block, the kept columns, and which rows are nulls."""
        head = self.model.head
        # The coupling of probabilities needs a k x k matrix per row.
        cells_a_row = 1 + head.n_functions + (head.n_classes**2 if self._options.probability else 0)
        size = max(1, CELLS // cells_a_row)
        for block in blocks:
            # Scaled rows have the width of the scaling, about whose columns there is no warning.
            named = block.columns is not None and self.scaling is None
            for start in range(0, len(block) or 1, size):
                rows, targets = block.rows[start : start + size], block.labels[start : start + size]
                kept = None if block.kept is None else block.kept.slice(start, size)
                missing = None if block.missing is None else block.missing[start : start + size]
                if missing is not None and missing.any():
                    rows, targets = rows.take(~missing), targets[~missing]
                    report.rows_without_feature += int(missing.sum())
                    if kept is not None and not self.output.nulls:
                        kept = kept.take(pyarrow().array(np.flatnonzero(~missing)))
                found = self._answer(self.model, rows, threads)
                report.add(rows, targets, found, named=named)
                yield found, kept, missing if self.output.nulls else None


def _opened(
    data: str | os.PathLike[str], reading: Reading, threads: int, keep: Sequence[str], nulls: bool
) -> RowStream:
    """The rows of an input, which may have none."""
    from svmfast.formats.data import stream_data
    from svmfast.formats.source import Source
    from svmfast.formats.svmlight import DataStream

    try:
        return stream_data(data, reading, threads=threads, keep=keep, nulls=nulls)
    except EmptyDataError as error:  # a table in text without names of columns
        return DataStream(Source(io.BytesIO(), error.path, owned=True), reading, threads=threads)
