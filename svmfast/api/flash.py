"""Make a model small enough for a device, by the method whose result differs least."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from svmfast.api.run import run_method
from svmfast.display import count
from svmfast.errors import NegativeAnswerError, OptionError, SvmfastError, UnsupportedError
from svmfast.exports.accuracy import Settings
from svmfast.exports.computation import computation_of
from svmfast.exports.languages import code_bytes
from svmfast.exports.reference import evaluate
from svmfast.methods.registry import method
from svmfast.progress import Listener
from svmfast.rows import Rows
from svmfast.score import values_differing_percent

if TYPE_CHECKING:
    from svmfast.models.base import Model

#: One row in this many, and at most so many rows, choose the method; the methods are fitted on the others.
_CHOOSING, _MOST_CHOOSING = 4, 2000
#: Highest order tried.
_MOST_ORDER = 6


@dataclass(frozen=True)
class Limit:
    """A limit on the bytes of the tables and, if `device` is not None, of the code for it."""

    most: int
    dtype: np.dtype[Any]
    device: str | None = None

    @property
    def what(self) -> str:
        """What is limited."""
        return "tables" if self.device is None else "tables and code"

    def size(self, model: Model) -> int:
        """The size that is limited, in bytes."""
        tables = table_bytes(model, self.dtype)
        return tables if self.device is None else tables + code_bytes(computation_of(model), self.device)

    def words(self, model: Model) -> str:
        """A clause that states a model's size."""
        return f"{'the ' * (self.device is None)}{self.what} take {self.size(model):,} bytes"

    def check(self, size: int) -> None:
        """Raise NegativeAnswerError if a file exceeds the limit."""
        if size > self.most:
            raise NegativeAnswerError(
                f"the file's {self.what} take {size:,} bytes, more than `max_flash` {self.most:,}"
            )


def table_bytes(model: Model, dtype: np.dtype[Any]) -> int:
    """The size in bytes of the tables in a model's C file."""
    from svmfast.exports.c import write

    return write(computation_of(model), Settings("model", dtype, {}))[1]


def fitting(
    model: Model, limit: Limit, data: Rows | None, threads: int, listener: Listener
) -> tuple[Model, str]:
    """`model` if it is within the limit, else the better result of approximate and compress, and its maker.

    Each method is fitted on three quarters of `data`. On the other rows the labels of each result, in the
    exported arithmetic, are compared with the exact ones, and the result with the fewest differences wins.
    """
    if limit.size(model) <= limit.most:
        return model, ""
    over = f"{limit.words(model)}, more than `max_flash` {limit.most:,}"
    if model.unscaled.expansion is None:
        raise NegativeAnswerError(f"{over}; only LIBSVM models can be made smaller here")
    if data is None:
        raise OptionError(f"{over}; give `data`, rows like those to predict, to make the model smaller")
    choosing = np.arange(len(data)) % max(_CHOOSING, len(data) // _MOST_CHOOSING) == 0
    few, rest = (data.take(np.flatnonzero(part)) for part in (choosing, ~choosing))
    wanted = model.decision_values(few, threads=threads)
    best: tuple[float, Model, str] | None = None
    reasons = []
    for name in ("approximate", "compress"):
        try:
            found, how = _smaller(name, model, limit, rest, threads, listener)
        except SvmfastError as error:
            # The advice of compress names options that export does not have.
            reasons.append(f"{name}: {error.what if isinstance(error, UnsupportedError) else error}")
            listener.note(reasons[-1])
            continue
        computation = computation_of(found)
        got = evaluate(computation, few, limit.dtype)
        if model.head.is_regression:
            apart = values_differing_percent(got, wanted)
            words = f"values differ by {apart:.3g}% of their spread"
        else:
            head = computation.head
            apart = 100 * float(np.mean(head.predict(got) != head.predict(wanted)))
            words = f"{apart:.2f}% of the labels differ"
        listener.note(f"{how}: {limit.words(found)}, {words} on the rows used to choose the method")
        if best is None or apart < best[0]:
            best = apart, found, how
    if best is None:
        raise NegativeAnswerError(
            f"no model has {limit.what} of at most {limit.most:,} bytes ({'; '.join(reasons)})"
        )
    return best[1:]


def _smaller(
    name: str, model: Model, limit: Limit, data: Rows, threads: int, listener: Listener
) -> tuple[Model, str]:
    """The model of a method that fits, and how it was made; the highest order of an expansion comes first."""
    silent = Listener(listener.progress)
    # The methods scale the rows and add the scaling to their models; its tables count.
    inputs = {"model": model, "data": data}
    for options in _options(name, model, limit):
        size = limit.size if name == "compress" else None
        result = run_method(method(name), inputs, options, threads=threads, listener=silent, size=size)
        found = result.model
        if found is None:
            raise NegativeAnswerError(result.refusal or f"{name} made no model")
        if name == "compress":
            inner = found.unscaled.expansion
            assert inner is not None
            return found, f"compress, {count(len(inner.sv), 'vector')}"
        if limit.size(found) <= limit.most:
            return found, f"approximate, order {options['order']}"
    raise NegativeAnswerError("no expansion fits")


def _options(name: str, model: Model, limit: Limit) -> Iterator[dict[str, Any]]:
    if name == "compress":
        yield {"max_bytes": limit.most}
        return
    d, p = model.unscaled.n_features, model.head.n_functions
    for order in range(_MOST_ORDER, 0, -1):
        if math.comb(d + order, order) * p * limit.dtype.itemsize <= limit.most:
            yield {"order": order, "force": True}
