"""The interface of every model kind, the content of a container file, and the registry of kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from svmfast.display import count
from svmfast.errors import ModelContentError
from svmfast.models.head import Head
from svmfast.rows import Rows

Scalar = int | float | str
Array = NDArray[Any]


# The origin of a model as its file records it, in this order: the hash of the model it was made from
# ("sha256:..."), the hash of the data, the method, its options, its seed, and, for methods whose last digits
# depend on them, the instruction sets (svmfast.solvers.arithmetic). Times and hosts are not recorded, so that
# equal runs give equal files.
PROVENANCE = ("source", "data", "method", "parameters", "seed", "arithmetic")


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
        """Number of columns of the rows that the model was made from; other rows may have more."""

    def decision_values(self, rows: Rows, *, threads: int = 1) -> NDArray[np.float64]:
        """Return the ``(n, head.n_functions)`` decision values in LIBSVM's pair order."""

    @property
    def working_bytes(self) -> int:
        """Upper bound on the bytes that a prediction needs in addition to the model's arrays and the rows."""


def one_line(model: Model) -> str:
    """Return what a model shows as its ``repr``: one line without its arrays."""
    parts = [model.head.summary, count(model.n_features, "feature"), summary_of(model)]
    return f"<{model.kind} model: {', '.join(filter(None, parts))}>"


def summary_of(model: Model) -> str:
    """Return what only a model's kind has, in a few words: its property `summary`, if it has one."""
    return str(getattr(model, "summary", ""))


def part(name: str, model: Model) -> str:
    """Return a model inside another one in a few words; their types, classes and features are the same."""
    return f"{name} {model.kind} model ({summary_of(model)})"


@runtime_checkable
class CountedModel(Model, Protocol):
    """A model whose multiply-adds can be counted."""

    def multiply_adds(self, rows: Rows) -> float:
        """Return the mean number of multiply-adds for a row whose columns are all nonzero."""


@runtime_checkable
class BoundedModel(Model, Protocol):
    """A model that is accurate only near the rows it was made from, with a bound on that region."""

    @property
    def has_validity_bound(self) -> bool:
        """Whether the bound is known for this particular model."""

    def inside_bound(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for each row whether it lies inside the model's validity bound; ``(n,)`` bool."""


def bounded(model: Model) -> TypeGuard[BoundedModel]:
    """Return whether the validity bound of `model` is known."""
    return isinstance(model, BoundedModel) and model.has_validity_bound


@dataclass(frozen=True)
class ScalarField:
    """One ``name value`` line of a container file."""

    name: str
    type: Literal["int", "float", "text"]
    optional: bool = False


@dataclass(frozen=True)
class ArrayField:
    """One ``array`` section of a container file: `ndim` dimensions of `dtype`."""

    name: str
    dtype: Literal["float64", "int64", "int32"]
    ndim: int
    optional: bool = False


@dataclass(frozen=True)
class Schema:
    """What a kind of model stores, in the order that its file must have.

    Names are unique over the first three tuples. `embedded` names optional sections that hold the text of
    another model: a LIBSVM model or, for the sections in `own`, also a container. A kind with such sections
    cannot itself be embedded, except in an `outermost` kind, which embeds every other kind.
    """

    scalars: tuple[ScalarField, ...] = ()
    arrays: tuple[ArrayField, ...] = ()
    embedded: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    outermost: bool = False
    #: The embedded model whose hash is `source` in the provenance.
    source: str | None = None


@dataclass(frozen=True)
class Record:
    """The content of a container file, independent of its format.

    Attributes
    ----------
    kind : str
        A key of :data:`KINDS`.
    provenance : dict of str to str
        The origin of the model; the keys are those of :data:`PROVENANCE`.
    scalars, arrays : dict
        Values by name, as the kind's schema lists them.
    embedded : dict of str to Model
        Embedded models by name.
    """

    kind: str
    provenance: Mapping[str, str]
    scalars: Mapping[str, Scalar]
    arrays: Mapping[str, Array]
    embedded: Mapping[str, Model] = field(default_factory=dict)


class RecordModel(Model, Protocol):
    """A kind of model that is stored in container files."""

    schema: ClassVar[Schema]

    def to_record(self) -> Record:
        """Return everything needed to rebuild the model."""

    @classmethod
    def from_record(cls, record: Record) -> RecordModel:
        """Return the model that `record` describes; raise ModelContentError if its parts are inconsistent."""


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


# The fields in which every kind stores its head; they come first in a schema.
HEAD_SCALARS = (ScalarField("svm_type", "text"), ScalarField("decision", "text", optional=True))
HEAD_ARRAYS = (
    ArrayField("label", "int64", 1, optional=True),
    ArrayField("probA", "float64", 1, optional=True),
    ArrayField("probB", "float64", 1, optional=True),
    ArrayField("prob_density_marks", "float64", 1, optional=True),
)
#: The only value of `decision`; without that field the rule is LIBSVM's vote over pairs.
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
    """Return the head that a record stores; raise ModelContentError if its parts are inconsistent."""
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
