"""Conversion of an exact model under limits, for FastSVC and FastSVR."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from svmfast.api.functions import function_of
from svmfast.errors import MemoryLimitError, NegativeAnswerError, UnsupportedError
from svmfast.formats.detect import model_bytes
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.methods.registry import method as method_named
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import with_scaling
from svmfast.options import MEMORY, checked
from svmfast.rows import Rows
from svmfast.score import values_differing_percent
from svmfast.threads import thread_count
from svmfast.values import Share

#: Values of `method`.
METHODS = ("auto", "exact", "approximate", "compress", "dcpred", "meka", "cascade")
#: A model is not worth converting if it takes at most this many multiply-adds per row (microseconds), or at
#: most this many times those of a linear model.
FEW_OPERATIONS, NEARLY_LINEAR = 5_000, 10
#: One row in this many is used to choose the conversion, and another one to measure the chosen model.
SHARE = 5
#: Maximum and minimum number of rows of each of these two sets.
MOST_HELD_OUT, LEAST_HELD_OUT = 20_000, 20
_REFUSED = (NegativeAnswerError, UnsupportedError, MemoryLimitError)


@dataclass(frozen=True)
class ConversionReport:
    """The result of a conversion.

    Attributes
    ----------
    method : str
        The method of the chosen model; ``exact`` if no method was better.
    difference : float
        Share of rows whose label differs from the exact model's; for regression the root mean square
        difference divided by the standard deviation of the exact values. It is measured on a fifth of the
        rows, at most 20,000, that were used neither to fit nor to choose the model. Since the exact model was
        trained on these rows, the difference is somewhat larger for new rows. NaN with fewer than 100 rows,
        unless `method` is ``exact``.
    multiply_adds, multiply_adds_exact : float
        Counted multiply-adds per row.
    bytes, bytes_exact : int
        Sizes of the models' files.
    tried : dict of str to str
        The result of each method.
    """

    method: str
    difference: float
    multiply_adds: float
    multiply_adds_exact: float
    bytes: int
    bytes_exact: int
    tried: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class _Conversion:
    """An exact model, rows to convert it on and to choose the conversion on, limits, a method's options."""

    exact: KernelExpansion
    rows: Rows
    choosing: Rows
    max_diff: float
    max_bytes: int | None
    options: Mapping[str, Any]
    seed: int
    threads: int

    def convert(self, method: str) -> Model:
        """Convert the exact model; the method's own options come before those made of the limits."""
        if method == "exact":
            return self.exact
        limits: dict[str, Any] = {}
        inputs: tuple[Any, ...] = (self.exact, self.rows)
        if method == "approximate":
            limits = {"max_bytes": self.max_bytes}
        elif method == "compress":
            if not {"sv", "ratio", "max_diff", "max_bytes"} & self.options.keys():
                limits = {"max_bytes": self.max_bytes} if self.max_bytes else {"max_diff": self.max_diff}
        elif method == "cascade":
            inputs = (self._run("compress", *inputs, ratio=0.05), *inputs)
            # Forced, since the machine that predicts may be another one.
            limits = {"max_diff": self.max_diff, "force": True}
        else:
            inputs, limits = (self.rows,), {"exact": self.exact}
            limits |= {"fit": "values"} if method == "dcpred" else {}
        return self._run(method, *inputs, **{**limits, **self.options})

    def _run(self, method: str, *inputs: Any, **options: Any) -> Model:
        given = {"threads": self.threads, "seed": self.seed, **options}
        made = function_of(method_named(method))(*inputs, **given)
        assert made.model is not None, "a refusal is an error"
        return made.model

    def difference(self, model: Model, rows: Rows) -> float:
        """The difference from the exact model on rows, as in ConversionReport."""
        if model is self.exact:
            return 0.0
        if len(rows) < LEAST_HELD_OUT:
            return math.nan
        theirs, ours = (
            answer(one, rows, exact=getattr(one, "exact", None), threads=self.threads).predicted
            for one in (self.exact, model)
        )
        if not self.exact.head.is_regression:
            return float(np.mean(ours != theirs))
        return values_differing_percent(ours, theirs) / 100

    def in_words(self, difference: float) -> str:
        """The difference as a clause."""
        if self.exact.head.is_regression:
            return f"values differ by {difference:.2%} of their spread"
        return f"{difference:.2%} of the labels differ"

    def cost(self, model: Model) -> float:
        """Multiply-adds per row; for a cascade, those of its fast half."""
        return float(model.fast_part.multiply_adds(self.rows[:1000]))

    def fits(self, model: Model) -> bool:
        """Whether a model's file is as small as required."""
        return self.max_bytes is None or len(model_bytes(model)) <= self.max_bytes

    def first_that_fits(self, tried: dict[str, str]) -> tuple[str, Model]:
        """The first method that meets the limits with less than half of the multiply-adds, and its model."""
        exact = self.exact
        exact_cost = self.cost(exact)
        linear = exact.n_features * max(1, exact.head.n_functions)
        if exact_cost <= max(FEW_OPERATIONS, NEARLY_LINEAR * linear) and self.fits(exact):
            tried["exact"] = "already fast: a conversion would hardly be faster"
            return "exact", exact
        for method in ("approximate", "compress", "dcpred"):
            try:
                model = self.convert(method)
            except _REFUSED as error:
                tried[method] = str(error)
                continue
            difference, cost = self.difference(model, self.choosing), self.cost(model)
            tried[method] = f"{self.in_words(difference)}, costs {cost / exact_cost:.2%} of the exact model"
            if self.fits(model) and difference <= self.max_diff and cost <= exact_cost / 2:
                return method, model
        return "exact", exact


def convert(
    exact: Model, rows: Rows, method: str, *, max_diff: float, max_bytes: int | None,
    options: Mapping[str, Any] | None, seed: int, threads: int | None,
) -> tuple[Model, ConversionReport]:  # fmt: skip
    """Convert an exact model, with or without a scaling in front, to a fast one, and report the difference.

    `rows` are in the form that the exact model takes; `options` are those of the method. A ValueError: there
    is no such method, or auto got options.
    """
    max_diff = checked("max_diff", max_diff, Share(zero=True, whole=True))
    if method not in METHODS:
        raise ValueError(f"method is '{method}'; expected one of {', '.join(METHODS)}")
    if options and method in ("auto", "exact"):
        raise ValueError(f"method_options need a method; method is '{method}'")
    options = options or {}
    scaling, inner = exact.scaling, exact.unscaled
    if not isinstance(inner, KernelExpansion):
        raise UnsupportedError(f"{inner.kind} is converted already", "give the exact machine")
    if scaling is not None:  # the scaled rows are divided into parts, which are copies
        rows = scaling.apply(rows, memory=options.get("memory", MEMORY), copies=2)
    rows, choosing, measuring = _parts(rows, seed)
    work = _Conversion(inner, rows, choosing, max_diff, max_bytes, options, seed, thread_count(threads))
    tried: dict[str, str] = {}
    if method == "auto":
        method, model = work.first_that_fits(tried)
    else:
        model = work.convert(method)
    report = ConversionReport(
        method, work.difference(model, measuring), work.cost(model), work.cost(inner),
        len(model_bytes(model)), len(model_bytes(inner)), tried,
    )  # fmt: skip
    if max_bytes is not None and report.bytes > max_bytes:
        raise NegativeAnswerError(
            f"the model of {method} has {report.bytes:,} bytes; max_bytes is {max_bytes:,}"
        )
    if report.difference > max_diff:
        warnings.warn(
            f"{method}: {work.in_words(report.difference)}, more than max_diff ({max_diff:.2%}); "
            "another method, or more landmarks or vectors, may come closer",
            ConvergenceWarning,
            stacklevel=3,
        )
    return with_scaling(model, scaling), report


def _parts(rows: Rows, seed: int) -> tuple[Rows, Rows, Rows]:
    """Divide rows into parts to fit, choose and measure a conversion; copies are in one part.

    Few rows are all used to fit.
    """
    group, first = groups_of(row_keys(rows))
    held_out = min(len(first) // SHARE, MOST_HELD_OUT)
    if held_out < LEAST_HELD_OUT:
        return rows, rows[:0], rows[:0]
    place = np.argsort(np.random.default_rng(seed).permutation(len(first)))[group]
    ends = (0, held_out, 2 * held_out, len(first))
    choosing, measuring, rest = (rows.take((start <= place) & (place < end)) for start, end in pairwise(ends))
    return rest, choosing, measuring
