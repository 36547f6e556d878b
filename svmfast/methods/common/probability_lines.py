"""The line of a report about the probabilities of an exact model."""

from __future__ import annotations

from collections.abc import Mapping


def probability_lines(what: str, held_out: Mapping[str, float] | None = None) -> list[str]:
    """Return the line of a report; `what` became of them is ``none`` (there were none), kept or dropped."""
    if what == "none":
        return []
    if what == "dropped":
        return ["probability  dropped: predict with `probability` will refuse the model"]
    line = "probability  probA and probB are the exact model's, applied to the new decision values"
    if held_out and "probability_max" in held_out:
        mean, largest = held_out["probability_mean"], held_out["probability_max"]
        line += f"; |difference| on held-out rows {mean:.3g} on average, {largest:.3g} at most"
    return [line]
