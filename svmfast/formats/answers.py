"""Writers of answers: svm-predict's text, or a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from svmfast.display import repeated, shown
from svmfast.errors import OptionError
from svmfast.formats import predictions
from svmfast.formats.packing import ENDINGS
from svmfast.formats.target import Writer
from svmfast.models.answer import Answer, name_places
from svmfast.models.head import Head
from svmfast.rows import FloatArray

TableForm = Literal["parquet", "arrow", "csv", "tsv"]

_FORMS: dict[str, TableForm] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
}
#: Endings of other formats, which text must not have.
_FOREIGN = {
    *(".json", ".jsonl", ".ndjson", ".xml", ".html", ".yaml", ".yml"),
    *(".xlsx", ".xls", ".xlsm", ".ods", ".orc", ".avro", ".h5", ".hdf5"),
    *(".npy", ".npz", ".mat", ".pkl", ".pickle", ".rds", ".sqlite", ".db"),
}


def table_form(path: str | os.PathLike[str]) -> TableForm | None:
    """Return the table format that the name of an output selects; None for svm-predict's text.

    Raises
    ------
    OptionError
        The name promises a format that is not written.
    """
    name = os.fspath(path).lower()
    end = next((end for end in ENDINGS if name.endswith(end)), "")
    inner = os.path.splitext(name.removesuffix(end))[1]
    form = _FORMS.get(inner)
    if inner in _FOREIGN or (end and form not in (None, "csv", "tsv")):
        raise OptionError(
            f"predictions are not written as {inner}{end} ('{shown(os.fspath(path))}'); "
            "expected .parquet, .arrow, .csv or .tsv for a table, or for text another ending"
        )
    return form


def check_kept(head: Head, keep: Sequence[str], names: Mapping[float, str] | None = None) -> None:
    """Raise OptionError if a column to be kept has a name that a column of predictions can have."""
    own = {"label", "inside", "certified", "error_bound"} if keep else set()
    own.update(predictions.pair_names(head, names) if keep else (), _outcomes(head, names))
    for name in keep:
        if name in own:
            raise OptionError(f"`keep` names '{name}', which is the name of a column of predictions")


def check_columns(
    head: Head,
    form: TableForm | None,
    names: Mapping[float, str] | None,
    *,
    probability: bool,
    decision_values: bool,
    bound: bool,
    certify: bool,
) -> None:
    """Raise OptionError if the class names would make the output ambiguous.

    They are part of a table's column names, which must differ; in text, spaces separate the columns.
    """
    if names is None:
        return
    written = names if form is not None else {label: shown(name) for label, name in names.items()}
    if form is None:
        if probability or decision_values or bound or certify:
            for name in names.values():
                if not name or any(map(str.isspace, name)):
                    raise OptionError(
                        f"`names`: the class '{shown(name)}' is not a single word, and spaces separate the "
                        "columns; write a table (.csv, .parquet), or labels"
                    )
        again = repeated(written.values())  # escapes can make two names one
        if again is not None:
            raise OptionError(
                f"two classes would be written as '{again}'; write a table, or labels (`no_names`)"
            )
    columns = predictions.pair_names(head, written) if decision_values else []
    columns += _outcomes(head, written) if probability else []
    again = repeated(columns)
    if again is not None:
        raise OptionError(f"two columns would be called '{shown(again)}'; write labels (`no_names`)")


def _outcomes(head: Head, names: Mapping[float, str] | None = None) -> list[str]:
    """Return the names of the columns of probabilities."""
    if head.is_regression:
        return []
    outcomes = ["normal", "outlier"] if head.labels is None else predictions.class_words(head, names)
    return [f"probability {outcome}" for outcome in outcomes]


class AnswerWriter(Protocol):
    """The interface of writers of answers."""

    def write(self, found: Answer, kept: Any = None) -> None:
        """Append the answers for some rows, and the columns to keep (a pyarrow.RecordBatch)."""

    def finish(self) -> None:
        """Write what has not been written yet."""


class TextAnswers:
    """svm-predict's text, written block by block.

    Parameters
    ----------
    out : Writer
    head : Head
    probability, decision_values, bound, certify : bool
        The requested columns.
    names : mapping of float to str, optional
        The name of each label, written instead of the label.
    first : bool
        Whether to write the header line, before the first rows.
    """

    def __init__(
        self,
        out: Writer,
        head: Head,
        *,
        probability: bool,
        decision_values: bool,
        bound: bool,
        certify: bool,
        names: Mapping[float, str] | None = None,
        first: bool = True,
    ) -> None:
        self._out, self._decision_values, self._certify = out, decision_values, certify
        # Escaped, so that no name contains a line end.
        self._names = None if names is None else {label: shown(name) for label, name in names.items()}
        # The values that a label can have; regression has no such list.
        self._labels: Sequence[float] | None = None
        if not head.is_regression:
            self._labels = (1.0, -1.0) if head.labels is None else head.labels.tolist()
        if first:
            out.write(
                predictions.header(
                    head,
                    probability=probability,
                    decision_values=decision_values,
                    bound=bound,
                    certify=certify,
                    class_names=self._names,
                )
            )

    def write(self, found: Answer, kept: Any = None) -> None:
        """Append lines."""
        self._out.write(
            predictions.lines(
                found.predicted,
                labels=self._labels,
                probabilities=found.probabilities,
                decisions=found.decisions if self._decision_values else None,
                inside=found.inside,
                certified=found.certified if self._certify else None,
                error_bounds=found.error_bounds if self._certify else None,
                class_names=self._names,
            )
        )
        self._out.flush()

    def finish(self) -> None:
        """Do nothing: all lines have been written."""


class TableAnswers:
    """A table with the column ``label``, the other requested columns, and the columns to keep.

    Parameters
    ----------
    out : Writer
    head : Head
    form : {"parquet", "arrow", "csv", "tsv"}
    probability, decision_values, bound, certify : bool
    names : mapping of float to str, optional
        The name of each label, written instead of the label.
    """

    def __init__(
        self,
        out: Writer,
        head: Head,
        form: TableForm,
        *,
        probability: bool,
        decision_values: bool,
        bound: bool,
        certify: bool,
        names: Mapping[float, str] | None = None,
    ) -> None:
        from svmfast.formats.table_output import TableOutput

        self._head, self._certify = head, certify
        self._names = names
        self._values = predictions.pair_names(head, self._names) if decision_values else []
        self._outcomes = _outcomes(head, self._names) if probability else []
        self._table = TableOutput(out, form)

    def write(self, found: Answer, kept: Any = None) -> None:
        """Append rows."""
        predicted = found.predicted
        columns: dict[str, Any] = {"label": self._labels(predicted)}
        if self._values:
            columns |= dict(zip(self._values, found.decisions.T, strict=True))
        if found.probabilities is not None:
            columns |= dict(zip(self._outcomes, found.probabilities.T, strict=True))
        if found.inside is not None:
            columns["inside"] = found.inside
        if self._certify and found.error_bounds is not None:
            columns |= {"certified": found.certified, "error_bound": found.error_bounds}
        self._table.write(columns, len(predicted), kept)

    def _labels(self, predicted: FloatArray) -> Any:
        import numpy as np

        if self._names is not None:
            return self._table.words(*name_places(self._names, predicted))
        return predicted if self._head.is_regression else predicted.astype(np.int64)

    def finish(self) -> None:
        """Write the remaining rows, and the end of the table."""
        self._table.finish()
