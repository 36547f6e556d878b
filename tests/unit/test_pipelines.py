"""Models of the pipelines in tests/pipelines.tsv: the same labels, and values to 1e-9, or a way out."""

import pytest
from nightly import nightly_but
from pipelines import CASES, converted


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("data", "expression", "message"), nightly_but(CASES[::4], CASES))
def test_a_pipeline_becomes_a_model_or_the_message_names_a_way_out(data, expression, message, tmp_path):
    found = converted(data, expression, tmp_path)
    if message or isinstance(found, str):
        assert found.startswith(message)
        assert "; " in found
        assert "\n" not in found
        return
    differing, difference = found
    assert differing == 0
    assert difference is None or difference < 1e-9
