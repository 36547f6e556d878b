"""The inputs of ``frontier``: the exact model with its scaling, and the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from svmfast.api.fit import Fit
from svmfast.api.given import is_path, open_model, with_scaling_of
from svmfast.errors import OptionError, UnsupportedError
from svmfast.options import Reading
from svmfast.progress import Listener

if TYPE_CHECKING:
    from svmfast.formats.detect import LoadedModel
    from svmfast.frontiers.row_sets import RowSets
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling


@dataclass(frozen=True, eq=False)
class ExactInput:
    """The exact model without its scaling, the scaling of all rows, and how commands are given it."""

    model: KernelExpansion
    #: Hash of its file.
    sha256: str
    scaling: Scaling | None
    #: The arguments that pass the scaling to the commands that frontier runs.
    words: tuple[str, ...]


def opened_exact(exact: str, reading: Reading, memory: int, listener: Listener) -> ExactInput:
    """Read the exact model, and the scaling of the rows."""
    from svmfast.formats.detect import identity_of

    opened = open_model(exact, listener.note, memory=memory)
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
    memory: int,
    threads: int,
    listener: Listener,
) -> RowSets:
    """Read and divide the rows; warn about those that do not look like the model's."""
    from svmfast.frontiers.row_sets import read_sets

    model, scaling = exact.model, exact.scaling
    columns = Fit(model, reading, listener)
    raw = read_sets(
        train,
        unseen,
        folder,
        seed=seed,
        reading=reading,
        scaling=scaling,
        memory=memory,
        threads=threads,
        note=listener.note,
        columns=lambda path, names, how: replace(columns, reading=how).columns(path, names),
        progress=listener.progress,
    )
    sets = raw
    if scaling is not None:  # commands scale by themselves
        reads, width = (*raw.reading, *exact.words), max(raw.columns, len(scaling))
        sets = replace(raw, reading=reads, columns=width)
    # Rows that do not look like those that the model was trained on.
    fit = Fit(model, replace(reading, scale=scaling), listener)
    fit.width(train, sets.sample.rows)
    fit.width(unseen or train, sets.choosing.rows)
    if not fit.scale(train, sets.sample.rows) and unseen is not None:
        fit.scale(unseen, sets.choosing.rows)
    return sets


def _scaling(
    model: Model, exact: str, reading: Reading, memory: int
) -> tuple[Scaling | None, tuple[str, ...]]:
    """The scaling of the rows, and the arguments that pass it to the commands that frontier runs."""
    if reading.scale is not None and not is_path(reading.scale):
        raise OptionError("`scale`: the commands that frontier runs need a path, of a range file or a model")
    scaling = with_scaling_of(reading, [(exact, model)], memory=memory).scale
    if reading.scale is None and model.scaling is None:
        return scaling, ()
    # Commands that read only data, such as budget-train, need a file with the scaling.
    return scaling, ("--scale", str(reading.scale or exact))


def _convertible(opened: LoadedModel, exact: str) -> KernelExpansion:
    model = opened.model.unscaled.expansion
    if model is None:
        kind = opened.model.unscaled.kind
        raise UnsupportedError(f"{exact} is a {kind} model already", "give the LIBSVM model")
    if model.kernel.kind == "precomputed":
        raise UnsupportedError("models with a precomputed kernel cannot be converted")
    return model
