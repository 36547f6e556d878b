"""``info`` from Python: describe a model or a data file."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from svmfast.api.functions import takes
from svmfast.api.given import open_model
from svmfast.errors import WrongTypeError
from svmfast.evaluation.describe import describe_data, describe_model
from svmfast.options import MemoryOfModels, Reading, made
from svmfast.progress import Listener
from svmfast.threads import thread_count

#: Figures that list a model's names, and how many names the text shows; JSON has all.
_NAMES, LISTED_NAMES = ("class_names", "feature_names"), 20
#: The labels that a one-class model predicts; its file has none.
ONE_CLASS = "1 (inlier), -1 (outlier)"
#: Figures that are those of a model inside another one.
_INSIDE = ("model", "fast")


@dataclass(frozen=True, repr=False)
class Description:
    """Figures of a model or of data."""

    #: By name, in the order of display; ``format`` says what is described.
    figures: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """The figures that docs/json.md describes."""
        return self.figures

    def lines(self) -> list[str]:
        """The figures as text: a line for each; those of a model inside another one are indented."""
        # Of data, these are called labels too.
        named = {"labels" if key == "label_rows" else key: value for key, value in self.figures.items()}
        return _lines(named, {})


@takes(MemoryOfModels)
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
    source : path or Model
        A LIBSVM model, an svmfast model or LIBSVM data; the kind of a file is recognized by its content.
    {options}

    Returns
    -------
    Description
    """
    memory = made(MemoryOfModels, options).memory
    if hasattr(source, "decision_values"):
        return Description({"format": "model", **describe_model(source)})
    if not isinstance(source, str | os.PathLike):
        raise WrongTypeError("the source", source, "a model, or the path of a model or of data")
    from svmfast.formats.data import read_through
    from svmfast.formats.detect import detect
    from svmfast.formats.source import open_source

    listener, path = listener or Listener(), os.fspath(source)
    with open_source(path) as opened:
        kind = detect(opened)
        if kind in ("data", "empty"):
            blocks = read_through(opened, reading or Reading(), thread_count(threads), listener.progress)
            found = describe_data((block.rows, block.labels) for block in blocks)
            return Description({"path": path, "format": "data", **found})
        loaded = open_model(opened, listener.note, memory=memory)
    found = describe_model(loaded.model)
    return Description(
        {"path": path, "format": kind, **found, "bytes": loaded.n_bytes, "sha256": loaded.sha256}
    )


def instruction_set() -> str:
    """The instruction set that the native core uses here: ``baseline``, ``avx2`` or ``avx512``."""
    from svmfast.solvers import arithmetic

    return arithmetic.instruction_set()


def _lines(figures: dict[str, Any], outside: dict[str, Any]) -> list[str]:
    """Figures as text; those that a model around this one has too are left out, except the kind."""
    known = {**outside, **figures}
    inside = {name: figures[name] for name in _INSIDE if isinstance(figures.get(name), dict)}
    shown: dict[str, Any] = {}
    for name, value in figures.items():
        if name in ("scalars", *inside) or (name != "kind" and outside.get(name, ...) == value):
            continue
        shown[name] = value
        if name == "scaling":
            # Names of classes and features may hold spaces, so they are apart.
            shown[name] = {key: item for key, item in value.items() if key not in _NAMES}
            for key in _NAMES:
                if value[key] is not None:
                    more = len(value[key]) - LISTED_NAMES
                    tail = f" and {more:,} more" if more > 0 else ""
                    shown[key] = ", ".join(value[key][:LISTED_NAMES]) + tail
    for name, value in figures.get("scalars", {}).items():
        if (name, value) != ("n_features", known["features"]):
            shown[name] = value
    if "labels" in shown and known.get("svm_type") == "one_class":
        shown["labels"] = ONE_CLASS
    width = max(map(len, shown)) + 2
    found = [f"{name.replace('_', ' '):<{width}}{_value(value)}" for name, value in shown.items()]
    for name, model in inside.items():
        found += [name, *(f"  {line}" for line in _lines(model, known))]
    return found


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(item)}" for name, item in value.items()) or "-"
    if isinstance(value, list):
        return " ".join(_item(item) for item in value) or "-"
    return str(value)


def _item(item: Any) -> str:
    if isinstance(item, dict):
        return f"{item['label']:g} ({item['rows']:,} rows)"
    return f"{item:.6g}" if isinstance(item, float) else str(item)
