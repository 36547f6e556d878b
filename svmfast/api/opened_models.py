"""The models of a prediction: the one that answers, the exact one for open rows, the scaling before both."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svmfast.api.given import model_of, with_scaling_of
from svmfast.errors import OptionError
from svmfast.formats.detect import identity_of
from svmfast.models.certified import check_exact, check_same_labels, check_source
from svmfast.options import Reading

if TYPE_CHECKING:
    from svmfast.commands.predict import PredictionOptions
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling


@dataclass(eq=False)
class OpenedModels:
    """The models that answer together, opened from files or objects and checked against each other."""

    options: PredictionOptions
    note: Callable[[str], None]
    identify: bool
    #: Hashes of the models, if they are to be identified.
    identities: list[str] = field(default_factory=list)
    #: The models that carry a scaling, by the names of their options.
    carriers: list[tuple[str, Model]] = field(default_factory=list)
    #: The model that answers rows that are not certified.
    exact: KernelExpansion | None = None
    #: Applied to the rows before either model.
    scaling: Scaling | None = None

    def open(self, given: Model | str | os.PathLike[str], scale: Any) -> Model:
        """The model for scaled rows; with an assumed error, a cascade. Sets the other attributes."""
        model, source, _ = self._opened("`model`", given)
        self.exact = self._exact_model(model, source)
        if self.options.assume_error is not None:
            model = self._assumed(model, self.options.assume_error)
        reading = with_scaling_of(Reading(scale=scale), self.carriers, memory=self.options.memory)
        if reading.scale is not None:
            labels = model.head.labels
            self.scaling = reading.scale.for_labels(None if labels is None else labels.tolist())
        return model

    def _opened(self, name: str, given: Any) -> tuple[Model, str | None, Callable[[str], bool]]:
        """A model for scaled rows, the hash of its source, and a function that recognizes its own hash."""
        model, file = model_of(given, "the model", self.note, self.options.memory)
        if self.identify:
            self.identities.append(identity_of(model) if file is None else f"sha256:{file.sha256}")
        if model.scaling is not None:
            self.carriers.append((name, model))
        elif file is not None:
            return model, file.provenance.get("source"), file.is_source
        inner = model.unscaled
        return inner, inner.provenance.get("source"), lambda source: source == identity_of(inner)

    def _exact_model(self, model: Model, made_from: str | None) -> KernelExpansion | None:
        given, fallback = self.options.exact, self.options.fallback
        embedded = model.embedded_exact if model.has_error_bound else None
        if given is not None:
            if fallback is False:
                raise OptionError("`exact` and `no_fallback` exclude each other")
            proven = self.options.assume_error is None
            loaded, _, is_source = self._opened("`exact`", given)
            exact = (check_exact if proven else check_same_labels)(model, loaded)
            # The user may assume an error for any pair of models; a certificate refers to one exact model.
            if proven and exact is not embedded:
                check_source(model, made_from, is_source)
            return exact
        if fallback and embedded is None:
            if model.embedded_exact is not None:
                raise OptionError(
                    "`fallback`: `model` has no certificate that shows which rows need its exact model"
                )
            raise OptionError("`fallback`: `model` has no exact model embedded; name one with `exact`")
        return None if fallback is False else embedded

    def _assumed(self, model: Model, error: float) -> Model:
        from svmfast.models.cascade import CascadeModel

        if self.exact is None:
            raise OptionError("`assume_error` decides which rows go to the `exact` model; name that model")
        if self.options.certify:
            raise OptionError("`certify` prints proofs; an assumed error (`assume_error`) proves nothing")
        return CascadeModel(model.fast_part, self.exact, error)
