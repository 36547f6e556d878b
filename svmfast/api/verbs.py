"""The verbs of the command line on arrays, CSR matrices and models; see ``svmfast``'s own namespace.

Over 400 lines, most of them docstrings: one module holds all that a caller of ``svmfast`` has to read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from svmfast.errors import OptionError, WrongTypeError
from svmfast.models.answer import Answer, answer
from svmfast.models.cascade import CascadeModel
from svmfast.models.memory import MEMORY, require_memory
from svmfast.rows import Rows, as_rows
from svmfast.threads import thread_count

if TYPE_CHECKING:
    from svmfast.evaluation.bound_check import BoundReport
    from svmfast.evaluation.compare import Comparison
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion

S = TypeVar("S")


def predict(
    model: Model | str | os.PathLike[str],
    data: Any,
    *,
    probability: bool = False,
    bound: bool = False,
    certify: bool = False,
    exact: Model | str | os.PathLike[str] | None = None,
    tolerance: float | None = None,
    precision: Literal["auto", "double"] = "auto",
    threads: int | None = None,
    memory: int = MEMORY,
) -> Answer:
    """Return what a model says of rows, by LIBSVM's rules.

    Parameters
    ----------
    model : Model or path
        Any kind.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or path
        Column 0 is LIBSVM's index 1.
    probability : bool
        Give probabilities; a classifier's label is then the most probable one (``svm-predict -b 1``).
    bound : bool
        Tell which rows are inside the validity bound of an approximated model.
    certify : bool
        Tell which labels are provably those of the exact model that `model` was made from, and the bound of
        the values' error (docs/certificate.md).
    exact : KernelExpansion or path, optional
        That exact model: it answers the rows that are not certified, so that every label is its own (implies
        `certify`). The one embedded in `model` is ``model.embedded_exact``. A cascade answers with its own
        unless another is given: all its labels but a share are then the exact model's; ``model.fast`` is the
        fast model alone.
    tolerance : float, optional
        A row is certified only if its error bound is at most this; regression needs it for `exact`.
    precision : {"auto", "double"}
        auto: labels come from single precision where its error bound proves them, which is faster. double:
        never. The answer is the same.
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The answer is the same for
        every number.
    memory : int
        Most bytes that a model may take.

    Returns
    -------
    Answer
        ``predicted``, ``decisions``, ``probabilities``, ``inside``, ``certified``, ``error_bounds``.

    Raises
    ------
    UnsupportedError
        The model has no probabilities, no bound, no certificate, or a precomputed kernel; or `exact` is not
        the model it was made from.
    OptionError
        `exact` for regression without a tolerance, or a tolerance without `certify` or `exact`.
    MemoryLimitError
        A model would take more than `memory`.
    """
    if tolerance is not None and not certify and exact is None:
        raise OptionError("a tolerance goes with certify or exact")
    given = _model(model, memory)
    if exact is None and isinstance(given, CascadeModel):
        exact = given.exact
    return answer(
        given,
        _rows(data),
        probability=probability,
        bound=bound,
        certify=certify,
        exact=None if exact is None else _original(given, exact, memory),
        tolerance=tolerance,
        single_precision=precision == "auto",
        threads=thread_count(threads),
    )


def _original(model: Model, exact: Model | str | os.PathLike[str], memory: int) -> KernelExpansion:
    """Return `exact`; UnsupportedError where it cannot be the model that `model` was made from."""
    from svmfast.formats.detect import identity_of, open_model
    from svmfast.models.certified import check_exact, check_source

    own: Model = model
    loaded: Model
    if isinstance(exact, str | os.PathLike):
        opened = open_model(exact, memory=memory)
        loaded, is_source = opened.model, opened.is_source
    else:
        _model(exact, memory)
        loaded, is_source = exact, lambda source: source == identity_of(exact)
    given = check_exact(model, loaded)
    # An assumed error is not of one pair of models alone; a proof is.
    if getattr(own, "is_rigorous", False) and given is not getattr(own, "embedded_exact", None):
        check_source(own, getattr(own, "provenance", {}).get("source"), is_source)
    return given


def compare(
    models: Mapping[str, Model | str | os.PathLike[str]] | Sequence[str | os.PathLike[str]],
    data: Any,
    labels: ArrayLike | None = None,
    *,
    threads: int | None = None,
    repeats: int = 5,
    memory: int = MEMORY,
) -> Comparison:
    """Compare models with the first one, the exact one, on the same rows.

    Parameters
    ----------
    models : mapping of name to Model or path, or sequence of paths
        The exact model first.
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or path
    labels : (n,) array_like, optional
        True labels or values; a Dataset has its own. Without them there is no accuracy and no error.
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``.
    repeats : int
        Timed predictions of each model; the median counts.
    memory : int
        Most bytes that each model may take.

    Returns
    -------
    Comparison
        ``str()`` gives a table, :func:`svmfast.evaluation.report.as_dict` the form of ``--json``.
    """
    from svmfast.evaluation.compare import ComparedModel
    from svmfast.evaluation.compare import compare as compare_entrants

    named = models if isinstance(models, Mapping) else {os.fspath(path): path for path in models}
    if not named:
        raise OptionError("there is no model to compare")
    data = _dataset(data)
    if labels is None:
        labels = getattr(data, "labels", None)
    rows = _rows(data)
    targets = np.full(len(rows), np.nan) if labels is None else np.asarray(labels, dtype=np.float64)
    if targets.shape != (len(rows),):
        raise OptionError(f"{len(rows)} rows need as many labels, got an array of shape {targets.shape}")
    entrants = []
    for name, given in named.items():
        start = time.perf_counter()
        model = _model(given, memory)
        taken = time.perf_counter() - start
        if isinstance(given, str | os.PathLike):
            entrants.append(ComparedModel(name, model, os.path.getsize(given), taken))
        else:
            entrants.append(ComparedModel(name, model))
    return compare_entrants(
        entrants,
        rows,
        targets,
        threads=thread_count(threads),
        repeats=repeats,
        data_path=getattr(data, "path", None),
    )


def bound_check(
    data: Any,
    *,
    model: Model | str | os.PathLike[str] | None = None,
    gamma: float | None = None,
    order: int | None = None,
    tolerance: float | None = None,
    threads: int | None = None,
    memory: int = MEMORY,
) -> BoundReport:
    """Tell for which gamma RBF models on data can be approximated, or whether rows are inside the bound.

    Parameters
    ----------
    data : (n, d) array_like, SciPy sparse matrix, Rows, Dataset or path
    model : Model or path, optional
        Check the rows against this model's bound.
    gamma : float, optional
        Check them against each other for this kernel width instead.
    order : int, optional
        Of the expansion, 0 to 16 (default: 2); a model that is approximated already has its own.
    tolerance : float, optional
        With a certified model: count a row as certified only if its error bound is at most this; regression
        is not counted without.
    threads : int, optional
        Default: the cores this process may use, at most ``OMP_NUM_THREADS``. The answer is the same for
        every number.
    memory : int
        Most bytes that the model may take.

    Returns
    -------
    BoundReport
        ``report.paper.gamma_max``, ``report.centred.gamma_max``, ``report.inside()``,
        ``report.certified_percent``.
    """
    from svmfast.evaluation.bound_check import check_data, check_model

    if model is not None and gamma is not None:
        raise OptionError("model and gamma exclude each other: a model has a gamma of its own")
    blocks: Iterable[Rows] = [_rows(data)]
    if model is not None:
        return check_model(
            blocks, _model(model, memory), order=order, tolerance=tolerance, threads=thread_count(threads)
        )
    if tolerance is not None:
        raise OptionError("a tolerance is for the certificate of a model; give the model too")
    return check_data(lambda: blocks, gamma, order=2 if order is None else order)


def _model(model: Model | str | os.PathLike[str], memory: int) -> Model:
    if isinstance(model, str | os.PathLike):
        from svmfast.formats.detect import load_model

        return load_model(model, memory=memory)
    if not hasattr(model, "decision_values"):
        raise WrongTypeError("the model", model, "a model, or the path of one")
    require_memory(model, memory)
    return model


def _dataset(data: Any) -> Any:
    """Read the file of a path; anything else as it is."""
    if not isinstance(data, str | os.PathLike):
        return data
    from svmfast.formats.svmlight import read_svmlight

    return read_svmlight(data, threads=thread_count(None))


def _rows(data: Any) -> Rows:
    rows = getattr(_dataset(data), "rows", data)
    if not (isinstance(rows, Rows) or hasattr(rows, "tocsr")):
        try:
            dense = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise WrongTypeError("the data", data, _DATA) from error
        if dense.ndim == 0:
            raise WrongTypeError("the data", data, _DATA)
        rows = dense
    return as_rows(rows)


#: What data may be.
_DATA = "an array of numbers, a SciPy sparse matrix, Rows, a Dataset, or the path of LIBSVM data"
