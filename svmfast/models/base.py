"""The interface of every model kind, the content of a container file, and the registry of kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelContentError
from svmfast.models.head import Head
from svmfast.rows import Rows

Scalar = int | float | str
Array = NDArray[Any]


# What a file may tell of its origin, in this order: the hash of the model it was made from ("sha256:..."),
# the hash of data that took part, the conversion, its options, its seed, and for methods whose last digits
# depend on it the instruction sets (svmfast.solvers.arithmetic). Never a time or a host: equal runs give
# equal files.
PROVENANCE = ("source", "data", "method", "parameters", "seed", "arithmetic")
#: The minor format version that brought the last one.
ARITHMETIC_SINCE = 3


class Model(Protocol):
    """A trained function of rows. Immutable; equal input gives equal output for any number of threads."""

    @property
    def kind(self) -> str:
        """Name of the kind: ``libsvm`` or a key of :data:`KINDS`."""

    @property
    def head(self) -> Head:
        """Turns decision values into labels and probabilities."""

    @property
    def n_features(self) -> int:
        """Width of the rows the model was made from; wider rows are welcome."""

    def decision_values(self, rows: Rows, *, threads: int = 1) -> NDArray[np.float64]:
        """Return the ``(n, head.n_functions)`` decision values in LIBSVM's pair order."""

    @property
    def working_bytes(self) -> int:
        """Upper limit on the bytes that a prediction needs besides the model's arrays and the rows."""


@runtime_checkable
class CountedModel(Model, Protocol):
    """A model whose cost can be counted."""

    def multiply_adds(self, rows: Rows) -> float:
        """Return the mean count of multiply-adds a row costs when all its columns are in use."""


@runtime_checkable
class BoundedModel(Model, Protocol):
    """A model that is accurate only near the rows it was made from, with a bound on where."""

    @property
    def has_validity_bound(self) -> bool:
        """Whether the bound is known for this very model."""

    def inside_bound(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for each row whether it lies inside the model's validity bound; ``(n,)`` bool."""


def bounded(model: Model) -> TypeGuard[BoundedModel]:
    """Return whether `model` has a validity bound that is known."""
    return isinstance(model, BoundedModel) and model.has_validity_bound


@dataclass(frozen=True)
class ScalarField:
    """One ``name value`` line of a container file; `since`: the minor format version that brought it."""

    name: str
    type: Literal["int", "float", "text"]
    optional: bool = False
    since: int = 0


@dataclass(frozen=True)
class ArrayField:
    """One ``array`` section of a container file; `ndim` dimensions of `dtype`, `since` as for scalars."""

    name: str
    dtype: Literal["float64", "int64", "int32"]
    ndim: int
    optional: bool = False
    since: int = 0


@dataclass(frozen=True)
class Schema:
    """What a kind stores, in the order in which the file must show it.

    Names are unique over the first three tuples. `embedded` names optional sections with a model's text:
    LIBSVM's, and for those named in `own` also ours. A kind with such sections cannot stand in one itself,
    but in one that is `outermost`, which takes every other kind.
    """

    scalars: tuple[ScalarField, ...] = ()
    arrays: tuple[ArrayField, ...] = ()
    embedded: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    outermost: bool = False
    #: The embedded model of which `source` in the provenance is the hash.
    source: str | None = None


@dataclass(frozen=True)
class Record:
    """The content of a container file, free of any format.

    Attributes
    ----------
    kind : str
        A key of :data:`KINDS`.
    provenance : dict of str to str
        Where the model comes from, under keys of :data:`PROVENANCE`.
    scalars, arrays
        By name, as the kind's schema lists them.
    embedded : dict of str to Model
        Models carried along.
    """

    kind: str
    provenance: Mapping[str, str]
    scalars: Mapping[str, Scalar]
    arrays: Mapping[str, Array]
    embedded: Mapping[str, Model] = field(default_factory=dict)


class RecordModel(Model, Protocol):
    """A model kind that lives in container files."""

    schema: ClassVar[Schema]

    def to_record(self) -> Record:
        """Return everything needed to rebuild the model."""

    def uncertified(self) -> RecordModel:
        """Return the model without its certificate or measured error, since its file was edited."""

    @classmethod
    def from_record(cls, record: Record) -> RecordModel:
        """Make the model; raise ModelContentError where the content contradicts itself."""


#: A word of `parameters` in the provenance of a model whose file was changed after it was written.
EDITED = "edited"


def as_edited(provenance: Mapping[str, str]) -> dict[str, str]:
    """Return `provenance` with the mark of a model that was changed by hand."""
    words = provenance.get("parameters", "").split()
    return {**provenance, "parameters": " ".join([*words, *([] if EDITED in words else [EDITED])])}


# kind -> "module:Class". A new kind needs one line here; modules are imported on first use.
KINDS: dict[str, str] = {
    "polynomial": "svmfast.models.polynomial:PolynomialModel",
    "routed": "svmfast.models.routed:RoutedModel",
    "cascade": "svmfast.models.cascade:CascadeModel",
    "scaled": "svmfast.models.scaled:ScaledModel",
}


def model_class(kind: str) -> type[RecordModel]:
    """Return the class registered for `kind` (KeyError when there is none)."""
    module, _, name = KINDS[kind].partition(":")
    found: type[RecordModel] = getattr(import_module(module), name)
    return found


# The fields with which every kind stores its head; put first in a schema.
HEAD_SCALARS = (ScalarField("svm_type", "text"), ScalarField("decision", "text", optional=True))
HEAD_ARRAYS = (
    ArrayField("label", "int64", 1, optional=True),
    ArrayField("probA", "float64", 1, optional=True),
    ArrayField("probB", "float64", 1, optional=True),
    ArrayField("prob_density_marks", "float64", 1, optional=True),
)
#: The value of `decision`; without one the rule is LIBSVM's, by pairs.
ONE_VS_REST = "one-vs-rest"


def head_fields(head: Head) -> tuple[dict[str, Scalar], dict[str, Array]]:
    """Return the scalars and arrays of a head, as a record stores them."""
    arrays = {
        "label": head.labels,
        "probA": head.prob_a,
        "probB": head.prob_b,
        "prob_density_marks": head.density_marks,
    }
    scalars: dict[str, Scalar] = {"svm_type": head.svm_type}
    if head.one_vs_rest:
        scalars["decision"] = ONE_VS_REST
    return scalars, {name: a for name, a in arrays.items() if a is not None}


def head_of(record: Record) -> Head:
    """Return the head that a record stores (ModelContentError where its parts contradict each other)."""
    arrays = record.arrays
    decision = record.scalars.get("decision")
    if decision not in (None, ONE_VS_REST):
        raise ModelContentError("decision", "unknown rule", ONE_VS_REST, str(decision))
    return Head(
        str(record.scalars["svm_type"]),
        arrays.get("label"),
        arrays.get("probA"),
        arrays.get("probB"),
        arrays.get("prob_density_marks"),
        decision is not None,
    )
