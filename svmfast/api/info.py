"""``info`` from Python: describe a model or a data file."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from svmfast.api.given import open_model
from svmfast.api.listener import Listener
from svmfast.errors import WrongTypeError
from svmfast.evaluation.describe import describe_data, describe_model
from svmfast.models.memory import MEMORY
from svmfast.options import Reading
from svmfast.threads import thread_count


@dataclass(frozen=True, repr=False)
class Description:
    """Figures of a model or of data.

    Attributes
    ----------
    figures : dict
        By name, in the order of display; ``format`` is the kind of thing described.
    """

    figures: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        # Of models `labels` are a list of numbers.
        of_data = self.figures["format"] == "data"
        return {
            "label_rows" if key == "labels" and of_data else key: value for key, value in self.figures.items()
        }

    def lines(self) -> list[str]:
        """Return the figures as text."""
        shown = {**self.figures, **self.figures.get("scalars", {})}
        shown.pop("scalars", None)
        width = max(map(len, shown)) + 2
        return [f"{name.replace('_', ' '):<{width}}{_value(value)}" for name, value in shown.items()]


def info(
    source: Any,
    *,
    memory: int = MEMORY,
    allow_edited: bool = False,
    threads: int | None = None,
    reading: Reading | None = None,
    listener: Listener | None = None,
) -> Description:
    """Describe a model, or data.

    Parameters
    ----------
    source : path or Model
        A LIBSVM model, an svmfast model or LIBSVM data; the kind of a file is found by content.
    memory : int
        Limit on the memory for a model, in bytes; data are streamed.
    allow_edited : bool
        Read a model that was edited after svmfast wrote it, without its certificate.
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``.
    reading : Reading, optional
        The format of data.
    listener : Listener, optional

    Returns
    -------
    Description
    """
    if hasattr(source, "decision_values"):
        return Description({"format": "model", **describe_model(source)})
    if not isinstance(source, str | os.PathLike):
        raise WrongTypeError("the source", source, "a model, or the path of a model or of data")
    from svmfast.formats.detect import detect
    from svmfast.formats.replay import read_through
    from svmfast.formats.source import open_source

    heard, path = listener or Listener(), os.fspath(source)
    with open_source(path) as opened:
        kind = detect(opened)
        if kind in ("data", "empty"):
            blocks = read_through(opened, reading or Reading(), thread_count(threads), heard.progress)
            found = describe_data((block.rows, block.labels) for block in blocks)
            return Description({"path": path, "format": "data", **found})
        loaded = open_model(opened, heard.note, heard.warn, memory=memory, allow_edited=allow_edited)
    figures = describe_model(loaded.model)
    size, sha256 = loaded.n_bytes, loaded.sha256
    return Description({"path": path, "format": kind, **figures, "bytes": size, "sha256": sha256})


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
