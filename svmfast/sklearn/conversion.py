"""Conversion of an exact model for FastSVC and FastSVR."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from svmfast.commands.run import run_method
from svmfast.errors import MemoryLimitError, NegativeAnswerError, UnsupportedError
from svmfast.formats.model_files import model_bytes
from svmfast.methods.registry import method as method_named
from svmfast.models.base import Model
from svmfast.options import checked
from svmfast.rows import Rows
from svmfast.values import Share

#: Values of `method`.
METHODS = ("auto", "exact", "approximate", "compress", "dcpred", "cascade")
#: A machine of so few multiply-adds per row, microseconds, is not worth a search that takes seconds.
FEW_OPERATIONS = 5_000
_REFUSED = (NegativeAnswerError, UnsupportedError, MemoryLimitError)


@dataclass(frozen=True, eq=False)
class Conversion:
    """A model and the rows to convert it on, with limits; a method's own options come before these."""

    exact: Model
    rows: Rows
    max_diff: float
    max_bytes: int | None
    options: Mapping[str, Any]
    seed: int
    threads: int | None

    def converted(self, method: str) -> tuple[str, Model, Any]:
        """Convert by `method`; return the method, the model and the method's report.

        auto takes the first of approximate and compress whose model is within the limits and takes fewer
        multiply-adds than the exact one, else the exact model, which has no report. A model of few
        multiply-adds is kept without a search.
        """
        checked("max_diff", self.max_diff, Share())
        if method not in METHODS:
            raise ValueError(f"method is '{method}'; expected one of {', '.join(METHODS)}")
        if self.options and method in ("auto", "exact"):
            raise ValueError(f"method_options need a method; method is '{method}'")
        if self.exact.unscaled.expansion is None:
            raise UnsupportedError(
                f"{self.exact.unscaled.kind} is converted already", "give the exact machine"
            )
        if method not in ("auto", "exact"):
            return self._by(method)
        fits = self._fits(self.exact)
        if method == "auto" and not (fits and self._cost(self.exact) <= FEW_OPERATIONS):
            # compress searches with one limit; the other one is checked afterwards.
            for name, work in (("approximate", self), ("compress", replace(self, max_bytes=None))):
                with contextlib.suppress(*_REFUSED):
                    found = work._by(name)
                    if self._fits(found[1]) and self._cost(found[1]) < self._cost(self.exact):
                        return found
        if not fits:
            size = len(model_bytes(self.exact))
            raise NegativeAnswerError(f"the exact model has {size:,} bytes; max_bytes is {self.max_bytes:,}")
        return "exact", self.exact, None

    def _cost(self, model: Model) -> float:
        """Multiply-adds per row."""
        return model.multiply_adds(self.rows[:1000])

    def _fits(self, model: Model) -> bool:
        return self.max_bytes is None or len(model_bytes(model)) <= self.max_bytes

    def _by(self, method: str) -> tuple[str, Model, Any]:
        limits: dict[str, Any] = {} if self.max_bytes is None else {"max_bytes": self.max_bytes}
        if limits and method not in ("approximate", "compress"):
            raise ValueError(f"max_bytes is given, and {method} has no limit on bytes")
        inputs: dict[str, Any] = {"exact": self.exact, "data": self.rows}
        if method in ("approximate", "compress"):
            inputs = {"model": self.exact, "data": self.rows}
        if method == "compress":
            if {"sv", "ratio", "max_diff", "max_bytes"} & self.options.keys():
                limits = {}
            elif not limits:
                limits = {"max_diff": self.max_diff}
        elif method == "dcpred":
            limits["fit"] = "values"
        else:
            limits["max_diff"] = self.max_diff
        if method == "cascade":
            both = {"model": self.exact, "data": self.rows}
            _, inputs["fast"], _ = self._run("compress", both, {"ratio": 0.05})
        return self._run(method, inputs, {**limits, **self.options})

    def _run(self, method: str, inputs: dict[str, Any], options: dict[str, Any]) -> tuple[str, Model, Any]:
        given = {"seed": self.seed, **options}
        # A race would make the choice differ from run to run.
        found = run_method(method_named(method), inputs, given, threads=self.threads, raced=False)
        if found.model is None:
            raise NegativeAnswerError(found.refusal or "there is no model", found)
        return method, found.model, found.report
