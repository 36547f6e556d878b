"""Upper bounds of ``frontier`` on the sizes of real files, and the candidates sized to a limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from program import data, model

from svmfast.api.run import run_method
from svmfast.formats.detect import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.frontiers.grid import FULL, PROSPECTS, SHORTEST, CandidateCommand, enlarged, plan, tried_methods
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.grid import Candidate, Grid
from svmfast.methods.registry import method
from svmfast.models.base import Model

#: Options that make a run quick and do not change the size of its file.
QUICK: dict[str, dict[str, Any]] = {
    "compress": {"iterations": 2, "start": "kmeans"},
    "budget-train": {"passes": 1},
    "dcpred": {"iterations": 2},
}


def size_of(one: Model) -> int:
    return len(model_bytes(one))


def grid(name: str, max_bytes: int | None, **more: Any) -> Grid:
    rows = read_svmlight(data(f"{name.split('_')[0]}.train")).rows
    return Grid(load_model(model(name)), 0, max_bytes, size_of, rows.n_columns, **more)


def candidates(given: Grid) -> dict[str, list[Candidate]]:
    return {name: list(method(name).grid(given)[0]) for name in tried_methods() if name != "cascade"}


def made(one: Candidate, name: str, exact: str) -> Model:
    places = {"model": model(exact), "exact": model(exact), "data": data(f"{exact.split('_')[0]}.train")}
    inputs = {given: places[given] for given in one.inputs}
    options = {**one.options, **QUICK.get(name, {}), **({"force": True} if name == "approximate" else {})}
    return run_method(method(name), inputs, options, threads=1, timed=False).model


@pytest.mark.parametrize(
    ("exact", "limit"), [("wine_c_rbf_prob", 5000), ("diabetes_eps_rbf", 5000), ("breast_c_rbf", 8000)]
)
def test_files_are_no_larger_than_their_bounds(exact: str, limit: int) -> None:
    """Every method that can be sized has a candidate that is certain to fit; no bound is exceeded."""
    given = grid(exact, limit)
    sized = set()
    for name, tried in candidates(given).items():
        for one in tried:
            if one.most_bytes is None or one.most_bytes > 8 * limit:
                continue
            real = size_of(made(one, name, exact))
            assert SHORTEST * one.most_bytes <= real <= one.most_bytes, one.name
            if one.sized:
                sized.add(name)
                assert one.most_bytes <= limit, one.name
                # No more vectors or cells would be certain to fit, so little of the limit is left.
                assert one.most_bytes > 0.6 * limit, one.name
    assert {"compress", "budget-train", "dcpred", "meka"} <= sized


def test_a_limit_decides_what_is_tried_and_in_which_order() -> None:
    given = grid("diabetes_eps_rbf", 5000)
    found, missing = plan(given, tried_methods())
    sized = [one.sized for one in found]
    assert sized == sorted(sized, reverse=True)
    assert tuple(dict.fromkeys(one.method for one in found if one.sized)) == tuple(
        one
        for one in PROSPECTS
        if one != "approximate"  # order 2 in two cells is not certain to fit
    )
    rest = [one for one in found if not one.sized]
    fitting = [one.most_bytes is not None and one.most_bytes <= 5000 for one in rest]
    assert fitting == sorted(fitting, reverse=True)
    assert {one.name for one in rest if one.most_bytes is None} == {
        "dcpred-1-5x", "dcpred-1-10x", "dcpred-1-20x", "dcpred-16-20x", "dcpred-1-40x", "dcpred-16-40x",
    }  # fmt: skip
    large = {one.name: one for one in missing}
    assert large["dcpred-256-landmarks"].bytes is not None
    assert large["dcpred-256-landmarks"].bytes > 5000
    assert large["dcpred-256-landmarks"].reason == (
        f"not tried: may take {large['dcpred-256-landmarks'].bytes:,} bytes, more than 5,000"
    )
    assert plan(given, tried_methods()) == (found, missing)


def test_the_smallest_is_tried_if_nothing_can_fit() -> None:
    found, missing = plan(grid("diabetes_eps_rbf", 10), ("linear", "meka", "budget-train"))
    assert [one.name for one in found] == ["linear"]
    assert {one.name for one in missing} >= {"meka-8x16", "budget-train-50"}
    assert "linear" not in {one.name for one in missing}


def test_without_a_limit_there_are_no_bounds() -> None:
    for limit in (None, 10_000_000):
        given = grid("diabetes_eps_rbf", limit)
        every = [one for tried in candidates(given).values() for one in tried]
        assert not any(one.sized for one in every)
        if limit is None:
            assert all(one.most_bytes is None for one in every)
            assert [one.level for one in plan(given, tried_methods())[0]] == sorted(o.level for o in every)


def test_rows_of_very_many_columns_have_no_bounds() -> None:
    given = replace(grid("diabetes_eps_rbf", 5000), columns=2**31 - 1)
    sizes = FileSizes(given)
    assert sizes.expansion(3) is sizes.routed(1, 3, given.exact.head) is None
    compress = candidates(given)["compress"]
    assert compress[0].options["max_bytes"] == 5000


def test_a_file_that_leaves_much_of_the_limit_is_followed_by_a_larger_one() -> None:
    given = grid("diabetes_eps_rbf", 8000)
    found, _ = plan(given, ("dcpred",))
    sized = next(one for one in found if one.sized)
    real = 6500
    larger = enlarged(sized, real, given)
    assert isinstance(larger, CandidateCommand)

    def landmarks(one: CandidateCommand) -> int:
        return int(one.arguments[one.arguments.index("--landmarks") + 1])

    # The header takes a part of both, so that the file of the larger one stays within the limit.
    assert 1.1 * landmarks(sized) < landmarks(larger) <= 8000 / real * landmarks(sized)
    assert (larger.method, larger.sized) == (sized.method, True)
    assert enlarged(sized, int(FULL * 8000) + 1, given) is None
    assert enlarged(replace(sized, sized=False), real, given) is None
