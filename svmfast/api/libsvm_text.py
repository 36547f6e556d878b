"""LIBSVM models as LIBSVM's text: extracted from an svmfast file, or wrapped in one with feature names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from svmfast.display import shell_line
from svmfast.errors import OptionError, UnsupportedError
from svmfast.exports.accuracy import OWN_ROWS, OWN_VECTORS, Accuracy, sample_of
from svmfast.formats.detect import model_bytes
from svmfast.formats.libsvm_model import libsvm_model_bytes, parse_libsvm_model
from svmfast.formats.ranges import ranges_bytes
from svmfast.models.scaled import ScaledModel, with_scaling
from svmfast.models.scaling import ColumnRanges, Scaling, identity
from svmfast.progress import Listener
from svmfast.rows import Rows

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion

_INSTEAD = "export it to c, onnx or json"


def libsvm_text(
    model: Model, names: Sequence[str], *, ranges: bool, listener: Listener
) -> tuple[bytes, bytes | None]:
    """A model as LIBSVM's text or, with `names` of the features, as an svmfast file that contains this text.

    With `ranges`, also the scaling as a range file for svm-scale; without it a scaling, which would be lost,
    is refused.
    """
    inner, scaling = _expansion(model), model.scaling
    if names:
        if ranges:
            raise OptionError("`feature_names` keeps the scaling in the file; leave `ranges` out")
        named = _named(scaling, inner, names)
        return model_bytes(ScaledModel(inner, named, getattr(model, "own_provenance", None))), None
    beside = _ranges(scaling, listener) if ranges else None
    if not ranges and scaling is not None and not scaling.is_identity:
        raise OptionError("LIBSVM's format cannot hold the model's scaling; write a range file with `ranges`")
    if scaling is not None and scaling.feature_names is not None:
        listener.note("LIBSVM's format cannot hold the names of the features")
    if scaling is not None and scaling.class_names is not None and inner.head.labels is not None:
        pairs = zip(inner.head.labels.tolist(), scaling.class_names, strict=True)
        meaning = ", ".join(f"{label} is '{name}'" for label, name in pairs)
        listener.note(f"labels stand for classes: {meaning}")
    return libsvm_model_bytes(inner), beside


def accuracy_of_text(model: Model, rows: Rows | None, of: str, threads: int) -> Accuracy:
    """Compare the model that is read back from LIBSVM's text with the original."""
    inner, scaling = _expansion(model), model.scaling
    if rows is None:
        rows, scaling, of = sample_of(inner.sv, OWN_ROWS), None, OWN_VECTORS
    back, head = parse_libsvm_model(libsvm_model_bytes(inner), "the exported text")[0], inner.head
    wanted, got = (with_scaling(one, scaling).decision_values(rows, threads=threads) for one in (inner, back))
    labels = None
    if not head.is_regression:
        labels = int(np.count_nonzero(head.predict(got) != head.predict(wanted)))
    apart = float(np.abs(got - wanted).max(initial=0.0))
    return Accuracy(len(rows), of, labels, apart, float(np.abs(wanted).max(initial=0.0)))


def _expansion(model: Model) -> KernelExpansion:
    inner = model.unscaled.expansion
    if inner is None:
        raise UnsupportedError(f"a {model.unscaled.kind} model cannot be written as LIBSVM's text", _INSTEAD)
    return inner


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
    obstacle, found = _obstacle(scaling), scaling.ranges
    if obstacle is not None:
        raise UnsupportedError(obstacle, _INSTEAD)
    if found is None:
        listener.note("svm-scale prints six digits and drops columns that its range file does not name")
        with np.errstate(divide="ignore"):
            half = np.where(scaling.factor > 0, 1 / scaling.factor, 0.0)
        found = ColumnRanges(scaling.offset - half, scaling.offset + half)
    return ranges_bytes(found, scaling.target)
