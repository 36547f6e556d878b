"""What the output of a prediction contains besides labels, as text or as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svmfast.display import named_labels
from svmfast.errors import OptionError

if TYPE_CHECKING:
    from svmfast.formats.answers import AnswerWriter
    from svmfast.formats.target import Writer
    from svmfast.models.head import Head


@dataclass(frozen=True)
class OutputColumns:
    """The columns of the outputs of one predictor.

    Attributes
    ----------
    head : Head
        The model's.
    class_names : mapping of float to str, or None
        The name of each label, if the model has names.
    names : bool or None
        Write them in place of labels; None: in tables only.
    probability, decision_values, bound, certify : bool
        As for :class:`svmfast.Predictor`.

    Raises
    ------
    OptionError
        `names` without names.
    """

    head: Head = field(repr=False)
    class_names: Mapping[float, str] | None
    names: bool | None = None
    probability: bool = False
    decision_values: bool = False
    bound: bool = False
    certify: bool = False

    def __post_init__(self) -> None:
        if self.names and self.class_names is None:
            raise OptionError(
                "`names`: the classes of `model` have no names; a model imported from scikit-learn has them "
                "if its classes are not integers"
            )

    def check(self, output: str, keep: Sequence[str], *, many: bool = False) -> None:
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
        check_kept(self.head, keep, names)
        check_columns(self.head, form, names, **self._flags())

    def names_for(self, output: str) -> Mapping[float, str] | None:
        """Return the names that replace the labels in an output of this name, if any."""
        from svmfast.formats.answers import table_form

        wanted = table_form(output) is not None if self.names is None else self.names
        return self.class_names if wanted else None

    def meaning_of_labels(self, output: str) -> str | None:
        """Return a remark on the meaning of labels, if the output has labels and the classes have names."""
        if self.class_names is None or self.names is not None or self.names_for(output) is not None:
            return None
        return f"labels stand for classes: {named_labels(self.class_names)}; `names` writes the names"

    def writer(self, out: Writer, output: str, *, first: bool) -> AnswerWriter:
        """Return the writer for an output of this name; `first`: the rows are the first of their file."""
        from svmfast.formats.answers import TableAnswers, TextAnswers, table_form

        form, names = table_form(output), self.names_for(output)
        if form is None:
            return TextAnswers(out, self.head, names=names, first=first, **self._flags())
        return TableAnswers(out, self.head, form, names=names, **self._flags())

    def _flags(self) -> dict[str, bool]:
        return {
            "probability": self.probability,
            "decision_values": self.decision_values,
            "bound": self.bound,
            "certify": self.certify,
        }
