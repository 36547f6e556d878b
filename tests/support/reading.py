"""Arguments of read_svmlight from those of its twin."""

from svmfast.options import Reading


def arguments(*, precomputed=False, labelled=True, **how):
    return {"reading": Reading(unlabelled=not labelled, **how), "precomputed": precomputed}
