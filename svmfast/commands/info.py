"""Describe FILE: a LIBSVM model, an svmfast model, or data.

The kind is recognized by content. For a model, info prints the type, kernel and parameters, labels, names
of classes and features, scaling, map, support vectors, provenance and size; a model inside another one,
such as that of a cascade, follows indented. For data it prints rows, features, density, labels, ranges and
the largest norm.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.command import QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.commands.functions import takes
from svmfast.options import Bounded, Reading, argument, as_reading, made
from svmfast.pages.notebook import Shown
from svmfast.progress import Listener
from svmfast.threads import thread_count
from svmfast.values import InputFile, is_path

#: How many names of classes or features the text shows; JSON has all.
LISTED = 20
#: The labels that a one-class model predicts; its file has none.
ONE_CLASS = "1 (inlier), -1 (outlier)"


@dataclass(frozen=True)
class Description(Shown):
    """Figures of a model or of data."""

    #: By name, in the order of display; ``format`` says what is described.
    figures: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def to_dict(self) -> dict[str, Any]:
        """The figures that docs/command-line.md describes."""
        return self.figures

    def lines(self) -> list[str]:
        """The figures as text."""
        # Of data, these are called labels too.
        named = {"labels" if key == "label_rows" else key: value for key, value in self.figures.items()}
        return _lines(named)


@takes(Bounded)
def info(
    source: Any,
    *,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Description:
    """Describe a model or data.

    Parameters
    ----------
    source : path, Model, fitted estimator, or rows in memory
        The kind of a file is recognized by its content. Data in memory are as for :func:`svmfast.predict`.
    {options}

    Returns
    -------
    Description
    """
    import numpy as np

    from svmfast.commands.given import data_of, model_of, open_noted_model
    from svmfast.evaluation.describe import describe_data, describe_model

    memory = made(Bounded, options).memory
    if hasattr(source, "decision_values") or hasattr(source, "get_params"):
        model, _ = model_of(source, "the model", Listener().note, memory)
        return Description({"format": "model", **describe_model(model)})
    if not is_path(source):
        rows, labels = data_of(source, reading=as_reading(reading), labelled=True)
        found = describe_data([(rows, np.full(len(rows), np.nan) if labels is None else labels)])
        return Description({"format": "data", **found})
    from svmfast.formats.data import read_through
    from svmfast.formats.detect import detect
    from svmfast.formats.source import open_source

    listener, path = listener or Listener(), os.fspath(source)
    with open_source(path) as opened:
        kind = detect(opened)
        if kind in ("data", "empty"):
            blocks = read_through(opened, as_reading(reading), thread_count(threads), listener.progress)
            found = describe_data((block.rows, block.labels) for block in blocks)
            return Description({"path": path, "format": "data", **found})
        loaded = open_noted_model(opened, listener.note, memory=memory)
    found = describe_model(loaded.model)
    return Description(
        {"path": path, "format": kind, **found, "bytes": loaded.n_bytes, "sha256": loaded.sha256}
    )


def _lines(figures: Mapping[str, Any]) -> list[str]:
    """Figures as text, a line for each; those of a part are indented."""
    width, found = max(map(len, figures), default=0) + 2, []
    for name, value in figures.items():
        head = name.replace("_", " ")
        if name == "labels" and figures.get("svm_type") == "one_class":
            value = ONE_CLASS
        if isinstance(value, Mapping) and value:
            found += [head, *(f"  {line}" for line in _lines(value))]
        else:
            found.append(f"{head:<{width}}{_words(value)}")
    return found


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and value:
        texts = [f"{one:.6g}" if isinstance(one, float) else str(one) for one in value]
        if isinstance(value[0], dict):
            texts = [f"{one['label']:g} ({one['rows']:,} rows)" for one in value]
        more = len(texts) - LISTED if isinstance(value[0], str) else 0
        text = (", " if isinstance(value[0], str) else " ").join(texts[:LISTED] if more > 0 else texts)
        return text + (f" and {more:,} more" if more > 0 else "")
    return str(value or "-")


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read."""

    file: str = argument(InputFile())


def run(front: Any, file: str, **options: Any) -> None:
    """Print the description of a file."""
    front.report(front.call(info, file, **options))


COMMAND = Verb(
    **listed("info"),
    description=__doc__,
    takes=(Files, Bounded),
    run=run,
    reports=("svmfast.evaluation.describe:ModelDescription", "svmfast.evaluation.describe:DataDescription"),
    quiet=QUIET_BUT_REPORT,
)
