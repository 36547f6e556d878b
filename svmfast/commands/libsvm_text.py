"""LIBSVM models as LIBSVM's text, with their scaling as svm-scale's range file."""

from __future__ import annotations

import numpy as np

from svmfast.errors import OptionError, UnsupportedError
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.ranges import ranges_bytes
from svmfast.models.base import Model
from svmfast.models.scaling import ColumnRanges, Scaling
from svmfast.progress import Listener

_INSTEAD = "export it to c or onnx"


def libsvm_text(model: Model, *, ranges: bool, listener: Listener) -> tuple[bytes, bytes | None]:
    """A model as LIBSVM's text and, with `ranges`, its scaling as a range file for svm-scale.

    Without `ranges` a scaling, which would be lost, is refused.
    """
    inner, scaling = model.unscaled.expansion, model.scaling
    if inner is None:
        behind = model.unscaled.behind_map
        form = behind is not None and behind[1].expansion is not None
        instead = "compress with `libsvm_form`, or " * form + _INSTEAD
        raise UnsupportedError(f"a {model.unscaled.kind} model cannot be written as LIBSVM's text", instead)
    beside = _ranges(scaling, listener) if ranges else None
    if not ranges and scaling is not None and not scaling.is_identity:
        raise OptionError("LIBSVM's format cannot hold the model's scaling; write a range file with `ranges`")
    return libsvm_model_bytes(inner), beside


def _ranges(scaling: Scaling | None, listener: Listener) -> bytes:
    """A scaling as svm-scale's range file."""
    if scaling is None or scaling.is_identity:
        raise OptionError("`ranges`: the model has no scaling")
    found = scaling.ranges
    if found is None:
        if scaling.clip is not None:
            raise UnsupportedError("the model's scaling clips, which svm-scale does not", _INSTEAD)
        if (scaling.factor < 0).any():
            raise UnsupportedError("the model's scaling reverses columns", _INSTEAD)
        listener.note("svm-scale prints six digits and drops columns that its range file does not name")
        with np.errstate(divide="ignore"):
            half = np.where(scaling.factor > 0, 1 / scaling.factor, 0.0)
        found = ColumnRanges(scaling.offset - half, scaling.offset + half)
    return ranges_bytes(found, scaling.target)
