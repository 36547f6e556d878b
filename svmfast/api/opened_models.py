"""The models of a prediction: the one that answers, the exact one for open rows, the scaling before both."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svmfast.api.given import model_of, with_scaling_of
from svmfast.errors import OptionError
from svmfast.models.certified import check_exact, check_same_labels, check_source
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.api.listener import Listener
    from svmfast.commands.predict import PredictionOptions
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling


@dataclass(frozen=True, eq=False)
class OpenedModels:
    """The models that answer together."""

    #: The model for scaled rows; with an assumed error, a cascade.
    model: Model
    #: The model for rows that are not certified.
    exact: KernelExpansion | None
    #: Applied to the rows before either.
    scaling: Scaling | None
    #: Hashes of the models, if requested.
    identities: list[str]


def opened_models(
    model: Model | str | os.PathLike[str],
    options: PredictionOptions,
    *,
    scale: Any,
    identify: bool,
    listener: Listener,
) -> OpenedModels:
    """Open the models that are given as files or objects, and check that they match."""
    opening, error = _Opening(options.memory, identify, listener), options.assume_error
    main = opening.open("`model`", model)
    behind = _exact_model(opening, main, options.exact, options.fallback, proven=error is None)
    answering = main.model
    if error is not None:
        answering = _assumed(answering, behind, error, options.certify)
    scaling = with_scaling_of(Reading(scale=scale), opening.carriers, memory=options.memory).scale
    if scaling is not None:
        labels = answering.head.labels
        scaling = scaling.for_labels(None if labels is None else labels.tolist())
    return OpenedModels(answering, behind, scaling, opening.identities)


@dataclass(frozen=True, eq=False)
class _Opened:
    """A model for scaled rows, the hash of its source, and a function that recognizes its own hash."""

    model: Model
    source: str | None
    is_source: Callable[[str], bool]


@dataclass(frozen=True, eq=False)
class _Opening:
    """Opens models, and keeps their hashes and those that carry a scaling, by the names of their options."""

    memory: int
    identify: bool
    listener: Listener
    identities: list[str] = field(default_factory=list)
    carriers: list[tuple[str, Model]] = field(default_factory=list)

    def open(self, name: str, given: Any) -> _Opened:
        """A model given as a file or an object."""
        model, file = model_of(given, "the model", self.listener.note, self.memory)
        if self.identify:
            from svmfast.formats.detect import identity_of

            self.identities.append(identity_of(model) if file is None else f"sha256:{file.sha256}")
        if model.scaling is not None:
            self.carriers.append((name, model))
        elif file is not None:
            return _Opened(model, file.provenance.get("source"), file.is_source)
        return _inside(model)


def _inside(model: Model) -> _Opened:
    inner = model.unscaled

    def is_source(source: str) -> bool:
        from svmfast.formats.detect import identity_of

        return source == identity_of(inner)

    return _Opened(inner, inner.provenance.get("source"), is_source)


def _exact_model(
    opening: _Opening, main: _Opened, given: Any, fallback: bool | None, *, proven: bool
) -> KernelExpansion | None:
    model = main.model
    embedded = model.embedded_exact if model.has_error_bound else None
    if given is not None:
        if fallback is False:
            raise OptionError("`exact` and `no_fallback` exclude each other")
        loaded = opening.open("`exact`", given)
        exact = (check_exact if proven else check_same_labels)(model, loaded.model)
        # The user may assume an error for any pair of models; a certificate refers to one exact model.
        if proven and exact is not embedded:
            check_source(model, main.source, loaded.is_source)
        return exact
    if fallback and embedded is None:
        if model.embedded_exact is not None:
            raise OptionError(
                "`fallback`: `model` has no certificate that shows which rows need its exact model"
            )
        raise OptionError("`fallback`: `model` has no exact model embedded; name one with `exact`")
    return None if fallback is False else embedded


def _assumed(model: Model, exact: KernelExpansion | None, error: float, certify: bool) -> Model:
    from svmfast.models.cascade import CascadeModel

    if exact is None:
        raise OptionError("`assume_error` decides which rows go to the `exact` model; name that model")
    if certify:
        raise OptionError("`certify` prints proofs; an assumed error (`assume_error`) proves nothing")
    return CascadeModel(model.fast_part, exact, error)
