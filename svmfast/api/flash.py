"""Make a model small enough for a device, by the method whose result differs least."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from svmfast.api.run import run_method
from svmfast.display import count
from svmfast.errors import NegativeAnswerError, OptionError, SvmfastError, UnsupportedError
from svmfast.exports.accuracy import Accuracy, Settings
from svmfast.exports.computation import computation_of
from svmfast.exports.languages import code_bytes
from svmfast.exports.twin import values
from svmfast.methods.registry import method
from svmfast.progress import Listener
from svmfast.rows import FloatArray, Rows
from svmfast.score import values_differing_percent

if TYPE_CHECKING:
    from svmfast.models.base import Model

#: One row in this many is used to choose the method; the methods are fitted on the others.
_CHOOSING = 4
#: Most rows used to choose.
_MOST_CHOOSING = 2000
#: Highest order tried.
_MOST_ORDER = 6


@dataclass(frozen=True)
class Limit:
    """A limit on the bytes of the tables and, if `device` is not None, of the code for it."""

    most: int
    dtype: np.dtype[Any]
    device: str | None = None

    def words(self, model: Model) -> str:
        """A clause that states a model's size."""
        what = "the tables take" if self.device is None else "tables and code take"
        return f"{what} {self.size(model):,} bytes"

    def size(self, model: Model) -> int:
        """The size that is limited, in bytes."""
        tables = table_bytes(model, self.dtype)
        return tables if self.device is None else tables + code_bytes(computation_of(model), self.device)

    def holds(self, model: Model) -> bool:
        """Whether a model is small enough."""
        return self.size(model) <= self.most

    def check(self, tables: int, code: int | None) -> None:
        """Raise NegativeAnswerError if the sizes of a file exceed the limit."""
        if tables + (code or 0) > self.most:
            what = "tables take" if code is None else "tables and code take"
            raise NegativeAnswerError(
                f"the file's {what} {tables + (code or 0):,} bytes, more than `max_flash` {self.most:,}"
            )


def table_bytes(model: Model, dtype: np.dtype[Any]) -> int:
    """The size in bytes of the tables in a model's C file."""
    from svmfast.exports.c import write

    nothing = Settings("model", dtype, {}, Accuracy(0, "rows", None, 0.0, 0.0))
    try:
        found = write(computation_of(model), nothing).table_bytes
    except OverflowError:  # a number that the precision cannot represent
        return 1 << 62
    assert found is not None
    return found


def fitting(
    model: Model, limit: Limit, data: Rows | None, threads: int, listener: Listener
) -> tuple[Model, str]:
    """`model` if it is within the limit, else the better result of approximate and compress, and its maker.

    Each method is fitted on three quarters of `data`. On the other rows the labels of each result, in the
    exported arithmetic, are compared with the exact ones, and the result with the fewest differences wins.
    """
    if limit.holds(model):
        return model, ""
    if model.unscaled.expansion is None:
        raise NegativeAnswerError(
            f"{limit.words(model)}, more than `max_flash` {limit.most:,}; only LIBSVM models can be made "
            "smaller here"
        )
    if data is None:
        raise OptionError(
            f"{limit.words(model)}, more than `max_flash` {limit.most:,}; give `data`, rows like those to "
            "predict, to make the model smaller"
        )
    choosing = np.zeros(len(data), dtype=np.bool_)
    choosing[:: max(_CHOOSING, len(data) // _MOST_CHOOSING)] = True
    few, rest = data.take(np.flatnonzero(choosing)), data.take(np.flatnonzero(~choosing))
    wanted = model.decision_values(few, threads=threads)
    best: tuple[float, Model, str] | None = None
    reasons = []
    for name, make in (("approximate", _approximated), ("compress", _compressed)):
        try:
            # The methods scale the rows and add the scaling to their models; its tables count.
            found, how = make(model, limit, rest, threads, listener)
        except SvmfastError as error:
            # The advice of compress names options that export does not have.
            reasons.append(f"{name}: {error.what if isinstance(error, UnsupportedError) else error}")
            listener.note(reasons[-1])
            continue
        apart = _difference(found, few, wanted, limit.dtype)
        listener.note(f"{how}: {limit.words(found)}, {_words(model, apart)}")
        if best is None or apart < best[0]:
            best = apart, found, how
    if best is None:
        what = "tables" if limit.device is None else "tables and code"
        raise NegativeAnswerError(
            f"no model has {what} of at most {limit.most:,} bytes ({'; '.join(reasons)})"
        )
    return best[1:]


def _approximated(
    model: Model, limit: Limit, data: Rows, threads: int, listener: Listener
) -> tuple[Model, str]:
    d, p = model.unscaled.n_features, model.head.n_functions
    for order in range(_MOST_ORDER, 0, -1):
        if math.comb(d + order, order) * p * limit.dtype.itemsize > limit.most:
            continue
        options = {"order": order, "force": True}
        found = _run("approximate", {"model": model, "data": data}, options, threads, listener)
        if limit.holds(found):
            return found, f"approximate, order {order}"
    raise NegativeAnswerError("no expansion fits")


def _compressed(
    model: Model, limit: Limit, data: Rows, threads: int, listener: Listener
) -> tuple[Model, str]:
    inputs = {"model": model, "data": data}
    found = _run("compress", inputs, {"max_bytes": limit.most}, threads, listener, limit.size)
    inner = found.unscaled.expansion
    assert inner is not None
    return found, f"compress, {count(len(inner.sv), 'vector')}"


def _run(
    name: str,
    inputs: dict[str, Any],
    options: dict[str, Any],
    threads: int,
    listener: Listener,
    size: Callable[[Model], int] | None = None,
) -> Model:
    silent = Listener(listener.progress, should_stop=listener.should_stop)
    result = run_method(
        method(name), inputs, options, threads=threads, listener=silent, timed=False, size=size
    )
    if result.refusal is not None or result.model is None:
        raise NegativeAnswerError(result.refusal or f"{name} made no model")
    found: Model = result.model
    return found


def _difference(model: Model, rows: Rows, wanted: FloatArray, dtype: np.dtype[Any]) -> float:
    """The percentage of labels that differ; for regression how much the values differ."""
    computation = computation_of(model)
    got = values(computation, rows, dtype)[0].astype(np.float64)
    if computation.head.is_regression:
        return values_differing_percent(got, wanted)
    return 100 * float(np.mean(computation.head.predict(got) != computation.head.predict(wanted)))


def _words(model: Model, apart: float) -> str:
    if model.head.is_regression:
        return f"values differ by {apart:.3g}% of their spread on the rows used to choose the method"
    return f"{apart:.2f}% of the labels differ on the rows used to choose the method"
