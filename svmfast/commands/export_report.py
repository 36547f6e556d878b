"""An exported file and its figures."""

from __future__ import annotations

import os
from dataclasses import dataclass

from svmfast.display import shown
from svmfast.errors import OptionError
from svmfast.exports.accuracy import Accuracy
from svmfast.exports.languages import LANGUAGES
from svmfast.figures import Figures, figure
from svmfast.methods.compress.report import CompressReport
from svmfast.pages.notebook import Shown


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
