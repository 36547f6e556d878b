"""The models of a prediction: the one that answers, the exact one for open rows, the scaling before both."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from svmfast.commands.given import model_of, with_scaling_of
from svmfast.commands.predict import PredictionOptions
from svmfast.errors import OptionError
from svmfast.formats.model_files import identity_of
from svmfast.models.base import Model
from svmfast.models.certified import check_exact, check_source
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaling import Scaling
from svmfast.options import Reading


def opened_models(
    given: Model | str | os.PathLike[str],
    options: PredictionOptions,
    scale: Any,
    note: Callable[[str], None],
) -> tuple[Model, KernelExpansion | None, Scaling | None]:
    """The model for scaled rows, the exact one, and the scaling before both.

    Where probabilities are requested, the exact model answers alone.
    """
    carriers: list[tuple[str, Model]] = []

    def opened(name: str, given: Any) -> Model:
        """A model for scaled rows."""
        model, _ = model_of(given, "the model", note, options.memory)
        if model.scaling is not None:
            carriers.append((name, model))
        return model.unscaled

    model = opened("`model`", given)
    exact = embedded = model.embedded_exact if model.has_error_bound else None
    if options.exact is not None:
        if options.no_fallback:
            raise OptionError("`exact` and `no_fallback` exclude each other")
        loaded = opened("`exact`", options.exact)
        exact = check_exact(model, loaded)
        # A certificate refers to one exact model.
        if exact is not embedded:
            check_source(model, model.provenance.get("source"), identity_of(loaded))
    elif options.no_fallback:
        exact = None
    if options.probability and exact is not None and not model.head.is_regression and not options.certify:
        if options.bound:
            raise OptionError("`bound`: with `probability` the exact model answers, which has no such bound")
        note("the exact model answers every row: probabilities are computed from its values")
        model, exact = exact, None
    scaling = with_scaling_of(Reading(scale=scale), carriers, memory=options.memory).scale
    if scaling is not None:
        labels = model.head.labels
        scaling = scaling.for_labels(None if labels is None else labels.tolist())
    return model, exact, scaling
