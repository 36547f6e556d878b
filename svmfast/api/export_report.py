"""An exported file and its figures."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any

from svmfast.display import shown
from svmfast.errors import OptionError
from svmfast.exports.accuracy import OWN_VECTORS, Accuracy, Printed, labels_are, labels_differing
from svmfast.exports.languages import LANGUAGES


@dataclass(frozen=True)
class ExportReport:
    """The figures of an exported file."""

    language: str
    #: ``float`` or ``double``.
    arithmetic: str
    #: How the model was made small enough for `max_flash`.
    method: str | None
    #: Size of the file.
    bytes: int
    #: C: bytes of constant tables and of the names of classes, without the code.
    table_bytes: int | None
    #: C: upper limit of the code's bytes on the given device.
    code_bytes: int | None
    #: C: bytes of arrays on the stack while a label is computed.
    stack_bytes: int | None
    #: Multiply-adds for a dense row.
    multiply_adds: float
    #: Rows on which the exported arithmetic was compared with the model's, and what they are.
    measured_rows: int
    measured_on: str
    #: Number of these rows whose label changes; None for regression.
    labels_differing: int | None
    #: Largest difference of decision values, and largest absolute value.
    max_abs_error: float
    max_abs_value: float
    #: Rows whose label the file proves to be the exact model's; None without a certificate.
    certified: int | None
    #: Rows in the file's own test.
    test_rows: int | None

    @classmethod
    def of(
        cls,
        language: str,
        arithmetic: str,
        printed: Printed,
        found: Accuracy,
        work: float,
        *,
        method: str | None = None,
        code: int | None = None,
        test_rows: int | None = None,
    ) -> ExportReport:
        """The figures of what was printed, and found on the measured rows."""
        sizes = (len(printed.data), printed.table_bytes, code, printed.stack_bytes)
        apart = (found.labels_differing, found.largest_difference, found.largest_value, found.certain)
        return cls(language, arithmetic, method, *sizes, work, found.rows, found.of, *apart, test_rows)

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The figures as text, one per line."""
        apart = f"values differ by at most {self.max_abs_error:.2g} (largest {self.max_abs_value:.3g})"
        if self.labels_differing is not None:
            apart = f"{labels_differing(self.labels_differing)}, {apart}"
        out = [
            f"exported     {self.language}, arithmetic in {self.arithmetic}"
            + (f", made by {self.method}" if self.method else ""),
            f"measured     {self.measured_rows:,} {self.measured_on}: {apart}",
        ]
        if self.language == "libsvm" and self.measured_on == OWN_VECTORS and not self.max_abs_error:
            out = [f"exported     {self.language}"]  # the same text, and no comparison was requested
        if self.certified is not None:
            share = 100 * self.certified / max(1, self.measured_rows)
            out.append(f"certain      {labels_are(self.certified)} provably the exact model's ({share:.2f}%)")
        if self.table_bytes is not None:
            code = "and the code" if self.code_bytes is None else f"at most {self.code_bytes:,} of code"
            out.append(f"flash        {self.table_bytes:,} bytes of tables, {code}")
            out.append(f"stack        about {self.stack_bytes:,} bytes of arrays")
        out.append(f"work         {self.multiply_adds:,.0f} multiply-adds per row")
        if self.test_rows is not None:
            out.append(f"test         {self.test_rows:,} rows in the file")
        return out


@dataclass(frozen=True, eq=False)
class Export:
    """The result of :func:`svmfast.export`.

    Attributes
    ----------
    data : bytes
        The file's content.
    report : ExportReport
    ranges : bytes or None
        The range file for svm-scale, if requested.
    """

    data: bytes = field(repr=False)
    report: ExportReport
    ranges: bytes | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The content of a text file."""
        return self.data.decode()

    def save(self, path: str | os.PathLike[str], ranges: str | os.PathLike[str] | None = None) -> int:
        """Write the file, and the range file, each completely or not at all; return the size of the file.

        Raises
        ------
        OptionError
            The extension of `path` is that of another language.
        """
        from svmfast.formats.target import write_atomic

        language_for(path, self.report.language)
        if ranges is not None and self.ranges is not None:
            with write_atomic(ranges) as file:
                file.write(self.ranges)
        with write_atomic(path) as file:
            file.write(self.data)
        return file.stored


def language_for(path: str | os.PathLike[str], to: str | None) -> str:
    """The language to write to a file: `to`, else that of its extension, else C.

    Raises
    ------
    OptionError
        The extension is that of another language than `to`.
    """
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
    return to or found or "c"
