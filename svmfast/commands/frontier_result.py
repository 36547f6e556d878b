"""The result of ``frontier``, and its files: the reports and the recommended model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from svmfast.errors import UnsupportedError
from svmfast.formats.model_files import load_model
from svmfast.frontiers import report
from svmfast.frontiers.html import as_html, notebook_parts
from svmfast.frontiers.report import Frontier
from svmfast.frontiers.run import FrontierRun
from svmfast.frontiers.words import verdict
from svmfast.models.base import Model
from svmfast.pages.notebook import Shown


@dataclass(frozen=True, eq=False)
class FrontierResult(Shown):
    """The result of ``frontier``."""

    #: Every measured model, the limits, and the recommendation.
    report: Frontier
    #: The folder of the models and reports.
    folder: str
    #: The recommended model's file; None if no model meets the limits.
    recommended: str | None

    def printed(self) -> list[str]:
        return [*self.table(), *self.lines()]

    def heading(self) -> str:
        return report.title(self.report)

    def html(self) -> list[str]:
        return notebook_parts(self.report)

    def table(self) -> list[str]:
        """The table of the models as text."""
        return self.report.lines()

    def lines(self) -> list[str]:
        """The recommendation as text."""
        return verdict(self.report)

    def to_dict(self) -> dict[str, Any]:
        """The figures that docs/command-line.md describes."""
        return self.report.to_dict()

    def model(self) -> Model:
        """The recommended model; raises UnsupportedError if there is none."""
        if self.recommended is None:
            raise UnsupportedError("no model meets the limits", "nothing is recommended")
        return load_model(self.recommended)


def write_results(
    found: Frontier,
    run: FrontierRun,
    document: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> FrontierResult:
    """Write the reports and the recommended model; `document` makes the content of report.json."""
    folder, best = run.folder, found.recommended
    # Scripts rely on this name, whatever the model is; that of an earlier run is gone (RunFolder.open).
    place = folder.path / "recommended"
    if best is not None:
        folder.write_bytes(place.name, run.measured.content(best))
        found = replace(found, copy=os.fspath(place))
    folder.write_bytes("report.html", as_html(found))
    folder.write("report.json", document(found.to_dict()))
    return FrontierResult(found, os.fspath(folder.path), found.copy)
