"""LIBSVM models as LIBSVM's text: extracted from an svmfast file, or wrapped in one with feature names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from svmfast.api.export_report import Export, ExportReport
from svmfast.display import shell_line
from svmfast.errors import OptionError, UnsupportedError
from svmfast.exports.accuracy import OWN_VECTORS, Accuracy, Printed, sample_of
from svmfast.formats.detect import model_bytes
from svmfast.formats.libsvm_model import libsvm_model_bytes, parse_libsvm_model
from svmfast.formats.ranges import ranges_bytes
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel, with_scaling
from svmfast.models.scaling import ColumnRanges, Scaling, identity
from svmfast.progress import Listener
from svmfast.rows import Rows

if TYPE_CHECKING:
    from svmfast.models.base import Model

#: Number of the model's own vectors to measure on if no rows are given.
_OWN_ROWS = 1000


def written(
    model: Model,
    names: Sequence[str],
    *,
    ranges: bool,
    rows: Rows | None,
    of: str,
    threads: int,
    listener: Listener,
    to: str,
) -> Export:
    """A model as LIBSVM's text or, with `names`, as an svmfast file that contains this text.

    `names`, which may be empty, are those of the features. `ranges` writes the scaling as a range file for
    svm-scale; without it a scaling, which would be lost, is refused. On `rows`, called `of` in messages, the
    text's values are compared with the model's. `to` is the language's name.
    """
    inner, scaling = model.unscaled.expansion, model.scaling
    if inner is None:
        raise UnsupportedError(
            f"a {model.unscaled.kind} model cannot be written as LIBSVM's text",
            "export it to c, onnx or json",
        )
    text = inside = libsvm_model_bytes(inner)
    beside = None
    if names:
        if ranges:
            raise OptionError("`feature_names` keeps the scaling in the file; leave `ranges` out")
        named = ScaledModel(inner, _named(scaling, inner, names), getattr(model, "own_provenance", None))
        text = model_bytes(named)
    else:
        beside = _ranges(scaling, listener) if ranges else None
        if not ranges and scaling is not None and not scaling.is_identity:
            raise OptionError(
                "LIBSVM's format cannot hold the model's scaling; write a range file with `ranges`"
            )
        _note_lost_names(scaling, inner, listener)
    accuracy = _measured(inner, inside, rows, scaling, of, threads)
    work = inner.multiply_adds(Rows.empty(inner.n_features))
    return Export(text, ExportReport.of(to, "double", Printed(text), accuracy, work), beside)


def _measured(
    model: KernelExpansion, text: bytes, rows: Rows | None, scaling: Scaling | None, of: str, threads: int
) -> Accuracy:
    """Compare the model that is read back from the text with the original, on rows that need `scaling`."""
    if rows is None:
        rows, scaling, of = sample_of(model.sv, _OWN_ROWS), None, OWN_VECTORS
    back, head = parse_libsvm_model(text, "the exported text")[0], model.head
    wanted, got = (with_scaling(one, scaling).decision_values(rows, threads=threads) for one in (model, back))
    labels = None
    if not head.is_regression:
        labels = int(np.count_nonzero(head.predict(got) != head.predict(wanted)))
    apart = float(np.abs(got - wanted).max(initial=0.0))
    return Accuracy(len(rows), of, labels, apart, float(np.abs(wanted).max(initial=0.0)))


def _named(scaling: Scaling | None, model: KernelExpansion, names: Sequence[str]) -> Scaling:
    """The scaling with these names, with a column for each; its effect on rows does not change."""
    known = max(model.n_features, 0 if scaling is None else len(scaling))
    # Trailing columns that are 0 in all vectors are missing from the model. A scaling that clips is not
    # widened: the new columns would be clipped as well.
    clips = scaling is not None and scaling.clip is not None and len(names) != len(scaling)
    if len(names) < known or clips:
        raise OptionError(f"{len(names)} feature names for {known} features")
    return (identity(0) if scaling is None else scaling).widened(len(names), names)


def command_for_text(model: Model, path: str) -> str | None:
    """The command that writes a scaled LIBSVM model as LIBSVM's text, or why there is none.

    Return None for other models. The path is quoted for a shell.
    """
    scaling = model.scaling
    if scaling is None or model.unscaled.expansion is None:
        return None
    words = ["svmfast", "export", path, "--to", "libsvm", "-o", "OUT"]
    if not scaling.is_identity:
        obstacle = _obstacle(scaling)
        if obstacle is not None:
            return f"none: {obstacle}"
        words += ["--ranges", "RANGES"]
    return shell_line(words)


def _obstacle(scaling: Scaling) -> str | None:
    """Why a scaling cannot be written as a range file, or None if it can."""
    if scaling.ranges is not None:
        return None
    if scaling.clip is not None:
        return "the model's scaling clips, which svm-scale does not"
    return "the model's scaling reverses columns" if (scaling.factor < 0).any() else None


def _ranges(scaling: Scaling | None, listener: Listener) -> bytes:
    """A scaling as svm-scale's range file."""
    if scaling is None or scaling.is_identity:
        raise OptionError("`ranges`: the model has no scaling")
    if scaling.ranges is not None:
        return ranges_bytes(scaling.ranges, scaling.target)
    obstacle = _obstacle(scaling)
    if obstacle is not None:
        raise UnsupportedError(obstacle, "export it to c, onnx or json")
    listener.note("svm-scale prints six digits and drops columns that its range file does not name")
    with np.errstate(divide="ignore"):
        half = np.where(scaling.factor > 0, 1 / scaling.factor, 0.0)
    return ranges_bytes(ColumnRanges(scaling.offset - half, scaling.offset + half), scaling.target)


def _note_lost_names(scaling: Scaling | None, model: KernelExpansion, listener: Listener) -> None:
    if scaling is None:
        return
    if scaling.feature_names is not None:
        listener.note("LIBSVM's format cannot hold the names of the features")
    if scaling.class_names is not None and model.head.labels is not None:
        pairs = zip(model.head.labels.tolist(), scaling.class_names, strict=True)
        listener.note(
            "labels stand for classes: " + ", ".join(f"{label} is '{name}'" for label, name in pairs)
        )
