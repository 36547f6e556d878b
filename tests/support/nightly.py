"""Cases of a test that run always, and others marked nightly."""

import pytest


def nightly_but(always, cases):
    """Return the cases for `pytest.mark.parametrize`: those of `always` as they are, the others marked.

    A tuple is a case of several parameters.
    """
    kept, cases = list(always), list(cases)
    assert all(one in cases for one in kept)

    def at_night(case):
        return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.nightly)

    return [one if one in kept else at_night(one) for one in cases]
