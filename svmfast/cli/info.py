"""``svmfast info``: what any model or data file is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from svmfast.cli import options
from svmfast.cli.files import Input
from svmfast.cli.json_report import show
from svmfast.cli.messages import lines
from svmfast.cli.options import DataFormat

if TYPE_CHECKING:
    from svmfast.formats.source import Source


@click.command("info")
@click.argument("file", type=Input())
@options.as_json
@options.quiet_but_report
@options.model_memory
@options.allow_edited
@options.rows_format
@options.jobs
def command(
    file: str, as_json: bool, quiet: bool, memory: int, allow_edited: bool, how: DataFormat, jobs: int
) -> None:
    """Tell what FILE is: a LIBSVM model, a svmfast model, or LIBSVM data.

    The kind is found by content. For a model: type, kernel and parameters, labels, support vectors or arrays,
    size, where it comes from. For data: rows, features, density, labels, ranges, the largest norm.
    """
    from svmfast.formats.detect import detect
    from svmfast.formats.source import open_source

    with open_source(file) as source:
        kind = detect(source)
        if kind in ("data", "empty"):
            said = _data(source, how, quiet, jobs)
        else:
            said = _model(source, kind, memory, quiet, allow_edited)
    said = {"path": file, **said}
    if as_json:
        # Of models `labels` are a list of numbers.
        show(
            {
                "label_rows" if key == "labels" and said["format"] == "data" else key: value
                for key, value in said.items()
            }
        )
    else:
        lines(_lines(said))


def _model(source: Source, kind: str, memory: int, quiet: bool, allow_edited: bool) -> dict[str, Any]:
    from svmfast.cli.inputs import open_model
    from svmfast.evaluation.describe import describe_model

    loaded = open_model(source, memory, quiet, allow_edited=allow_edited)
    return {
        "format": kind,
        **describe_model(loaded.model),
        "bytes": loaded.n_bytes,
        "sha256": loaded.sha256,
    }


def _data(source: Source, how: DataFormat, quiet: bool, jobs: int) -> dict[str, Any]:
    from svmfast.cli.inputs import read_through
    from svmfast.cli.progress import progress_bar
    from svmfast.evaluation.describe import describe_data

    with progress_bar(quiet) as progress:
        blocks = read_through(source, how, jobs, progress)
        return {"format": "data", **describe_data((block.rows, block.labels) for block in blocks)}


def _lines(said: dict[str, Any]) -> list[str]:
    said = {**said, **said.get("scalars", {})}
    said.pop("scalars", None)
    width = max(map(len, said)) + 2
    return [f"{name.replace('_', ' '):<{width}}{_value(value)}" for name, value in said.items()]


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
