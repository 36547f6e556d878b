"""The inputs of ``frontier``: the exact model with its scaling, and the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from svmfast.api.column_order import ColumnOrder
from svmfast.api.given import check_scale, check_width, is_path, with_scaling_of
from svmfast.api.listener import Listener
from svmfast.errors import OptionError, UnsupportedError
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.formats.detect import LoadedModel
    from svmfast.frontiers.row_sets import RowSets
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling


@dataclass(frozen=True, eq=False)
class ExactInput:
    """The exact model without its scaling, the scaling of all rows, and how commands are given it.

    Attributes
    ----------
    model : KernelExpansion
    sha256 : str
        Hash of its file.
    scaling : Scaling or None
    words : tuple of str
        The arguments that pass the scaling to the commands that frontier runs.
    """

    model: KernelExpansion
    sha256: str
    scaling: Scaling | None
    words: tuple[str, ...]


def opened_exact(exact: str, reading: Reading, memory: int, listener: Listener) -> ExactInput:
    """Read the exact model, and the scaling of the rows."""
    from svmfast.formats.detect import identity_of, open_model

    opened = open_model(exact, memory=memory)
    for text in opened.warnings:
        listener.note(text)
    model = _convertible(opened, exact)
    scaling, words = _scaling(opened.model, exact, reading, memory)
    identity = opened.identity if opened.model.scaling is None else identity_of(model)
    return ExactInput(model, identity.removeprefix("sha256:"), scaling, words)


def read_row_sets(
    exact: ExactInput,
    train: str,
    unseen: str | None,
    folder: Path,
    seed: int,
    reading: Reading,
    threads: int,
    listener: Listener,
) -> RowSets:
    """Read and divide the rows, scaled; warn about those that do not look like the model's."""
    from svmfast.frontiers.row_sets import read_sets

    order, model, scaling = ColumnOrder(), exact.model, exact.scaling
    raw = read_sets(
        train,
        unseen,
        folder,
        seed=seed,
        reading=reading,
        scaling=scaling,
        threads=threads,
        note=listener.note,
        columns=lambda path, columns, reading: order.check(path, columns, reading, listener.note, model),
        progress=listener.progress,
    )
    sets = raw if scaling is None else raw.scaled(scaling, exact.words)
    _check_rows(replace(reading, scale=scaling), model, sets, train, unseen, listener)
    return sets


def _scaling(
    model: Model, exact: str, reading: Reading, memory: int
) -> tuple[Scaling | None, tuple[str, ...]]:
    """Return the scaling of the rows, and the arguments that pass it to the commands that frontier runs."""
    if reading.scale is not None and not is_path(reading.scale):
        raise OptionError("`scale`: the commands that frontier runs need a path, of a range file or a model")
    scaling = with_scaling_of(reading, [(exact, model)], memory=memory).scale
    if reading.scale is None and model.scaling is None:
        return scaling, ()
    # Commands that read only data, such as budget-train, need a file with the scaling.
    return scaling, ("--scale", str(reading.scale or exact))


def _check_rows(
    reading: Reading,
    model: KernelExpansion,
    sets: RowSets,
    train: str,
    unseen: str | None,
    listener: Listener,
) -> None:
    """Warn about rows that do not look like those that the model was trained on."""
    check_width(reading, train, model, sets.sample.rows, listener.warn)
    check_width(reading, unseen or train, model, sets.choosing.rows, listener.warn)
    if not check_scale(reading, train, model, sets.sample.rows, listener.warn) and unseen is not None:
        check_scale(reading, unseen, model, sets.choosing.rows, listener.warn)


def _convertible(opened: LoadedModel, exact: str) -> KernelExpansion:
    model = opened.model.unscaled.expansion
    if model is None:
        kind = opened.model.unscaled.kind
        raise UnsupportedError(f"{exact} is a {kind} model already", "give the LIBSVM model")
    if model.kernel.kind == "precomputed":
        raise UnsupportedError("models with a precomputed kernel cannot be converted")
    return model
