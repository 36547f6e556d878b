"""The orders of an approximation's cells, chosen by cost and certified rows, against direct counting."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from program import data, model

from svmfast.formats.detect import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.cells import CellMaker, OrderChoice
from svmfast.methods.approximate.certificate import dual_expansion
from svmfast.methods.approximate.costs import CERTIFICATE_NUMBERS, Costs
from svmfast.methods.approximate.expansion import Expander
from svmfast.methods.approximate.sample import CertificationSample, divided
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import silent
from svmfast.threads import map_with_threads

HIGHEST = 3


def choice(name: str, cells: int) -> tuple[OrderChoice, CertificationSample, Costs]:
    """The choice for a fixture's model with this many cells, with its sample and costs."""
    exact = load_model(model(name))
    assert isinstance(exact, KernelExpansion)
    terms = dual_expansion(exact, memory_limit=1 << 30)
    rows = read_svmlight(data(f"{name.partition('_')[0]}.train")).rows
    sample = divided(exact, terms, rows, plans=True).planning
    assert sample is not None
    costs = Costs(exact, terms, ApproximateOptions(order="auto", cells="auto"), [False] * (HIGHEST + 1))
    expander = Expander(exact, terms, progress=silent)
    maker = CellMaker(expander=expander, sample=sample, lowest=0, highest=HIGHEST)
    made = maker.cells(maker.centers(cells))
    return OrderChoice(made, range(HIGHEST + 1), sample, costs), sample, costs


def certified(choice: OrderChoice, sample: CertificationSample, orders: Any) -> np.ndarray[Any, Any]:
    """Return which rows of the sample are certified with the orders ``(cells, p)``."""
    found = np.zeros(len(sample), dtype=bool)
    for cell, own in zip(choice.cells, orders, strict=True):
        found[cell.rows] = choice.expected(cell, own)
    return found


@pytest.mark.parametrize(("name", "cells"), [("breast_c_rbf", 2), ("wine_c_rbf_prob", 2)])
@pytest.mark.parametrize("weight", [1.0, 8.0, math.inf])
def test_orders_are_the_cheapest_of_all(name: str, cells: int, weight: float) -> None:
    """Compared with all combinations of orders, counted on the fitting rows."""
    chosen, sample, costs = choice(name, cells)
    p = costs.functions

    def price(orders: tuple[int, ...]) -> tuple[float, float]:
        fits = sample.fitting
        still_open = int((~certified(chosen, sample, [[k] * p for k in orders]) & fits).sum())
        work = sum(
            max(1, int(fits[cell.rows].sum())) * p * costs.polynomial(k)
            for cell, k in zip(chosen.cells, orders, strict=True)
        )
        return (still_open, work) if math.isinf(weight) else (work + weight * costs.exact * still_open, work)

    found = chosen.at(weight)
    best = min(map(price, itertools.product(range(HIGHEST + 1), repeat=len(chosen.cells))))
    assert price(tuple(found.orders[:, 0].tolist()))[0] == pytest.approx(best[0])
    flags = certified(chosen, sample, [[k] * p for k in found.orders[:, 0].tolist()])
    assert found.certified == pytest.approx(flags[sample.choosing].mean())


def test_lower_orders_of_single_pairs_lose_no_certified_row() -> None:
    chosen, sample, costs = choice("wine_c_rbf_prob", 3)
    plan = chosen.layout(0.99)
    highest = plan.orders.max(axis=1)
    whole = certified(chosen, sample, [[int(k)] * costs.functions for k in highest])
    assert (certified(chosen, sample, plan.orders.tolist()) >= whole).all()
    assert plan.orders.sum() < highest.sum() * costs.functions


def test_costs_count_what_is_stored() -> None:
    _, sample, costs = choice("breast_c_rbf", 2)
    d = len(sample.terms.features)
    orders = np.array([[0], [2]], dtype=np.int32)
    assert costs.numbers(orders) == 2 * d + 1 + math.comb(d + 2, 2) + 2 * CERTIFICATE_NUMBERS
    assert costs.obstacle(1, 0) is None
    assert "multiply-adds per row, the exact model" in (costs.obstacle(1, HIGHEST) or "")


def test_several_items_have_one_thread_each() -> None:
    assert map_with_threads(lambda item, n: (item, n), "abc", 4) == [("a", 1), ("b", 1), ("c", 1)]
    assert map_with_threads(lambda item, n: (item, n), "a", 4) == [("a", 4)]
    assert map_with_threads(lambda item, n: (item, n), "ab", 1) == [("a", 1), ("b", 1)]
