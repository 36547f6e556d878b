"""Models that fit a device: the method whose result has tables small enough, and differs least."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from svmfast.api.listener import Listener
from svmfast.api.run import run_method
from svmfast.display import count
from svmfast.errors import NegativeAnswerError, OptionError, SvmfastError, UnsupportedError
from svmfast.exports.computation import computation_of
from svmfast.exports.devices import code_bytes
from svmfast.exports.settings import Accuracy, Settings
from svmfast.exports.twin import values
from svmfast.methods.registry import method
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import unscaled
from svmfast.rows import FloatArray, Rows

if TYPE_CHECKING:
    from svmfast.models.base import Model

#: One row in this many is used to choose between the methods; the methods get the others.
_CHOOSING = 4
#: Most rows used to choose.
_MOST_CHOOSING = 2000
#: Highest order tried.
_MOST_ORDER = 6


@dataclass(frozen=True)
class Fitting:
    """A model that fits, and how it was made (empty for the given model)."""

    model: Model
    made_by: str


@dataclass(frozen=True)
class Limit:
    """Most bytes of the tables, with the code for `device` if that is not None."""

    most: int
    dtype: np.dtype[Any]
    device: str | None = None

    def words(self, model: Model) -> str:
        """Say what a model takes."""
        what = "the tables take" if self.device is None else "tables and code take"
        return f"{what} {self.size(model):,} bytes"

    def size(self, model: Model) -> int:
        """Return what is limited."""
        tables = table_bytes(model, self.dtype)
        return tables if self.device is None else tables + code_bytes(computation_of(model), self.device)

    def holds(self, model: Model) -> bool:
        """Return whether a model is small enough."""
        return self.size(model) <= self.most

    def check(self, tables: int, code: int | None) -> None:
        """Raise NegativeAnswerError for a file whose tables, and code, are larger."""
        if tables + (code or 0) > self.most:
            what = "tables take" if code is None else "tables and code take"
            raise NegativeAnswerError(
                f"the file's {what} {tables + (code or 0):,} bytes, more than `max_flash` {self.most:,}"
            )


def table_bytes(model: Model, dtype: np.dtype[Any]) -> int:
    """Return the size in bytes of the tables in a model's C file."""
    from svmfast.exports.c import print_c

    nothing = Settings("model", dtype, {}, Accuracy(0, "rows", None, 0.0, 0.0))
    try:
        found = print_c(computation_of(model), nothing).table_bytes
    except OverflowError:  # a number that the precision cannot hold
        return 1 << 62
    assert found is not None
    return found


def fitting(model: Model, limit: Limit, data: Rows | None, threads: int, heard: Listener) -> Fitting:
    """Return `model` if it is within the limit, else what approximate or compress make of it.

    Each method gets three quarters of `data`; on the other rows the exported arithmetic of their models is
    compared with the exact labels, and the one that differs on fewest of them is taken.

    Raises
    ------
    OptionError
        There are no `data` to fit a smaller model with.
    NegativeAnswerError
        No model is small enough.
    """
    if limit.holds(model):
        return Fitting(model, "")
    if not isinstance(unscaled(model), KernelExpansion):
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
    best: tuple[float, Fitting] | None = None
    reasons = []
    for name, make in (("approximate", _approximated), ("compress", _compressed)):
        try:
            # They scale the rows, and put the scaling, whose tables count, in front of what they make.
            found, how = make(model, limit, rest, threads, heard)
        except SvmfastError as error:
            # What would help compress is no option here.
            reasons.append(f"{name}: {error.what if isinstance(error, UnsupportedError) else error}")
            heard.note(reasons[-1])
            continue
        apart = _difference(found, few, wanted, limit.dtype)
        heard.note(f"{how}: {limit.words(found)}, {_words(model, apart)}")
        if best is None or apart < best[0]:
            best = apart, Fitting(found, how)
    if best is None:
        what = "tables" if limit.device is None else "tables and code"
        raise NegativeAnswerError(
            f"nothing has {what} of at most {limit.most:,} bytes ({'; '.join(reasons)})"
        )
    return best[1]


def _approximated(model: Model, limit: Limit, data: Rows, threads: int, heard: Listener) -> tuple[Model, str]:
    d, p = unscaled(model).n_features, model.head.n_functions
    for order in range(_MOST_ORDER, 0, -1):
        if math.comb(d + order, order) * p * limit.dtype.itemsize > limit.most:
            continue
        options = {"order": order, "force": True}
        found = _run("approximate", {"model": model, "data": data}, options, threads, heard)
        if limit.holds(found):
            return found, f"approximate, order {order}"
    raise NegativeAnswerError("no expansion fits")


def _compressed(model: Model, limit: Limit, data: Rows, threads: int, heard: Listener) -> tuple[Model, str]:
    inputs = {"model": model, "data": data}
    found = _run("compress", inputs, {"max_bytes": limit.most}, threads, heard, limit.size)
    inner = unscaled(found)
    assert isinstance(inner, KernelExpansion)
    return found, f"compress, {count(len(inner.sv), 'vector')}"


def _run(
    name: str,
    inputs: dict[str, Any],
    options: dict[str, Any],
    threads: int,
    heard: Listener,
    size: Callable[[Model], int] | None = None,
) -> Model:
    silent = Listener(heard.progress, should_stop=heard.should_stop)
    result = run_method(
        method(name), inputs, options, threads=threads, listener=silent, timed=False, size=size
    )
    if result.refusal is not None or result.model is None:
        raise NegativeAnswerError(result.refusal or f"{name} made no model")
    found: Model = result.model
    return found


def _difference(model: Model, rows: Rows, wanted: FloatArray, dtype: np.dtype[Any]) -> float:
    """Return the share of labels that differ; for regression the root mean square difference."""
    computation = computation_of(model)
    got = values(computation, rows, dtype)[0].astype(np.float64)
    if computation.head.is_regression:
        return float(np.sqrt(np.mean((got - wanted) ** 2)))
    return float(np.mean(computation.head.predict(got) != computation.head.predict(wanted)))


def _words(model: Model, apart: float) -> str:
    if model.head.is_regression:
        return f"values differ by {apart:.3g} (root mean square)"
    return f"{100 * apart:.2f}% of the labels differ on the rows that choose between the methods"
