"""An exported file and its figures."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from svmfast.display import shown
from svmfast.errors import OptionError
from svmfast.exports.accuracy import OWN_VECTORS, Accuracy, Printed, labels_are, labels_differing
from svmfast.exports.languages import LANGUAGES
from svmfast.figures import Figures, figure


@dataclass(frozen=True, kw_only=True)
class ExportReport(Figures):
    """The figures of an exported file."""

    language: str = figure("The language of the file.")
    arithmetic: str = figure("Precision of the exported arithmetic: float or double.")
    method: str | None = figure("How the model was made small enough for the flash limit.")
    bytes: int = figure("Size of the file written.")
    table_bytes: int | None = figure("Constant tables and class names of a C file, without its code.")
    code_bytes: int | None = figure("Most bytes of a C file's code on the device.")
    stack_bytes: int | None = figure("Arrays on the stack while a C file computes a label.")
    multiply_adds: float = figure("Multiply-adds for a dense row.")
    measured_rows: int = figure("Rows on which the exported arithmetic was compared with the model's.")
    measured_on: str = figure("The origin of those rows, in words.")
    labels_differing: int | None = figure("Rows whose label differs from the model's; null for regression.")
    max_abs_error: float = figure("Largest difference of a decision value from the model's.")
    max_abs_value: float = figure("Largest absolute decision value.")
    certified: int | None = figure("Rows whose label the file proves; null without a certificate.")
    test_rows: int | None = figure("Rows in the file's own test.")

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
        return cls(
            language=language,
            arithmetic=arithmetic,
            method=method,
            bytes=len(printed.data),
            table_bytes=printed.table_bytes,
            code_bytes=code,
            stack_bytes=printed.stack_bytes,
            multiply_adds=work,
            measured_rows=found.rows,
            measured_on=found.of,
            labels_differing=found.labels_differing,
            max_abs_error=found.largest_difference,
            max_abs_value=found.largest_value,
            certified=found.certain,
            test_rows=test_rows,
        )

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
    """The language to write to a file: `to`, else that of its extension, else C."""
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
