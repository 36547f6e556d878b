"""What becomes of an exact model's probabilities: warned of before work starts, and told in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from svmfast.cli.messages import warning

if TYPE_CHECKING:
    from svmfast.models.base import Model


def outcome(what: str, held_out: Mapping[str, float] | None = None) -> list[str]:
    """Return the line of a report; none where the exact model had no probabilities.

    Parameters
    ----------
    what : {"none", "kept", "dropped"}
    held_out : mapping, optional
        May have ``probability_mean`` and ``probability_max``.
    """
    if what == "none":
        return []
    if what == "dropped":
        return ["probability dropped: predict -b 1 will refuse the model"]
    line = "probability probA and probB are the exact model's, applied to our decision values"
    if held_out and "probability_max" in held_out:
        mean, largest = held_out["probability_mean"], held_out["probability_max"]
        line += f"; |difference| on held-out rows {mean:.3g} on average, {largest:.3g} at most"
    return [line]


def warn_of_labels(exact: str, model: Model, fitted: str) -> None:
    """Warn that fitting labels drops the probabilities of the exact model."""
    if fitted == "labels" and model.head.has_probability:
        warning(
            f"the probabilities of {exact} will be dropped: --fit labels gives values that LIBSVM's pairwise "
            "probabilities are not defined for; --fit values or --fit pairs keeps them"
        )
