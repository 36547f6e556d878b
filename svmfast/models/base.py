"""The interface of every kind of model, and the registry of kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from svmfast.display import count
from svmfast.errors import UnsupportedError
from svmfast.models.head import Head
from svmfast.rows import BoolArray, FloatArray, Rows

if TYPE_CHECKING:
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.mapped import LinearMap
    from svmfast.models.scaling import Scaling

# The origin of a model as its file records it, in this order: the hash of the model it was made from
# ("sha256:..."), the hash of the data, the method, its options, its seed, and, for methods whose last digits
# depend on them, the instruction sets (svmfast.solvers.arithmetic). Times and hosts are not recorded, so that
# equal runs give equal files.
PROVENANCE = ("source", "data", "method", "parameters", "seed", "arithmetic")


class Model:
    """A trained function of rows. Immutable; equal input gives equal output for any number of threads.

    A kind is a dataclass that inherits this class, and overrides what it has and others have not. Its fields,
    except those with ``compare=False``, are what its file stores (:mod:`svmfast.formats.container`).
    """

    #: ``libsvm`` or a key of :data:`KINDS`.
    kind: ClassVar[str]

    if TYPE_CHECKING:

        @property
        def head(self) -> Head:
            """Turns decision values into labels and probabilities."""

        @property
        def n_features(self) -> int:
            """Number of columns of the rows that the model was made from; other rows may have more."""

        @property
        def working_bytes(self) -> int:
            """Upper bound on the bytes that a prediction needs besides the model's arrays and the rows."""

        @property
        def provenance(self) -> Mapping[str, str]:
            """The origin of the model, with keys of :data:`PROVENANCE`."""

        @property
        def fits_labels(self) -> bool:
            """Whether it was fitted to an exact model's labels, so that the probabilities do not apply."""

        @property
        def scaling(self) -> Scaling | None:
            """The scaling that rows go through first."""

        @property
        def expansion(self) -> KernelExpansion | None:
            """This model, if it is one of LIBSVM's."""

        @property
        def embedded_exact(self) -> KernelExpansion | None:
            """The exact model inside; it takes scaled rows.

            It answers the rows that are not certified where the caller of ``answer`` passes it as `exact`.
            """

        @property
        def truncation(self) -> tuple[float, tuple[int, ...]] | None:
            """Gamma and the orders of a truncated expansion."""

        @property
        def assumed_error(self) -> float | None:
            """The bound on the error of every value that is assumed, not proven."""

        @property
        def vectors(self) -> Rows | None:
            """Vectors of the model that are like the rows it was trained on."""

        @property
        def largest_squared_norm(self) -> float | None:
            """The largest squared norm of such vectors that the model no longer has."""

        @property
        def has_labels(self) -> bool:
            """Whether :meth:`labels` is faster than the decision values."""

        @property
        def has_error_bound(self) -> bool:
            """Whether :meth:`certified_values` bounds the error of the decision values."""

        @property
        def has_validity_bound(self) -> bool:
            """Whether the kind has the bound of :meth:`inside_bound`."""

    else:
        # Not properties at run time, which the fields of a dataclass could not override.
        provenance = MappingProxyType({})
        fits_labels = has_labels = has_error_bound = has_validity_bound = False
        scaling = expansion = embedded_exact = assumed_error = None
        vectors = largest_squared_norm = truncation = None

    def __repr__(self) -> str:
        return f"<{self.kind} model: {self.head.words}, {count(self.n_features, 'feature')}>"

    def _repr_html_(self) -> str:
        """What info prints, for notebooks; found when it is shown, since it describes models of all kinds."""
        found: str = import_module("svmfast.commands.info").info(self)._repr_html_()
        return found

    @property
    def unscaled(self) -> Model:
        """The model that takes scaled rows."""
        return self

    @property
    def behind_map(self) -> tuple[LinearMap, Model] | None:
        """The linear map that rows go through first, if there is one, and the model behind it."""
        return None

    @property
    def fast_part(self) -> Model:
        """The model that answers most rows: of a cascade, the fast one."""
        return self

    @property
    def names_of_labels(self) -> dict[float, str] | None:
        """The name of each label, if the model's classes have names."""
        return None if self.scaling is None else self.scaling.names_of_labels

    @property
    def certifies(self) -> bool:
        """Whether the model carries a certificate: proven bounds on the error of its decision values."""
        return self.has_error_bound and self.assumed_error is None

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the ``(n, head.n_functions)`` decision values in LIBSVM's pair order."""
        raise NotImplementedError

    def labels(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Find the labels of ``head.predict(decision_values(rows))``, ``(n,)``."""
        return self.head.predict(self.decision_values(rows, threads=threads))

    def probability_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the decision values from which probabilities are printed."""
        return self.decision_values(rows, threads=threads)

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Compute decision values and bounds, ``(n, p)``: ``|exact - value| <= bound``, rounding included."""
        raise UnsupportedError("the model has no certificate", "convert again, with a `certificate`")

    def attempts(self, tolerance: float | None, *, threads: int) -> list[Attempt]:
        """List the ways to compute values and bounds, from the fastest to the one that proves most."""
        return [partial(self.certified_values, threads=threads)]

    def inside_bound(self, rows: Rows) -> BoolArray:
        """Decide which rows lie inside the model's validity bound; ``(n,)`` bool."""
        raise UnsupportedError("the model has no validity bound", "only models made by approximate have one")

    def multiply_adds(self, rows: Rows) -> float:
        """Compute the mean number of multiply-adds for a row whose columns are all nonzero."""
        raise NotImplementedError

    def with_exact(self, exact: KernelExpansion | None) -> Model:
        """Put the exact model inside, or take it out."""
        raise NotImplementedError


#: A way to compute decision values and bounds on their errors, both ``(n, p)``.
Attempt = Callable[[Rows], tuple[FloatArray, FloatArray]]


# kind -> "module:Class". A new kind needs one line here; modules are imported on first use.
KINDS: dict[str, str] = {
    "polynomial": "svmfast.models.polynomial:PolynomialModel",
    "routed": "svmfast.models.routed:RoutedModel",
    "cascade": "svmfast.models.cascade:CascadeModel",
    "scores": "svmfast.models.expansion:ScoreModel",
    "mapped": "svmfast.models.mapped:MappedModel",
    "scaled": "svmfast.models.scaled:ScaledModel",
}


def model_class(kind: str) -> type[Model]:
    """Import the class registered for `kind` (KeyError when there is none)."""
    module, _, name = KINDS[kind].partition(":")
    found: type[Model] = getattr(import_module(module), name)
    return found
