"""The result of a function that makes a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svmfast.class_scores import with_names

if TYPE_CHECKING:
    from svmfast.methods.method import Report
    from svmfast.models.base import Model


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A model and its report; unpack them with ``model, report = result``.

    Attributes
    ----------
    method : str
        The name of the corresponding command.
    model : Model or None
        None if the run only computed scores, or if no model met the request (see `refusal`).
    report : object
        The figures, with ``lines()`` and ``to_dict()``.
    refusal : str or None
        Why there is no model.
    advice : str or None
        With `refusal`: what may help.
    warnings, notes : tuple of str
        The warnings and remarks that the command prints during the run.
    seconds : float
    fallback_error : float or None
        A value for `assume_error` of :func:`svmfast.predict`, which then lets the exact model answer the
        rows near a boundary. It is statistical, not proven.
    """

    method: str
    model: Model | None
    report: Report
    refusal: str | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    fallback_error: float | None = None
    advice: str | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.report))

    def __repr__(self) -> str:
        return "\n".join([f"<svmfast {self.method}: {self.model!r}>", *self.report.lines()])

    def to_dict(self) -> dict[str, Any]:
        """The report's figures as plain types, under the names of ``--json``."""

        return {
            "command": self.method,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            **with_names(self.report.to_dict(), None if self.model is None else self.model.names_of_labels),
        }

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model; return the size of the file.

        Raises
        ------
        UnsupportedError
            There is no model.
        """
        from svmfast.errors import UnsupportedError
        from svmfast.formats.detect import save_model

        if self.model is None:
            raise UnsupportedError("there is no model to save", self.refusal or "the run only scored")
        return save_model(self.model, os.fspath(path))
