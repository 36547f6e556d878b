"""Every registered kind of model is exported to every language, or refused in one clear line."""

from __future__ import annotations

import pytest
from model_examples import EXAMPLES

import svmfast
from svmfast.errors import UnsupportedError
from svmfast.exports.computation import DESCRIBED
from svmfast.exports.languages import LANGUAGES
from svmfast.models.base import KINDS
from svmfast.models.scaled import unscaled

#: Kinds and examples that have no such form, and the message.
REASONS = {
    "cascade": "^a cascade consists of two models and a rule; export its fast and its exact model",
    "scaled polynomial": "^the scaling clips 3 columns and does not change the model's other columns",
}


def test_every_kind_is_described() -> None:
    assert set(DESCRIBED) == {"libsvm", *KINDS}, "DESCRIBED in svmfast/exports/computation.py"


@pytest.mark.parametrize("language", [name for name, one in LANGUAGES.items() if one.printer])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_is_exported_or_refused_with_a_reason(name: str, language: str) -> None:
    model = EXAMPLES[name]()
    reason = REASONS.get(name, REASONS.get(unscaled(model).kind))
    if reason is not None:
        with pytest.raises(UnsupportedError, match=reason):
            svmfast.export(model, language)
        return
    made = svmfast.export(model, language)
    assert made.data
    assert made.report.bytes == len(made.data)
    assert made.report.labels_differing in (0, None)
    assert made.data == svmfast.export(model, language).data
