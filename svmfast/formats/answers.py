"""The columns of an output of predict, and its writers: svm-predict's text, or a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from svmfast.display import named_labels, repeated, shown
from svmfast.errors import OptionError
from svmfast.formats.packing import ENDINGS
from svmfast.formats.target import Writer
from svmfast.models.answer import Answer, name_places
from svmfast.models.head import Head
from svmfast.models.requirements import LABELS, Columns
from svmfast.rows import BoolArray, FloatArray

TableForm = Literal["parquet", "arrow", "csv", "tsv", "jsonl"]

_FORMS: dict[str, TableForm] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_TABLES = ".parquet, .arrow, .csv, .tsv or .jsonl"
#: Endings of other formats, which text must not have.
_FOREIGN = {
    *(".json", ".xml", ".html", ".yaml", ".yml"),
    *(".xlsx", ".xls", ".xlsm", ".ods", ".orc", ".avro", ".h5", ".hdf5"),
    *(".npy", ".npz", ".mat", ".pkl", ".pickle", ".rds", ".sqlite", ".db"),
}


def table_form(path: str | os.PathLike[str]) -> TableForm | None:
    """The table format that the name of an output selects; None for svm-predict's text.

    An OptionError: the name promises a format that is not written.
    """
    inner, end = _endings(path)
    form = _FORMS.get(inner)
    if inner in _FOREIGN or (end and form in ("parquet", "arrow")):
        raise OptionError(
            f"predictions are not written as {inner}{end} ('{shown(os.fspath(path))}'); "
            f"expected {_TABLES} for a table, or for text another ending"
        )
    return form


def check_text(path: str | os.PathLike[str], what: str) -> None:
    """Raise OptionError if the name of an output, which will be LIBSVM's text, promises another format."""
    inner, end = _endings(path)
    if inner in _FORMS or inner in _FOREIGN:
        raise OptionError(
            f"{what} are not written as {inner}{end} ('{shown(os.fspath(path))}'); "
            "expected another ending: they are LIBSVM's text"
        )


def _endings(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The ending of a name in small letters, and that of compression behind it, or nothing."""
    name = os.fspath(path).lower()
    end = next((end for end in ENDINGS if name.endswith(end)), "")
    return os.path.splitext(name.removesuffix(end))[1], end


@dataclass(frozen=True)
class OutputColumns:
    """The columns of the outputs of one predictor, which are as for :class:`svmfast.Predictor`.

    `class_names` has the name of each label, if the model has names; `names` writes them in place of labels,
    None in tables only. `nulls`: rows may be without a prediction.
    """

    head: Head = field(repr=False)
    class_names: Mapping[float, str] | None
    names: bool | None = None
    columns: Columns = LABELS
    nulls: bool = False

    def __post_init__(self) -> None:
        if self.names and self.class_names is None:
            raise OptionError(
                "`names`: the classes of `model` have no names; a model imported from scikit-learn has them "
                "if its classes are not integers"
            )

    def check(self, output: str, keep: Sequence[str], *, many: bool = False) -> None:
        """Raise OptionError if an output of this name cannot have these columns, and those to keep.

        `many`: the name is an input's name with a suffix.
        """
        form, names = table_form(output), self.names_for(output)
        if form is None and (keep or self.nulls):
            what, add = "`keep`" if keep else "`on_null` keep", "; add `suffix` .parquet" if many else ""
            raise OptionError(f"{what} needs an output that is a table: {_TABLES}{add}")
        if form in ("csv", "tsv") and self.nulls and self.columns == LABELS and not keep:
            raise OptionError(
                "`on_null` keep: readers of CSV skip a line whose only cell is empty; `keep` another column, "
                "or write another format"
            )
        own = {"label", "inside", "certified", "error_bound"}
        own.update(pair_names(self.head, names) if keep else (), probability_names(self.head, names))
        for name in keep:
            if name in own:
                raise OptionError(f"`keep` names '{name}', which is the name of a column of predictions")
        if names is not None:
            self._check_names(form, names)

    def _check_names(self, form: TableForm | None, names: Mapping[float, str]) -> None:
        """Raise OptionError if the class names would make the output ambiguous.

        They are part of a table's column names, which must differ; in text, spaces separate the columns.
        """
        written = names if form is not None else {label: shown(name) for label, name in names.items()}
        if form is None:
            for name in names.values() if self.columns != LABELS else ():
                if not name or any(map(str.isspace, name)):
                    raise OptionError(
                        f"`names`: the class '{shown(name)}' is not a single word, and spaces separate "
                        "the columns; write a table (.csv, .parquet), or labels"
                    )
            again = repeated(written.values())  # escapes can make two names one
            if again is not None:
                raise OptionError(
                    f"two classes would be written as '{again}'; write a table, or labels (`no_names`)"
                )
        columns = pair_names(self.head, written) if self.columns.decision_values else []
        columns += probability_names(self.head, written) if self.columns.probability else []
        again = repeated(columns)
        if again is not None:
            raise OptionError(f"two columns would be called '{shown(again)}'; write labels (`no_names`)")

    def names_for(self, output: str) -> Mapping[float, str] | None:
        """The names that replace the labels in an output of this name, if any."""
        wanted = table_form(output) is not None if self.names is None else self.names
        return self.class_names if wanted else None

    def meaning_of_labels(self, output: str) -> str | None:
        """A remark on the meaning of labels, if the output has labels and the classes have names."""
        if self.class_names is None or self.names is not None or self.names_for(output) is not None:
            return None
        return f"labels stand for classes: {named_labels(self.class_names)}; `names` writes the names"

    def header(self, names: Mapping[float, str] | None) -> bytes:
        """The first line of a text, or nothing if svm-predict writes none.

        With probabilities, the line starts with ``labels 1 -1`` in the model's order, or with
        ``label normal outlier``; without them, with ``label``. Decision values add the names of
        :func:`pair_names`, the bound adds ``bound``, and the certificate adds
        ``certified error_bound``.
        """
        head, columns = self.head, self.columns
        outcomes = _outcomes(head, names) if columns.probability else []
        if not outcomes and columns in (LABELS, Columns(probability=True)):
            return b""
        words = ["labels" if outcomes and head.labels is not None else "label", *outcomes]
        words += pair_names(head, names) if columns.decision_values else []
        words += ["bound"] if columns.bound else []
        words += ["certified", "error_bound"] if columns.certify else []
        return (" ".join(words) + "\n").encode()

    def writer(self, out: Writer, output: str) -> TextAnswers | TableAnswers:
        """The writer for an output of this name."""
        form, names = table_form(output), self.names_for(output)
        return TextAnswers(out, self, names) if form is None else TableAnswers(out, self, names, form)


def _outcomes(head: Head, names: Mapping[float, str] | None) -> list[str]:
    """What the probabilities of a row are of: a classifier's classes, by label if there are no `names`."""
    if head.labels is None:
        return [] if head.is_regression else ["normal", "outlier"]
    return [str(int(label)) if names is None else names[label] for label in head.labels.tolist()]


def probability_names(head: Head, names: Mapping[float, str] | None) -> list[str]:
    """The names of a table's columns of probabilities."""
    return [f"probability {outcome}" for outcome in _outcomes(head, names)]


def pair_names(head: Head, names: Mapping[float, str] | None = None) -> list[str]:
    """A name for each decision function: ``1/-1`` (positive means 1), else ``decision``.

    The pairs are in LIBSVM's order: (1,2), (1,3), ..., (2,3), ... over the model's labels. One-vs-rest models
    have one function for each label instead: ``1/rest``. With `names`: ``setosa/virginica``.
    """
    if head.labels is None:
        return ["decision"]
    labels = _outcomes(head, names)
    if head.one_vs_rest:
        return [f"{label}/rest" for label in labels]
    return [f"{a}/{b}" for i, a in enumerate(labels) for b in labels[i + 1 :]]


def lines(
    found: Answer,
    columns: Columns = LABELS,
    *,
    labels: Sequence[float] | None = None,
    class_names: Mapping[float, str] | None = None,
) -> bytes:
    """The lines of text for an answer.

    Labels are printed as ``%.17g``; with probabilities, both are printed as ``%g``, six digits, as
    svm-predict does. Decision values always have 17 digits. `labels` are the values that a label can take, if
    they are few; each is formatted only once. The other columns are ``inside`` or ``outside``; ``yes`` or
    ``no`` for `certified`, ``-`` if there are only error bounds; and the error bounds with six digits. Names
    are printed instead of labels.
    """
    n = len(found)
    if not n:
        return b""
    blocks: list[tuple[str, Any]] = []  # columns after the label, and the format of their values
    if found.probabilities is not None:
        blocks.append(("%g", found.probabilities))
    if columns.decision_values:
        blocks.append(("%.17g", found.decisions))
    if found.inside is not None:
        blocks.append(("%s", np.where(found.inside, "inside", "outside")[:, None]))
    if columns.certify and found.error_bounds is not None:
        certified = np.full(n, "-") if found.certified is None else np.where(found.certified, "yes", "no")
        # Rounded up, so that the printed number is still a bound.
        blocks += [("%s", certified[:, None]), ("%.6g", (found.error_bounds * (1 + 1e-5))[:, None])]
    first = "%.17g" if found.probabilities is None else "%g", found.predicted[:, None]
    if class_names is not None:
        known, places = name_places(class_names, found.predicted)
        words = np.array(known, dtype=object)[places]
        if not blocks:
            return ("\n".join(words.tolist()) + "\n").encode()
        first = "%s", words[:, None]
    elif labels is not None and not blocks:
        return _label_lines(found.predicted, np.asarray(labels, dtype=np.float64))
    blocks.insert(0, first)
    row = " ".join(form for form, block in blocks for _ in range(block.shape[1])) + "\n"
    values = np.concatenate([block.astype(object) for _, block in blocks], axis=1)
    return (row * n % tuple(values.ravel().tolist())).encode()


def _label_lines(predicted: FloatArray, labels: FloatArray) -> bytes:
    ordered = np.sort(labels)
    table = np.array([b"%.17g\n" % label for label in ordered.tolist()])
    # Fixed-width fields padded with NUL, which no number contains: one gather, one pass to remove the NULs.
    return table[np.searchsorted(ordered, predicted)].tobytes().translate(None, b"\0")


class TextAnswers:
    """svm-predict's text, written block by block.

    `names`, if any, are written instead of the labels.
    """

    def __init__(self, out: Writer, output: OutputColumns, names: Mapping[float, str] | None) -> None:
        self._out, self._columns, head = out, output.columns, output.head
        # Escaped, so that no name contains a line end.
        self._names = None if names is None else {label: shown(name) for label, name in names.items()}
        # The values that a label can have; regression has no such list.
        self._labels: Sequence[float] | None = None
        if not head.is_regression:
            self._labels = (1.0, -1.0) if head.labels is None else head.labels.tolist()
        out.write(output.header(self._names))

    def write(self, found: Answer, kept: Any = None, missing: BoolArray | None = None) -> None:
        """Append lines; text has no columns to keep, and no nulls."""
        self._out.write(lines(found, self._columns, labels=self._labels, class_names=self._names))
        self._out.flush()

    def finish(self) -> None:
        """Do nothing: all lines have been written."""


class TableAnswers:
    """A table with the column ``label``, the other requested columns, and the columns to keep."""

    def __init__(
        self, out: Writer, output: OutputColumns, names: Mapping[float, str] | None, form: TableForm
    ) -> None:
        from svmfast.formats.table_output import TableOutput

        self._head, self._certify, self._names = output.head, output.columns.certify, names
        self._values = pair_names(self._head, names) if output.columns.decision_values else []
        self._outcomes = probability_names(self._head, names) if output.columns.probability else []
        self._table = TableOutput(out, form)

    def write(self, found: Answer, kept: Any = None, missing: BoolArray | None = None) -> None:
        """Append rows, of nulls for those that are missing in the answer."""
        predicted = found.predicted
        label: Any = predicted if self._head.is_regression else predicted.astype(np.int64)
        if self._names is not None:
            label = self._table.words(*name_places(self._names, predicted))
        columns: dict[str, Any] = {"label": label}
        if self._values:
            columns |= dict(zip(self._values, found.decisions.T, strict=True))
        if found.probabilities is not None:
            columns |= dict(zip(self._outcomes, found.probabilities.T, strict=True))
        if found.inside is not None:
            columns["inside"] = found.inside
        if self._certify and found.error_bounds is not None:
            columns |= {"certified": found.certified, "error_bound": found.error_bounds}
        self._table.write(columns, len(predicted), kept, missing)

    def finish(self) -> None:
        """Write the remaining rows, and the end of the table."""
        self._table.finish()
