"""Figures: one declaration gives the JSON report and its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from report_schema import properties_of, required_of

from svmfast.figures import Figures, computed, figure, figures_of


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


@dataclass(frozen=True)
class Part(Figures):
    size: int = figure("Bytes.", key="bytes")


@dataclass(frozen=True)
class Report(Figures):
    rows: int = figure("Rows.")
    share: float | None = figure("Percent.", key="share_percent", value=_percent)
    part: Part = figure("A part.")
    absent: int | None = figure("Only if known.", optional=True)
    low: float = figure("Only of few rows.", optional=lambda report: report.rows < 3)
    parts: tuple[Part, ...] = figure("Parts.")
    beside: Part = figure("", spread=True)
    shown: str = "not in JSON"
    seconds: Mapping[str, float] = figure("By phase.", default_factory=dict)
    kinds: tuple[str, ...] = field(default=())

    @computed.figure("Twice the rows.", key="double")
    def twice(self) -> int:
        return 2 * self.rows


REPORT = Report(3, 0.5, Part(7), None, 0.0, (Part(8),), Part(9), seconds={"fit": 1.5})


def test_a_report_in_json() -> None:
    assert REPORT.to_dict() == {
        "rows": 3,
        "share_percent": 50.0,
        "part": {"bytes": 7},
        "parts": [{"bytes": 8}],
        "bytes": 9,
        "seconds": {"fit": 1.5},
        "double": 6,
    }


def test_the_schema_has_the_keys_of_the_report_and_their_types() -> None:
    found = properties_of(Report)
    assert [key for key in found if key not in ("absent", "low")] == list(REPORT.to_dict())
    assert set(found) - required_of(Report) == {"absent", "low"}
    assert {key: rule.get("type") for key, rule in found.items()} == {
        "rows": "number",
        "share_percent": ["null", "number"],
        "part": "object",
        "absent": ["null", "number"],
        "low": "number",
        "parts": "array",
        "bytes": "number",
        "seconds": "object",
        "double": "number",
    }
    assert found["double"]["description"] == "Twice the rows."


def test_a_figure_of_a_subclass_replaces_that_of_its_base() -> None:
    @dataclass(frozen=True)
    class More(Report):
        rows: int = figure("Rows of all files.")

    assert [one.help for one in figures_of(More) if one.key == "rows"] == ["Rows of all files."]


def test_a_type_that_json_lacks_is_an_error() -> None:
    @dataclass(frozen=True)
    class Wrong(Figures):
        given: set[int] = figure("A set.")

    with pytest.raises(AssertionError):
        properties_of(Wrong)
