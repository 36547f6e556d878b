"""Prediction of rows in memory and of files: a model, its exact model and the columns to write.

Longer than 400 lines: one class, half of it the documentation of its parameters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from svmfast.api.column_order import IN_MEMORY, ColumnOrder
from svmfast.api.given import MODEL, check_width, is_path, open_model, rows_of, with_scaling_of
from svmfast.api.listener import Listener
from svmfast.display import named_labels
from svmfast.errors import EmptyDataError, OptionError, WrongTypeError
from svmfast.models.answer import Answer, answer, require
from svmfast.models.certified import bounds_its_error, check_exact, check_same_labels, check_source
from svmfast.models.memory import MEMORY, require_memory
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.scaled import scaling_of, unscaled
from svmfast.options import Reading
from svmfast.rows import Rows
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.evaluation.prediction_report import PredictionReport
    from svmfast.formats.answers import AnswerWriter
    from svmfast.formats.svmlight import Dataset, DataStream
    from svmfast.formats.tables import TableStream
    from svmfast.formats.target import Writer
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling

#: Largest number of values held besides the data: it bounds the memory for many classes and short rows.
CELLS = 1 << 20


class Predictor:
    """A model with prediction options, which are checked before the first row.

    Parameters
    ----------
    model : Model or path
        A model of any kind.
    probability : bool
        Compute probabilities; a classifier's label is then the most probable one (``svm-predict -b 1``).
    decision_values : bool
        Also write the decision values, in LIBSVM's order of pairs. An Answer always has them.
    bound : bool
        Report which rows are inside the validity bound of an approximated model.
    certify : bool
        Report which labels are provably those of the exact model that `model` was made from, and a bound on
        the error of the decision values (docs/certificate.md). For a LIBSVM model: the bound on the rounding
        error that proves each label to be svm-predict's (docs/single-precision.md).
    exact : KernelExpansion or path, optional
        The exact model. It answers the rows that are not certified, so that every label is the exact model's.
    fallback : bool, optional
        Use the exact model embedded in `model` in the same way (default: if there is one); False: never.
    tolerance : float, optional
        A row is certified only if its error bound is at most this; regression needs it for `exact`. For a
        LIBSVM regression model: the largest acceptable error of a value. Single precision then answers where
        its error bound is at most this (docs/single-precision.md).
    assume_error : float, optional
        With `exact`: use this as the error bound of the model's values, instead of a certificate if there is
        one. Statistical, not proven; compress and dcpred report such quantiles.
    precision : {"auto", "double"}
        auto: compute a label in single precision, which is faster, if its error bound proves the label.
        double: never. The answer is the same.
    memory : int
        Limit on the memory for each model, in bytes.
    allow_edited : bool
        Read a model that was edited after svmfast wrote it, without its certificate.
    listener : Listener, optional
        Receives remarks and warnings.
    scale : Scaling or path, optional
        Scale every row first. The path is that of svm-scale's range file or of a model with a scaling. The
        scaling of `model` or `exact` is applied automatically.
    identify : bool
        Compute hashes of the models, for :meth:`settings`.
    names : bool, optional
        Write the names of the classes instead of their labels. Default: in tables, if the model has names.

    Attributes
    ----------
    model : Model
        The model for scaled rows; with `assume_error`, a cascade of the given model and `exact`.
    scaling : Scaling or None
        What rows go through before.
    column_order : ColumnOrder
        The columns that tables must have if the model does not name its features: those of the first one.
    exact : KernelExpansion or None
        The model that answers rows that are not certified.
    class_names : dict of float to str, or None
        The name of each label, if the model has names; the source of :attr:`Answer.names`.

    Raises
    ------
    UnsupportedError
        The model lacks probabilities, a bound or a certificate, or has a precomputed kernel; or `exact` is
        not the model that `model` was made from.
    OptionError
        Two options exclude each other, or one needs another.
    MemoryLimitError
        A model would need more than `memory`.
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        probability: bool = False,
        decision_values: bool = False,
        bound: bool = False,
        certify: bool = False,
        exact: Model | str | os.PathLike[str] | None = None,
        fallback: bool | None = None,
        tolerance: float | None = None,
        assume_error: float | None = None,
        precision: Literal["auto", "double"] = "auto",
        memory: int = MEMORY,
        allow_edited: bool = False,
        listener: Listener | None = None,
        identify: bool = False,
        scale: Any = None,
        names: bool | None = None,
    ) -> None:
        self._carriers: list[tuple[str, Model]] = []
        self.column_order = ColumnOrder()
        self.listener = listener or Listener()
        self._identify, self._identities = identify, list[str]()
        self._probability, self._decision_values = probability, decision_values
        self._bound, self._certify, self._tolerance = bound, certify, tolerance
        self._fallback, self._assumed = fallback, assume_error
        self.model, source, _ = self._opened("`model`", model, memory, allow_edited)
        self.exact = self._exact_model(exact, fallback, memory, source, proven=assume_error is None)
        if assume_error is not None:
            self.model = self._assume(assume_error)
        # Decision values, and a bound printed beside them, need double precision. The labels of an
        # approximated model are taken from the same values.
        with_values = decision_values and (certify or isinstance(self.model, PolynomialModel))
        self._single_precision = precision == "auto" and not with_values
        self.scaling: Scaling | None = with_scaling_of(
            Reading(scale=scale), self._carriers, memory=memory
        ).scale
        head = self.model.head
        if self.scaling is not None:
            self.scaling = self.scaling.for_labels(None if head.labels is None else head.labels.tolist())
        self.class_names = None if self.scaling is None else self.scaling.names_of_labels
        self._names = names
        self._check_options()
        require(
            self.model,
            probability=probability,
            bound=bound,
            certify=certify,
            exact=self.exact,
            tolerance=tolerance,
        )

    def _check_options(self) -> None:
        """Raise OptionError for options that these models do not support, or that need each other."""
        head, tolerance = self.model.head, self._tolerance
        if self._names and self.class_names is None:
            raise OptionError(
                "`names`: the classes of `model` have no names; a model imported from scikit-learn has them "
                "if its classes are not integers"
            )
        if self.exact is not None and head.is_regression and tolerance is None:
            raise OptionError(
                "regression has no label to certify; give `tolerance`, the largest error to accept"
            )
        if self._decision_values and self.exact is not None and not self.exact.head.same_functions(head):
            raise OptionError(
                "`decision_values`: `model` and `exact` have values for different classes or pairs of "
                "classes; leave one of the options out"
            )
        # Values of a LIBSVM regression model may have this error.
        alone = head.is_regression and not bounds_its_error(self.model)
        if tolerance is not None and not self._certify and self.exact is None and not alone:
            raise OptionError("`tolerance` needs `certify`, `exact` or a LIBSVM regression model")

    def _opened(
        self, name: str, given: Any, memory: int, allow_edited: bool = False
    ) -> tuple[Model, str | None, Callable[[str], bool]]:
        """Return a model, the hash of its source, and a function that recognizes this model's own hash.

        For a model with a scaling, return the model for scaled rows.
        """
        if is_path(given):
            listener = self.listener
            opened = open_model(given, listener.note, listener.warn, memory=memory, allow_edited=allow_edited)
            if self._identify:
                self._identities.append(f"sha256:{opened.sha256}")
            if scaling_of(opened.model) is not None:
                self._carriers.append((name, opened.model))
                return self._inside(opened.model)
            return opened.model, opened.provenance.get("source"), opened.is_source
        if not hasattr(given, "decision_values"):
            raise WrongTypeError("the model", given, MODEL)
        require_memory(given, memory)
        if self._identify:
            from svmfast.formats.detect import identity_of

            self._identities.append(identity_of(given))
        if scaling_of(given) is not None:
            self._carriers.append((name, given))
        return self._inside(given)

    def _inside(self, model: Model) -> tuple[Model, str | None, Callable[[str], bool]]:
        inner = unscaled(model)

        def is_source(source: str) -> bool:
            from svmfast.formats.detect import identity_of

            return source == identity_of(inner)

        return inner, getattr(inner, "provenance", {}).get("source"), is_source

    def _exact_model(
        self, given: Any, fallback: bool | None, memory: int, source: str | None, *, proven: bool
    ) -> KernelExpansion | None:
        model = self.model
        embedded = model.embedded_exact if bounds_its_error(model) else None
        if given is not None:
            if fallback is False:
                raise OptionError("`exact` and `no_fallback` exclude each other")
            loaded, _, is_source = self._opened("`exact`", given, memory)
            exact = (check_exact if proven else check_same_labels)(model, loaded)
            # The user may assume an error for any pair of models; a certificate refers to one exact model.
            if proven and exact is not embedded:
                check_source(model, source, is_source)
            return exact
        if fallback and embedded is None:
            if getattr(model, "embedded_exact", None) is not None:
                raise OptionError(
                    "`fallback`: `model` has no certificate that shows which rows need its exact model"
                )
            raise OptionError("`fallback`: `model` has no exact model embedded; name one with `exact`")
        return None if fallback is False else embedded

    def _assume(self, error: float) -> Model:
        from svmfast.models.cascade import CascadeModel

        if self.exact is None:
            raise OptionError("`assume_error` decides which rows go to the `exact` model; name that model")
        if self._certify:
            raise OptionError("`certify` prints proofs; an assumed error (`assume_error`) proves nothing")
        fast = self.model.fast if isinstance(self.model, CascadeModel) else self.model
        return CascadeModel(fast, self.exact, error)

    def answer(self, data: Any, *, threads: int | None = None) -> Answer:
        """Return the answer for rows in memory, which are scaled first if the model has a scaling.

        Parameters
        ----------
        data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or DataFrame
            As for :func:`svmfast.predict`. Rows are fastest: a single row takes about ten microseconds.
        threads : int, optional
        """
        rows = data if isinstance(data, Rows) else rows_of(data, names=self.feature_names, see=self.see)
        return self._answer(rows if self.scaling is None else self.scaling.apply(rows), threads=threads)

    def answer_file(
        self,
        data: str | os.PathLike[str],
        *,
        reading: Reading | None = None,
        threads: int | None = None,
    ) -> Answer:
        """Return the answer for all rows of a file, read into memory."""
        from svmfast.formats.data import read_data

        how, heard = replace(reading or Reading(), scale=self.scaling), self.listener
        dataset = read_data(data, how, threads=thread_count(threads))
        self.column_order.check(dataset.path, dataset.columns, how, heard.note, self.model)
        check_width(how, dataset.path, self.model, dataset.rows, heard.warn, dataset.columns)
        return self._answer(dataset.rows, threads=threads)

    def see(self, columns: Sequence[str]) -> None:
        """Judge the columns of a DataFrame, their order and how many there are, before its rows.

        Parameters
        ----------
        columns : sequence of str
            Those that are features.

        Raises
        ------
        ColumnOrderError, MissingColumnError
        """
        how, heard = Reading(scale=self.scaling), self.listener
        self.column_order.check(IN_MEMORY, columns, how, heard.note, self.model, in_memory=True)
        check_width(how, IN_MEMORY, self.model, Rows.empty(len(columns)), heard.warn, columns)

    def _answer(self, rows: Rows, *, threads: int | None = None) -> Answer:
        found = answer(
            self.model,
            rows,
            probability=self._probability,
            bound=self._bound,
            certify=self._certify,
            exact=self.exact,
            single_precision=self._single_precision,
            tolerance=self._tolerance,
            threads=thread_count(threads),
        )
        return found if self.class_names is None else replace(found, class_names=self.class_names)

    def settings(self) -> dict[str, Any]:
        """Return what determines the answers as plain values: the options and (`identify`) models' hashes."""
        return {
            "models": self._identities,
            "probability": self._probability,
            "decision_values": self._decision_values,
            "bound": self._bound,
            "certify": self._certify,
            "fallback": self._fallback,
            "tolerance": self._tolerance,
            "assume_error": self._assumed,
            # Labels alone do not depend on it.
            "single_precision": (self._certify or self._tolerance is not None) and self._single_precision,
            "scaling": None if self.scaling is None else self.scaling.digest(),
            "names": self._names,
        }

    def report(self, *, labelled: bool, auc: bool = False) -> PredictionReport:
        """Return the report of a prediction that has not begun; `auc` as in :meth:`predict_file`."""
        from svmfast.evaluation.prediction_report import PredictionReport

        falls_back = self.exact is not None
        return PredictionReport(
            self.model,
            labelled=labelled,
            bound=self._bound,
            falls_back=falls_back,
            auc=auc,
            class_names=self.class_names,
        )

    def preamble(self) -> list[str]:
        """Return the lines that svm-predict prints before it predicts."""
        head = self.model.head
        if not self._probability:
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
        auc: bool = False,
        on_start: Callable[[], None] = lambda: None,
    ) -> PredictionReport:
        """Predict the rows of a file into another, in bounded memory.

        Rows are predicted while the input is still being read. The output appears complete or not at all. It
        is svm-predict's text, or a table if its name ends in .parquet, .arrow, .feather, .csv or .tsv. If the
        model has names of classes, a table contains them; text contains them only with `names`.

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
        auc : bool
            Measure the area under the ROC curve if there is one decision value. This computes the decision
            values of all rows, which the labels of a LIBSVM model do not always need.
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
        from svmfast.formats.data import stream_data

        reading, cores = reading or Reading(), thread_count(threads)
        if reading.scale is not None:
            raise OptionError("`scale` is a property of the Predictor; give it when that is made")
        reading = replace(reading, scale=self.scaling)
        self.check_output(os.fspath(output), keep)
        with stream_data(data, reading, threads=cores, keep=keep) as stream:
            return self.predict_stream(
                stream, output, reading=reading, threads=cores, keep=keep, auc=auc, on_start=on_start
            )

    def predict_stream(
        self,
        stream: DataStream | TableStream,
        output: str | os.PathLike[str],
        *,
        reading: Reading,
        threads: int,
        keep: Sequence[str] = (),
        auc: bool = False,
        first: bool = True,
        on_start: Callable[[], None] = lambda: None,
    ) -> PredictionReport:
        """Predict rows from a stream that applies the predictor's scaling; see :meth:`predict_file`.

        Parameters
        ----------
        stream : DataStream or TableStream
        output : path
        reading : Reading
        threads : int
        keep : sequence of str
        auc : bool
        first : bool
            Whether the rows begin their file. If not, their scale is not checked, there may be none, and the
            output has no header line.
        on_start : callable
        """
        from svmfast.evaluation.scale import ScaleCheck
        from svmfast.formats.target import write_atomic
        from svmfast.prefetch import prefetch

        columns = getattr(stream, "columns", None)
        if columns is not None:
            note = self.listener.note
            self.column_order.check(stream.path, columns.features, reading, note, self.model)
        report = self.report(labelled=not reading.unlabelled, auc=auc)
        scale = ScaleCheck(self.model, scaled=reading.scale is not None)

        def checked() -> Iterator[Dataset]:
            try:
                for block in prefetch(stream):
                    if not report.rows:
                        check_width(
                            reading, stream.path, self.model, block.rows, self.listener.warn, block.columns
                        )
                    scale.add(block.rows)
                    yield block
            except EmptyDataError:
                if first:
                    raise

        answers = self._answers(checked(), report, threads)
        # The first block is read and predicted before the output is opened.
        begun = next(answers, None)
        on_start()
        with write_atomic(os.fspath(output)) as out:
            writer = self._writer(out, os.fspath(output), first)
            for found, kept in chain([] if begun is None else [begun], answers):
                writer.write(found, kept)
                self.listener.progress(stream.bytes_read, stream.bytes_total, "predict")
            writer.finish()
        report.notes += [f"{stream.path}: {note}" for note in stream.notes.messages()]
        verdict = scale.verdict() if first else None
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

    def check_output(self, output: str, keep: Sequence[str], *, many: bool = False) -> None:
        """Raise OptionError if columns cannot be kept in an output of this name.

        Parameters
        ----------
        output : str
        keep : sequence of str
        many : bool
            Whether the name is an input's name with a suffix.
        """
        from svmfast.formats.answers import check_columns, check_kept, table_form

        form = table_form(output)
        if keep and form is None:
            add = "; add `suffix` .parquet" if many else ""
            raise OptionError(f"`keep` needs an output that is a table: .parquet, .arrow, .csv or .tsv{add}")
        names = self.names_for(output)
        check_kept(self.model.head, keep, names)
        check_columns(self.model.head, form, names, **self._columns())

    def names_for(self, output: str) -> Mapping[float, str] | None:
        """Return the names that replace the labels in an output of this name, if any."""
        from svmfast.formats.answers import table_form

        wanted = table_form(output) is not None if self._names is None else self._names
        return self.class_names if wanted else None

    def meaning_of_labels(self, output: str) -> str | None:
        """Return a remark on the meaning of labels, if the output has labels and the classes have names."""
        if self.class_names is None or self._names is not None or self.names_for(output) is not None:
            return None
        return f"labels stand for classes: {named_labels(self.class_names)}; `names` writes the names"

    def _columns(self) -> dict[str, bool]:
        return {
            "probability": self._probability,
            "decision_values": self._decision_values,
            "bound": self._bound,
            "certify": self._certify,
        }

    def _writer(self, out: Writer, output: str, first: bool) -> AnswerWriter:
        from svmfast.formats.answers import TableAnswers, TextAnswers, table_form

        form, names = table_form(output), self.names_for(output)
        if form is None:
            return TextAnswers(out, self.model.head, names=names, first=first, **self._columns())
        return TableAnswers(out, self.model.head, form, names=names, **self._columns())

    def _answers(
        self, blocks: Iterable[Dataset], report: PredictionReport, threads: int
    ) -> Iterator[tuple[Answer, Any]]:
        """Yield the answers for the rows of each block, with the kept columns of these rows."""
        head = self.model.head
        # The coupling of probabilities needs a k x k matrix per row.
        cells_a_row = 1 + head.n_functions + (head.n_classes**2 if self._probability else 0)
        size = max(1, CELLS // cells_a_row)
        for block in blocks:
            # Scaled rows have the width of the scaling, about whose columns there is no warning.
            named = block.columns is not None and self.scaling is None
            for start in range(0, len(block), size):
                rows, targets = block.rows[start : start + size], block.labels[start : start + size]
                found = self._answer(rows, threads=threads)
                report.add(rows, targets, found, named=named)
                yield found, None if block.kept is None else block.kept.slice(start, size)
