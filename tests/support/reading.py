"""Arguments of read_svmlight from those of its twin."""

from typing import Any

from svmfast.options import Reading


def arguments(*, precomputed: bool = False, labelled: bool = True, **how: bool) -> dict[str, Any]:
    return {"reading": Reading(unlabelled=not labelled, **how), "precomputed": precomputed}
